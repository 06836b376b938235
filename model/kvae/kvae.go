// Package kvae is the Kalman variational auto-encoder (Fraccaro, Kamronn, Paquet and Winther, A Disentangled
// Recognition and Nonlinear Dynamics Model for Unsupervised Learning, NeurIPS 2017): an auto-encoder whose codes a_t
// are the observations of a linear Gaussian state-space model (LGSSM).
//
// Generative model, t = 1 … T:
//
//	α_t = softmax(W·LSTM(a_0 … a_{t−1}) + b);  (A_t, B_t, C_t) = Σₖ α_{t,k}·(Aₖ, Bₖ, Cₖ), with a learned a_0
//	p(z_1) = N(0, σ₁²I);  p(z_t | z_{t−1}, u_t) = N(A_t z_{t−1} + B_t u_t, Q);  p(a_t | z_t) = N(C_t z_t, R)
//	p(x_t | a_t), a decoder; Bernoulli or Gaussian
//
// Inference: q(a_t | x_t), an encoder, and given all a_t the exact posterior of z_t, by a Kalman filter and a smoother.
//
// What is missing has no part in either: where x_t misses a value, a_t follows p(a_t | z_t), the filter has no gain and
// the LSTM reads C_t times the predicted mean. Images have convolutions for encoder and decoder, vectors residual
// networks. The package does not know where batches come from.
package kvae

import (
	"github.com/switchyard-ml/switchyard/autodiff"
	"github.com/switchyard-ml/switchyard/model"
	"github.com/switchyard-ml/switchyard/model/statespace"
	"github.com/switchyard-ml/switchyard/rng"
)

// Model is the parameters of a KVAE and the networks over them. One Model serves any number of tapes at a time, as long
// as its parameters do not change.
type Model struct {
	dims   model.Dims
	params *autodiff.Params
	anneal Anneal

	codec codec
	state lgssm
}

var (
	_ model.Trainable   = (*Model)(nil)
	_ model.Forecasting = (*Model)(nil)
)

// New declares and initialises a model. Equal settings, data and key give equal parameters. Draws are those of the
// codec, then of the state-space model.
func New(s *Settings, d model.Data, key rng.Key) *Model {
	p := autodiff.NewParams()
	draws := key.At(0, 0, 0)
	m := &Model{params: p, dims: model.Dims{NX: d.NX, NU: d.NU, NZ: s.Latent, M: s.Switches}, anneal: s.Anneal}
	m.codec = newCodec(p, s, d, &draws)
	m.state = newLGSSM(p, s, s.codes(d), d.NU, &draws)
	p.Pack()
	return m
}

// Params are the parameters of model and inference.
func (m *Model) Params() *autodiff.Params { return m.params }

// sequence is a batch as the state-space model sees it.
type sequence struct {
	a            autodiff.Tensor // codes, [T·B, na]
	u            autodiff.Tensor // controls, [T·B, nu]
	seen, hidden autodiff.Tensor // [T·B, 1]: 1 where x_t was seen whole, and where not; no columns if nothing is missing
	steps, block int
}

// newSequence is a batch with the codes a of all its observations, [T·B, na]; those of observations that miss a
// value have no effect.
func newSequence(t *autodiff.Tape, b model.Batch, a autodiff.Tensor) sequence {
	rows := b.T * b.B
	s := sequence{a: a, u: t.Constant(b.Controls, rows, b.NU), steps: b.T, block: b.B}
	if b.Seen == nil {
		return s
	}
	_, s.seen = statespace.Readings(t, b)
	s.hidden = t.NewConstant(rows, 1)
	for i, v := range s.seen.Value {
		s.hidden.Value[i] = 1 - v
	}
	return s
}

// readings are the observations that the codec encodes, [T·B, nx].
func readings(t *autodiff.Tape, b model.Batch) autodiff.Tensor {
	x, _ := statespace.Readings(t, b)
	return x
}

// wherever returns the rows of x where x_t was seen, and zeros elsewhere.
func (s sequence) wherever(t *autodiff.Tape, x autodiff.Tensor) autodiff.Tensor {
	if s.seen.Cols == 0 {
		return x
	}
	return t.HideRows(x, s.seen)
}

// fill returns the rows of x where x_t was seen, and those of other elsewhere; both begin at time step i.
func (s sequence) fill(t *autodiff.Tape, x, other autodiff.Tensor, i int) autodiff.Tensor {
	if s.seen.Cols == 0 {
		return x
	}
	from, to := i*s.block, i*s.block+x.Rows
	return t.Add(t.HideRows(x, s.seen.Slice(from, to)), t.HideRows(other, s.hidden.Slice(from, to)))
}

// whole is the number of observations that were seen whole.
func (s sequence) whole() int {
	if s.seen.Cols == 0 {
		return s.a.Rows
	}
	n := 0
	for _, v := range s.seen.Value {
		n += int(v)
	}
	return n
}
