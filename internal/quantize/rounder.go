package quantize

import (
	"math"

	"github.com/switchyard-ml/switchyard/autodiff/kernel"
	"github.com/switchyard-ml/switchyard/rng"
)

// Rounder rounds the gradients of shards. It holds no state that changes, so any number of goroutines may use it.
type Rounder struct {
	Grid *Grid
	Seed uint64
}

// Equal reports whether two rounders round alike.
func (r Rounder) Equal(o Rounder) bool { return r.Seed == o.Seed && r.Grid.Equal(o.Grid) }

// Round turns the gradient of a shard into integers, in place: g holds the parameters, and room for the blocks behind
// them, of which each gets the least exponent that it needs. exponents are those in force, of all blocks. In a block
// that needs more than it has, what does not fit is cut off.
//
// The random numbers are those of (seed, step, shard), so that the result is a function of the gradient and the
// exponents. It returns ErrNotFinite, and g undefined, for a gradient that holds a NaN or an infinity.
func (r Rounder) Round(g, exponents []float32, step uint64, shard int) error {
	n := r.Grid.Parameters()
	needs := g[n:]
	draws := rng.New(r.Seed, rng.Rounding).At(step, uint32(shard), 0)
	from := 0
	for b, to := range r.Grid.ends {
		part := g[from:to]
		greatest := kernel.Greatest(part)
		if !(greatest <= math.MaxFloat32) {
			return ErrNotFinite
		}
		needs[b] = r.Grid.need(greatest)
		draws.Round(part, power(-exponents[b]), r.Grid.limit)
		from = to
	}
	return nil
}

// Restore turns the sum of rounded gradients into a gradient, in place, and returns it without what the blocks need.
func (g *Grid) Restore(sum, exponents []float32) []float32 {
	from := 0
	for b, to := range g.ends {
		kernel.Scale(sum[from:to], power(exponents[b]))
		from = to
	}
	return sum[:g.Parameters()]
}
