package pointwise

import (
	"github.com/switchyard-ml/switchyard/autodiff"
	"github.com/switchyard-ml/switchyard/model"
	"github.com/switchyard-ml/switchyard/rng"
)

// StaticModel is a random walk.
type StaticModel struct{ noisy }

var (
	_ model.Trainable   = (*StaticModel)(nil)
	_ model.Forecasting = (*StaticModel)(nil)
	_ Process           = (*StaticModel)(nil)
)

// NewStatic returns the model with σ = log 2.
func NewStatic(d model.Data) *StaticModel {
	p := autodiff.NewParams()
	m := &StaticModel{noisy{d, p, NewNoise(p, d.NX)}}
	p.Pack()
	return m
}

// Loss records the negative log likelihood per sequence and predicted time step:
//
//	(1/B(T−1))·Σ_{t≥2} −log N(x_t; x_{t−1}, diag σ²)
//
// A value counts if it was seen in both steps. There is no noise and no schedule.
func (m *StaticModel) Loss(t *autodiff.Tape, b model.Batch, _ rng.Stream, _ uint64, terms []float32) autodiff.Tensor {
	pairs := NewPairs(t, b)
	mean := t.New(pairs.Last.Rows, pairs.Last.Cols)
	// The VJP of the likelihood adds to the gradient of the mean, which the constant Last does not have.
	copy(mean.Value, pairs.Last.Value)
	nll := t.GaussianNLL(pairs.Next, mean, m.noise.SD(t, mean.Rows), pairs.SeenTwice(t, b))
	return Loss(t, nll, b, terms)
}

// Predict returns x_{t−1}, the tensor that it was given.
func (m *StaticModel) Predict(_ *autodiff.Tape, last, _ autodiff.Tensor) autodiff.Tensor { return last }

// NewForecaster returns a forecaster of the model's parameters.
func (m *StaticModel) NewForecaster() model.Forecaster {
	return NewForecaster(m, m.data.NX, m.data.NU)
}

// Static is the model as a value of model.kind.
func Static() model.Family {
	return model.Family{
		Name: "static", Doc: "nothing changes: a random walk with learned noise",
		Settings: func() model.Settings { return new(StaticSettings) },
	}
}

// StaticSettings are the keys of the family: none.
type StaticSettings struct{ firstOrder }

// New builds the model.
func (*StaticSettings) New(d model.Data, _ rng.Key) (model.Model, error) { return NewStatic(d), nil }

// Describe says what the model is.
func (*StaticSettings) Describe() model.Description {
	return model.Description{Text: "the last observation, with learned noise", Bound: Bound, Variant: "static"}
}
