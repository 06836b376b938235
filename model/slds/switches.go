package slds

import (
	"github.com/switchyard-ml/switchyard/autodiff"
	"github.com/switchyard-ml/switchyard/rng"
)

// switches is the distribution of the switches of a recurrence, in one of the three variants. Its
// methods run in the order of time: the transition parameters of step i are in the heads of the
// dynamics when they are called, and they leave a draw of s and the mixing weights of step i behind.
type switches struct {
	kind     Switching
	concrete concreteSwitch
	gaussian normalSwitch
	fixed    deterministicSwitch
}

// newSwitches lays out the switches of a recurrence in the configured variant. An empty measurement is for
// recurrences that only draw from the prior.
func (c Config) newSwitches(d *dynamics, temps Temperatures, m measurement, noise autodiff.Tensor) switches {
	switch c.Switching {
	case Normal:
		return switches{kind: Normal, gaussian: newNormalSwitch(d, c, m, noise)}
	case Deterministic:
		return switches{kind: Deterministic, fixed: deterministicSwitch{c.Weights, d.weights}}
	default:
		return switches{kind: Concrete, concrete: newConcreteSwitch(d, c, temps, m, noise)}
	}
}

// posterior draws s_i from q(s_t | …), the measurement combined with the transition.
func (s *switches) posterior(d *dynamics, i int) {
	switch s.kind {
	case Normal:
		s.gaussian.posterior(d, i)
	case Deterministic:
		s.fixed.step(d, i)
	default:
		s.concrete.posterior(d, i)
	}
}

// prior draws s_i from p(s_t | …), in the way of the configured rollout.
func (s *switches) prior(d *dynamics, i int) {
	switch s.kind {
	case Normal:
		s.gaussian.prior(d, i)
	case Deterministic:
		s.fixed.step(d, i)
	default:
		s.concrete.prior(d, i)
	}
}

// divergence returns the scalar Σ KL[q(s_t) ‖ p(s_t)] over all steps and sequences of a random switch.
func (s *switches) divergence(d *dynamics) autodiff.Tensor {
	if s.kind == Normal {
		return s.gaussian.divergence(d)
	}
	return s.concrete.divergence(d)
}

// draws are the switches s of all steps.
func (s *switches) draws() autodiff.Tensor {
	switch s.kind {
	case Normal:
		return s.gaussian.s
	case Deterministic:
		return s.fixed.s
	default:
		return s.concrete.s
	}
}

// expected are the mixing weights of the posterior without the noise of the draws, [steps·block, M]: those of the
// logits of a Concrete switch, with softmax the probability of each system at any temperature, and those at the mean of
// a Normal one. Noise alone would look like regimes: a draw of a Concrete switch is nearly one system, even where all
// are equally probable.
func (s *switches) expected(d *dynamics) autodiff.Tensor {
	if s.kind == Deterministic {
		return d.weights
	}
	kind, scores := s.concrete.cfg.Weights, s.concrete.logits
	if s.kind == Normal {
		kind, scores = s.gaussian.cfg.Weights, d.net.mixing.Apply(d.tape, s.gaussian.mean)
	}
	w := d.tape.New(d.weights.Rows, d.weights.Cols)
	kind.Mix(d.tape, w, scores)
	return w
}

// drawSwitchNoise fills the noise of the given number of samples of every row: for a Concrete switch Gumbel or
// logistic noise, of which the first sample is the forward one, for a Normal switch normals, and none for one that
// is not random. The result is [samples·rows, M], sample after sample.
func (c Config) drawSwitchNoise(t *autodiff.Tape, noise *rng.Stream, samples, rows int) autodiff.Tensor {
	if c.Switching == Deterministic {
		return autodiff.Tensor{}
	}
	x := t.NewConstant(samples*rows, c.M)
	switch {
	case c.Switching == Normal:
		noise.Normals(x.Value)
	case c.binary():
		noise.Logistics(x.Value)
	default:
		noise.Gumbels(x.Value)
	}
	return x
}

// posteriorSamples is the number of noise samples per switch that the loss needs.
func (c Config) posteriorSamples() int {
	if c.Switching == Concrete {
		return c.KLSamples
	}
	return 1
}
