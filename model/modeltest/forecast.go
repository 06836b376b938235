package modeltest

import (
	"math"
	"slices"
	"testing"

	"github.com/switchyard-ml/switchyard/model"
	"github.com/switchyard-ml/switchyard/rng"
)

// query asks for a forecast of three sequences after a prefix of c.First+2 steps.
func (c Case) query() model.Query {
	q := model.Query{
		Prefix: c.Batch(c.First+2, 3), Horizon: 5, Samples: 2, Controls: make([]float32, 5*3*c.NU),
		Noise: Noise(2),
	}
	draws := Noise(4)
	draws.Normals(q.Controls)
	return q
}

// forecast: every element is written also into memory that was used before, equal queries give equal answers, and a
// clone agrees.
func (c Case) forecast(t *testing.T) {
	f, q := c.New(t).NewForecaster(), c.query()
	d := f.Dims()
	if d.NX != c.NX || d.NU != c.NU {
		t.Errorf("%d observations and %d controls, want %d and %d", d.NX, d.NU, c.NX, c.NU)
	}
	var first, second model.Forecast
	f.Forecast(&first, q)
	f.Clone().Forecast(&second, q)
	// The second answer is written over memory full of NaN, of which nothing may be left.
	lists := func(a *model.Forecast) [][]float32 { return [][]float32{a.Mean, a.Paths, a.Draw, a.Switches, a.SD} }
	for i, size := range []int{5 * 3 * c.NX, 2 * 5 * 3 * c.NX, 5 * 3 * c.NX, 5 * 3 * d.M, 2 * 5 * 3 * c.NX} {
		if len(lists(&first)[i]) != size {
			t.Errorf("list %d of the forecast has %d values, want %d", i, len(lists(&first)[i]), size)
		}
		buffer := lists(&second)[i]
		for j := range buffer {
			buffer[j] = float32(math.NaN())
		}
	}
	f.Forecast(&second, q)
	for i, x := range lists(&first) {
		if !slices.Equal(x, lists(&second)[i]) {
			t.Errorf("list %d of a second answer differs", i)
		}
		if slices.ContainsFunc(x, func(v float32) bool { return math.IsNaN(float64(v)) || math.IsInf(float64(v), 0) }) {
			t.Errorf("list %d of the forecast is not finite: %v", i, x)
		}
	}
	if c.Binary && !c.Real && slices.ContainsFunc(first.Draw, func(v float32) bool { return v != 0 && v != 1 }) {
		t.Error("a draw of a binary observation is not binary")
	}
	// A prefix may be shorter than what the initial state reads.
	q.Prefix, q.Noise = c.Batch(1, 3), Noise(2)
	f.Forecast(&second, q) // from a single observation
	if slices.ContainsFunc(second.Mean, func(v float32) bool { return math.IsNaN(float64(v)) }) {
		t.Error("a forecast from one observation is not finite")
	}
}

// seeds: the mean of many paths tends to that of the prediction. Means of two seeds are within five standard errors of
// their difference at every step.
func (c Case) seeds(t *testing.T) {
	const paths, horizon, n = 2000, 5, 2
	f, q := c.New(t).NewForecaster(), model.Query{Prefix: c.Batch(10, n), Horizon: horizon, Samples: paths}
	q.Controls = make([]float32, horizon*n*c.NU)
	var answers [2]model.Forecast
	for i := range answers {
		q.Noise = rng.New(uint64(1+i), rng.Evaluation).At(0, 0, 0)
		f.Forecast(&answers[i], q)
	}
	a, b := answers[0], answers[1]
	for i, mean := range a.Mean {
		// The sample variance of the paths of the first answer.
		var variance float64
		for path := range paths {
			d := float64(a.Paths[path*len(a.Mean)+i] - mean)
			variance += d * d / (paths - 1)
		}
		apart, se := math.Abs(float64(mean-b.Mean[i])), math.Sqrt(2*variance/paths)
		if apart > 5*se+1e-6 {
			t.Errorf("step %d: means of %d paths from two seeds are %v and %v, %.1f standard errors apart",
				1+i/(n*c.NX), paths, mean, b.Mean[i], apart/se)
		}
	}
}

