// Package modeltest checks what every family of models owes: a right gradient of its whole loss, terms that sum to it,
// the same bits for equal arguments, no influence of missing values, forecasts that never see beyond their prefix, and
// a training step that does not allocate. It also has the linear-Gaussian system whose evidence is known exactly. It
// knows models by the interfaces of package model alone.
package modeltest

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"github.com/switchyard-ml/switchyard/autodiff"
	"github.com/switchyard-ml/switchyard/model"
	"github.com/switchyard-ml/switchyard/rng"
)

// Model is what is checked: a family that is trained by gradient and forecasts.
type Model interface {
	model.Trainable
	model.Forecasting
}

// Case is a configuration of a family.
type Case struct {
	New    func(t testing.TB) Model // a new model, always with the same parameters
	NX, NU int
	Binary bool // observations are 0 or 1
	First  int  // observations at the start from which the initial state is inferred; missing values are zeros there

	IgnoresControls bool  // controls have no influence
	Smooths         bool  // an observation has influence on states before it
	Unswitched      bool  // weights follow from the state, and no switch goes on from step to step
	Real            bool  // draws are real numbers, of binary observations too
	Body            []int // channels of one body, where there are several
	Interacts       bool  // bodies act on each other, beside what their systems do

	Golden string // what Bits returns
}

// Run makes all checks of the package.
func (c Case) Run(t *testing.T) {
	t.Run("gradient", c.gradient)
	t.Run("terms", c.terms)
	t.Run("golden", c.golden)
	t.Run("missing", c.missing)
	t.Run("weights", c.weights)
	t.Run("forecast", c.forecast)
	t.Run("plan", c.plan)
	t.Run("seeds", c.seeds)
	t.Run("future", c.future)
	t.Run("answers", c.answers)
	t.Run("graphs", c.Graphs)
	t.Run("allocations", c.allocations)
}

// Batch returns n random sequences of the given number of steps, always the same ones: standard normal
// observations, or ones and zeros with equal probability, and standard normal controls, those of the first step
// zero.
func (c Case) Batch(steps, n int) model.Batch {
	var b model.Batch
	b.Resize(steps, n, c.NX, c.NU)
	draws := rng.New(19, rng.Episode).At(0, 0, 0)
	draws.Normals(b.Observations)
	draws.Normals(b.Controls)
	clear(b.Controls[:n*c.NU])
	if c.Binary {
		for i, v := range b.Observations {
			b.Observations[i] = 0
			if v > 0 {
				b.Observations[i] = 1
			}
		}
	}
	return b
}

// Noise is the noise of a step, the same in every call.
func Noise(step uint64) rng.Stream { return rng.New(23, rng.Noise).At(step, 0, 0) }

// step is one in the middle of any schedule.
const step = 150

// gradient checks the gradient of the whole loss in random directions of θ, and of every weight alone: in a direction
// of all of θ a small gradient would hide behind the large ones.
func (c Case) gradient(t *testing.T) {
	m := c.New(t)
	for _, fault := range c.faults(m, c.Batch(5, 3), true) {
		t.Error(fault)
	}
	tape, terms := autodiff.NewTape(m.Params()), make([]float32, len(m.Terms()))
	tape.Backward(m.Loss(tape, c.Batch(5, 3), Noise(0), step, terms))
	for _, w := range m.Params().Layout() {
		if !slices.ContainsFunc(tape.Gradient[w.Offset:w.Offset+w.Size], func(g float32) bool { return g != 0 }) {
			t.Errorf("no gradient reaches %s", w.Name)
		}
	}
}

// points is at how many parameters a gradient is checked: a rectifier whose kink is near spoils the differences at one
// of them, a wrong gradient is wrong at all.
const points = 4

// faults returns what is wrong with the gradient at all points: random ones near the initial parameters, but away from
// them, since some weights are so small there that others have hardly a gradient.
func (c Case) faults(m Model, b model.Batch, byWeight bool) []string {
	p := m.Params()
	start := slices.Clone(p.Values)
	defer func() { copy(p.Values, start); p.Pack() }()
	wrong := map[string]int{}
	last := map[string]error{}
	for point := range uint64(points) {
		draws := rng.New(7, rng.Init).At(point, 0, 0)
		for i := range p.Values {
			p.Values[i] = start[i] + float32(0.2*draws.Normal())
		}
		// A name is at fault only if it is wrong at every point.
		for name, err := range c.check(m, b, byWeight) {
			wrong[name]++
			last[name] = err
		}
	}
	var faults []string
	for name, count := range wrong {
		if count == points {
			faults = append(faults, fmt.Sprintf("%s: %v", name, last[name]))
		}
	}
	return faults
}

