package slds

import (
	"github.com/switchyard-ml/switchyard/autodiff"
	"github.com/switchyard-ml/switchyard/model"
	"github.com/switchyard-ml/switchyard/rng"
)

// initialNet infers the start of a sequence: q(h | x_{1:k}, u_{1:k}) = N(μ_h, σ_h²) and z_1 = t(h).
type initialNet struct {
	body     model.Body
	mean, sd model.Dense
	hidden   model.Dense // t(h): one rectified hidden layer
	out      model.Dense
}

func newInitialNet(p *autodiff.Params, c Config, draws *rng.Stream) initialNet {
	body := model.NewBody(p, "initial", c.InitialObservations*(c.NX+c.NU), c.Hidden, c.Blocks, draws)
	return initialNet{
		body:   body,
		mean:   model.NewDense(p, "initial.mean", c.Hidden, c.NZ, draws),
		sd:     model.NewDense(p, "initial.sd", c.Hidden, c.NZ, draws),
		hidden: model.NewDense(p, "start.hidden", c.NZ, c.Hidden, draws),
		out:    model.NewDense(p, "start.out", c.Hidden, c.NZ, draws),
	}
}

// infer writes z_1 for every sequence into z1 and returns KL[q(h) ‖ N(0, I)].
func (n initialNet) infer(t *autodiff.Tape, z1 autodiff.Tensor, c Config, b model.Batch, noise autodiff.Tensor) autodiff.Tensor {
	features := n.body.Apply(t, firstObservations(t, c, b))
	mean := n.mean.Apply(t, features)
	variance, h := t.New(b.B, c.NZ), t.New(b.B, c.NZ)
	t.Variance(variance, n.sd.Apply(t, features), sdFloor)
	t.Draw(h, mean, variance, noise)
	hidden := t.Linear(h, n.hidden.W, n.hidden.B, autodiff.ReLU)
	n.out.Steps(t, z1, hidden, b.B).Step(0)
	return t.StandardKL(mean, variance)
}

// firstObservations lays the first k pairs (x_t, u_t) of a sequence side by side. A sequence shorter
// than k repeats its last pair.
func firstObservations(t *autodiff.Tape, c Config, b model.Batch) autodiff.Tensor {
	pair := c.NX + c.NU
	y := t.NewConstant(b.B, c.InitialObservations*pair)
	for i := range b.B {
		row := y.Value[i*y.Cols : (i+1)*y.Cols]
		for k := range c.InitialObservations {
			at := min(k, b.T-1)*b.B + i
			copy(row[k*pair:], b.Observations[at*c.NX:(at+1)*c.NX])
			copy(row[k*pair+c.NX:], b.Controls[at*c.NU:(at+1)*c.NU])
		}
	}
	return y
}
