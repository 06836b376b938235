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
)

// What separates prior and posterior: variances, temperatures and standard deviations that come in pairs.

// TestForecast_FollowsThePrior: with a tiny generative noise and a huge one for inference, rollouts
// from a well-measured state do not spread, and a Normal switch with a tiny prior deviation does not
// depend on the noise.
func TestForecast_FollowsThePrior(t *testing.T) {
	c := tiny()
	c.Switching = Normal
	m := newModel(t, c)
	fill(m, "transition.Q", -40)
	fill(m, "transition.Q_inference", 5)
	fill(m, "encoder.sd.weight", 0)
	fill(m, "encoder.sd.bias", -40)
	for _, net := range []string{"switch.next", "switch.first"} {
		fill(m, net+".sd.weight", 0)
		fill(m, net+".sd.bias", -40)
		fill(m, net+".sd_inference.weight", 0)
		fill(m, net+".sd_inference.bias", 5)
	}
	m.Params().Pack()
	q := model.Query{Prefix: randomBatch(c, 4, 1), Horizon: 3, Samples: 20, Controls: make([]float32, 3*c.NU), Noise: noiseOf(2)}
	var f, other model.Forecast
	m.NewForecaster().Forecast(&f, q)
	for i := range f.Mean {
		lo, hi := f.Paths[i], f.Paths[i]
		for p := range q.Samples {
			v := f.Paths[p*len(f.Mean)+i]
			lo, hi = min(lo, v), max(hi, v)
		}
		if hi-lo > 0.1 {
			t.Errorf("element %d: rollouts spread over %v", i, hi-lo)
		}
	}
	q.Samples = 1
	var switches [][]float32
	for seed := range uint64(2) {
		q.Noise = noiseOf(seed)
		m.NewForecaster().Forecast(&other, q)
		switches = append(switches, slices.Clone(other.Switches))
	}
	for i, w := range switches[0] {
		if math.Abs(float64(w-switches[1][i])) > 0.05 {
			t.Errorf("weight %d is %v and %v under different noise", i, w, switches[1][i])
		}
	}
}

// TestLoss_NoiseIsNoRegime: a switch with one distribution for all steps tells nothing of a step, though draws of it are
// near one system or another. One whose distribution follows the data tells something.
func TestLoss_NoiseIsNoRegime(t *testing.T) {
	for _, switching := range []Switching{Concrete, Normal, Deterministic} {
		for _, weights := range statespace.AllWeights() {
			c := tiny()
			c.Switching, c.Weights = switching, weights
			m := newModel(t, c)
			information := func() float64 {
				m.Params().Pack()
				terms := make([]float32, len(m.Terms()))
				m.Loss(autodiff.NewInferenceTape(m.Params()), randomBatch(c, 6, 20), noiseOf(0), model.EndOfSchedule, terms)
				u, _ := model.UsageOf(m.Terms(), terms)
				return u.Information()
			}
			if i := information(); i < 1e-4 {
				t.Errorf("%s, %s: %v nats of a switch that follows the data", switching, weights, i)
			}
			for _, w := range m.Params().Layout() {
				if strings.HasPrefix(w.Name, "switch.") && (strings.Contains(w.Name, ".logits.") || strings.Contains(w.Name, ".mean.")) {
					fill(m, w.Name, 0)
				}
			}
			if i := information(); i > 1e-6 {
				t.Errorf("%s, %s: %v nats of a switch that follows nothing", switching, weights, i)
			}
		}
	}
}

// TestConcreteSwitch_PriorTemperature: a forecast draws s = softmax((l + g)/λ_prior), or its binary form, scaled down
// if the sum is limited.
func TestConcreteSwitch_PriorTemperature(t *testing.T) {
	for _, weights := range statespace.AllWeights() {
		c := tiny()
		c.Weights = weights
		m := newModel(t, c)
		tape := autodiff.NewInferenceTape(m.Params())
		draws := noiseOf(3)
		z, u := statespace.Normals(tape, &draws, 2, c.NZ), statespace.Normals(tape, &draws, 1, c.NU)
		d := m.transition.begin(tape, z, u, statespace.Normals(tape, &draws, 1, c.M), 1)
		noise := statespace.Normals(tape, &draws, 1, c.M)
		s := c.newSwitches(&d, c.Anneal.Final(), measurement{}, noise)
		d.proposeSwitch(0, s.draws())
		s.prior(&d, 0)
		var sum float64
		want := make([]float64, c.M)
		for i, l := range d.heads[0].Value {
			y := float64(l+noise.Value[i]) / c.Anneal.Prior
			want[i] = 1 / (1 + math.Exp(-y))
			if weights == statespace.Softmax {
				want[i] = math.Exp(y)
			}
			sum += want[i]
		}
		for i, got := range s.draws().Value {
			switch weights {
			case statespace.Softmax:
				want[i] /= sum
			case statespace.Limited:
				want[i] /= max(1, sum)
			}
			if math.Abs(float64(got)-want[i]) > 1e-5 {
				t.Errorf("%s, component %d: %v, want %v", weights, i, got, want[i])
			}
		}
	}
}

