// Package linear is a linear process with controls:
//
//	x_t = x_{t−1} + x_{t−1}·A + u_t·B + c + N(0, diag σ²)
//
// Its likelihood is greatest at the least squares of x_t on x_{t−1}, u_t and 1, dimension by dimension, with σ the root of
// what is left. It is fitted by gradient, as every family is, and not in closed form: so it trains on the same workers
// and any data, resumes and is saved by the same commands, and training sequences never have to be gathered in one place.
// It starts from A = B = c = 0, where nothing changes. The package does not know where batches come from.
package linear

import (
	"github.com/switchyard-ml/switchyard/autodiff"
	"github.com/switchyard-ml/switchyard/model"
	"github.com/switchyard-ml/switchyard/model/autoregressive"
	"github.com/switchyard-ml/switchyard/rng"
)

// Model is the coefficients of a linear process.
type Model struct {
	data       model.Data
	params     *autodiff.Params
	a, b, bias *autodiff.Weight // [nx,nx], [nu,nx] and [nx]; b is nil without controls
	noise      autoregressive.Noise
}

var (
	_ model.Trainable        = (*Model)(nil)
	_ model.Forecasting      = (*Model)(nil)
	_ autoregressive.Process = (*Model)(nil)
)

// New returns the model with all coefficients zero and σ = log 2.
func New(d model.Data) *Model {
	p := autodiff.NewParams()
	m := &Model{data: d, params: p, a: p.Matrix("transition.A", d.NX, d.NX)}
	if d.NU > 0 {
		m.b = p.Matrix("transition.B", d.NU, d.NX)
	}
	m.bias = p.Vector("transition.bias", d.NX)
	m.noise = autoregressive.NewNoise(p, d.NX)
	p.Pack()
	return m
}

// Params are coefficients and standard deviations.
func (m *Model) Params() *autodiff.Params { return m.params }

// Terms are what Loss reports.
func (m *Model) Terms() []model.Term { return autoregressive.Terms() }

// Noise is that of a step.
func (m *Model) Noise() autoregressive.Noise { return m.noise }

// Loss records the negative log likelihood per sequence and predicted time step:
//
//	(1/B(T−1))·Σ_{t≥2} −log p(x_t | x_{t−1}, u_t)
//
// A value that was not seen, or that follows an observation with a missing value, does not count. There is no noise and no
// schedule.
func (m *Model) Loss(t *autodiff.Tape, b model.Batch, _ rng.Stream, _ uint64, terms []float32) autodiff.Tensor {
	pairs := autoregressive.NewPairs(t, b)
	mean := m.Predict(t, pairs.Last, pairs.Controls)
	nll := t.GaussianNLL(pairs.Next, mean, m.noise.SD(t, mean.Rows), pairs.SeenAfterWhole(t, b))
	return autoregressive.Loss(t, nll, b, terms)
}

// Predict returns x + x·A + u·B + c for every row.
func (m *Model) Predict(t *autodiff.Tape, last, u autodiff.Tensor) autodiff.Tensor {
	mean := t.Add(t.Linear(last, m.a, m.bias, autodiff.Identity), last)
	if m.b != nil {
		mean = t.Add(mean, t.Linear(u, m.b, nil, autodiff.Identity))
	}
	return mean
}

// NewForecaster returns a forecaster of the model's parameters.
func (m *Model) NewForecaster() model.Forecaster {
	return autoregressive.NewForecaster(m, m.data.NX, m.data.NU)
}

// Family is the model as a value of model.kind.
func Family() model.Family {
	return model.Family{
		Name: "linear", Doc: "linear process with controls, fitted by least squares",
		Settings: func() model.Settings { return new(Settings) },
	}
}

// Settings are the keys of the family: none.
type Settings struct{}

// New builds the model.
func (*Settings) New(d model.Data, _ rng.Key) (model.Model, error) { return New(d), nil }

// Describe says what the model is.
func (*Settings) Describe() model.Description {
	return model.Description{Text: "linear in the last observation and the control", Bound: autoregressive.Bound, Variant: "linear"}
}

// Check returns what does not fit together.
func (*Settings) Check(setup model.Setup) []model.Fault { return autoregressive.Check(setup) }

// Ignored returns what has no effect.
func (*Settings) Ignored(model.Setup) []model.Fault { return autoregressive.Ignored() }
