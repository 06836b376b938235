package slds

import (
	"github.com/switchyard-ml/switchyard/autodiff"
	"github.com/switchyard-ml/switchyard/model"
	"github.com/switchyard-ml/switchyard/rng"
)

// emissionNet is the observation model p(x_t | z_t), the decoder.
type emissionNet struct {
	body     model.Body
	mean, sd model.Dense      // mean is the logits of a Bernoulli emission
	constant *autodiff.Weight // standard deviation before softplus, if it does not depend on the state
}

func newEmissionNet(p *autodiff.Params, c Config, draws *rng.Stream) emissionNet {
	n := emissionNet{
		body: model.NewBody(p, "decoder", c.NZ, c.Hidden, c.Blocks, draws),
		mean: model.NewDense(p, "decoder.mean", c.Hidden, c.NX, draws),
	}
	switch {
	case c.Emission == Bernoulli:
	case c.EmissionSD == ConstantSD:
		n.constant = p.Vector("decoder.sd", c.NX)
	default:
		n.sd = model.NewDense(p, "decoder.sd", c.Hidden, c.NX, draws)
	}
	return n
}

// decode returns mean and standard deviation of p(x | z) for every row of z; for a Bernoulli emission
// the logits and nothing.
func (n emissionNet) decode(t *autodiff.Tape, c Config, z autodiff.Tensor) (mean, sd autodiff.Tensor) {
	features := n.body.Apply(t, z)
	mean = n.mean.Apply(t, features)
	switch {
	case c.Emission == Bernoulli:
		return mean, autodiff.Tensor{}
	case n.constant != nil:
		return mean, t.Repeat(t.Softplus(t.Param(n.constant), sdFloor), z.Rows)
	}
	return mean, t.Softplus(n.sd.Apply(t, features), sdFloor)
}

// negativeLogLikelihood returns the scalar −Σ log p(x_t | z_t) over all rows; missing values do not count.
func (n emissionNet) negativeLogLikelihood(t *autodiff.Tape, c Config, x, z, seen autodiff.Tensor) autodiff.Tensor {
	mean, sd := n.decode(t, c, z)
	if c.Emission == Bernoulli {
		return t.BernoulliNLL(x, mean, seen)
	}
	return t.GaussianNLL(x, mean, sd, seen)
}
