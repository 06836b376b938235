// Package lstm is the vanilla recurrent baseline (Hochreiter and Schmidhuber 1997; Becker-Ehmck et al. 2019, table
// "Mean squared error on predicting future observations", row LSTM): one layer of long short-term memory that predicts
// the next observation from all before it, trained on one step ahead with the true past ("teacher forcing"):
//
//	(h_t, c_t) = LSTM(h_{t−1}, c_{t−1}; x_t, u_{t+1});  p(x_{t+1} | x_{1:t}, u_{2:t+1}) = N(x_t + W·h_t + b, diag σ²)
//
// With equal σ the maximum likelihood is the least squared error; σ is learned, one per dimension, so that a forecast
// has an uncertainty of one step. A Bernoulli emission has logits W·h_t + b. Beyond the data a forecast feeds its own
// predictions back. The package does not know where batches come from.
package lstm

import (
	"github.com/switchyard-ml/switchyard/autodiff"
	"github.com/switchyard-ml/switchyard/model"
	"github.com/switchyard-ml/switchyard/model/pointwise"
	"github.com/switchyard-ml/switchyard/model/statespace"
	"github.com/switchyard-ml/switchyard/rng"
)

// Model is the parameters of the layer and of its head. One Model serves any number of tapes at a time, as long as its
// parameters do not change.
type Model struct {
	data     model.Data
	params   *autodiff.Params
	layer    autodiff.LSTMWeights
	head     model.Dense
	noise    pointwise.Noise // of a Gaussian emission
	binary   bool
	residual bool
}

var (
	_ model.Trainable   = (*Model)(nil)
	_ model.Forecasting = (*Model)(nil)
)

// New declares and initialises a model. Equal settings, data and key give equal parameters.
func New(s *Settings, d model.Data, key rng.Key) *Model {
	p := autodiff.NewParams()
	draws := key.At(0, 0, 0)
	m := &Model{data: d, params: p, binary: s.Emission == statespace.Bernoulli}
	m.residual = s.Residual && !m.binary
	m.layer = model.NewLSTM(p, "lstm", d.NX+d.NU, s.Hidden, &draws)
	m.head = model.NewDense(p, "head", s.Hidden, d.NX, &draws)
	if !m.binary {
		m.noise = pointwise.NewNoise(p, d.NX)
	}
	p.Pack()
	return m
}

// Params are the parameters of the layer and its head.
func (m *Model) Params() *autodiff.Params { return m.params }

// Terms are what Loss reports.
func (m *Model) Terms() []model.Term { return pointwise.Terms() }

// Loss records the negative log likelihood per sequence and predicted time step:
//
//	(1/B(T−1))·Σ_{t≥2} −log p(x_t | x_{1:t−1}, u_{2:t})
//
// Missing values do not count, and are read as they were last seen. There is no noise and no schedule.
func (m *Model) Loss(t *autodiff.Tape, b model.Batch, _ rng.Stream, _ uint64, terms []float32) autodiff.Tensor {
	pairs := pointwise.NewPairs(t, b)
	h := t.ForwardLSTM(pairs.Last, pairs.Controls, m.layer, b.B)
	mean := m.predict(t, h, pairs.Last)
	var nll autodiff.Tensor
	if m.binary {
		nll = t.BernoulliNLL(pairs.Next, mean, pairs.Seen)
	} else {
		nll = t.GaussianNLL(pairs.Next, mean, m.noise.SD(t, mean.Rows), pairs.Seen)
	}
	return pointwise.Loss(t, nll, b, terms)
}

// predict is the mean of the next observation, or the logits of a binary one, given h and the last observation.
func (m *Model) predict(t *autodiff.Tape, h, last autodiff.Tensor) autodiff.Tensor {
	y := m.head.Apply(t, h)
	if m.residual {
		return t.Add(y, last)
	}
	return y
}