// TestLoss_PairsOfPriorAndPosterior recomputes both divergences of a loss in float64 from what
// inference left on the tape: the posterior uses Q of inference and λ_posterior, the prior its own.
func TestLoss_PairsOfPriorAndPosterior(t *testing.T) {
	c := tiny()
	m := newModel(t, c)
	fill(m, "transition.Q", float32(softplusInverse(0.3)))
	fill(m, "transition.Q_inference", float32(softplusInverse(0.7)))
	m.Params().Pack()
	tape, terms := autodiff.NewInferenceTape(m.Params()), make([]float32, 5)
	b, noise := randomBatch(c, 6, 3), noiseOf(0)
	p := m.infer(tape, b, 1, &noise, c.Anneal.At(0), c.posteriorSamples())
	meas := m.recognition.measure(tape, c, b).from(b.B)
	var kl float64
	for i, vm := range meas.Variance.Value {
		vq := 0.7 * float64(vm) / (0.7 + float64(vm))
		if got := float64(p.Variance.Value[i]); math.Abs(got-vq) > 1e-4*vq {
			t.Fatalf("posterior variance %v, want %v", got, vq)
		}
		diff := float64(p.Mean.Value[i]) - float64(p.dynamics.state.Mean.Value[i])
		kl += 0.5*math.Log(0.3/vq) + (vq+diff*diff)/0.6 - 0.5
	}
	want := []float64{kl / float64(b.T*b.B), relaxedKL(p, c) / float64(b.T*b.B)}
	m.Loss(autodiff.NewInferenceTape(m.Params()), b, noiseOf(0), 0, terms)
	for i, w := range want {
		if got := float64(terms[3+i]); math.Abs(got-w) > 1e-3*math.Abs(w) {
			t.Errorf("%s is %v, want %v", m.Terms()[3+i].Name, got, w)
		}
	}
}

// relaxedKL is the divergence of the switches by the densities of the Concrete distribution.
func relaxedKL(p posterior, c Config) float64 {
	logits, prior, noise := p.switches.concrete.logits, p.dynamics.heads[0], p.switches.concrete.noise
	var total float64
	for j := range c.KLSamples {
		for row := range logits.Rows {
			y, lse := make([]float64, c.M), 0.0
			for k := range y {
				g := noise.Value[(j*logits.Rows+row)*c.M+k]
				y[k] = float64(logits.Value[row*c.M+k]+g) / c.Anneal.Posterior
				lse += math.Exp(y[k])
			}
			for k := range y {
				y[k] -= math.Log(lse)
			}
			lq, lp := logits.Value[row*c.M:(row+1)*c.M], prior.Value[row*c.M:(row+1)*c.M]
			total += (logDensity(y, lq, c.Anneal.Posterior) - logDensity(y, lp, c.Anneal.Prior)) / float64(c.KLSamples)
		}
	}
	return total
}

// logDensity is that of the ExpConcrete distribution, up to log Γ(M).
func logDensity(y []float64, l []float32, lambda float64) float64 {
	n := float64(len(y))
	sum, lse := (n-1)*math.Log(lambda), 0.0
	for k := range y {
		tau := float64(l[k]) - lambda*y[k]
		sum += tau
		lse += math.Exp(tau)
	}
	return sum - n*math.Log(lse)
}

