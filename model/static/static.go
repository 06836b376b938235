// Package static predicts that nothing changes (Becker-Ehmck et al. 2019, table "Mean squared error on predicting future
// observations", row Static): the random walk
//
//	x_t = x_{t−1} + N(0, diag σ²)
//
// whose best prediction at every horizon is the last observation. Its only parameters are the σ, one per dimension, which
// are fitted by gradient as those of any other family: so it trains, resumes and is saved by the same commands, and its
// forecasts have an uncertainty that grows with the root of the horizon. It does not use controls.
package static

import (
	"github.com/switchyard-ml/switchyard/autodiff"
	"github.com/switchyard-ml/switchyard/model"
	"github.com/switchyard-ml/switchyard/model/autoregressive"
	"github.com/switchyard-ml/switchyard/rng"
)

// Model is a random walk.
type Model struct {
	data   model.Data
	params *autodiff.Params
	noise  autoregressive.Noise
}

var (
	_ model.Trainable        = (*Model)(nil)
	_ model.Forecasting      = (*Model)(nil)
	_ autoregressive.Process = (*Model)(nil)
)

// New returns the model with σ = log 2.
func New(d model.Data) *Model {
	p := autodiff.NewParams()
	m := &Model{data: d, params: p, noise: autoregressive.NewNoise(p, d.NX)}
	p.Pack()
	return m
}

// Params are the standard deviations.
func (m *Model) Params() *autodiff.Params { return m.params }

// Terms are what Loss reports.
func (m *Model) Terms() []model.Term { return autoregressive.Terms() }

// Noise is that of a step.
func (m *Model) Noise() autoregressive.Noise { return m.noise }

// Loss records the negative log likelihood per sequence and predicted time step:
//
//	(1/B(T−1))·Σ_{t≥2} −log N(x_t; x_{t−1}, diag σ²)
//
// A value counts if it was seen in both steps. There is no noise and no schedule.
func (m *Model) Loss(t *autodiff.Tape, b model.Batch, _ rng.Stream, _ uint64, terms []float32) autodiff.Tensor {
	pairs := autoregressive.NewPairs(t, b)
	mean := t.New(pairs.Last.Rows, pairs.Last.Cols)
	copy(mean.Value, pairs.Last.Value)
	nll := t.GaussianNLL(pairs.Next, mean, m.noise.SD(t, mean.Rows), pairs.SeenTwice(t, b))
	return autoregressive.Loss(t, nll, b, terms)
}

// Predict returns x_{t−1}.
func (m *Model) Predict(_ *autodiff.Tape, last, _ autodiff.Tensor) autodiff.Tensor { return last }

// NewForecaster returns a forecaster of the model's parameters.
func (m *Model) NewForecaster() model.Forecaster {
	return autoregressive.NewForecaster(m, m.data.NX, m.data.NU)
}

// Family is the model as a value of model.kind.
func Family() model.Family {
	return model.Family{
		Name: "static", Doc: "nothing changes: a random walk with learned noise",
		Settings: func() model.Settings { return new(Settings) },
	}
}

// Settings are the keys of the family: none.
type Settings struct{}

// New builds the model.
func (*Settings) New(d model.Data, _ rng.Key) (model.Model, error) { return New(d), nil }

// Describe says what the model is.
func (*Settings) Describe() model.Description {
	return model.Description{Text: "the last observation, with learned noise", Bound: autoregressive.Bound, Variant: "static"}
}

// Check returns what does not fit together.
func (*Settings) Check(setup model.Setup) []model.Fault { return autoregressive.Check(setup) }

// Ignored returns what has no effect.
func (*Settings) Ignored(model.Setup) []model.Fault { return autoregressive.Ignored() }
