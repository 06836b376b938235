package gibbs

import (
	"math"
	"slices"
	"testing"

	"github.com/switchyard-ml/switchyard/model"
	"github.com/switchyard-ml/switchyard/rng"
)

// twoRotations forecasts a system that turns one way on the left of the plane and the other way on its right.
func twoRotations(t *testing.T) *Forecaster {
	t.Helper()
	cfg := DefaultConfig(false)
	cfg.Leaves, cfg.Latent, cfg.Identity = 2, 2, true
	d := cfg.dims(2, 0)
	theta := newParams(cfg, d)
	for k, angle := range []float64{0.5, -0.3} {
		sin, cos := math.Sincos(angle)
		shift := []float64{0.8, -0.8}[k]
		copy(theta.leaf(k, d), []float64{cos, -sin, 0, sin, cos, shift})
		copy(theta.noise(k, d), []float64{0.01, 0, 0, 0.01})
	}
	copy(theta.plane(0, d), []float64{0, -8, 0})
	for i := range theta.Measuring {
		theta.Measuring[i] = 0.0025
	}
	mean, err := newSystem(cfg, d, theta)
	if err != nil {
		t.Fatal(err)
	}
	f := &Forecaster{dims: d, cfg: cfg, mean: mean, draws: []*system{mean}}
	f.allocate()
	return f
}

// TestAnswers_OfASample: what the model made up it divides into the regimes that it was made of, and smooths nearer to its
// states than the filter does, also in a gap.
func TestAnswers_OfASample(t *testing.T) {
	f := twoRotations(t)
	const T = 150
	var made model.Sampling
	f.Sample(&made, model.SampleQuery{T: T, B: 2, Noise: rng.New(5, rng.Noise).At(0, 0, 0)})
	var b model.Batch
	b.Resize(T, 2, 2, 0)
	copy(b.Observations, made.Draw)
	b.Seen = slices.Repeat([]float32{1}, len(b.Observations))
	clear(b.Seen[4*50 : 4*53])
	clear(b.Observations[4*50 : 4*53])

	var regimes model.Segmentation
	f.Segment(&regimes, b, 40, rng.New(1, rng.Noise).At(0, 0, 0))
	right := 0.0
	for i := 4; i < len(made.Switches); i++ {
		right += float64(made.Switches[i]*regimes.Probability[i]) / (2 * (T - 1))
	}
	if right < 0.9 {
		t.Errorf("the right regime has the probability %.3f", right)
	}
	var smooth model.Smoothing
	f.Smooth(&smooth, b)
	var filtered model.Filtering
	f.Filter(&filtered, b, rng.Stream{})
	distance := func(mean []float32, from, to int) float64 {
		sum := 0.0
		for i := from; i < to; i++ {
			sum += math.Pow(float64(mean[i]-made.States[i]), 2)
		}
		return sum / float64(to-from)
	}
	if s, o := distance(smooth.Mean, 0, len(smooth.Mean)), distance(filtered.Mean, 0, len(smooth.Mean)); s >= o {
		t.Errorf("smoothed states are off by %g, filtered ones by %g", s, o)
	}
	if s, o := distance(smooth.Mean, 4*50, 4*53), distance(filtered.Mean, 4*50, 4*53); s >= o {
		t.Errorf("in the gap smoothed states are off by %g, filtered ones by %g", s, o)
	}
	systems := f.Systems()
	if systems.A[0] != math.Cos(0.5) || systems.A[1] != -math.Sin(0.5) || systems.Bias[3] != -0.8 {
		t.Errorf("systems %+v", systems)
	}
	b.Seen = nil // a single step has no draws: what the filter knows
	b.Resize(1, 2, 2, 0)
	f.Segment(&regimes, b, 4, rng.New(1, rng.Noise).At(0, 0, 0))
	f.Smooth(&smooth, b)
	if sum := regimes.Probability[0] + regimes.Probability[1]; math.Abs(float64(sum)-1) > 1e-5 ||
		math.IsNaN(float64(smooth.Mean[1])) {
		t.Errorf("of a single step: %v", sum)
	}
}

// TestAnswers_OfADimensionThatIsNeverSeen: states of recordings without one of the observed dimensions are those given
// all that was seen, before and after: nearer to the truth than those of the filter, which knows the past alone.
func TestAnswers_OfADimensionThatIsNeverSeen(t *testing.T) {
	f := twoRotations(t)
	const T = 300
	var made model.Sampling
	f.Sample(&made, model.SampleQuery{T: T, B: 2, Noise: rng.New(6, rng.Noise).At(0, 0, 0)})
	var b model.Batch
	b.Resize(T, 2, 2, 0)
	copy(b.Observations, made.Draw)
	b.Seen = make([]float32, len(b.Observations))
	for i := range b.Seen {
		b.Seen[i] = float32(1 - i%2)
	}
	var smooth model.Smoothing
	f.Smooth(&smooth, b)
	var filtered model.Filtering
	f.Filter(&filtered, b, rng.Stream{})
	s, o := 0.0, 0.0
	for i := 1; i < len(made.States); i += 2 {
		s += math.Pow(float64(smooth.Mean[i]-made.States[i]), 2)
		o += math.Pow(float64(filtered.Mean[i]-made.States[i]), 2)
	}
	if s > 0.8*o {
		t.Errorf("smoothed states are off by %g, filtered ones by %g", s, o)
	}
}
