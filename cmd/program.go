package cmd

import (
	"fmt"

	"github.com/switchyard-ml/switchyard/envs"
	"github.com/switchyard-ml/switchyard/envs/ball"
	"github.com/switchyard-ml/switchyard/envs/fhn"
	"github.com/switchyard-ml/switchyard/envs/files"
	"github.com/switchyard-ml/switchyard/envs/hopper"
	"github.com/switchyard-ml/switchyard/envs/maze"
	"github.com/switchyard-ml/switchyard/envs/noise"
	"github.com/switchyard-ml/switchyard/envs/reacher"
	"github.com/switchyard-ml/switchyard/internal/config"
	"github.com/switchyard-ml/switchyard/model"
	"github.com/switchyard-ml/switchyard/model/slds"
	"github.com/switchyard-ml/switchyard/rng"
	"github.com/switchyard-ml/switchyard/worker"
)

// newRunProgram builds what a worker computes for a run: the shards of an update, or the replicas of a run with local steps.
// set is the data of a run on own files.
func newRunProgram(c config.Config, set *files.Dataset, slots int) (worker.Program, error) {
	if !localSteps(c) {
		return newProgram(c, set, slots)
	}
	sequences, window, err := newSequences(c, set)
	if err != nil {
		return nil, err
	}
	var programs []worker.Program
	for range slots {
		p, err := newShards(c, sequences, window, 1)
		if err != nil {
			return nil, err
		}
		programs = append(programs, p)
	}
	return newReplicas(c, programs...)
}

// newProgram builds the program of an update's shards: the sequences and the model that the configuration describes, with
// room for as many gradients at a time as slots.
func newProgram(c config.Config, set *files.Dataset, slots int) (*worker.Shards, error) {
	sequences, window, err := newSequences(c, set)
	if err != nil {
		return nil, err
	}
	return newShards(c, sequences, window, slots)
}

func newShards(c config.Config, sequences worker.Sequences, window, slots int) (*worker.Shards, error) {
	m, err := newModel(c)
	if err != nil {
		return nil, err
	}
	program, err := worker.NewShards(m, sequences, worker.Sampling{
		Seed: c.Seed, Batch: c.Train.Batch, Shards: c.Train.Shards, Window: window, Validation: c.Train.ValidationEpisodes,
	}, slots)
	if err != nil {
		return nil, fmt.Errorf("build the program: %w", err)
	}
	return program, nil
}

// newJobProgram makes the program of a job, which is a resolved configuration, and of the data set that came with it.
func newJobProgram(job, data []byte, slots int) (worker.Program, error) {
	c, err := config.Parse("job", job)
	if err != nil {
		return nil, err
	}
	if len(data) == 0 {
		return newRunProgram(c, nil, slots)
	}
	set, err := files.Decode(data)
	if err != nil {
		return nil, fmt.Errorf("decode the data set: %w", err)
	}
	return newRunProgram(c, set, slots)
}

// newSequences builds what training draws from, and says how many steps a sequence has.
func newSequences(c config.Config, set *files.Dataset) (worker.Sequences, int, error) {
	if c.Env.Kind == "files" {
		if set == nil {
			return nil, 0, fmt.Errorf("build the program: %w: the data set is missing", files.ErrData)
		}
		split, err := ownSplit(c, set)
		if err != nil {
			return nil, 0, err
		}
		recorded, err := worker.NewRecorded(set, split, c.Env.Window)
		return recorded, c.Env.Window, err
	}
	env, err := newEnv(c.Env)
	if err != nil {
		return nil, 0, err
	}
	window := c.Env.Window
	if window == 0 {
		window = c.Env.Length
	}
	simulated, err := worker.NewSimulated(env, c.Seed, c.Env.Episodes, c.Train.ValidationEpisodes, c.Env.Length)
	return simulated, window, err
}

func newEnv(c config.Env) (envs.Env, error) {
	var env envs.Env
	var err error
	switch c.Kind {
	case "fhn":
		env, err = fhn.New(fhn.DefaultConfig())
	case "maze":
		env, err = newMaze(c)
	case "reacher":
		env, err = reacher.New(reacher.DefaultConfig())
	case "ball":
		env, err = newBall(c)
	case "hopper":
		env, err = hopper.New(hopper.DefaultConfig())
	case "noise":
		env, err = noise.New(c.Observations, c.Controls)
	default:
		err = fmt.Errorf("unknown kind %q", c.Kind)
	}
	if err != nil {
		return nil, fmt.Errorf("build the environment: %w", err)
	}
	return env, nil
}

func newMaze(c config.Env) (envs.Env, error) {
	m := maze.A()
	if c.Variant == "b" {
		m = maze.B()
	}
	if c.DT != 0 {
		m.DT = c.DT
	}
	if c.Balls != 0 {
		m.Balls = c.Balls
	}
	return maze.New(m)
}

func newBall(c config.Env) (envs.Env, error) {
	b := ball.DefaultConfig()
	b.Walls = c.Walls
	if c.DT != 0 {
		b.DT = c.DT
	}
	return ball.New(b)
}

// newModel builds the model with its initial parameters, which are a function of the
// seed.
func newModel(c config.Config) (*slds.Model, error) {
	nx, nu := c.Env.Observations, c.Env.Controls // of own data
	if c.Env.Kind != "files" {
		env, err := newEnv(c.Env)
		if err != nil {
			return nil, err
		}
		nx, nu = env.Spec().Observation, env.Spec().Control
	}
	m, err := slds.New(slds.Config{
		Dims:                model.Dims{NX: nx, NU: nu, NZ: c.Model.Latent, M: c.Model.Switches},
		Switching:           slds.Switching(c.Model.Switching),
		Weights:             slds.Weights(c.Model.Weights),
		Hidden:              c.Model.Hidden,
		EncoderHidden:       encoderHidden(c.Model),
		Blocks:              c.Model.Blocks,
		Measurement:         slds.Measurement(c.Model.Measurement),
		MeasurementControls: c.Model.MeasurementControls,
		InitialObservations: c.Model.InitialObservations,
		Emission:            slds.Emission(c.Model.Emission),
		EmissionSD:          slds.EmissionSD(c.Model.EmissionSD),
		Residual:            c.Model.Residual,
		Gate:                c.Model.Gate,
		Hard:                c.Model.Hard,
		KLSamples:           c.Model.KLSamples,
		VarianceFloor:       float32(c.Model.VarianceFloor),
		Rollout:             slds.RolloutSwitch(c.Eval.Rollout),
		Anneal: slds.Anneal{
			Posterior: c.Anneal.Posterior, Prior: c.Anneal.Prior, Start: c.Anneal.Start,
			Rate: c.Anneal.Rate, Every: c.Anneal.Every, KLSwitch: c.Anneal.KLSwitch,
		},
	}, rng.New(c.Seed, rng.Init))
	if err != nil {
		return nil, fmt.Errorf("build the model: %w", err)
	}
	return m, nil
}

func encoderHidden(c config.Model) int {
	if c.EncoderHidden == 0 {
		return c.Hidden
	}
	return c.EncoderHidden
}
