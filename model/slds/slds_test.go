package slds

import (
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/switchyard-ml/switchyard/autodiff"
	"github.com/switchyard-ml/switchyard/model"
	"github.com/switchyard-ml/switchyard/model/modeltest"
	"github.com/switchyard-ml/switchyard/model/statespace"
	"github.com/switchyard-ml/switchyard/rng"
)

func tiny() Config {
	return Config{
		Nets: statespace.Nets{
			Dims:   model.Dims{NX: 3, NU: 2, NZ: 4, M: 5},
			Hidden: 12, EncoderHidden: 10, InitialObservations: 3,
			Emission: statespace.Gaussian, EmissionSD: statespace.StateSD,
		},
		Switching: Concrete, Weights: statespace.Softmax, Measurement: LSTM, MeasurementControls: true,
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
		"concrete":              tiny(),
		"concrete/residual":     change(func(c *Config) { c.Blocks = 2 }),
		"concrete/sigmoid":      change(func(c *Config) { c.Weights = statespace.Sigmoid }),
		"concrete/limited":      change(func(c *Config) { c.Weights = statespace.Limited }),
		"concrete/mlp":          change(func(c *Config) { c.Measurement = MLP }),
		"concrete/no gate":      change(func(c *Config) { c.Gate = false }),
		"concrete/no u":         change(func(c *Config) { c.NU = 0 }),
		"concrete/images":       change(func(c *Config) { c.Emission = statespace.Bernoulli; c.NU = 0 }),
		"normal":                change(func(c *Config) { c.Switching = Normal }),
		"normal/sigmoid":        change(func(c *Config) { c.Switching = Normal; c.Weights = statespace.Sigmoid; c.Blocks = 1 }),
		"normal/limited":        change(func(c *Config) { c.Switching = Normal; c.Weights = statespace.Limited }),
		"normal/mlp":            change(func(c *Config) { c.Switching = Normal; c.Measurement = MLP; c.MeasurementControls = false }),
		"deterministic":         change(func(c *Config) { c.Switching = Deterministic }),
		"deterministic/sigmoid": change(func(c *Config) { c.Switching = Deterministic; c.Weights = statespace.Sigmoid; c.Blocks = 1 }),
		"deterministic/limited": change(func(c *Config) { c.Switching = Deterministic; c.Weights = statespace.Limited }),
		"concrete/initial lstm": change(func(c *Config) { c.Initial = statespace.LSTM }),
		"concrete/offset":       change(func(c *Config) { c.Offset = true }),
		"concrete/offset, no u": change(func(c *Config) { c.Offset = true; c.NU = 0 }),
		"normal/floor":          change(func(c *Config) { c.Switching = Normal; c.EmissionFloor = 0.5 }),
		"normal/narrow":         change(func(c *Config) { c.Switching = Normal; c.SwitchSD = 0.2 }),
		"normal/constant":       change(func(c *Config) { c.Switching = Normal; c.EmissionSD = statespace.ConstantSD; c.Residual = false }),
	}
}

// golden are the bits of every variant.
var golden = map[string]string{
	"concrete":              "d7145b1b08ab61d8",
	"concrete/images":       "ad9fa2800a8b9f83",
	"concrete/limited":      "4e037e4d43174121",
	"concrete/mlp":          "54c9ec57adf670b0",
	"concrete/no gate":      "eec3cf75ba11b643",
	"concrete/no u":         "52445145e7e3298d",
	"concrete/residual":     "d53379df15a7c100",
	"concrete/sigmoid":      "8b31347ba9a274f5",
	"normal":                "2a2cba95e2c16a92",
	"normal/constant":       "7c4cc3c06a7109a6",
	"normal/limited":        "4007ff0ed1f7b052",
	"normal/mlp":            "0bc61033198fb48b",
	"normal/sigmoid":        "d9b9ba6675bb4165",
	"deterministic/limited": "b003b32ea83d31e7",
	"deterministic":         "9063af5750dfd61b",
	"deterministic/sigmoid": "ec74e15cd44138fa",
	"concrete/initial lstm": "0217057e472c3dbd",
	"concrete/offset":       "42f8d370e3d9d5bd",
	"concrete/offset, no u": "9a5be8eb389b3d7a",
	"normal/narrow":         "a879ecedfaa30c23",
	"normal/floor":          "52358b7a41eba11e",
}

// contract is a configuration as the checks of all families want it.
func contract(c Config, golden string) modeltest.Case {
	return modeltest.Case{
		New: func(t testing.TB) modeltest.Model { return newModel(t, c) },
		NX:  c.NX, NU: c.NU, Binary: c.Emission == statespace.Bernoulli, First: c.InitialObservations, Golden: golden,
		Smooths: c.Measurement == LSTM && c.Switching != Deterministic,
	}
}

func TestModel_KeepsTheContract(t *testing.T) {
	for name, c := range variants() {
		t.Run(name, contract(c, golden[name]).Run)
	}
}

func randomBatch(c Config, steps, n int) model.Batch { return contract(c, "").Batch(steps, n) }

