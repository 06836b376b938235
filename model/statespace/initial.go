package statespace

import (
	"github.com/switchyard-ml/switchyard/autodiff"
	"github.com/switchyard-ml/switchyard/model"
	"github.com/switchyard-ml/switchyard/rng"
)

// Initial infers the start of a sequence from its first observations and controls:
//
//	q(h | x_{1:k}, u_{1:k}) = N(μ_h, σ_h²);  z_1 = t(h)
//
// with a prior N(0, I) of h. (Becker-Ehmck et al. 2019, "Structured Inference of Gaussian Latent State".)
type Initial struct {
	cfg      InitialConfig
	body     model.Body
	mean, sd model.Dense
	hidden   model.Dense // t(h): one rectified hidden layer
	out      model.Dense
}

// InitialConfig says what an Initial reads and how large it is.
type InitialConfig struct {
	NX, NU, NZ     int
	Observations   int // k; a sequence shorter than k repeats its last step
	Hidden, Blocks int
}

// NewInitial declares the parameters of an Initial.
func NewInitial(p *autodiff.Params, c InitialConfig, draws *rng.Stream) Initial {
	body := model.NewBody(p, "initial", c.Observations*(c.NX+c.NU), c.Hidden, c.Blocks, draws)
	return Initial{
		cfg: c, body: body,
		mean:   model.NewDense(p, "initial.mean", c.Hidden, c.NZ, draws),
		sd:     model.NewDense(p, "initial.sd", c.Hidden, c.NZ, draws),
		hidden: model.NewDense(p, "start.hidden", c.NZ, c.Hidden, draws),
		out:    model.NewDense(p, "start.out", c.Hidden, c.NZ, draws),
	}
}

// Infer draws h, writes z_1 of every sequence into z1 and returns mean and variance of q(h), [B, nz].
func (n Initial) Infer(t *autodiff.Tape, z1 autodiff.Tensor, b model.Batch, noise autodiff.Tensor) (mean, variance autodiff.Tensor) {
	features := n.body.Apply(t, n.firstObservations(t, b))
	mean = n.mean.Apply(t, features)
	variance = t.New(b.B, n.cfg.NZ)
	h := t.New(b.B, n.cfg.NZ)
	t.Variance(variance, n.sd.Apply(t, features), SDFloor)
	t.Draw(h, mean, variance, noise)
	hidden := t.Linear(h, n.hidden.W, n.hidden.B, autodiff.ReLU)
	n.out.Steps(t, z1, hidden, b.B).Step(0)
	return mean, variance
}

// firstObservations lays the first k pairs (x_t, u_t) of a sequence side by side.
func (n Initial) firstObservations(t *autodiff.Tape, b model.Batch) autodiff.Tensor {
	c := n.cfg
	pair := c.NX + c.NU
	y := t.NewConstant(b.B, c.Observations*pair)
	for i := range b.B {
		row := y.Value[i*y.Cols : (i+1)*y.Cols]
		for k := range c.Observations {
			at := min(k, b.T-1)*b.B + i
			copy(row[k*pair:], b.Observations[at*c.NX:(at+1)*c.NX])
			copy(row[k*pair+c.NX:], b.Controls[at*c.NU:(at+1)*c.NU])
		}
	}
	return y
}
