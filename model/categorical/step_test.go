package categorical

import (
	"math"
	"slices"
	"testing"

	"github.com/switchyard-ml/switchyard/autodiff"
	"github.com/switchyard-ml/switchyard/model"
	"github.com/switchyard-ml/switchyard/model/modeltest"
)

// TestStep_IsInference: step by step, with the noise of inference, a filter is where inference is at the last step.
func TestStep_IsInference(t *testing.T) {
	for i := range 3 {
		const steps, n = 7, 2
		c := tiny()
		preview := i == 1
		if c.Preview = preview; i == 2 {
			c.Ages = 3
		}
		m := newModel(c)
		modeltest.Fill(m, "initial.sd.weight", 0)
		modeltest.Fill(m, "initial.sd.bias", -40) // h is its mean, nearly
		b, noise := contract(c, "").Batch(steps, n), modeltest.Noise(4)
		tape := autodiff.NewInferenceTape(m.Params())
		p := m.infer(tape, b, 1, &noise)
		again := modeltest.Noise(4)
		eps := make([]float32, steps*n*c.NZ)
		again.Normals(eps)
		f := m.NewForecaster().(*Forecaster)
		var from, next model.Belief
		first := b
		first.T = c.InitialObservations
		f.Begin(&from, first)
		for i := 1; i < steps; i++ {
			one := model.Batch{
				T: 1, B: n, NX: c.NX, NU: c.NU, Observations: b.Observations[i*n*c.NX:][:n*c.NX],
				Controls: b.Controls[i*n*c.NU:][:n*c.NU],
			}
			f.Step(&next, &from, one, model.Disturbance{State: eps[i*n*c.NZ:][:n*c.NZ]})
			from, next = next, from
		}
		for i, z := range p.Z.Block(steps-1, n).Value {
			if math.Abs(float64(z-from.Z[i])) > 0.04 {
				t.Errorf("preview %v: state %d is %v, want %v", preview, i, from.Z[i], z)
			}
		}
		for i, b := range from.Switch {
			d := max(1, c.Ages)
			want := math.Exp(float64(p.steps.belief.Block(steps-1, n).Value[i/d]))
			if c.Ages > 0 {
				want *= float64(p.steps.ages.Block(steps-1, n).Value[i])
			}
			if math.Abs(want-float64(b)) > 0.04 {
				t.Errorf("preview %v, D = %d: belief %d is %v, want %v", preview, c.Ages, i, b, want)
			}
		}
	}
}

// TestSample_IsOfTheGenerativeModel: what is simulated does not depend on what forecasts do with the switch.
func TestSample_IsOfTheGenerativeModel(t *testing.T) {
	sampled := func(kind Rollout) (s model.Sampling) {
		c := tiny()
		c.Rollout = kind
		f := newModel(c).NewForecaster().(model.Sampler)
		f.Sample(&s, model.SampleQuery{T: 6, B: 3, Controls: make([]float32, 6*3*c.NU), Noise: modeltest.Noise(4)})
		return s
	}
	want := sampled(Sample)
	for _, kind := range []Rollout{Mean, Mode} {
		if got := sampled(kind); !slices.Equal(got.Draw, want.Draw) {
			t.Errorf("eval.rollout=%s simulates %v, want %v", kind, got.Draw, want.Draw)
		}
	}
}
