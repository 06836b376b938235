package slds

import (
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/switchyard-ml/switchyard/autodiff"
	"github.com/switchyard-ml/switchyard/autodiff/gradcheck"
	"github.com/switchyard-ml/switchyard/model"
	"github.com/switchyard-ml/switchyard/model/statespace"
	"github.com/switchyard-ml/switchyard/rng"
)

func tiny() Config {
	return Config{
		Dims:      model.Dims{NX: 3, NU: 2, NZ: 4, M: 5},
		Switching: Concrete, Weights: Softmax,
		Hidden: 12, EncoderHidden: 10, Blocks: 0,
		Measurement: LSTM, MeasurementControls: true, InitialObservations: 3,
		Emission: statespace.Gaussian, EmissionSD: statespace.StateSD,
		Residual: true, Gate: true, KLSamples: 10, VarianceFloor: 1e-5, Rollout: RolloutSample,
		Anneal: Anneal{Posterior: 0.75, Prior: 2, Start: 1, Rate: 0.97, Every: 100, KLSwitch: 0.1},
	}
}

// variants are the configurations that every test of the whole model runs through.
func variants() map[string]Config {
	change := func(f func(*Config)) Config {
		c := tiny()
		f(&c)
		return c
	}
	return map[string]Config{
		"concrete":          tiny(),
		"concrete/residual": change(func(c *Config) { c.Blocks = 2 }),
		"concrete/sigmoid":  change(func(c *Config) { c.Weights = Sigmoid }),
		"concrete/mlp":      change(func(c *Config) { c.Measurement = MLP }),
		"concrete/no gate":  change(func(c *Config) { c.Gate = false }),
		"concrete/no u":     change(func(c *Config) { c.NU = 0 }),
		"concrete/images":   change(func(c *Config) { c.Emission = statespace.Bernoulli; c.NU = 0 }),
		"normal":            change(func(c *Config) { c.Switching = Normal }),
		"normal/sigmoid":    change(func(c *Config) { c.Switching = Normal; c.Weights = Sigmoid; c.Blocks = 1 }),
		"normal/mlp":        change(func(c *Config) { c.Switching = Normal; c.Measurement = MLP; c.MeasurementControls = false }),
		"normal/constant":   change(func(c *Config) { c.Switching = Normal; c.EmissionSD = statespace.ConstantSD; c.Residual = false }),
	}
}

