package job

import (
	"fmt"

	"github.com/switchyard-ml/switchyard/config"
	"github.com/switchyard-ml/switchyard/envs/files"
	"github.com/switchyard-ml/switchyard/model"
	"github.com/switchyard-ml/switchyard/worker"
)

// NewProgram builds the program of a worker: the shards of an update, the replicas of a run with local steps, or the
// chains of a model that fits itself. set is the data of a run on own files, nil for others; it is shared, not
// copied. slots is how many shards are computed at the same time, each with memory of its own. Without a data set
// that the run needs, the error matches files.ErrData.
func NewProgram(c config.Config, set *files.Dataset, slots int) (worker.Program, error) {
	if s, ok := config.Sweeps(c); ok {
		return newChains(c, s, set, slots)
	}
	if !LocalSteps(c) {
		return NewShards(c, set, slots)
	}
	from, err := newSource(c, set)
	if err != nil {
		return nil, err
	}
	// Each slot has a model of its own: replicas have different parameters at the same time. They share the
	// sequences.
	var programs []*worker.Shards
	for range slots {
		p, err := newShards(c, from, 1)
		if err != nil {
			return nil, err
		}
		programs = append(programs, p)
	}
	return newReplicas(c, programs...)
}

// NewShards builds the program of the shards of an update: the sequences and the model of the configuration, with
// memory for one gradient in each slot.
func NewShards(c config.Config, set *files.Dataset, slots int) (*worker.Shards, error) {
	from, err := newSource(c, set)
	if err != nil {
		return nil, err
	}
	return newShards(c, from, slots)
}

// newShards is NewShards for sequences that exist.
func newShards(c config.Config, from source, slots int) (*worker.Shards, error) {
	m, err := newModel(c, from.data)
	if err != nil {
		return nil, err
	}
	program, err := worker.NewShards(m, from.sequences, worker.Sampling{
		Seed: c.Seed, Batch: c.Train.Batch, Shards: c.Train.Shards, Window: from.window,
		Validation: c.Train.ValidationEpisodes,
		Importance: c.Eval.Importance,
	}, slots)
	if err != nil {
		return nil, fmt.Errorf("build the program: %w", err)
	}
	return program, nil
}

// Build returns the function by which a worker builds the program of a job. A job is a resolved configuration, with its
// data set if it has one.
func Build(kinds *config.Kinds) func(job, data []byte, slots int) (worker.Program, error) {
	return func(job, data []byte, slots int) (worker.Program, error) {
		c, err := kinds.Parse("job", job)
		if err != nil {
			return nil, err
		}
		if len(data) == 0 {
			return NewProgram(c, nil, slots)
		}
		set, err := files.Decode(data)
		if err != nil {
			return nil, fmt.Errorf("decode the data set: %w", err)
		}
		return NewProgram(c, set, slots)
	}
}

// source is the source of training sequences.
type source struct {
	sequences worker.Sequences
	window    int // time steps of a sequence
	data      model.Data
}

// newSource builds the source of a configuration, including the environment if data are simulated.
func newSource(c config.Config, set *files.Dataset) (source, error) {
	data, env, err := config.Data(c)
	if err != nil {
		return source{}, err
	}
	s := source{window: c.Sequence(), data: data}
	if env == nil {
		return s, s.recordings(c, set)
	}
	s.sequences, err = worker.NewSimulated(env, c.Seed, c.Env.Episodes, c.Train.ValidationEpisodes, c.Env.Length)
	return s, err
}

// errNoData is the error for a run on own files whose data set was not given.
func errNoData() error {
	return fmt.Errorf("build the program: %w: the data set is missing", files.ErrData)
}

// recordings fills in the windows of a data set, divided as when the run began.
func (s *source) recordings(c config.Config, set *files.Dataset) error {
	if set == nil {
		return errNoData()
	}
	split, err := divide(c, set)
	if err != nil {
		return err
	}
	s.window = c.Env.Window
	s.sequences, err = worker.NewRecorded(set, split, c.Env.Window)
	return err
}
