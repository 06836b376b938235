package eval

import (
	"errors"
	"fmt"
	"strconv"

	"github.com/switchyard-ml/switchyard/envs"
	"github.com/switchyard-ml/switchyard/model"
	"github.com/switchyard-ml/switchyard/rng"
)

// AheadOptions says how a model of any simulated environment is evaluated by the protocol Ahead. Of the Question,
// Episodes, Horizon and Threads are read.
type AheadOptions struct {
	Question
	Seed    uint64 // of the run
	Length  int    // steps of each trajectory that are filtered
	Samples int    // latent rollouts whose average is the predictive mean
	Window  int    // last steps before the start that are filtered; 0 = all
}

// validate returns ErrOptions for every number that is too small, joined with ErrDims if the model has other
// dimensions than the environment: controls that the environment has are not optional here.
func (o AheadOptions) validate(d model.Dims, s envs.Spec) error {
	return errors.Join(atLeast(
		least{"Episodes", o.Episodes, 1}, least{"Length", o.Length, 4}, least{"Horizon", o.Horizon, 1},
		least{"Samples", o.Samples, 1}, least{"Window", o.Window, 0}, least{"Threads", o.Threads, 0},
	), fits(d, s, false))
}

// AheadReport is the result of the protocol Ahead: R²_k, k = 1 … Horizon, in element k−1 of each list.
type AheadReport struct {
	Options     AheadOptions
	Environment string
	Model       ModelR2   // given the controls, before and after the start
	Linear      []float64 // global linear least squares without controls, iterated
	Persistence []float64 // nothing changes
}

// Ahead measures the prediction of a simulated environment several steps ahead: the model filters the first Length
// steps of trajectories that training never saw, predicts the Horizon steps that follow under the controls that
// were applied, and is scored by R²_k of Nassar et al. 2019, eq. 31 (see the type r2). The result depends on
// model, environment and options alone, except Threads. It returns ErrOptions or ErrDims, joined, before anything
// is computed.
func Ahead(f model.Forecaster, env envs.Env, o AheadOptions) (AheadReport, error) {
	spec := env.Spec()
	if err := o.validate(f.Dims(), spec); err != nil {
		return AheadReport{}, err
	}
	test := simulateTrials(env, rng.New(o.Seed, rng.Episode), firstFresh, o.Episodes, o.Length+o.Horizon)
	means, start := test.means(), o.Length-1
	// There is one start a trajectory, its step Length−1, so that every trajectory counts once at each horizon.
	plan := forecastPlan{
		from: start, to: start, window: o.Window, horizon: o.Horizon, samples: o.Samples, stimulus: known,
		noise: rng.New(o.Seed, rng.Evaluation), threads: o.Threads,
	}
	report := AheadReport{
		Options: o, Environment: spec.Name, Model: plan.run(f, test, means),
		Persistence: step(persistence).score(test, means, start, start, o.Horizon),
	}
	training := simulateTrials(env, rng.New(o.Seed, rng.Episode), 0, o.Episodes, o.Length)
	linear, err := fitStep(training)
	if err != nil {
		return AheadReport{}, err
	}
	report.Linear = linear.score(test, means, start, start, o.Horizon)
	return report, nil
}

// fitStep is fitLinear for environments in general, where observations may depend on each other or never change.
// Features are the observation before the step alone. The predictor keeps a buffer: it serves one goroutine.
func fitStep(d trials) (step, error) {
	var x, y []float64
	for n := range d.N {
		for t := 1; t < d.T; t++ {
			x, y = append(x, widen(d.at(n, t-1))...), append(y, widen(d.at(n, t))...)
		}
	}
	w, err := leastSquares(x, y, d.NX, d.NX)
	if err != nil {
		return nil, fmt.Errorf("fit the linear baseline: %w", err)
	}
	// dst may be x, and apply must not write where it reads.
	next := make([]float64, d.NX)
	return func(dst, x []float64) {
		w.apply(next, x)
		copy(dst, next)
	}, nil
}

// Table shows horizon 1 and the multiples of a tenth of Horizon, rounded down: all horizons where these are fewer
// than twenty.
func (r AheadReport) Table() Table {
	t := Table{Title: r.Environment + ", R² of predictions k steps ahead", Corner: "k", Decimals: 3}
	every := max(1, r.Options.Horizon/10)
	var shown []int
	for k := 1; k <= r.Options.Horizon; k++ {
		if k == 1 || k%every == 0 {
			shown, t.Columns = append(shown, k), append(t.Columns, strconv.Itoa(k))
		}
	}
	for i, name := range []string{"model", "  one draw", "linear least squares", "persistence"} {
		t.pick(name, r.curves()[i], shown)
	}
	t.Notes = []string{fmt.Sprintf("%d trajectories that training never saw, filtered to step %d; mean of %d rollouts "+
		"unless it says one draw.",
		r.Options.Episodes, r.Options.Length, r.Options.Samples)}
	return t
}

// CurveTable holds every horizon.
func (r AheadReport) CurveTable() Table {
	t := Table{Corner: "k", Decimals: 4}
	for i, name := range []string{"model", "draw", "linear", "persistence"} {
		t.column(name, r.curves()[i])
	}
	return t
}

// curves are the rows of the tables in their order, [4][Horizon]: model, one draw of it, linear, persistence.
func (r AheadReport) curves() [][]float64 {
	return [][]float64{r.Model.Mean, r.Model.Draw, r.Linear, r.Persistence}
}

// Metrics is what Ahead reports, before it is measured. The values are NaN.
func (o AheadOptions) Metrics() []Metric {
	none := missing(o.Horizon)
	return AheadReport{Options: o, Model: ModelR2{none, none}, Linear: none, Persistence: none}.Report().Metrics
}

// Report returns the figures in the form that scripts read. Lists hold horizons 1 … Horizon.
func (r AheadReport) Report() Report {
	o := r.Options
	return Report{Protocol: "ahead", Metrics: []Metric{
		count("episodes", o.Episodes), count("length", o.Length), count("horizon", o.Horizon), count("samples", o.Samples),
		count("window", o.Window),
		value("r2_final", r.Model.Mean[o.Horizon-1]),
		list("r2", r.Model.Mean), list("r2_draw", r.Model.Draw), list("r2_linear", r.Linear),
		list("r2_persistence", r.Persistence),
	}}
}
