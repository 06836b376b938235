package job

import (
	"fmt"

	"github.com/switchyard-ml/switchyard/envs"
	"github.com/switchyard-ml/switchyard/envs/ball"
	"github.com/switchyard-ml/switchyard/envs/fhn"
	"github.com/switchyard-ml/switchyard/envs/hopper"
	"github.com/switchyard-ml/switchyard/envs/maze"
	"github.com/switchyard-ml/switchyard/envs/noise"
	"github.com/switchyard-ml/switchyard/envs/reacher"
	"github.com/switchyard-ml/switchyard/internal/advice"
	"github.com/switchyard-ml/switchyard/internal/config"
	"github.com/switchyard-ml/switchyard/model"
	"github.com/switchyard-ml/switchyard/model/slds"
	"github.com/switchyard-ml/switchyard/rng"
)

// This file alone knows which environments and models there are, and which keys of a configuration are theirs.

// Recorded reports whether the data of a run are the files of its user, not simulated.
func Recorded(c config.Env) bool { return c.Kind == "files" }

// DataHash is the hash of the data set of a run on recorded data; empty where data are simulated.
func DataHash(c config.Config) string { return c.Env.Hash }

// WithoutPlaces is a configuration without the places of its files: two runs on the same content are the same.
func WithoutPlaces(c config.Config) config.Config {
	c.Env.Files = ""
	return c
}

// NewEnv builds the environment that a configuration describes. There is none for recorded data.
func NewEnv(c config.Env) (envs.Env, error) {
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

// ImageOf is height, width and channels of the observations of an environment; zero if they are no images.
func ImageOf(env envs.Env) [3]int {
	if _, ok := env.(*ball.Env); ok {
		return [3]int{ball.Size, ball.Size, 1}
	}
	return [3]int{}
}

// NewModel builds the model of a configuration by itself, for who evaluates it. Its parameters are the initial ones.
func NewModel(c config.Config) (*slds.Model, error) {
	nx, nu := c.Env.Observations, c.Env.Controls
	if !Recorded(c.Env) {
		env, err := NewEnv(c.Env)
		if err != nil {
			return nil, err
		}
		nx, nu = env.Spec().Observation, env.Spec().Control
	}
	return newModel(c, nx, nu)
}

// newModel builds the model of data with nx observations and nu controls. Its initial parameters are a function of the
// seed.
func newModel(c config.Config, nx, nu int) (*slds.Model, error) {
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

// checkWindow returns an error if the model cannot learn from windows as short as those of the configuration.
func checkWindow(c config.Config) error {
	if k := c.Model.InitialObservations; k >= c.Env.Window {
		return advice.Usagef("model.initial_observations=%d leaves nothing to infer in windows of %d steps", k, c.Env.Window)
	}
	return nil
}

// DescribeModel says in a line what the model is.
func DescribeModel(c config.Config) string {
	return fmt.Sprintf("%s, %s switches with %s weights, %d systems", c.Model.Kind, c.Model.Switching, c.Model.Weights, c.Model.Switches)
}

// Alternative is a setting, key=value, with which the model is worth training, too.
func Alternative(c config.Config) string {
	other := map[string]string{"concrete": "normal", "normal": "concrete"}[c.Model.Switching]
	return "model.switching=" + other
}
