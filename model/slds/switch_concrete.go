package slds

import "github.com/switchyard-ml/switchyard/autodiff"

// concreteSwitch is the relaxed categorical or Bernoulli switch (paper, "Inference of Switching Variables").
// Its draws are the mixing weights.
type concreteSwitch struct {
	cfg   Config
	temps Temperatures

	s, logits autodiff.Tensor // draws and posterior logits
	meas      measurement     // rows from the second time step on
	noise     autodiff.Tensor // [samples·steps·block, M]
}

// newConcreteSwitch lays out the switches of a recurrence. Draws are written into the mixing weights of d. Without
// a gate the posterior logits are the measurement itself.
func newConcreteSwitch(d *dynamics, c Config, temps Temperatures, m measurement, noise autodiff.Tensor) concreteSwitch {
	s := concreteSwitch{cfg: c, temps: temps, meas: m, noise: noise, s: d.weights, logits: m.first}
	if c.Gate {
		s.logits = d.tape.New(d.weights.Rows, c.M)
	}
	return s
}

// l_q = γ⊙l_trans + (1 − γ)⊙l_meas;  s ~ Concrete(l_q, λ_posterior)
func (c *concreteSwitch) posterior(d *dynamics, i int) {
	logits := c.logits.Block(i, d.block)
	if c.cfg.Gate {
		d.tape.Gate(logits, c.meas.other.Block(i, d.block), d.heads[0].Block(i, d.block), c.meas.first.Block(i, d.block))
	}
	c.draw(d, i, logits, c.temps.Posterior, c.cfg.Hard)
}

// s ~ Concrete(l_trans, λ_prior)
func (c *concreteSwitch) prior(d *dynamics, i int) {
	hard := c.cfg.Hard || c.cfg.Rollout == RolloutMode
	c.draw(d, i, d.heads[0].Block(i, d.block), c.temps.Prior, hard)
}

// draw writes block i of the switches, s = softmax((logits + noise)/λ), or gates of them, with the first sample of
// the noise.
func (c *concreteSwitch) draw(d *dynamics, i int, logits autodiff.Tensor, temperature float32, hard bool) {
	s, noise := c.s.Block(i, d.block), c.noise.Block(i, d.block)
	if !c.cfg.binary() {
		d.tape.Concrete(s, logits, noise, temperature, hard)
		return
	}
	gates := c.cfg.Weights.Unlimited(d.tape, s)
	d.tape.BinaryConcrete(gates, logits, noise, temperature, hard)
	c.cfg.Weights.Limit(d.tape, s, gates)
}

// divergence is Σ KL[Concrete(l_q, λ_posterior) ‖ Concrete(l_trans, λ_prior)], estimated with all samples of the
// noise.
func (c *concreteSwitch) divergence(d *dynamics) autodiff.Tensor {
	if c.cfg.binary() {
		return d.tape.BinaryConcreteKL(c.logits, d.heads[0], c.noise, c.temps.Posterior, c.temps.Prior)
	}
	return d.tape.ConcreteKL(c.logits, d.heads[0], c.noise, c.temps.Posterior, c.temps.Prior)
}