func newModel(t testing.TB, c Config) *Model {
	t.Helper()
	m, err := New(c, rng.New(5, rng.Init))
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func randomBatch(c Config, steps, n int) model.Batch {
	var b model.Batch
	b.Resize(steps, n, c.NX, c.NU)
	draws := rng.New(19, rng.Episode).At(0, 0, 0)
	draws.Normals(b.Observations)
	draws.Normals(b.Controls)
	clear(b.Controls[:n*c.NU])
	if c.Emission == statespace.Bernoulli {
		for i, v := range b.Observations {
			b.Observations[i] = 0
			if v > 0 {
				b.Observations[i] = 1
			}
		}
	}
	return b
}

func noiseOf(step uint64) rng.Stream { return rng.New(23, rng.Noise).At(step, 0, 0) }

// TestLoss_Gradient checks the gradient of the whole bound in random directions of θ, and of every
// weight alone: in a direction of all of θ a small gradient would hide behind the large ones.
func TestLoss_Gradient(t *testing.T) {
	for name, c := range variants() {
		t.Run(name, func(t *testing.T) {
			m := newModel(t, c)
			tape, terms := autodiff.NewTape(m.Params()), make([]float32, 5)
			b := randomBatch(c, 5, 3)
			tape.Backward(m.Loss(tape, b, noiseOf(0), 0, terms))
			gradient := slices.Clone(tape.Gradient)
			check := gradcheck.Check{
				Values: m.params.Values, Gradient: gradient, Directions: 4, Steps: []float64{1e-3, 3e-4, 5e-5}, Tolerance: 1e-2,
				Loss: func() float64 {
					m.params.Pack()
					tape.Reset()
					return float64(m.Loss(tape, b, noiseOf(0), 0, terms).Value[0])
				},
			}
			if err := check.Run(rng.New(1, rng.Evaluation)); err != nil {
				t.Error(err)
			}
			for _, w := range m.params.Layout() {
				check.Values, check.Gradient = m.params.Values[w.Offset:w.Offset+w.Size], gradient[w.Offset:w.Offset+w.Size]
				check.Directions, check.Steps, check.Tolerance = 1, []float64{1e-2, 3e-3, 1e-3, 3e-4}, 3e-2
				if err := check.Run(rng.New(1, rng.Evaluation)); err != nil {
					t.Errorf("%s: %v", w.Name, err)
				}
			}
			if untouched := unusedWeights(m, gradient); len(untouched) > 0 {
				t.Errorf("no gradient reaches %s", strings.Join(untouched, ", "))
			}
		})
	}
}

// unusedWeights names the weights whose gradient is zero everywhere.
func unusedWeights(m *Model, gradient []float32) []string {
	var names []string
	for _, w := range m.params.Layout() {
		if !slices.ContainsFunc(gradient[w.Offset:w.Offset+w.Size], func(g float32) bool { return g != 0 }) {
			names = append(names, w.Name)
		}
	}
	return names
}

// TestLoss_Terms: the loss is the weighted sum of its terms.
func TestLoss_Terms(t *testing.T) {
	for name, c := range variants() {
		t.Run(name, func(t *testing.T) {
			m := newModel(t, c)
			tape, terms := autodiff.NewTape(m.Params()), make([]float32, 5)
			b := randomBatch(c, 6, 2)
			m.Loss(tape, b, noiseOf(0), 0, terms)
			want := terms[1] + terms[2] + terms[3] + 0.1*terms[4]
			if math.Abs(float64(terms[0]-want)) > 1e-5*math.Abs(float64(want))+1e-5 {
				t.Errorf("loss %v, terms sum to %v", terms[0], want)
			}
		})
	}
}

// TestMeasurement_SeesWhatItMay: the LSTM carries the last observation back to the first switch, the
// MLP, made for filtering, does not.
func TestMeasurement_SeesWhatItMay(t *testing.T) {
	for _, measurement := range []Measurement{LSTM, MLP} {
		c := tiny()
		c.Measurement = measurement
		m := newModel(t, c)
		weights := func(b model.Batch) []float32 {
			var f model.Filtering
			NewForecaster(m).Filter(&f, b, noiseOf(0))
			return slices.Clone(f.Switches[c.M : 2*c.M]) // of the second time step
		}
		b := randomBatch(c, 6, 1)
		before := weights(b)
		b.Observations[len(b.Observations)-1] += 3 // of the last time step
		if changed := !slices.Equal(before, weights(b)); changed != (measurement == LSTM) {
			t.Errorf("%s: the last observation changes the first switch: %v", measurement, changed)
		}
	}
}

// TestDynamics_IsTheStatedRecursion: with hard-wired mixing weights the mean of a transition is
// z + Σ wᵢ(z·Aᵢ + u·Bᵢ), step by step.
func TestDynamics_IsTheStatedRecursion(t *testing.T) {
	c := tiny()
	c.Switching, c.Rollout = Normal, RolloutMean
	m := newModel(t, c)
	for _, w := range []*autodiff.Weight{m.transition.mixing.W, m.transition.mixing.B} {
		w.Fill(0) // equal weights 1/M whatever s is
	}
	m.params.Pack()

	tape := autodiff.NewInferenceTape(m.params)
	z := tape.New(4*2, c.NZ)
	draws := noiseOf(9)
	draws.Normals(z.Value[:2*c.NZ])
	u := tape.NewConstant(3*2, c.NU)
	draws.Normals(u.Value)
	d := m.transition.begin(tape, z, u, tape.NewConstant(2, c.M), 2)
	zero := tape.NewConstant(3*2, c.M)
	clear(zero.Value)
	clear(d.previous.Value)
	s := c.newSwitches(&d, c.Anneal.Final(), measurement{}, zero)
	for i := range 3 {
		d.proposeSwitch(i, s.draws())
		s.prior(&d, i)
		d.state.Step(i)
		copy(z.Block(i+1, 2).Value, d.state.Mean.Block(i, 2).Value)
	}
	for row := range 3 * 2 {
		want := recursion(m, z.Value[row*c.NZ:(row+1)*c.NZ], u.Value[row*c.NU:(row+1)*c.NU])
		for j, w := range want {
			if got := z.Value[(row+2)*c.NZ+j]; math.Abs(float64(got)-w) > 1e-5 {
				t.Errorf("row %d, dimension %d: %v, want %v", row, j, got, w)
			}
		}
	}
}

func recursion(m *Model, z, u []float32) []float64 {
	c := m.cfg
	next := make([]float64, c.NZ)
	for j := range next {
		next[j] = float64(z[j])
		for i := range c.M {
			for k, v := range z {
				next[j] += float64(v) * float64(m.transition.state.A.Values()[(i*c.NZ+k)*c.NZ+j]) / float64(c.M)
			}
			for k, v := range u {
				next[j] += float64(v) * float64(m.transition.state.B.Values()[(i*c.NU+k)*c.NZ+j]) / float64(c.M)
			}
		}
	}
	return next
}

// TestForecast_ShapesAndReuse: every element is written also into memory that was used before, equal
// queries give equal answers, and a clone agrees.
func TestForecast_ShapesAndReuse(t *testing.T) {
	for name, c := range variants() {
		m := newModel(t, c)
		f := NewForecaster(m)
		q := model.Query{Prefix: randomBatch(c, 4, 3), Horizon: 5, Samples: 2, Controls: make([]float32, 5*3*c.NU), Noise: noiseOf(2)}
		var first, second model.Forecast
		f.Forecast(&first, q)
		f.Clone().Forecast(&second, q)
		for _, buffer := range [][]float32{second.Mean, second.Paths, second.Draw, second.Switches} {
			for i := range buffer {
				buffer[i] = float32(math.NaN())
			}
		}
		f.Forecast(&second, q)
		if !slices.Equal(first.Paths, second.Paths) || !slices.Equal(first.Draw, second.Draw) ||
			!slices.Equal(first.Mean, second.Mean) || !slices.Equal(first.Switches, second.Switches) {
			t.Errorf("%s: a second answer differs", name)
		}
		if c.Emission == statespace.Bernoulli && slices.ContainsFunc(first.Draw, func(v float32) bool { return v != 0 && v != 1 }) {
			t.Errorf("%s: a draw of a binary observation is not binary", name)
		}
		for row := range 5 * 3 {
			var sum float32
			for _, w := range first.Switches[row*c.M : (row+1)*c.M] {
				sum += w
			}
			if c.Weights == Softmax && math.Abs(float64(sum)-1) > 1e-5 {
				t.Errorf("%s: mixing weights of row %d sum to %v", name, row, sum)
			}
		}
		for i, v := range first.Mean {
			var mean float32
			for p := range 2 {
				mean += first.Paths[p*len(first.Mean)+i] / 2
			}
			if math.Abs(float64(v-mean)) > 1e-5 {
				t.Errorf("%s: mean %v of paths with mean %v", name, v, mean)
			}
		}
	}
}

// TestForecast_PlanPerRollout: equal plans for all rollouts are the common plan; another plan for the
// second rollout changes that one alone.
func TestForecast_PlanPerRollout(t *testing.T) {
	c := tiny()
	m := newModel(t, c)
	plan := make([]float32, 3*2*c.NU)
	draws := noiseOf(4)
	draws.Normals(plan)
	q := model.Query{Prefix: randomBatch(c, 4, 2), Horizon: 3, Samples: 2, Controls: plan, Noise: noiseOf(2)}
	var common, each model.Forecast
	NewForecaster(m).Forecast(&common, q)
	q.Controls = slices.Concat(plan, plan)
	NewForecaster(m).Forecast(&each, q)
	if !slices.Equal(common.Paths, each.Paths) {
		t.Error("a plan per rollout differs from the same plan for all")
	}
	q.Controls[len(plan)] += 2
	NewForecaster(m).Forecast(&each, q)
	half := len(common.Paths) / 2
	if !slices.Equal(common.Paths[:half], each.Paths[:half]) || slices.Equal(common.Paths[half:], each.Paths[half:]) {
		t.Error("the plan of the second rollout does not belong to it alone")
	}
}

// TestLoss_MissingValues: what stands at a missing value has no influence, beyond the first k steps
// whose zeros the initial network reads; a mask of ones has none either, and the gradient with missing
// values is right.
func TestLoss_MissingValues(t *testing.T) {
	for name, c := range variants() {
		m := newModel(t, c)
		tape, terms := autodiff.NewTape(m.Params()), make([]float32, 5)
		loss := func(b model.Batch) float32 {
			m.params.Pack()
			tape.Reset()
			return m.Loss(tape, b, noiseOf(0), 0, terms).Value[0]
		}
		b := randomBatch(c, 5, 3)
		whole := loss(b)
		b.Seen = make([]float32, len(b.Observations))
		for i := range b.Seen {
			b.Seen[i] = 1
		}
		if got := loss(b); got != whole {
			t.Errorf("%s: a mask of ones changes the loss from %v to %v", name, whole, got)
		}
		missing := []int{c.NX * 7, c.NX*7 + 1, c.NX*13 + 2} // of the third and fifth time step
		for _, i := range missing {
			b.Seen[i], b.Observations[i] = 0, 0
		}
		masked := loss(b)
		if masked == whole {
			t.Errorf("%s: missing values leave the loss at %v", name, masked)
		}
		tape.Backward(m.Loss(tape, b, noiseOf(0), 0, terms))
		check := gradcheck.Check{
			Values: m.params.Values, Gradient: slices.Clone(tape.Gradient), Directions: 2, Steps: []float64{1e-3, 3e-4, 5e-5}, Tolerance: 1e-2,
			Loss: func() float64 { return float64(loss(b)) },
		}
		if err := check.Run(rng.New(1, rng.Evaluation)); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		b.Observations[missing[2]] = 1
		if got := loss(b); got != masked {
			t.Errorf("%s: the value at a missing place changes the loss from %v to %v", name, masked, got)
		}
	}
}

func TestNew_IsAFunctionOfTheKey(t *testing.T) {
	a, b := newModel(t, tiny()), newModel(t, tiny())
	if !slices.Equal(a.params.Values, b.params.Values) {
		t.Error("equal keys give different parameters")
	}
	other, err := New(tiny(), rng.New(6, rng.Init))
	if err != nil {
		t.Fatal(err)
	}
	if slices.Equal(a.params.Values, other.params.Values) {
		t.Error("different keys give equal parameters")
	}
}

func TestNew_ReportsEveryFault(t *testing.T) {
	c := tiny()
	c.NZ, c.KLSamples, c.Switching, c.VarianceFloor = 0, 0, "concerte", 0
	_, err := New(c, rng.New(1, rng.Init))
	if err == nil {
		t.Fatal("no error")
	}
	for _, want := range []string{"latent size is 0", "KL samples is 0", `switching is "concerte", want one of ["concrete" "normal"]`, "variance floor is 0"} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("error %q does not say %q", err, want)
		}
	}
}

func TestAnneal(t *testing.T) {
	a := Anneal{Posterior: 0.5, Prior: 2, Start: 10, Rate: 0.5, Every: 100}
	for _, test := range []struct {
		step             uint64
		posterior, prior float32
	}{{0, 5, 20}, {99, 5, 20}, {100, 2.5, 10}, {399, 0.625, 2.5}, {400, 0.5, 2}, {math.MaxUint64, 0.5, 2}} {
		if got := a.At(test.step); got != (Temperatures{test.posterior, test.prior}) {
			t.Errorf("step %d: %v", test.step, got)
		}
	}
	flat := Anneal{Posterior: 0.5, Prior: 2, Start: 10, Rate: 1, Every: 1}
	if got := flat.At(math.MaxUint64); got.Posterior != 5 {
		t.Errorf("a rate of 1 leaves posterior temperature %v, want 5", got.Posterior)
	}
}
