package vector

import (
	"math"

	"github.com/switchyard-ml/switchyard/autodiff/kernel"
)

// clipMemory is the weight of the norms before in the running norm, once there were enough of them.
const clipMemory = 0.99

// running is the running norm of the gradients that updates were made from, after clipping (see entry): the mean of the
// first hundred norms, and from then on
//
//	r ← 0.99·r + 0.01·min(‖g‖, limit)
//
// As it is fed with norms that were clipped, a gradient of any size makes it at most 1 + (ClipFactor − 1)/100 times as
// large. A gradient that is not finite ends the run and does not reach it. It begins at the first norm that is not 0.
type running struct {
	norm    []float32 // of one element; nil: there is no such limit
	updates uint64    // that it was fed with
}

// limit is the largest norm for the next gradient, given the one that is fixed; 0: there is none. Before the first
// norm is known, only the fixed one holds.
func (r *running) limit(s *Schedule) float64 {
	limit := s.Clip
	if own := r.own(s); own > 0 && (limit == 0 || own < limit) {
		limit = own
	}
	return limit
}

// own is the limit that follows from the norms before; 0: there is none.
func (r *running) own(s *Schedule) float64 {
	if s.ClipFactor == 0 || r.norm[0] == 0 {
		return 0
	}
	return float64(s.ClipFactor * float64(r.norm[0]))
}

// outlying reports whether a gradient is so far outside what the updates before have seen that its update is left out.
// It takes as many updates as the mean is made of to say so, and norms that were not all 0. During the warm-up none is:
// while the emission becomes sharp, gradients grow a hundredfold within as many updates, faster than the running norm.
func (r *running) outlying(s *Schedule, norm float64, step uint64) bool {
	return s.Outlier > 0 && step >= s.Warmup && r.updates >= 1/(1-clipMemory) && r.norm[0] > 0 &&
		norm > float64(s.Outlier*float64(r.norm[0]))
}

// entry is what the running norm is fed with, given the norms of a gradient before and after clipping. Where outlying
// gradients are left out, the fixed limit does not cut it: norms before clipping are compared with it.
func (r *running) entry(s *Schedule, norm, applied float64, leftOut bool) float64 {
	if s.Outlier == 0 {
		return applied
	}
	norm = min(norm, maxNorm) // as float32 it is finite
	if own := r.own(s); own > 0 {
		norm = min(norm, own)
	}
	if leftOut {
		norm = min(norm, 2*float64(r.norm[0])) // so that one gradient does not spoil the running norm
	}
	return norm
}

// feed enters an entry. It does nothing where there is no running norm.
func (r *running) feed(norm float64) {
	if r.norm == nil {
		return
	}
	weight := max(1/float64(r.updates+1), 1-clipMemory)
	before := float64(r.norm[0])
	if before == 0 {
		weight = 1
	}
	r.norm[0] = float32(before + float64(weight*(norm-before)))
	r.updates++
}

// size is the root mean square of a gradient in units of Adam's second moment, this gradient included:
//
//	√(mean of g²/v̂),  v̂ = (β₂v + (1−β₂)g²)/(1−β₂ᵗ)
//
// About 1 is usual. A gradient that is much larger than those before has at most √((1−β₂ᵗ)/(1−β₂)), also if its norm,
// which the largest of its elements make, is as usual. (Shazeer and Stern 2018, "Update clipping", and Wortsman
// et al. 2023 scale the update by it, of each tensor apart.) The powers belong to this update already, v to the
// one before. The sum is that of the kernel in each piece, and then of the pieces.
func (a *Adam) size(g []float32, clip float32) float64 {
	var sum float64
	for from := 0; from < len(g); from += piece {
		end := min(from+piece, len(g))
		squares, moments := a.sizing.squares[:end-from], a.sizing.moments[:end-from]
		copy(squares, g[from:end])
		kernel.Scale(squares, clip)
		kernel.Mul(squares, squares, squares)
		copy(moments, a.v[from:end])
		kernel.Scale(moments, float32(a.schedule.Beta2))
		kernel.AddScaled(moments, float32(1-a.schedule.Beta2), squares)
		kernel.Add(moments, a.sizing.least[:end-from])
		kernel.Div(squares, squares, moments)
		sum += float64(kernel.Sum(squares))
	}
	return math.Sqrt(float64((1-a.power2)*sum) / float64(len(g)))
}

// piece is the number of elements whose sizes are computed together, in the first-level cache.
const piece = 1 << 11

// sizing is scratch memory for the sizes of a piece.
type sizing struct {
	squares, moments []float32
	least            []float32 // is added to second moments, so that 0/0 is 0
}

func newSizing() *sizing {
	s := &sizing{make([]float32, piece), make([]float32, piece), make([]float32, piece)}
	for i := range s.least {
		s.least[i] = 0x1p-120
	}
	return s
}
