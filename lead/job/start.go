package job

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/switchyard-ml/switchyard/config"
	"github.com/switchyard-ml/switchyard/envs/files"
	"github.com/switchyard-ml/switchyard/model"
	"github.com/switchyard-ml/switchyard/worker"
)

// start remembers the parameters that a model was started with, for all copies of a plan. mu is held while a start
// is fitted: whoever else needs it waits for the result.
type start struct {
	mu    sync.Mutex
	theta []float32
}

// Starts reports whether the parameters that the run begins with are fitted to the training recordings.
func (p *Plan) Starts() bool { return p.start != nil }

// Initial returns the parameters that the run begins with: Theta, or what the model's start makes of the training
// recordings, which takes seconds the first time. They belong to the plan. Workers do not need them; they compute the
// golden shard at Theta. When ctx ends Initial returns its error. A start that was broken off is made anew by the
// next call.
func (p *Plan) Initial(ctx context.Context) ([]float32, error) {
	if p.start == nil {
		return p.Theta, nil
	}
	p.start.mu.Lock()
	defer p.start.mu.Unlock()
	if p.start.theta != nil {
		return p.start.theta, nil
	}
	data, _, err := config.Data(p.Config)
	if err != nil {
		return nil, err
	}
	m, err := newModel(p.Config, data)
	if err != nil {
		return nil, err
	}
	starter := m.(model.Starter) // NewPlan has asked
	recordings, err := training(p.Config, p.Data.Dataset(), starter.StartSteps())
	if err != nil {
		return nil, err
	}
	err = starter.Start(recordings, func() bool { return ctx.Err() == nil })
	if errors.Is(err, model.ErrStopped) {
		return nil, fmt.Errorf("start the model: %w", ctx.Err())
	}
	if err != nil {
		return nil, fmt.Errorf("start the model: %w", err)
	}
	p.start.theta = slices.Clone(m.Params().Values)
	return p.start.theta, nil
}

// training are the training episodes, as sequences one by one: whole, or if they have more than so many steps pieces of
// them, evenly spread; 0: as many as there are.
func training(c config.Config, set *files.Dataset, most int) ([]model.Batch, error) {
	_, env, err := config.Data(c)
	if err != nil {
		return nil, err
	}
	if env != nil {
		episodes, length := c.Env.Episodes, c.Env.Length
		if most > 0 { // episodes are alike
			length = min(length, most)
			episodes = min(episodes, max(most/length, 1))
		}
		return worker.SimulatedRecordings(env, c.Seed, episodes, length), nil
	}
	if set == nil {
		return nil, errNoData()
	}
	split, err := divide(c, set)
	if err != nil {
		return nil, err
	}
	return worker.Spread(worker.StoredRecordings(set, split), most), nil
}
