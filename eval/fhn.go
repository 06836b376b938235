package eval

import (
	"errors"
	"fmt"

	"github.com/switchyard-ml/switchyard/envs/fhn"
	"github.com/switchyard-ml/switchyard/model"
	"github.com/switchyard-ml/switchyard/rng"
)

// FHNOptions says how a model of the FitzHugh–Nagumo oscillator is evaluated. Start from DefaultFHNOptions.
type FHNOptions struct {
	Question             // Horizon: default 30. Fresh trajectories are as many as those of training
	Constants fhn.Config // of the oscillator; default those of the paper
	Seed      uint64     // of the run: the model was trained on episodes 0, 1, … under this seed
	Training  int        // trajectories of training; default 100
	Length    int        // steps of each that training saw; default 400
	Samples   int        // latent rollouts whose average is the predictive mean; default 32
	Window    int        // last observations before the start that are filtered; default 0 = all
}

// DefaultFHNOptions is the protocol of the paper for the run of seed 1.
func DefaultFHNOptions() FHNOptions {
	return FHNOptions{
		Question: Question{Horizon: 30}, Constants: fhn.DefaultConfig(), Seed: 1, Training: 100, Length: 400, Samples: 32,
	}
}

// validate returns ErrOptions for every number that is too small and ErrDims for a model of other dimensions,
// joined. A model without controls may be measured: the stimulus is unknown to it.
func (o FHNOptions) validate(d model.Dims) error {
	errs := []error{atLeast(
		least{"Training", o.Training, 1}, least{"Length", o.Length, 4}, // four points determine the linear baseline
		least{"Horizon", o.Horizon, 1}, least{"Samples", o.Samples, 1}, least{"Window", o.Window, 0},
		least{"Threads", o.Threads, 0},
	)}
	// The two observations are v and w, the control is the stimulus u.
	if d.NX != 2 || d.NU > 1 {
		errs = append(errs, fmt.Errorf("%w: %d observations and %d controls, the oscillator has 2 and 1 (or 0 controls)",
			ErrDims, d.NX, d.NU))
	}
	return errors.Join(errs...)
}

// ModelR2 is the R² of a model at each horizon k = 1, 2, … (element k−1). NaN where nothing was scored.
type ModelR2 struct {
	Mean []float64 // of the average of the rollouts' decoder means
	Draw []float64 // of a single rollout with decoder noise
}

// FHNReading is what one choice of starts gives. Element k−1 of a list belongs to horizon k = 1 … Horizon.
type FHNReading struct {
	Unknown ModelR2 // the model is given u = 0 at every step; comparable with the literature
	// the model is given draws from the stimulus' distribution, after the start others in every rollout
	Drawn       ModelR2
	Known       ModelR2   // the model is given the true stimulus, in the prefix and after it
	Ceiling     []float64 // the true system under the mean stimulus
	Linear      []float64 // global linear least squares on the training part, iterated
	Persistence []float64 // nothing changes
}

// FHNReport is the result of the protocol FHN.
type FHNReport struct {
	Options   FHNOptions
	AtStart   FHNReading  // one forecast per trajectory, from the last step that training saw
	AllStarts *FHNReading // forecasts from every start before and in the held-out window; nil unless asked for
}

// FHN measures the multi-step prediction of the FitzHugh–Nagumo oscillator (Becker-Ehmck et al. 2019, section
// "FitzHugh-Nagumo"): the model filters the first Length steps of each trajectory, predicts the Horizon steps that
// follow, and is scored by R²_k of Nassar et al. 2019, eq. 31, with the mean of the whole trajectory (see the type
// r2).
//
// The trajectories are those of training, simulated Horizon steps further: what follows step Length was withheld. The
// result depends on the model and the options alone, except Threads. It returns ErrOptions or ErrDims, joined, before
// anything is computed.
func FHN(f model.Forecaster, o FHNOptions) (FHNReport, error) {
	if err := o.validate(f.Dims()); err != nil {
		return FHNReport{}, err
	}
	env, err := fhn.New(o.Constants)
	if err != nil {
		return FHNReport{}, fmt.Errorf("build the oscillator: %w", err)
	}
	training := o.trajectories(env, 0)
	test := training
	if o.Fresh {
		test = o.trajectories(env, firstFresh)
	}
	linear, err := fitLinear(training, o.Length)
	if err != nil {
		return FHNReport{}, err
	}
	// u = 0 is the mean of the stimulus: what a predictor can know that is not told the draws.
	ceiling := func(dst, x []float64) { dst[0], dst[1] = env.Step(x[0], x[1], 0) }
	means := test.means()
	// One reading is all predictors on the starts Length−1 … last; the model answers three times, by what it is
	// told of the stimulus.
	read := func(last int) FHNReading {
		plan := o.plan(last)
		scored := func(s stimulus) ModelR2 {
			plan.stimulus = s
			return plan.run(f, test, means)
		}
		return FHNReading{
			Unknown:     scored(withheld),
			Drawn:       scored(drawn),
			Known:       scored(known),
			Ceiling:     step(ceiling).score(test, means, plan.from, plan.to, o.Horizon),
			Linear:      linear.score(test, means, plan.from, plan.to, o.Horizon),
			Persistence: step(persistence).score(test, means, plan.from, plan.to, o.Horizon),
		}
	}
	report := FHNReport{Options: o, AtStart: read(o.Length - 1)}
	if o.AllStarts {
		all := read(o.Length + o.Horizon - 2)
		report.AllStarts = &all
	}
	return report, nil
}

// trajectories simulates the run's episodes from index first on, to the end of the horizon. Each has
// Length+Horizon steps, the last Horizon of which training did not see.
func (o FHNOptions) trajectories(env *fhn.Env, first uint32) trials {
	return simulateTrials(env, rng.New(o.Seed, rng.Episode), first, o.Training, o.Length+o.Horizon)
}

// plan forecasts from the last step of training to start last. The stimulus is left at its zero value; the caller
// sets it.
func (o FHNOptions) plan(last int) forecastPlan {
	return forecastPlan{
		from: o.Length - 1, to: last, window: o.Window, horizon: o.Horizon, samples: o.Samples,
		noise: rng.New(o.Seed, rng.Evaluation), threads: o.Threads,
	}
}