func noiseOf(step uint64) rng.Stream { return modeltest.Noise(step) }

// TestForecast_AveragesPaths: mixing weights of a softmax sum to one, and the mean is that of the paths.
func TestForecast_AveragesPaths(t *testing.T) {
	for name, c := range variants() {
		q := model.Query{Prefix: randomBatch(c, 4, 3), Horizon: 5, Samples: 2, Controls: make([]float32, 5*3*c.NU), Noise: noiseOf(2)}
		var first model.Forecast
		newModel(t, c).NewForecaster().Forecast(&first, q)
		for row := range 5 * 3 {
			var sum float32
			for _, w := range first.Switches[row*c.M : (row+1)*c.M] {
				sum += w
			}
			if c.Weights == statespace.Softmax && math.Abs(float64(sum)-1) > 1e-5 {
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

func newModel(t testing.TB, c Config) *Model {
	t.Helper()
	m, err := New(c, rng.New(5, rng.Init))
	if err != nil {
		t.Fatal(err)
	}
	return m
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
			m.NewForecaster().(model.Filterer).Filter(&f, b, noiseOf(0))
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
// z + Σ wᵢ(z·Aᵢ + u·Bᵢ), step by step, and + Σ wᵢcᵢ with an offset.
func TestDynamics_IsTheStatedRecursion(t *testing.T) {
	for _, offset := range []bool{false, true} {
		c := tiny()
		c.Switching, c.Rollout, c.Offset = Normal, RolloutMean, offset
		checkRecursion(t, c)
	}
}

func checkRecursion(t *testing.T, c Config) {
	t.Helper()
	m := newModel(t, c)
	for _, w := range []*autodiff.Weight{m.transition.mixing.W, m.transition.mixing.B} {
		w.Fill(0) // equal weights 1/M whatever s is
	}
	m.Params().Pack()

	tape := autodiff.NewInferenceTape(m.Params())
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
	c, inputs := m.cfg, u
	if c.Offset {
		inputs = append(slices.Clone(u), 1)
	}
	next := make([]float64, c.NZ)
	for j := range next {
		next[j] = float64(z[j])
		for i := range c.M {
			for k, v := range z {
				next[j] += float64(v) * float64(m.transition.state.A.Values()[(i*c.NZ+k)*c.NZ+j]) / float64(c.M)
			}
			for k, v := range inputs {
				next[j] += float64(v) * float64(m.transition.state.B.Values()[(i*len(inputs)+k)*c.NZ+j]) / float64(c.M)
			}
		}
	}
	return next
}

func TestNew_IsAFunctionOfTheKey(t *testing.T) {
	a, b := newModel(t, tiny()), newModel(t, tiny())
	if !slices.Equal(a.Params().Values, b.Params().Values) {
		t.Error("equal keys give different parameters")
	}
	other, err := New(tiny(), rng.New(6, rng.Init))
	if err != nil {
		t.Fatal(err)
	}
	if slices.Equal(a.Params().Values, other.Params().Values) {
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
	for _, want := range []string{"latent size is 0", "KL samples is 0", `switching is "concerte", want one of ["concrete" "normal" "deterministic"]`, "variance floor is 0"} {
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
	// Four halvings and a bit lead from 10 to 1: with an end they are spread evenly, and the last is at the end.
	a.End = 1000
	for _, test := range []struct {
		step      uint64
		posterior float32
	}{{0, 5}, {249, 5}, {250, 2.5}, {500, 1.25}, {749, 1.25}, {750, 0.625}, {999, 0.625}, {1000, 0.5}, {5000, 0.5}, {math.MaxUint64, 0.5}} {
		if got := a.At(test.step); got.Posterior != test.posterior || got.Prior != 4*test.posterior {
			t.Errorf("with an end, step %d: %v", test.step, got)
		}
	}
	a.End = 2 // fewer updates than powers
	if got := []Temperatures{a.At(0), a.At(1), a.At(2)}; got[0].Posterior != 5 || got[1].Posterior != 1.25 || got[2].Posterior != 0.5 {
		t.Errorf("with an end at 2: %v", got)
	}
	flat := Anneal{Posterior: 0.5, Prior: 2, Start: 10, Rate: 1, Every: 1}
	if got := flat.At(math.MaxUint64); got.Posterior != 5 {
		t.Errorf("a rate of 1 leaves posterior temperature %v, want 5", got.Posterior)
	}
}

// A Normal switch begins with the deviations that are asked for: softplus(bias) of each head.
func TestSwitchSD(t *testing.T) {
	c := tiny()
	c.Switching, c.SwitchSD = Normal, 0.2
	m := newModel(t, c)
	for _, head := range []model.Dense{m.transition.next.heads[1], m.transition.next.heads[2], m.transition.first.heads[1], m.transition.first.heads[2], m.recognition.other} {
		for _, b := range head.B.Values() {
			if sd := math.Log1p(math.Exp(float64(b))); math.Abs(sd-0.2) > 1e-6 {
				t.Errorf("%s: a deviation of %v, want 0.2", head.B.Name, sd)
			}
		}
	}
}
