package slds

import (
	"github.com/switchyard-ml/switchyard/autodiff"
	"github.com/switchyard-ml/switchyard/model"
	"github.com/switchyard-ml/switchyard/model/statespace"
	"github.com/switchyard-ml/switchyard/rng"
)

// Terms are what Loss reports: the loss, its four terms before weighting, so that loss = reconstruction + kl_initial +
// kl_state + β·kl_switch. The bound has β = 1, so −loss is an objective and no bound unless β = 1. A deterministic
// switch has no divergence. A validation says how the base systems are used.
func (m *Model) Terms() []model.Term {
	terms := statespace.Terms()
	if m.cfg.Switching != Deterministic {
		kl := model.Term{
			Name: "kl_switch", Label: "KL switch", Short: "kl_s", Unit: statespace.Unit, Weight: m.cfg.Anneal.KLSwitch,
			Bound: 1,
		}
		kl.Note, kl.Remedy = m.note, m.cfg.divergenceRemedy()
		terms = append(terms, kl)
	}
	return append(terms, model.UsageTerms(m.cfg.M, m.cfg.Switching == Concrete)...)
}

// Loss records the negative evidence lower bound of the batch, with the weight β on the divergence of the
// switches, divided by the numbers of sequences B and time steps T:
//
//	(1/BT)·Σ { Σ_t −log p(x_t|z_t) + KL[q(h)‖p(h)]
//	           + Σ_{t≥2} KL[q(z_t)‖p(z_t|z_{t−1},s_t,u_t)] + β·Σ_{t≥2} KL[q(s_t)‖p(s_t|·)] }
//
// with one draw of every latent variable; densities are summed over dimensions. While the schedule of the warm-up
// lasts, the divergences of h and z have a weight, too. (Paper, "Training", and "Lower Bound Derivation" in its
// appendix, whose sums end at T−1 by a slip.)
func (m *Model) Loss(t *autodiff.Tape, b model.Batch, noise rng.Stream, step uint64, terms []float32) autodiff.Tensor {
	p := m.infer(t, b, 1, &noise, m.cfg.Anneal.At(step), m.cfg.posteriorSamples())
	nll := m.Emission.NegativeLogLikelihood(t, b, p.Z)
	klState := t.GaussianKL(p.Mean, p.Variance, p.dynamics.state.Mean, p.dynamics.state.Q)

	state := float32(m.cfg.Warmup.At(step))
	parts := [4]statespace.Weighted{
		{Sum: nll, Weight: 1}, {Sum: p.KLInitial, Weight: state}, {Sum: klState, Weight: state},
	}
	n := 3
	if m.cfg.Switching != Deterministic {
		parts[n] = statespace.Weighted{Sum: p.switches.divergence(&p.dynamics), Weight: float32(m.cfg.Anneal.KLSwitch)}
		n++
	}
	loss, usage := statespace.Loss(t, b, terms, parts[:n]...)
	var weights []float32 // which a validation alone asks for
	if step == model.EndOfSchedule {
		weights = p.switches.expected(&p.dynamics).Value
	}
	model.WriteUsage(usage, step, m.cfg.M, weights)
	return loss
}

// posterior is one pass of inference over a batch.
type posterior struct {
	statespace.Inference // of z
	dynamics             dynamics
	switches             switches
}

// infer draws z and s of all time steps from the posterior, with so many paths of each sequence. Order of the noise:
// that of Frame.Infer, then the switch with the given number of samples of [steps·n, M] numbers each, of which the
// first is the draw.
func (m *Model) infer(t *autodiff.Tape, b model.Batch, paths int, noise *rng.Stream, temps Temperatures,
	samples int,
) posterior {
	c, steps, n := m.cfg, b.T-1, b.B*paths
	p := posterior{Inference: m.Infer(t, b, paths, noise)}
	// What depends on neither z nor s is computed for all steps at once, and once for all paths.
	meas := m.recognition.measure(t, c, b).from(b.B).repeat(t, b.B, paths)
	p.dynamics = m.transition.begin(t, p.Z, p.Controls, autodiff.Tensor{}, n)
	p.switches = c.newSwitches(&p.dynamics, temps, meas, c.drawSwitchNoise(t, noise, samples, steps*n))

	// Step i: the transition of the switch from z_{t−1} and s_{t−1}, a draw of s_t from its posterior, which
	// leaves the mixing weights behind, the transition of the state by these weights, and a draw of z_t from its
	// product with the measurement.
	for i := range steps {
		p.dynamics.proposeSwitch(i, p.switches.draws())
		p.switches.posterior(&p.dynamics, i)
		p.dynamics.move(i)
		p.Fuse(t, i, p.dynamics.state.Mean, p.dynamics.state.QInference, &meas.Measurement, p.Noise.Block(i+1, n))
	}
	return p
}
