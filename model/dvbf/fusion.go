package dvbf

import (
	"cmp"
	"math"

	"github.com/switchyard-ml/switchyard/autodiff"
	"github.com/switchyard-ml/switchyard/model"
	"github.com/switchyard-ml/switchyard/model/statespace"
	"github.com/switchyard-ml/switchyard/rng"
)

// Fusion is the parameters of a DVBF Fusion and the networks over them. One Fusion serves any number of tapes at a
// time, as long as its parameters do not change.
type Fusion struct {
	statespace.Frame
	weights statespace.Weights
	sketch  statespace.Sketch // what Graphs need to know of the parts

	encoder    statespace.Encoder
	mixing     statespace.Mixing
	transition statespace.LocallyLinear
}

var (
	_ model.Trainable = (*Fusion)(nil)
	_ statespace.Core = (*Fusion)(nil)
)

// NewFusion declares and initialises a model. Equal settings, data and key give equal parameters.
func NewFusion(s *FusionSettings, d model.Data, key rng.Key) *Fusion {
	draws := key.At(0, 0, 0)
	nets := statespace.Nets{
		Dims: model.Dims{NX: d.NX, NU: d.NU, NZ: s.Latent, M: s.Switches}, Hidden: s.Hidden,
		EncoderHidden: cmp.Or(s.EncoderHidden, s.Hidden), Blocks: s.Blocks,
		InitialObservations: s.InitialObservations, Initial: s.Initial, Emission: s.Emission, EmissionSD: s.EmissionSD,
		EmissionFloor: math.Sqrt(s.EmissionFloor),
	}
	m := &Fusion{Frame: statespace.NewFrame(nets, &draws), weights: s.Weights}
	p := m.Params()
	m.sketch = statespace.Sketch{Nets: nets, Params: p, Residual: s.Residual, Floor: float32(s.VarianceFloor)}
	m.encoder = statespace.NewEncoder(p, nets.EncoderConfig(), &draws)
	m.mixing = statespace.NewMixing(p, s.Switches, s.Latent, d.NU, s.Hidden, s.Blocks, s.Weights, &draws)
	m.transition = statespace.NewLocallyLinear(p, s.Switches, s.Latent, d.NU, s.Residual, float32(s.VarianceFloor), &draws)
	m.Complete(&draws)
	return m
}

// Terms are what Loss reports: loss = reconstruction + kl_initial + kl_state.
func (m *Fusion) Terms() []model.Term {
	return append(statespace.Terms(), model.UsageTerms(m.Nets.M, false)...)
}

// Loss records the negative evidence lower bound of the batch, divided by the numbers of sequences B and time steps T:
//
//	(1/BT)·Σ { Σ_t −log p(x_t|z_t) + KL[q(h)‖p(h)] + Σ_{t≥2} KL[q(z_t)‖p(z_t|z_{t−1},u_t)] }
//
// with one draw of every latent variable; densities are summed over dimensions. It has no schedule.
func (m *Fusion) Loss(t *autodiff.Tape, b model.Batch, noise rng.Stream, step uint64, terms []float32) autodiff.Tensor {
	p := m.infer(t, b, 1, &noise)
	nll := m.Emission.NegativeLogLikelihood(t, b, p.Z)
	klState := t.GaussianKL(p.Mean, p.Variance, p.transition.Mean, p.transition.Q)
	loss, usage := statespace.Loss(t, b, terms, statespace.Weighted{Sum: nll, Weight: 1},
		statespace.Weighted{Sum: p.KLInitial, Weight: 1}, statespace.Weighted{Sum: klState, Weight: 1})
	model.WriteUsage(usage, step, m.Nets.M, p.weights.Value)
	return loss
}

// fusionPosterior is one pass of inference over a batch, with the prior of every step beside it.
type fusionPosterior struct {
	statespace.Inference
	transition statespace.Transition
	weights    autodiff.Tensor // α_t from the second time step on
}

// infer draws the states of all time steps from the posterior, with so many paths of each sequence. Order of the
// noise: that of Frame.Infer.
func (m *Fusion) infer(t *autodiff.Tape, b model.Batch, paths int, noise *rng.Stream) fusionPosterior {
	n := b.B * paths
	p := fusionPosterior{Inference: m.Infer(t, b, paths, noise)}
	// What does not depend on z is computed for all steps at once, and once for all paths.
	meas := m.encoder.Measure(t, b).From(b.B).Repeat(t, b.B, paths)
	mixing := m.mixing.Steps(t, p.Z, p.Controls, n)
	p.weights = mixing.Weights
	p.transition = m.transition.Steps(t, mixing.Weights, p.Z, p.Controls, n)

	// Step i leads from block i of z to block i+1: weights from z_{t−1}, the transition with both sets of
	// variances, then the product with the measurement of x_t, or the transition alone where x_t is not seen.
	for i := range b.T - 1 {
		mixing.Step(i)
		p.transition.Step(i)
		p.Fuse(t, i, p.transition.Mean, p.transition.QInference, &meas, p.Noise.Block(i+1, n))
	}
	return p
}

var _ model.Weighing = (*Fusion)(nil)

// LogWeights draws h and z of every sequence and writes
//
//	Σ_t log p(x_t|z_t) + log p(h)/q(h) + Σ_{t≥2} log p(z_t|z_{t−1},u_t)/q(z_t)
func (m *Fusion) LogWeights(t *autodiff.Tape, b model.Batch, noise rng.Stream, dst []float64) {
	clear(dst)
	w := statespace.LogWeights{Tape: t, Sums: dst}
	p := m.infer(t, b, 1, &noise)
	m.Emission.LogLikelihood(w, b, p.Z)
	w.Start(p.First)
	// log p(z_t | z_{t−1}, u_t) − log q(z_t) at the draw, for all steps from the second on.
	z := p.Z.Slice(b.B, p.Z.Rows)
	w.Gaussian(z, p.transition.Mean, p.transition.Q, 1)
	w.Gaussian(z, p.Mean, p.Variance, -1)
}