// check returns what is wrong with the gradient here, by weight or for all of θ.
func (c Case) check(m Model, b model.Batch, byWeight bool) map[string]error {
	p := m.Params()
	tape, terms := autodiff.NewTape(p), make([]float32, len(m.Terms()))
	loss := func() float64 {
		p.Pack()
		tape.Reset()
		return float64(m.Loss(tape, b, Noise(0), step, terms).Value[0])
	}
	loss()
	tape.Reset()
	tape.Backward(m.Loss(tape, b, Noise(0), step, terms))
	gradient := slices.Clone(tape.Gradient)
	faults := map[string]error{}
	check := autodiff.GradCheck{
		Values: p.Values, Gradient: gradient, Loss: loss, Directions: 4, Steps: []float64{1e-3, 3e-4, 5e-5}, Tolerance: 1e-2,
	}
	directions := rng.New(1, rng.Evaluation).At(0, 0, 0)
	if err := check.Run(directions.Normal); err != nil {
		faults["all weights"] = err
	}
	if !byWeight {
		return faults
	}
	// Of a single weight the loss changes less, so steps are longer and the tolerance is wider.
	check.Directions, check.Steps, check.Tolerance = 1, []float64{1e-2, 3e-3, 1e-3, 3e-4}, 3e-2
	for _, w := range p.Layout() {
		check.Values, check.Gradient = p.Values[w.Offset:w.Offset+w.Size], gradient[w.Offset:w.Offset+w.Size]
		if err := check.Run(directions.Normal); err != nil {
			faults[w.Name] = err
		}
	}
	return faults
}

// terms: at the end of all schedules the loss is the weighted sum of its terms.
func (c Case) terms(t *testing.T) {
	m := c.New(t)
	list := m.Terms()
	tape, terms := autodiff.NewInferenceTape(m.Params()), make([]float32, len(list))
	loss := m.Loss(tape, c.Batch(6, 2), Noise(0), model.EndOfSchedule, terms)
	var want float64
	for i, term := range list[1:] {
		want += term.Weight * float64(terms[1+i])
	}
	if got := float64(terms[0]); math.Abs(got-want) > 1e-5*math.Abs(want)+1e-5 || loss.Value[0] != terms[0] {
		t.Errorf("loss %v, reported %v, terms sum to %v", loss.Value[0], got, want)
	}
	for _, term := range list {
		if term.Name == "" || term.Label == "" || term.Short == "" || term.Unit == "" {
			t.Errorf("term %+v is not described", term)
		}
	}
	c.usage(t, m, list, terms)
}

// usage: at a validation the shares of the systems sum to 1, and their mean entropy is no more than that of the shares;
// a training step has zeros.
func (c Case) usage(t *testing.T, m model.Trainable, list []model.Term, terms []float32) {
	u, known := model.UsageOf(list, terms)
	if !known {
		return
	}
	sum := 0.0
	for _, share := range u.Shares {
		sum += share
	}
	if math.Abs(sum-1) > 1e-5 || u.Entropy < 0 || u.Entropy > math.Log(u.InUse())+1e-5 {
		t.Errorf("the shares %v of the systems sum to %v; entropy %v of at most %v", u.Shares, sum, u.Entropy,
			math.Log(u.InUse()))
	}
	m.Loss(autodiff.NewInferenceTape(m.Params()), c.Batch(6, 2), Noise(0), step, terms)
	if u, _ := model.UsageOf(list, terms); u.Largest() != 0 || u.Entropy != 0 {
		t.Errorf("a training step reports the use %+v of the systems", u)
	}
}

// missing: what stands at a missing value has no influence, a mask of ones has none either, and the gradient with
// missing values is right.
func (c Case) missing(t *testing.T) {
	m := c.New(t)
	tape, terms := autodiff.NewTape(m.Params()), make([]float32, len(m.Terms()))
	loss := func(b model.Batch) float32 {
		m.Params().Pack()
		tape.Reset()
		return m.Loss(tape, b, Noise(0), step, terms).Value[0]
	}
	n := 3
	b := c.Batch(c.First+3, n)
	whole := loss(b)
	b.Seen = slices.Repeat([]float32{1}, len(b.Observations))
	if got := loss(b); got != whole {
		t.Errorf("a mask of ones changes the loss from %v to %v", whole, got)
	}
	// Values are missing only behind the first observations, which the initial state reads as they are: a whole
	// row, one in part, and the last step.
	at := func(t, sequence, i int) int { return (t*n+sequence)*c.NX + i }
	for _, i := range []int{at(c.First, 1, 0), at(c.First, 1, c.NX-1), at(c.First+2, 1, 0), at(c.First+2, 2, c.NX-1)} {
		b.Seen[i], b.Observations[i] = 0, 0
	}
	masked := loss(b)
	if masked == whole {
		t.Errorf("missing values leave the loss at %v", masked)
	}
	for _, fault := range c.faults(m, b, false) {
		t.Error(fault)
	}
	for i, seen := range b.Seen {
		if seen == 0 {
			b.Observations[i] = 1
		}
	}
	if got := loss(b); got != masked {
		t.Errorf("the values at missing places change the loss from %v to %v", masked, got)
	}
}
