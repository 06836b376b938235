package vector

import (
	"math"
	"slices"

	"github.com/switchyard-ml/switchyard/autodiff/kernel"
)

// Difference is what a step changes in parameters, as integers that travel in their place. Everybody computes with the
// shown parameters. They follow the exact ones, which only their owner has. For each block b of the grid
//
//	e[b] = the smallest exponent with |exact − shown| ≤ limit·2^e[b]
//	q = (exact − shown)/2^e[b], rounded to the nearest integer, to the even one of two
//	shown ← shown + q·2^e[b]
//
// The product is exact and the sum is rounded once, fused or not. So whoever has the shown parameters of before, and
// q and e, gets the same bits. What is rounded off stays between exact and shown, and is a part of the next
// difference: no error adds up (error feedback), and rounding needs no random numbers to be without bias. Several
// goroutines may call Follow for different blocks, or Integers, but not both at a time.
type Difference struct {
	grid      *Grid
	integers  []float32 // q, by parameter
	exponents []float32 // e, by block
}

// NewDifference returns a difference of zero. The sums of its grid are of one shard, so that all bits are its own.
func NewDifference(g *Grid) *Difference {
	return &Difference{grid: g, integers: make([]float32, g.Parameters()), exponents: make([]float32, g.Blocks())}
}

// Follow computes the difference in the blocks [first, end) and adds it to shown. Blocks do not depend on each other.
// Both vectors have to be finite. Follow reports whether shown still is.
func (d *Difference) Follow(shown, exact []float32, first, end int) (finite bool) {
	finite = true
	for b := first; b < end; b++ {
		from, to := d.grid.block(b)
		q, part := d.integers[from:to], shown[from:to]
		// q holds the difference first, then its integers, in the same memory.
		kernel.Sub(q, exact[from:to], part)
		e := d.grid.need(min(kernel.Greatest(q), math.MaxFloat32)) // it may be beyond float32
		d.exponents[b] = e
		nearest(q, power(-e), d.grid.limit)
		kernel.AddScaled(part, power(e), q)
		finite = kernel.Finite(part) && finite
	}
	return finite
}

// nearest multiplies x by a power of two and rounds it to whole numbers within ±limit, which is below 2^21. Between
// 2^23 and 2^24 float32 are the whole numbers, so a sum in that range is rounded to one. The conversions keep the
// compiler from fusing.
func nearest(x []float32, scale, limit float32) {
	const whole = 3 << 22
	for i, v := range x {
		v = min(max(float32(v*scale), -limit), limit)
		x[i] = float32(v+whole) - whole
	}
}

// Integers writes to dst what takes the place of the elements [from, to) of vector, which begins with the parameters:
// their integers, the exponents of the blocks that have some of them, and what stands behind the parameters as it is.
// That has to be whole numbers that fit. The length of dst is that of Grid.Integers.
func (d *Difference) Integers(dst, vector []float32, from, to int) {
	n := d.grid.Parameters()
	first, end := d.grid.span(from, to)
	dst = dst[copy(dst, d.integers[min(from, n):min(to, n)]):]
	dst = dst[copy(dst, d.exponents[first:end]):]
	copy(dst, vector[max(from, n):max(to, n)])
}

// Integers is how many integers take the place of the elements [from, to) of a vector that begins with the parameters.
func (g *Grid) Integers(from, to int) int {
	first, end := g.span(from, to)
	return to - from + end - first
}

// Add does with part, the elements from there on of a vector, what Follow did with them, given its Integers. Whoever
// receives these from another process compares a checksum of part afterwards.
func (g *Grid) Add(part, integers []float32, from int) {
	to := from + len(part)
	first, end := g.span(from, to)
	parameters := min(to, g.Parameters()) - min(from, g.Parameters())
	exponents := integers[parameters : parameters+end-first]
	for b := first; b < end; b++ {
		begin, stop := g.block(b)
		// A block that is cut by the end of a chunk has its exponent in both chunks.
		begin, stop = max(begin, from)-from, min(stop, to)-from
		kernel.AddScaled(part[begin:stop], power(exponents[b-first]), integers[begin:stop])
	}
	copy(part[parameters:], integers[parameters+end-first:])
}

// block returns the parameters [from, to) of a block.
func (g *Grid) block(b int) (from, to int) {
	if b > 0 {
		from = g.ends[b-1]
	}
	return from, g.ends[b]
}

// span returns the blocks [first, end) that have parameters among the elements [from, to). A block that has some of
// them is among them. It searches in O(log n) steps.
func (g *Grid) span(from, to int) (first, end int) {
	n := g.Parameters()
	if from, to = min(from, n), min(to, n); from == to {
		return 0, 0
	}
	first, _ = slices.BinarySearch(g.ends, from+1)
	end, _ = slices.BinarySearch(g.ends, to)
	return first, end + 1
}