// plan: equal plans for all rollouts are the common plan; another plan for the second rollout changes that one alone.
func (c Case) plan(t *testing.T) {
	if c.NU == 0 {
		return
	}
	f, q := c.New(t).NewForecaster(), c.query()
	var common, each model.Forecast
	f.Forecast(&common, q)
	plan := q.Controls
	q.Controls = slices.Concat(plan, plan)
	f.Forecast(&each, q)
	if !slices.Equal(common.Paths, each.Paths) {
		t.Error("a plan per rollout differs from the same plan for all")
	}
	// The first control of the second rollout's plan.
	q.Controls[len(plan)] += 2
	f.Forecast(&each, q)
	// Paths are [2, Horizon, B, nx], so each half is a rollout.
	half := len(common.Paths) / 2
	if !slices.Equal(common.Paths[:half], each.Paths[:half]) {
		t.Error("the plan of the second rollout changes the first")
	}
	if c.Controlled() && slices.Equal(common.Paths[half:], each.Paths[half:]) {
		t.Error("the plan of the second rollout does not change it")
	}
}

// Controlled reports whether the model uses controls.
func (c Case) Controlled() bool { return c.NU > 0 && !c.IgnoresControls }

// future: what comes after the prefix has no influence, and a control none on what is predicted before it acts. Nor do
// observations on the filter at earlier steps, beyond those that the initial state is inferred from.
func (c Case) future(t *testing.T) {
	f, q := c.New(t).NewForecaster(), c.query()
	n, known := q.Prefix.B, q.Prefix.T
	// The prefix is cut out of longer buffers, so that a model which read beyond it would find something there.
	longer := c.Batch(known+4, n)
	copy(longer.Observations, q.Prefix.Observations)
	copy(longer.Controls, q.Prefix.Controls)
	cut := longer
	cut.T, cut.Observations, cut.Controls = known, longer.Observations[:known*n*c.NX], longer.Controls[:known*n*c.NU]
	var before, after model.Forecast
	q.Prefix = cut
	f.Forecast(&before, q)
	for i := len(cut.Observations); i < len(longer.Observations); i++ {
		longer.Observations[i] = 1 - longer.Observations[i]
	}
	for i := len(cut.Controls); i < len(longer.Controls); i++ {
		longer.Controls[i]++
	}
	f.Forecast(&after, q)
	if !slices.Equal(before.Mean, after.Mean) || !slices.Equal(before.Draw, after.Draw) {
		t.Error("what comes after the prefix changes the forecast")
	}
	if c.NU > 0 {
		const from = 3 // the step whose controls change
		for i := from * n * c.NU; i < (from+1)*n*c.NU; i++ {
			q.Controls[i] += 2
		}
		f.Forecast(&after, q)
		if cut := from * n * c.NX; !slices.Equal(before.Mean[:cut], after.Mean[:cut]) {
			t.Error("a control changes what is predicted before it acts")
		} else if c.Controlled() && slices.Equal(before.Mean[cut:cut+n*c.NX], after.Mean[cut:cut+n*c.NX]) {
			t.Error("a control does not change what is predicted for the step it leads to")
		}
	}
	c.filtering(t, f, cut)
}

// filtering: the last observation of a prefix changes the last state and, unless the model smooths, no state
// before it. A model without a filter passes.
func (c Case) filtering(t *testing.T, f model.Forecaster, b model.Batch) {
	filterer, ok := f.(model.Filterer)
	if !ok {
		return
	}
	d := f.Dims()
	var before, after model.Filtering
	filterer.Filter(&before, b, Noise(0))
	if got, want := len(before.Mean), b.T*b.B*d.NZ; got != want || len(before.SD) != want ||
		len(before.Switches) != b.T*b.B*d.M {
		t.Fatalf("%d means and %d deviations of the state, want %d", got, len(before.SD), want)
	}
	if slices.ContainsFunc(before.SD, func(v float32) bool { return !(v >= 0) }) {
		t.Errorf("standard deviations %v", before.SD)
	}
	// Only the last value of the last observation changes: 1 − x is legal for binary ones, too.
	last := len(b.Observations) - 1
	b.Observations[last] = 1 - b.Observations[last]
	filterer.Filter(&after, b, Noise(0))
	if cut := (b.T - 1) * b.B * d.NZ; slices.Equal(before.Mean[cut:], after.Mean[cut:]) {
		t.Error("the last observation does not change the last state")
	} else if !c.Smooths && !slices.Equal(before.Mean[:cut], after.Mean[:cut]) {
		t.Error("the last observation changes earlier states")
	}
}
