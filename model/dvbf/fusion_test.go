package dvbf

import (
	"math"
	"testing"

	"github.com/switchyard-ml/switchyard/autodiff"
	"github.com/switchyard-ml/switchyard/model"
	"github.com/switchyard-ml/switchyard/model/modeltest"
	"github.com/switchyard-ml/switchyard/model/statespace"
	"github.com/switchyard-ml/switchyard/rng"
)

func tinyFusion(change func(*FusionSettings)) *FusionSettings {
	s := DefaultFusionSettings()
	s.Switches, s.Hidden, s.EncoderHidden = 5, 12, 10
	if change != nil {
		change(s)
	}
	return s
}

func newFusion(s *FusionSettings, nx, nu int) *Fusion {
	return NewFusion(s, model.Data{NX: nx, NU: nu}, rng.New(5, rng.Init))
}

// fusionGolden are the bits of every variant.
var fusionGolden = map[string]string{
	"sigmoid":     "ad4f362feb5be78e",
	"softmax":     "63788e092c11959c",
	"limited":     "b406c59bc870f71b",
	"residual":    "2f19e2da06bf1686",
	"no controls": "017518fefacf6448",
	"images":      "a4efad993d23fea7",
	"constant":    "14745ab47b3ae1e4",
	"lstm":        "fb5e25cdfe35010a",
}

// fusionVariants are the settings that all checks run through.
func fusionVariants() map[string]modeltest.Case {
	list := map[string]modeltest.Case{}
	add := func(name string, nx, nu int, change func(*FusionSettings)) {
		s := tinyFusion(change)
		list[name] = modeltest.Case{
			New: func(testing.TB) modeltest.Model { return newFusion(s, nx, nu) },
			NX:  nx, NU: nu, Binary: s.Emission == statespace.Bernoulli, First: s.InitialObservations, Golden: fusionGolden[name], Unswitched: true,
		}
	}
	add("sigmoid", 3, 2, nil)
	add("softmax", 3, 2, func(s *FusionSettings) { s.Weights = statespace.Softmax })
	add("limited", 3, 2, func(s *FusionSettings) { s.Weights = statespace.Limited })
	add("residual", 3, 2, func(s *FusionSettings) { s.Blocks = 2 })
	add("no controls", 3, 0, nil)
	add("images", 3, 0, func(s *FusionSettings) { s.Emission = statespace.Bernoulli })
	add("constant", 3, 2, func(s *FusionSettings) { s.EmissionSD, s.Residual = statespace.ConstantSD, false })
	add("lstm", 3, 2, func(s *FusionSettings) { s.Initial = statespace.LSTM })
	return list
}

func TestFusion_KeepsTheContract(t *testing.T) {
	for name, c := range fusionVariants() {
		t.Run(name, c.Run)
	}
}

// TestFusionLoss_AgainstDenseGaussian: reduced to a linear-Gaussian system and its exact posterior, the bound is the log evidence.
func TestFusionLoss_AgainstDenseGaussian(t *testing.T) {
	o := modeltest.LinearGaussian{Start: 1.3, A: -0.2, B: 0.7, C: 0.8, Q: 0.3, R: 0.2}
	m := exactFusion(o)
	o.CheckBound(t, m, 2)
	o.CheckImportance(t, exactFusion(o))
}

// exactFusion is the model of the system, with two equal base systems: q(h | x_1, x_2) is the true one, and so is
// q(z_2 | z_1, x_2) ∝ N(z_2; x_2/C, R/C²)·p(z_2 | z_1).
func exactFusion(o modeltest.LinearGaussian) *Fusion {
	m := newFusion(tinyFusion(func(s *FusionSettings) {
		s.Weights, s.Latent, s.Switches, s.Hidden, s.EncoderHidden, s.InitialObservations = statespace.Softmax, 1, 2, 6, 2, 2
		s.EmissionSD, s.VarianceFloor = statespace.ConstantSD, 1e-12
	}), 1, 1)
	o.SetInitial(m, 6)
	o.SetEmission(m)
	modeltest.Set(m, "encoder.dense.weight", 1, -1)
	modeltest.Set(m, "encoder.dense.bias")
	modeltest.Set(m, "encoder.mean.weight", 1/o.C, -1/o.C)
	modeltest.Set(m, "encoder.mean.bias")
	modeltest.Set(m, "encoder.sd.weight")
	modeltest.Set(m, "encoder.sd.bias", modeltest.SDHead(o.R/(o.C*o.C)))
	modeltest.Set(m, "transition.A", o.A, o.A)
	modeltest.Set(m, "transition.B", o.B, o.B)
	q := modeltest.SoftplusInverse(o.Q)
	modeltest.Set(m, "transition.Q", q, q)
	modeltest.Set(m, "transition.Q_inference", q, q)
	return m
}

// TestFusionForecast_AgainstDenseGaussian: mean and variance of paths with a pass of inference each are those of the exact
// prediction.
func TestFusionForecast_AgainstDenseGaussian(t *testing.T) {
	o := modeltest.LinearGaussian{Start: 1.3, A: -0.2, B: 0.7, C: 0.8, Q: 0.3, R: 0.2}
	m := exactFusion(o)
	o.CheckForecast(t, m)
}

// TestFusionInfer_MixesBySigmoid recomputes one transition in float64 from what inference left on the tape.
func TestFusionInfer_MixesBySigmoid(t *testing.T) {
	m := newFusion(tinyFusion(nil), 3, 2)
	c := modeltest.Case{NX: 3, NU: 2}
	b, noise := c.Batch(4, 2), modeltest.Noise(0)
	p := m.infer(autodiff.NewInferenceTape(m.Params()), b, 1, &noise)
	nz, systems := m.Nets.NZ, m.Nets.M
	a, in := m.transition.A.Values(), m.transition.B.Values()
	for row := range 3 * 2 {
		z, u := p.Z.Value[row*nz:][:nz], b.Controls[(row+2)*2:][:2]
		w := p.weights.Value[row*systems:][:systems]
		var sum float64
		for _, v := range w {
			sum += float64(v)
		}
		if sum < 1.5 {
			t.Errorf("row %d: sigmoid weights %v sum to %v", row, w, sum)
		}
		for j := range nz {
			want := float64(z[j])
			for i, wi := range w {
				for k, v := range z {
					want += float64(wi) * float64(v) * float64(a[(i*nz+k)*nz+j])
				}
				for k, v := range u {
					want += float64(wi) * float64(v) * float64(in[(i*2+k)*nz+j])
				}
			}
			if got := float64(p.transition.Mean.Value[row*nz+j]); math.Abs(got-want) > 1e-5 {
				t.Errorf("row %d, dimension %d: mean %v, want %v", row, j, got, want)
			}
		}
	}
}

// TestFusionForecast_FollowsThePrior: with hardly any generative noise and much for inference, rollouts from a well-measured
// state do not spread.
func TestFusionForecast_FollowsThePrior(t *testing.T) {
	m := newFusion(tinyFusion(nil), 3, 2)
	modeltest.Fill(m, "transition.Q", -40)
	modeltest.Fill(m, "transition.Q_inference", 5)
	modeltest.Fill(m, "encoder.sd.weight", 0)
	modeltest.Fill(m, "encoder.sd.bias", -40)
	q := model.Query{Prefix: modeltest.Case{NX: 3, NU: 2}.Batch(4, 1), Horizon: 3, Samples: 20, Controls: make([]float32, 3*2), Noise: modeltest.Noise(2)}
	var f model.Forecast
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
}