// TestDeterministic_MixesByTheLogits: in inference the weights of every step are the softmax of the logits of that step,
// and so they are in a forecast, which has no noise of the switch.
func TestDeterministic_MixesByTheLogits(t *testing.T) {
	c := tiny()
	c.Switching = Deterministic
	m := newModel(t, c)
	b, noise := randomBatch(c, 6, 3), noiseOf(0)
	p := m.infer(autodiff.NewInferenceTape(m.Params()), b, 1, &noise, c.Anneal.Final(), 1)
	logits := p.dynamics.heads[0]
	for row := range logits.Rows {
		var sum float64
		for _, l := range logits.Value[row*c.M:][:c.M] {
			sum += math.Exp(float64(l))
		}
		for i, l := range logits.Value[row*c.M:][:c.M] {
			if got, want := float64(p.dynamics.weights.Value[row*c.M+i]), math.Exp(float64(l))/sum; math.Abs(got-want) > 1e-6 {
				t.Errorf("row %d: weight %v, want %v", row, got, want)
			}
		}
	}
	fill(m, "initial.sd.weight", 0)
	fill(m, "initial.sd.bias", -40)
	fill(m, "transition.Q", -40)
	fill(m, "transition.Q_inference", -40)
	m.Params().Pack()
	q := model.Query{Prefix: b, Horizon: 3, Samples: 2, Controls: make([]float32, 3*3*c.NU), Noise: noiseOf(2)}
	var f model.Forecast
	m.NewForecaster().Forecast(&f, q)
	half := len(f.Paths) / 2
	for i, x := range f.Paths[:half] {
		if math.Abs(float64(x-f.Paths[half+i])) > 0.05 {
			t.Errorf("value %d of two paths without noise: %v and %v", i, x, f.Paths[half+i])
		}
	}
}

// TestForecast_FromOneObservation: a prefix of a single step has no switch yet; the rollout begins with g₀.
func TestForecast_FromOneObservation(t *testing.T) {
	c := tiny()
	m := newModel(t, c)
	q := model.Query{Prefix: randomBatch(c, 1, 2), Horizon: 3, Samples: 2, Controls: make([]float32, 3*2*c.NU), Noise: noiseOf(2)}
	var f model.Forecast
	m.NewForecaster().Forecast(&f, q)
	if slices.ContainsFunc(f.Mean, func(v float32) bool { return math.IsNaN(float64(v)) }) {
		t.Errorf("forecast %v", f.Mean)
	}
}

func fill(m *Model, name string, value float32) {
	for _, w := range m.Params().Layout() {
		if w.Name == name {
			for i := range w.Size {
				m.Params().Values[w.Offset+i] = value
			}
			return
		}
	}
	panic("no weight " + name)
}

// TestSample_IsOfTheGenerativeModel: what is simulated does not depend on what forecasts do with the switch.
func TestSample_IsOfTheGenerativeModel(t *testing.T) {
	sampled := func(kind RolloutSwitch) (s model.Sampling) {
		c := tiny()
		c.Rollout = kind
		f := newModel(t, c).NewForecaster().(model.Sampler)
		f.Sample(&s, model.SampleQuery{T: 6, B: 3, Controls: make([]float32, 6*3*c.NU), Noise: modeltest.Noise(4)})
		return s
	}
	want := sampled(RolloutSample)
	for _, kind := range []RolloutSwitch{RolloutMean, RolloutMode} {
		if got := sampled(kind); !slices.Equal(got.Draw, want.Draw) {
			t.Errorf("eval.rollout=%s simulates %v, want %v", kind, got.Draw, want.Draw)
		}
	}
}

// TestGraphs_OfHardSwitches: a graph chooses where the model does.
func TestGraphs_OfHardSwitches(t *testing.T) {
	for name, change := range map[string]func(c *Config){
		"hard":             func(c *Config) { c.Hard = true },
		"hard sigmoid":     func(c *Config) { c.Hard, c.Weights = true, statespace.Sigmoid },
		"hard limited":     func(c *Config) { c.Hard, c.Weights = true, statespace.Limited },
		"mode":             func(c *Config) { c.Rollout = RolloutMode },
		"mode of sigmoids": func(c *Config) { c.Rollout, c.Weights = RolloutMode, statespace.Sigmoid },
	} {
		t.Run(name, func(t *testing.T) {
			c := tiny()
			change(&c)
			contract(c, "").Graphs(t)
		})
	}
}

// TestSettings_RatesNearOne: a rate that is so near to 1 that the way to the final temperatures takes longer to compute
// than anybody waits is refused, as 1 itself is.
func TestSettings_RatesNearOne(t *testing.T) {
	for rate, want := range map[float64]bool{0.97: false, 0.99999: false, 1 - 1e-12: true, 1: true} {
		s := DefaultSettings()
		s.Anneal.Until, s.Anneal.Rate = 0.5, rate
		if faults := s.Check(model.Setup{Sequence: 50}); (len(faults) > 0) != want {
			t.Errorf("rate %v: %v", rate, faults)
		}
	}
}
