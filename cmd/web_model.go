package cmd

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"

	"github.com/switchyard-ml/switchyard"
	"github.com/switchyard-ml/switchyard/config"
	"github.com/switchyard-ml/switchyard/envs/files"
	"github.com/switchyard-ml/switchyard/rng"
	"github.com/switchyard-ml/switchyard/trained"
)

// modelView is what the page shows of the model of a run: its best checkpoint, on a series that training did not see.
func (a *app) modelView(_ context.Context, name string) (any, error) {
	run, err := switchyard.Open(filepath.Join(a.runsDir, name), config.Of(a.kinds))
	if err != nil {
		return nil, err
	}
	unseen, columns, image, err := a.unseen(run, name)
	if err != nil {
		return nil, err
	}
	return trained.NewPortrait(run, unseen, columns, image)
}

// held is a recording that is held out; if it is the end of one that was split by time, with what is before it.
func held(list []switchyard.Recording) switchyard.Recording {
	at := 0
	for i, r := range list {
		if r.Part == files.Test || r.Part == files.Validation && list[at].Part != files.Test {
			at = i
		}
	}
	chosen := list[at]
	whole := switchyard.Join(list[:at+1])
	joined := whole[len(whole)-1]
	switch {
	case chosen.Part == files.Training:
		chosen.Name = "training data, since nothing is held out"
	case len(joined.Observations) > len(chosen.Observations):
		joined.Name = fmt.Sprintf("%s, of which the last %d steps are held out", filepath.Base(joined.Name),
			len(chosen.Observations))
		return joined
	default:
		chosen.Name = "held-out " + filepath.Base(chosen.Name)
	}
	return chosen
}

// unseen is a series that the run was not trained on: a held-out recording, or an episode that is simulated anew.
func (a *app) unseen(run *switchyard.Run, name string) (switchyard.Recording, switchyard.Columns, [3]int, error) {
	list, columns, err := run.Recordings()
	if err == nil {
		return held(list), columns, [3]int{}, nil
	}
	if !errors.Is(err, switchyard.ErrUnable) {
		return switchyard.Recording{}, columns, [3]int{}, err
	}
	c, err := a.runConfig(name)
	if err != nil {
		return switchyard.Recording{}, columns, [3]int{}, err
	}
	env, err := config.Environment(c)
	if err != nil {
		return switchyard.Recording{}, columns, [3]int{}, err
	}
	// Another stream than that of the training episodes, which begin at the seed of the run.
	d, err := files.Generate(env, rng.New(c.Seed, rng.Evaluation), 1, max(c.Env.Length, 2*c.Eval.Horizon), imageOf(env))
	if err != nil {
		return switchyard.Recording{}, columns, [3]int{}, fmt.Errorf("simulate an episode: %w", err)
	}
	list, columns = switchyard.RecordingsOf(d)
	list[0].Name = "an episode of " + c.Env.Kind + " that is simulated anew"
	return list[0], columns, imageOf(env), nil
}
