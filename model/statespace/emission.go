package statespace

import (
	"cmp"

	"github.com/switchyard-ml/switchyard/autodiff"
	"github.com/switchyard-ml/switchyard/model"
	"github.com/switchyard-ml/switchyard/rng"
)

// Density is the observation model p(x_t | z_t).
type Density string

// Gaussian is for vectors, Bernoulli for binary images.
const (
	Gaussian  Density = "gaussian"
	Bernoulli Density = "bernoulli"
)

// SD says whether the standard deviation of a Gaussian emission depends on the state.
type SD string

// StateSD is a head of the decoder; ConstantSD one learned value per dimension.
const (
	StateSD    SD = "state"
	ConstantSD SD = "constant"
)

// Emission is the observation model p(x_t | z_t), the decoder, of rows z [n, nz]:
//
//	N(x; μ(z), diag σ²),  σ = softplus(s(z)) + floor, or softplus(s) + floor with one s per dimension
//	Bernoulli(x; sigmoid(l(z)))
type Emission struct {
	body     model.Body
	mean, sd model.Dense      // mean is the logits of a Bernoulli emission
	constant *autodiff.Weight // standard deviation before the softplus, if it does not depend on the state
	floor    float64
	skip     skip
	binary   bool
}

// EmissionConfig is an observation model and its size.
type EmissionConfig struct {
	Density        Density
	SD             SD
	Floor          float64 // least standard deviation of a Gaussian; 0: SDFloor
	NX, NZ         int
	Hidden, Blocks int
	Skip           bool // whether the mean has a linear map of z in it, beside the network
}

// floor is the least standard deviation.
func (c EmissionConfig) floor() float64 { return cmp.Or(c.Floor, SDFloor) }

// NewEmission declares the parameters decoder.… of a decoder. Equal draws give equal parameters.
func NewEmission(p *autodiff.Params, c EmissionConfig, draws *rng.Stream) Emission {
	n := Emission{
		body:   model.NewBody(p, "decoder", c.NZ, c.Hidden, c.Blocks, draws),
		mean:   model.NewDense(p, "decoder.mean", c.Hidden, c.NX, draws),
		floor:  c.floor(),
		binary: c.Density == Bernoulli,
	}
	n.skip = newSkip(p, c.Skip, "decoder.skip", c.NZ, c.NX, draws)
	switch {
	case n.binary:
	case c.SD == ConstantSD:
		n.constant = p.Vector("decoder.sd", c.NX)
	default:
		n.sd = model.NewDense(p, "decoder.sd", c.Hidden, c.NX, draws)
	}
	return n
}

// decode returns mean and standard deviation of p(x | z) for every row of z, [n, nx] both; for a Bernoulli
// emission the logits and nothing.
func (n Emission) decode(t *autodiff.Tape, z autodiff.Tensor) (mean, sd autodiff.Tensor) {
	features := n.body.Apply(t, z)
	mean = n.skip.add(t, n.mean.Apply(t, features), z)
	switch {
	case n.binary:
		return mean, autodiff.Tensor{}
	case n.constant != nil:
		return mean, t.Repeat(t.Softplus(t.Param(n.constant), float32(n.floor)), z.Rows)
	}
	return mean, t.Softplus(n.sd.Apply(t, features), float32(n.floor))
}

// NegativeLogLikelihood returns the scalar −Σ log p(x_t | z_t) over a batch, in nats; missing values do not count.
// z is [T·B, nz], time-major like the batch.
func (n Emission) NegativeLogLikelihood(t *autodiff.Tape, b model.Batch, z autodiff.Tensor) autodiff.Tensor {
	x := t.Constant(b.Observations, b.T*b.B, b.NX)
	var seen autodiff.Tensor
	if b.Seen != nil {
		seen = t.Constant(b.Seen, x.Rows, x.Cols)
	}
	mean, sd := n.decode(t, z)
	if n.binary {
		return t.BernoulliNLL(x, mean, seen)
	}
	return t.GaussianNLL(x, mean, sd, seen)
}

// Predict returns mean and standard deviation of p(x | z) for every row of z, on a tape that does not record; for a
// Bernoulli emission the probabilities of a one, and a standard deviation without columns.
func (n Emission) Predict(t *autodiff.Tape, z autodiff.Tensor) (mean, sd autodiff.Tensor) {
	mean, sd = n.decode(t, z)
	if n.binary {
		t.Sigmoid(mean, mean)
	}
	return mean, sd
}

// Emit writes what Predict returns for rows of z, [n, nz], into mean and sd, [n, nx]; the deviations of a
// Bernoulli emission are zeros. It resets the tape.
func (n Emission) Emit(t *autodiff.Tape, mean, sd, z []float32) {
	t.Reset()
	nz := n.width()
	m, s := n.Predict(t, t.Constant(z, len(z)/nz, nz))
	copy(mean, m.Value)
	clear(sd)
	copy(sd, s.Value)
}

// width is the number of latent dimensions.
func (n Emission) width() int { return n.body.In }
