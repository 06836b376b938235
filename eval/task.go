package eval

import (
	"errors"
	"fmt"

	"github.com/switchyard-ml/switchyard/envs"
	"github.com/switchyard-ml/switchyard/model"
	"github.com/switchyard-ml/switchyard/rng"
)

// Task says what a protocol on a simulated environment measures a model with. Test episodes are fresh: training never
// saw them. The result of a protocol is a function of the model, the environment and the task, except Threads.
type Task struct {
	Question
	Seed     uint64 // of the run: the model was trained on episodes 0, 1, … under this seed
	Training int    // training episodes; what is fitted (baselines, linear probes) uses at most Episodes of them
	Length   int    // steps of a training episode
	Samples  int    // latent rollouts whose average is the predictive mean
}

// DefaultPrefix is how many steps the protocols of the paper filter before they predict.
const DefaultPrefix = 4

// validate returns ErrOptions for each number that is too small, joined with ErrDims if the model does not fit; it
// may leave the controls out.
func (t Task) validate(d model.Dims, s envs.Spec) error {
	return errors.Join(atLeast(
		least{"Training", t.Training, 1}, least{"Length", t.Length, 4}, least{"Episodes", t.Episodes, 1},
		least{"Prefix", t.Prefix, 1}, least{"Samples", t.Samples, 1}, least{"Threads", t.Threads, 0},
	), fits(d, s, true))
}

// least is an option and the least that it may be.
type least struct {
	name     string
	v, least int
}

// atLeast returns the options that are less than they may be, as ErrOptions.
func atLeast(options ...least) error {
	var errs []error
	for _, o := range options {
		if o.v < o.least {
			errs = append(errs, fmt.Errorf("%w: %s = %d, want at least %d", ErrOptions, o.name, o.v, o.least))
		}
	}
	return errors.Join(errs...)
}

// fits returns ErrDims unless a model has the dimensions of an environment, without its controls if it may.
func fits(d model.Dims, s envs.Spec, uncontrolled bool) error {
	if d.NX == s.Observation && (d.NU == s.Control || uncontrolled && d.NU == 0) {
		return nil
	}
	return fmt.Errorf("%w: %d observations and %d controls, %s has %d and %d", ErrDims, d.NX, d.NU, s.Name, s.Observation,
		s.Control)
}

// test simulates the first steps of the test episodes. They are the same for every protocol and every model with
// this seed.
func (t Task) test(env envs.Env, steps int) trials {
	return simulateTrials(env, rng.New(t.Seed, rng.Episode), firstFresh, t.Episodes, steps)
}

// training simulates episodes that the model was trained on, of as many steps at least.
func (t Task) training(env envs.Env, steps int) trials {
	return simulateTrials(env, rng.New(t.Seed, rng.Episode), 0, min(t.Training, t.Episodes), max(t.Length, steps))
}

// Draws of the noise of an evaluation, apart from each other: the last word of the address of a stream.
const (
	noiseOfForecast  = 0 // and 1, 2 and 3 for the oscillator's stimulus and picture
	noiseOfFan       = 4
	noiseOfUndoing   = 5 // of transforms, by start and recording
	noiseOfNumbering = 6
	noiseOfTraining  = 64 // filtering of training episodes, one path after the other
	noiseOfTest      = 128
)

// plan forecasts horizon steps after the prefix under the true controls.
func (t Task) plan(horizon int) forecastPlan {
	return forecastPlan{
		from: t.Prefix - 1, to: t.Prefix - 1, horizon: horizon, samples: t.Samples, stimulus: known,
		noise: rng.New(t.Seed, rng.Evaluation), threads: t.Threads,
	}
}

// forecasts forecasts every trial after the prefix and hands each answer out with the trials that it is about. Calls
// are concurrent; each is about trials of its own. Each call has an answer of its own, which it may keep.
func (t Task) forecasts(f model.Forecaster, d trials, horizon int, use func(c chunk, answer *model.Forecast)) {
	plan := t.plan(horizon)
	work := chunks(d.N, plan.from, plan.to)
	forEach(f, t.Threads, len(work), func(f model.Forecaster, i int) { use(work[i], plan.forecast(f, d, work[i])) })
}

// note says what the numbers of a protocol are averages of.
func (t Task) note() string {
	return fmt.Sprintf("%d test episodes that training never saw, %d steps seen; mean of %d rollouts unless it says one.",
		t.Episodes, t.Prefix, t.Samples)
}

// metrics are the counts that a report of the task begins with.
func (t Task) metrics() []Metric {
	return []Metric{count("episodes", t.Episodes), count("prefix", t.Prefix), count("samples", t.Samples)}
}
