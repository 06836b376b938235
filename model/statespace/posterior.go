package statespace

import (
	"math"

	"github.com/switchyard-ml/switchyard/autodiff"
	"github.com/switchyard-ml/switchyard/model"
)

// Posterior is one pass of inference over a batch: draws of all states z_1 … z_T, and mean and variance of q(z_t) from
// the second time step on.
type Posterior struct {
	Z              autodiff.Tensor // [T·rows, nz]
	Mean, Variance autodiff.Tensor // [(T−1)·rows, nz]
}

// Start draws z_T from q(z_T) for the rows of z, which are those of the posterior in a time step, with noise eps
// of the same shape. Given z_{T−1} it is a draw of its own, independent of that in Z. After a single step z_T is
// what was drawn.
func (p Posterior) Start(t *autodiff.Tape, z, eps autodiff.Tensor) {
	last := p.Mean.Rows/z.Rows - 1
	if last < 0 {
		copy(z.Value, p.Z.Value)
		return
	}
	t.Draw(z, p.Mean.Block(last, z.Rows), p.Variance.Block(last, z.Rows), eps)
}

// Fuse draws block i+1 of z from q(z_t) of step i: the product of a transition to it, whose means and variances have a
// block for each step, and of the measurement of x_t, or the transition alone where x_t is not seen. eps has the rows
// of a block.
func (p *Posterior) Fuse(t *autodiff.Tape, i int, mean, variance autodiff.Tensor, m *Measurement,
	eps autodiff.Tensor,
) {
	n := eps.Rows
	t.Fuse(autodiff.Fusion{
		Draw: p.Z.Block(i+1, n), Mean: p.Mean.Block(i, n), Variance: p.Variance.Block(i, n),
		M1: mean.Block(i, n), V1: variance.Block(i, n), M2: m.Mean.Block(i, n), V2: m.Variance.Block(i, n),
		Noise: eps, Seen: m.SeenBlock(i, n),
	})
}

// Repeat repeats the rows of each time step of x, of which there are n, once for each path: row i of path j is row
// j·n+i of its step. What is no draw is computed once for all paths. Of several paths the result has no gradient.
func Repeat(t *autodiff.Tape, x autodiff.Tensor, n, paths int) autodiff.Tensor {
	if paths == 1 {
		return x
	}
	y := t.NewConstant(x.Rows*paths, x.Cols)
	for block := range y.Rows / n {
		copy(y.Block(block, n).Value, x.Block(block/paths, n).Value)
	}
	return y
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
