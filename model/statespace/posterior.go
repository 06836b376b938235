package statespace

import (
	"math"

	"github.com/switchyard-ml/switchyard/autodiff"
	"github.com/switchyard-ml/switchyard/model"
)

// Inference says how the paths of a sequence come by the state from which they start.
type Inference string

// Shared paths start from draws of q(z_T) after one pass of inference over the prefix; those apart have a pass each,
// so that they differ in all that was drawn before, too.
const (
	Shared Inference = "shared"
	Apart  Inference = "apart"
)

// Copies is how many passes of inference a sequence needs for so many paths.
func (k Inference) Copies(samples int) int {
	if k == Apart {
		return samples
	}
	return 1
}

// Posterior is one pass of inference over a batch: draws of all states z_1 … z_T, and mean and variance of q(z_t) from
// the second time step on.
type Posterior struct {
	Z              autodiff.Tensor // [T·rows, nz]
	Mean, Variance autodiff.Tensor // [(T−1)·rows, nz]
}

// Start draws z_T for every path of z; row i of path j belongs to row i of the posterior, which has the given number of
// rows in a time step. After a single step z_T is what was drawn.
func (p Posterior) Start(t *autodiff.Tape, z, eps autodiff.Tensor, rows int) {
	last := p.Mean.Rows/rows - 1
	for path := range z.Rows / rows {
		block := z.Block(path, rows)
		if last < 0 {
			copy(block.Value, p.Z.Value)
			continue
		}
		t.Draw(block, p.Mean.Block(last, rows), p.Variance.Block(last, rows), eps.Block(path, rows))
	}
}

// Filtering writes the moments of q(z_t), and the mixing weights from the second time step on, to the sequences of a
// group.
func (p Posterior) Filtering(dst *model.Filtering, g Group, weights autodiff.Tensor) {
	n, nz, m := g.N, dst.NZ, dst.M
	for t := range dst.T {
		at := t*dst.B + g.First
		mean, sd, w := dst.Mean[at*nz:][:n*nz], dst.SD[at*nz:][:n*nz], dst.Switches[at*m:][:n*m]
		if t == 0 {
			copy(mean, p.Z.Block(0, n).Value)
			clear(sd)
			clear(w)
			continue
		}
		copy(mean, p.Mean.Block(t-1, n).Value)
		copy(w, weights.Block(t-1, n).Value)
		for i, v := range p.Variance.Block(t-1, n).Value {
			sd[i] = float32(math.Sqrt(float64(v)))
		}
	}
}
