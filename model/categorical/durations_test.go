package categorical

import (
	"math"
	"testing"

	"github.com/switchyard-ml/switchyard/autodiff"
	"github.com/switchyard-ml/switchyard/model"
	"github.com/switchyard-ml/switchyard/model/modeltest"
	"github.com/switchyard-ml/switchyard/rng"
)

// TestAges_WithoutOdds_ChangeNothing: a switch whose chance to stay is the same at all ages has bound, gradient,
// segmentation and forecast of one without ages, whatever the first ages are. It is what training begins with.
func TestAges_WithoutOdds_ChangeNothing(t *testing.T) {
	for _, rows := range []bool{false, true} {
		c := tiny()
		c.Rows = rows
		plain := newModel(c)
		c.Ages = 4
		for _, v := range New(c, rng.New(5, rng.Init)).transition.hold.Values() {
			if v != 0 {
				t.Fatalf("training begins with odds %v", v)
			}
		}
		aged := newModel(c)
		clear(aged.transition.hold.Values())
		of := map[string]autodiff.Named{}
		for _, w := range aged.Params().Layout() {
			of[w.Name] = w
		}
		near := func(what string, got, want []float32) {
			t.Helper()
			for i, v := range want {
				if math.Abs(float64(got[i]-v)) > 2e-5*(1+math.Abs(float64(v))) {
					t.Fatalf("rows %v: %s %d is %v, want %v", rows, what, i, got[i], v)
				}
			}
		}
		for _, w := range plain.Params().Layout() {
			at := of[w.Name].Offset
			copy(aged.Params().Values[at:at+w.Size], plain.Params().Values[w.Offset:w.Offset+w.Size])
		}
		aged.Params().Pack()
		b := contract(c, "").Batch(9, 3)
		gradient := func(m *Model) []float32 {
			tape, terms := autodiff.NewTape(m.Params()), make([]float32, len(m.Terms()))
			tape.Backward(m.Loss(tape, b, modeltest.Noise(2), 0, terms))
			return append(tape.Gradient, terms[:4]...)
		}
		got, want := gradient(aged), gradient(plain)
		for _, w := range plain.Params().Layout() {
			at := of[w.Name].Offset
			near("gradient of "+w.Name, got[at:at+w.Size], want[w.Offset:w.Offset+w.Size])
		}
		near("term", got[aged.Params().Len():], want[plain.Params().Len():])
		answers := func(m *Model) (model.Segmentation, model.Forecast) {
			var s model.Segmentation
			var f model.Forecast
			answer := m.NewForecaster().(*Forecaster)
			answer.Segment(&s, b, 2, modeltest.Noise(3))
			answer.Forecast(&f, model.Query{
				Prefix: b, Horizon: 5, Samples: 3, Controls: make([]float32, 5*b.B*c.NU), Noise: modeltest.Noise(4),
			})
			return s, f
		}
		s, f := answers(aged)
		s0, f0 := answers(plain)
		near("probability", s.Probability, s0.Probability)
		near("forecast", f.Mean, f0.Mean)
	}
}

// TestRoll_KeepsDurations: what a model draws, and what a filter goes on with, has the durations that the odds demand:
// system j lasts j+2 steps, whichever came before. The first system began before the first step.
func TestRoll_KeepsDurations(t *testing.T) {
	c := tiny()
	c.M, c.NU, c.Ages = 3, 0, 5
	m := newModel(c)
	for i := range m.transition.hold.Values() {
		j, age := i/c.Ages, i%c.Ages+1
		if m.transition.hold.Values()[i] = 30; age >= j+2 {
			m.transition.hold.Values()[i] = -30
		}
	}
	m.Params().Pack()
	const steps, n = 40, 6
	tape := autodiff.NewInferenceTape(m.Params())
	noise := modeltest.Noise(5)
	d := m.Imagined(tape, steps, n, tape.NewConstant((steps-1)*n, 0), &noise)
	for row := range n {
		check(t, c.M, steps-1, func(i int) []float32 { return d.Weights.Block(i, n).Slice(row, row+1).Value })
	}
	f := m.NewForecaster().(*Forecaster)
	b := contract(c, "").Batch(c.InitialObservations, 1)
	var from, next model.Belief
	f.Begin(&from, b)
	var drawn [][]float32
	for range steps {
		gumbel := make([]float32, c.M)
		noise.Gumbels(gumbel)
		f.Advance(&next, &from, nil, model.Disturbance{Switch: gumbel})
		drawn = append(drawn, append([]float32(nil), next.Weights...))
		from, next = next, from
	}
	check(t, c.M, steps, func(i int) []float32 { return drawn[i] })
}

// TestForecast_GoesOnWithAges: a regime that has lasted three of its five steps where the data end lasts two more.
func TestForecast_GoesOnWithAges(t *testing.T) {
	c := tiny()
	c.M, c.NU, c.Ages = 3, 0, 5
	m := newModel(c)
	n := &m.transition
	n.start.Values()[0], n.age.Values()[0] = 30, 30
	for k := range c.Ages {
		n.hold.Values()[k] = 30
	}
	n.hold.Values()[c.Ages-1] = -30
	m.Params().Pack()
	b := contract(c, "").Batch(3, 2)
	var f model.Forecast
	m.NewForecaster().Forecast(&f, model.Query{Prefix: b, Horizon: 3, Samples: 4, Noise: modeltest.Noise(7)})
	for i, want := range []float32{1, 1, 1, 1, 0, 0} {
		if got := f.Switches[i*c.M]; got != want {
			t.Errorf("step %d: a share of %v of the paths is in the regime, want %v", i/b.B+1, got, want)
		}
	}
}

// check compares the lengths of all regimes but the first and the last.
func check(t *testing.T, m, steps int, weights func(i int) []float32) {
	t.Helper()
	last, begun, changes := -1, 0, 0
	for i := range steps {
		j := 0
		for weights(i)[j] != 1 {
			j++
		}
		if j != last {
			if changes > 1 && i-begun != last+2 {
				t.Errorf("system %d lasts %d steps, want %d", last, i-begun, last+2)
			}
			last, begun = j, i
			changes++
		}
	}
	if changes < steps/(m+2) {
		t.Errorf("%d changes in %d steps", changes, steps)
	}
}

// TestLoss_OfAges_AgainstDenseGaussian: of equal systems the bound is that of one, whatever the durations.
func TestLoss_OfAges_AgainstDenseGaussian(t *testing.T) {
	o := modeltest.LinearGaussian{Start: 1.3, A: -0.2, B: 0.7, C: 0.8, Q: 0.3, R: 0.2}
	lasting := func() *Model {
		m, draws := exactOf(o, 3), modeltest.Noise(6)
		m.transition.hold.InitNormal(&draws, 2)
		m.Params().Pack()
		return m
	}
	o.CheckBound(t, lasting(), 2)
	o.CheckImportance(t, lasting())
	o.CheckForecast(t, lasting())
}
