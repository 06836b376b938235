// Package quantize is the arithmetic of gradients that are summed as 16-bit integers with shared scales. The parameters
// are cut into blocks. Before a step every block has a scale, 2^exponent, that all shards share; each shard's gradient is
// rounded once to integer multiples of it, at random and without bias. Sums of integers are exact, so they have the same
// bits in any order and grouping, and the sum over all shards fits 16 bits.
//
// It knows neither messages nor workers: Grid and Rounder are what computes a shard, Scales what leads a run.
package quantize

import (
	"errors"
	"fmt"
	"math"
	"math/bits"
	"slices"
)

const (
	// BlockSize is how many parameters share a scale, at most: a block does not reach into another tensor.
	BlockSize = 256
	// MaxShards is the most shards whose sum leaves seven bits to the magnitude of each.
	MaxShards = 1 << (sumBits - leastBits)

	sumBits   = 15 // of the magnitude of an int16
	leastBits = 7

	// Exponents lie between these: below are the gradients of blocks that hold nothing but zeros.
	lowest, highest = -120, 125
)

// ErrNotFinite is returned for a gradient with a NaN or an infinity.
var ErrNotFinite = errors.New("the gradient holds a NaN or an infinity")

// Grid is the division of a vector of parameters into blocks. A vector that is rounded on it has an element for each
// block behind the parameters: the least exponent that the block needs.
type Grid struct {
	ends  []int // of the blocks
	bits  int   // of the magnitude of a shard's integers
	limit float32
}

// NewGrid divides the parameters of tensors of the given sizes, for sums over so many shards.
func NewGrid(sizes []int, shards int) (*Grid, error) {
	if shards < 1 || shards > MaxShards {
		return nil, fmt.Errorf("%d shards: sums of 16 bits hold at most %d, as the integers of each need %d bits", shards, MaxShards, leastBits)
	}
	g := &Grid{bits: sumBits - bits.Len(uint(shards-1))}
	g.limit = float32(int(1)<<g.bits - 1)
	at := 0
	for _, size := range sizes {
		if size < 0 {
			return nil, fmt.Errorf("a tensor of %d parameters", size)
		}
		for end := at + size; at < end; {
			at = min(at+BlockSize, end)
			g.ends = append(g.ends, at)
		}
	}
	return g, nil
}

// Parameters is the number of parameters.
func (g *Grid) Parameters() int {
	if len(g.ends) == 0 {
		return 0
	}
	return g.ends[len(g.ends)-1]
}

// Blocks is the number of blocks.
func (g *Grid) Blocks() int { return len(g.ends) }

// Len is the length of a rounded vector: parameters, and blocks behind them.
func (g *Grid) Len() int { return g.Parameters() + g.Blocks() }

// Equal reports whether two grids are the same; nil is one, too.
func (g *Grid) Equal(o *Grid) bool {
	return g == o || g != nil && o != nil && g.bits == o.bits && slices.Equal(g.ends, o.ends)
}

// need is the least exponent e with greatest ≤ limit·2^e, in [lowest, highest]. greatest is finite.
func (g *Grid) need(greatest float32) float32 {
	f, e := math.Frexp(float64(greatest)) // f·2^e, f in [½,1)
	e -= g.bits
	if f > 1-math.Ldexp(1, -g.bits) {
		e++
	}
	if greatest == 0 {
		e = lowest
	}
	return float32(max(e, lowest))
}

// power is 2^e. What lies outside of the range of normal numbers is taken as its ends.
func power(e float32) float32 {
	return math.Float32frombits(uint32(127+int32(min(max(e, -126), 127))) << 23)
}
