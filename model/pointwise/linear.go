package pointwise

import (
	"github.com/switchyard-ml/switchyard/autodiff"
	"github.com/switchyard-ml/switchyard/model"
	"github.com/switchyard-ml/switchyard/rng"
)

// LinearModel is the coefficients of a linear process.
type LinearModel struct {
	noisy
	a, b, bias *autodiff.Weight // [nx,nx], [nu,nx] and [nx]; b is nil without controls
}

var (
	_ model.Trainable   = (*LinearModel)(nil)
	_ model.Forecasting = (*LinearModel)(nil)
	_ Process           = (*LinearModel)(nil)
)

// NewLinear returns the model with all coefficients zero and σ = log 2.
func NewLinear(d model.Data) *LinearModel {
	p := autodiff.NewParams()
	m := &LinearModel{noisy: noisy{data: d, params: p}, a: p.Matrix("transition.A", d.NX, d.NX)}
	if d.NU > 0 {
		m.b = p.Matrix("transition.B", d.NU, d.NX)
	}
	m.bias = p.Vector("transition.bias", d.NX)
	m.noise = NewNoise(p, d.NX)
	p.Pack()
	return m
}

// Loss records the negative log likelihood per sequence and predicted time step:
//
//	(1/B(T−1))·Σ_{t≥2} −log p(x_t | x_{t−1}, u_t)
//
// A value that was not seen, or that follows an observation with a missing value, does not count. There is no noise and
// no schedule.
func (m *LinearModel) Loss(t *autodiff.Tape, b model.Batch, _ rng.Stream, _ uint64, terms []float32) autodiff.Tensor {
	pairs := NewPairs(t, b)
	mean := m.Predict(t, pairs.Last, pairs.Controls)
	nll := t.GaussianNLL(pairs.Next, mean, m.noise.SD(t, mean.Rows), pairs.SeenAfterWhole(t, b))
	return Loss(t, nll, b, terms)
}

// Predict returns x + x·A + u·B + c for every row; last and the result are [n, nx], u is [n, nu].
func (m *LinearModel) Predict(t *autodiff.Tape, last, u autodiff.Tensor) autodiff.Tensor {
	mean := t.Add(t.Linear(last, m.a, m.bias, autodiff.Identity), last)
	if m.b != nil {
		mean = t.Add(mean, t.Linear(u, m.b, nil, autodiff.Identity))
	}
	return mean
}

// NewForecaster returns a forecaster of the model's parameters.
func (m *LinearModel) NewForecaster() model.Forecaster {
	return NewForecaster(m, m.data.NX, m.data.NU)
}

// Linear is the model as a value of model.kind.
func Linear() model.Family {
	return model.Family{
		Name: "linear", Doc: "linear process with controls, fitted by least squares",
		Settings: func() model.Settings { return new(LinearSettings) },
	}
}

// LinearSettings are the keys of the family: none.
type LinearSettings struct{ firstOrder }

// New builds the model.
func (*LinearSettings) New(d model.Data, _ rng.Key) (model.Model, error) { return NewLinear(d), nil }

// Describe says what the model is.
func (*LinearSettings) Describe() model.Description {
	return model.Description{Text: "linear in the last observation and the control", Bound: Bound, Variant: "linear"}
}
