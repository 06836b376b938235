package slds

import (
	"github.com/switchyard-ml/switchyard/autodiff"
	"github.com/switchyard-ml/switchyard/model/statespace"
)

// normalSwitch is the Gaussian switch (paper, "Reinterpretation as a Hierarchical Model"). The heads of the dynamics
// are its mean and, before the softplus, the standard deviations of the prior and of the transition
// that inference uses.
type normalSwitch struct {
	cfg Config

	s, mean, variance autodiff.Tensor // draws and posterior
	vp, vq            autodiff.Tensor // variances of the two transitions
	scores            autodiff.Tensor // W·s + b
	mixing            autodiff.StepLinear
	meas              measurement
	noise             autodiff.Tensor // [steps·block, M]
}

// newNormalSwitch lays out the switches of a recurrence, with the map from switches to mixing weights.
func newNormalSwitch(d *dynamics, c Config, m measurement, noise autodiff.Tensor) normalSwitch {
	t, rows := d.tape, d.weights.Rows
	n := normalSwitch{
		cfg: c, meas: m, noise: noise,
		s: t.New(rows, c.M), mean: t.New(rows, c.M), variance: t.New(rows, c.M),
		vp: t.New(rows, c.M), vq: t.New(rows, c.M), scores: t.New(rows, c.M),
	}
	n.mixing = d.net.mixing.Steps(t, n.scores, n.s, d.block)
	return n
}

// q(s_t) ∝ N(μ_meas, σ_meas²)·N(μ_trans, σ_q²)
func (n *normalSwitch) posterior(d *dynamics, i int) {
	t, b := d.tape, d.block
	// The variance of the prior is for the divergence, that of inference for the product.
	t.Variance(n.vp.Block(i, b), d.heads[1].Block(i, b), statespace.SDFloor)
	t.Variance(n.vq.Block(i, b), d.heads[2].Block(i, b), statespace.SDFloor)
	t.Fuse(autodiff.Fusion{
		Draw: n.s.Block(i, b), Mean: n.mean.Block(i, b), Variance: n.variance.Block(i, b),
		M1: d.heads[0].Block(i, b), V1: n.vq.Block(i, b),
		M2: n.meas.first.Block(i, b), V2: n.meas.other.Block(i, b),
		Noise: n.noise.Block(i, b),
	})
	n.weigh(d, i)
}

// s ~ N(μ_trans, σ_p²)
func (n *normalSwitch) prior(d *dynamics, i int) {
	t, b := d.tape, d.block
	t.Variance(n.vp.Block(i, b), d.heads[1].Block(i, b), statespace.SDFloor)
	t.Draw(n.s.Block(i, b), d.heads[0].Block(i, b), n.vp.Block(i, b), n.noise.Block(i, b))
	n.weigh(d, i)
}

// w = softmax(W·s + b), or sigmoid
func (n *normalSwitch) weigh(d *dynamics, i int) {
	n.mixing.Step(i)
	n.cfg.Weights.Mix(d.tape, d.weights.Block(i, d.block), n.scores.Block(i, d.block))
}

// divergence is Σ KL[q(s_t) ‖ N(μ_trans, σ_p²)] in closed form.
func (n *normalSwitch) divergence(d *dynamics) autodiff.Tensor {
	return d.tape.GaussianKL(n.mean, n.variance, d.heads[0], n.vp)
}
