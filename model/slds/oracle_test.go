package slds

import (
	"testing"

	"github.com/switchyard-ml/switchyard/model"
	"github.com/switchyard-ml/switchyard/model/modeltest"
	"github.com/switchyard-ml/switchyard/model/statespace"
)

// exact is the model of a linear-Gaussian system, with two equal base systems, so that the switch has no say, and β = 0:
// q(h | x_1, x_2) is the true one, and so is q(z_2 | z_1, x_2) ∝ N(z_2; x_2/C, R/C²)·p(z_2 | z_1).
func exact(t *testing.T, o modeltest.LinearGaussian, switching Switching) *Model {
	c := tiny()
	c.Switching = switching
	c.Dims = model.Dims{NX: 1, NU: 1, NZ: 1, M: 2}
	c.Hidden, c.EncoderHidden, c.InitialObservations = 6, 2, 2
	c.EmissionSD, c.Anneal.KLSwitch = statespace.ConstantSD, 0
	c.VarianceFloor = 1e-12
	m := newModel(t, c)
	o.SetInitial(m, 6)
	o.SetEmission(m)
	set(m, "encoder.dense.weight", 1, -1)
	set(m, "encoder.dense.bias")
	set(m, "encoder.mean.weight", 1/o.C, -1/o.C)
	set(m, "encoder.mean.bias")
	set(m, "encoder.sd.weight")
	set(m, "encoder.sd.bias", modeltest.SDHead(o.R/(o.C*o.C)))
	set(m, "transition.A", o.A, o.A)
	set(m, "transition.B", o.B, o.B)
	set(m, "transition.Q", softplusInverse(o.Q), softplusInverse(o.Q))
	set(m, "transition.Q_inference", softplusInverse(o.Q), softplusInverse(o.Q))
	return m
}

func set(m *Model, name string, values ...float64) { modeltest.Set(m, name, values...) }

func softplusInverse(y float64) float64 { return modeltest.SoftplusInverse(y) }

// TestLoss_AgainstDenseGaussian: at the exact posterior the bound is the log evidence; for longer
// sequences, where q(z_t) does not see the future, and for a wrong posterior it is below.
func TestLoss_AgainstDenseGaussian(t *testing.T) {
	o := modeltest.LinearGaussian{Start: 1.3, A: -0.2, B: 0.7, C: 0.8, Q: 0.3, R: 0.2}
	for _, switching := range []Switching{Concrete, Normal, Deterministic} {
		o.CheckBound(t, exact(t, o, switching), 2)
	}
	o.CheckImportance(t, exact(t, o, Deterministic)) // the others have a posterior of the switch that is not exact
}

// TestForecast_AgainstDenseGaussian: paths with a pass of inference each have the moments of the exact prediction.
func TestForecast_AgainstDenseGaussian(t *testing.T) {
	o := modeltest.LinearGaussian{Start: 1.3, A: -0.2, B: 0.7, C: 0.8, Q: 0.3, R: 0.2}
	for _, switching := range []Switching{Concrete, Normal, Deterministic} {
		o.CheckForecast(t, exact(t, o, switching))
	}
}
