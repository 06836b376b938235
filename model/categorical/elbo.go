package categorical

import (
	"github.com/switchyard-ml/switchyard/autodiff"
	"github.com/switchyard-ml/switchyard/model"
	"github.com/switchyard-ml/switchyard/model/statespace"
	"github.com/switchyard-ml/switchyard/rng"
)

// Terms are what Loss reports: loss = reconstruction + β·(kl_initial + kl_state), where β rises to 1; then, at a
// validation, how the systems are used.
func (m *Model) Terms() []model.Term {
	return append(statespace.Terms(), model.UsageTerms(m.cfg.M, true)...)
}

// Loss records the negative evidence lower bound of the batch, with the weight β of the step on the divergences,
// divided by the numbers of sequences B and time steps T:
//
//	(1/BT)·Σ { Σ_t −log p(x_t|z_t) + β·KL[q(h)‖p(h)] + β·Σ_{t≥2} (E[log q(z_t)] − ℓ_t) }
//
// with one draw of h and of every z_t. The expectation is that of the Gaussian q(z_t), −½·Σ (1 + log 2πv).
func (m *Model) Loss(t *autodiff.Tape, b model.Batch, noise rng.Stream, step uint64, terms []float32) autodiff.Tensor {
	p := m.infer(t, b, 1, &noise)
	nll := m.Emission.NegativeLogLikelihood(t, b, p.Z)
	klState := m.divergence(t, p)
	beta := float32(m.cfg.Warmup.At(step))
	loss, usage := statespace.Loss(t, b, terms, statespace.Weighted{Sum: nll, Weight: 1},
		statespace.Weighted{Sum: p.KLInitial, Weight: beta}, statespace.Weighted{Sum: klState, Weight: beta})
	// Only a validation asks for the shares of the systems, by the beliefs b_t.
	var belief []float32
	if step == model.EndOfSchedule {
		belief = t.Exp(p.steps.belief.Slice(b.B, p.Z.Rows)).Value
	}
	model.WriteUsage(usage, step, m.cfg.M, belief)
	return loss
}

// divergence is the scalar Σ E[log q(z_t)] − ℓ_t over t ≥ 2, in nats, summed over the batch. E[log q] is −½·(log v
// + log 2πe) of each dimension. With a single time step it is 0.
func (m *Model) divergence(t *autodiff.Tape, p posterior) autodiff.Tensor {
	const halfLog2PiE = 1.41893853320467274178
	if p.Variance.Rows == 0 {
		return t.Sum(p.Variance)
	}
	weights := [2]float32{-0.5, -1}
	y := t.WeightedSum(weights[:], t.Sum(t.Log(p.Variance)), t.Sum(p.steps.density))
	return t.AddScalar(y, -halfLog2PiE*float32(len(p.Variance.Value)))
}

// posterior is one pass of inference over a batch. Block t of z and of the belief is time step t; means, variances
// and what steps compute have a block less.
type posterior struct {
	statespace.Inference // of z
	steps                recurrence
}

// infer draws the states of all time steps from the posterior, paths of each sequence side by side (row j·B+i of a
// step is path j of sequence i). Order of the noise: h, then z step by step, of all sequences at a time. What does
// not depend on a draw, the measurements, is computed once for all paths.
func (m *Model) infer(t *autodiff.Tape, b model.Batch, paths int, noise *rng.Stream) posterior {
	n := b.B * paths
	p := posterior{Inference: m.Infer(t, b, paths, noise)}
	meas := m.encoder.Measure(t, b).From(b.B).Repeat(t, b.B, paths)
	p.steps = m.transition.begin(t, p.Z, p.Controls, n, true)
	m.transition.first(&p.steps)
	for i := range b.T - 1 {
		// Step i leads from block i to block i+1: the weights w and their proposal, then a draw of q(z), then ℓ
		// and b.
		p.steps.predict(i)
		if m.cfg.Preview {
			p.steps.preview(i, meas)
		}
		p.steps.mix(i)
		p.Fuse(t, i, p.steps.mean, p.steps.variance, &meas, p.Noise.Block(i+1, n))
		p.steps.weigh(i)
	}
	return p
}

var _ model.Weighing = (*Model)(nil)

// LogWeights draws h and z of every sequence and writes
//
//	Σ_t log p(x_t|z_t) + log p(h)/q(h) + Σ_{t≥2} (ℓ_t − log q(z_t))
//
// in which the switch is summed out. dst [B] is overwritten.
func (m *Model) LogWeights(t *autodiff.Tape, b model.Batch, noise rng.Stream, dst []float64) {
	clear(dst)
	w := statespace.LogWeights{Tape: t, Sums: dst}
	p := m.infer(t, b, 1, &noise)
	m.Emission.LogLikelihood(w, b, p.Z)
	w.Start(p.First)
	w.Add(p.steps.density, 1)
	w.Gaussian(p.Z.Slice(b.B, p.Z.Rows), p.Mean, p.Variance, -1)
}
