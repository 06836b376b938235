package vector

import (
	"math"

	"github.com/switchyard-ml/switchyard/autodiff/kernel"
	"github.com/switchyard-ml/switchyard/rng"
)

// Rounder rounds the gradients of shards. Its state does not change, so any number of goroutines may use it.
type Rounder struct {
	Grid *Grid  // nil: nothing is rounded
	Seed uint64 // of the run
}

// Equal reports whether two rounders give equal results.
func (r Rounder) Equal(o Rounder) bool { return r.Seed == o.Seed && r.Grid.Equal(o.Grid) }

// Round rounds the gradient of a shard to integers, in place. g has the parameters, then an element for each block,
// which Round sets to the smallest exponent that the block needs. exponents are the current exponents of all blocks. If
// a block needs a larger exponent than its current one, values that do not fit are clipped.
//
// The random numbers belong to (seed, step, shard), so that the result is a function of gradient and exponents. If the
// gradient contains a NaN or an infinity, Round returns ErrNotFinite, and g is undefined.
func (r Rounder) Round(g, exponents []float32, step uint64, shard int) error {
	n := r.Grid.Parameters()
	needs := g[n:]
	draws := rng.New(r.Seed, rng.Rounding).At(step, uint32(shard), 0)
	from := 0
	for b, to := range r.Grid.ends {
		part := g[from:to]
		greatest := kernel.Greatest(part)
		// A NaN is not below it either.
		if !(greatest <= math.MaxFloat32) {
			return ErrNotFinite
		}
		needs[b] = r.Grid.need(greatest)
		draws.Round(part, power(-exponents[b]), r.Grid.limit)
		from = to
	}
	return nil
}

// Restore turns the sum of rounded gradients into a gradient, in place. It returns the gradient without the elements
// of the blocks. The product with a power of two is exact unless it leaves the range of float32.
func (g *Grid) Restore(sum, exponents []float32) []float32 {
	from := 0
	for b, to := range g.ends {
		kernel.Scale(sum[from:to], power(exponents[b]))
		from = to
	}
	return sum[:g.Parameters()]
}
