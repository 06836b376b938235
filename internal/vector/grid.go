package vector

import (
	"errors"
	"fmt"
	"math"
	"math/bits"
	"slices"
)

const (
	// BlockSize is the largest number of parameters that share a scale. A block never contains parameters of two
	// tensors.
	BlockSize = 256
	// Exponents are between these two. Gradients below the lowest belong to blocks that contain only zeros.
	lowest, highest = -120, 125
)

// ErrNotFinite is returned for a gradient that contains a NaN or an infinity.
var ErrNotFinite = errors.New("the gradient holds a NaN or an infinity")

// Width is the number of bytes of an integer.
type Width int

// Int8 and Int16 are the widths. Sums of int8 have few bits for each shard, so its scales keep less room above the
// gradients, and more steps are computed twice.
const (
	Int8  Width = 1
	Int16 Width = 2
)

// sumBits is the number of bits for the magnitude of a sum.
func (w Width) sumBits() int { return 8*int(w) - 1 }

// leastBits is how many of them the magnitude of a shard needs to be worth the name of a gradient.
func (w Width) leastBits() int {
	if w == Int8 {
		return 2
	}
	return 7
}

// headroom is the distance, in octaves, from the level of a block up to its exponent, so that a step rarely has to be
// computed twice.
func (w Width) headroom() float64 {
	if w == Int8 {
		return 1
	}
	return 3
}

// MaxShards is the largest number of shards whose sum leaves enough bits for the magnitude of each: 256 of Int16, 32 of
// Int8.
func (w Width) MaxShards() int { return 1 << (w.sumBits() - w.leastBits()) }

// Grid divides a vector of parameters into blocks. A vector that is rounded on a grid has an extra element for each
// block, after the parameters: the smallest exponent that the block needs. It does not change, so any number of
// goroutines may use it. A nil Grid stands for vectors that travel as float32.
type Grid struct {
	width Width
	ends  []int   // of the blocks
	bits  int     // for the magnitude of a shard's integers
	limit float32 // largest magnitude of a shard's integer: 2^bits − 1
}

// NewGrid makes the grid for tensors of the given sizes, and for sums over that many shards in integers of a width. A
// tensor of n parameters has ⌈n/BlockSize⌉ blocks; one without parameters has none.
func NewGrid(width Width, sizes []int, shards int) (*Grid, error) {
	if width != Int8 && width != Int16 {
		return nil, fmt.Errorf("integers of %d bytes", width)
	}
	if shards < 1 || shards > width.MaxShards() {
		return nil, fmt.Errorf("%d shards: sums of %d bits hold at most %d, as the integers of each need %d bits", shards,
			8*width, width.MaxShards(), width.leastBits())
	}
	// ⌈log₂ shards⌉ of the bits of a sum are for the number of its terms.
	g := &Grid{width: width, bits: width.sumBits() - bits.Len(uint(shards-1))}
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

// Width is that of the integers.
func (g *Grid) Width() Width { return g.width }

// Blocks is the number of blocks.
func (g *Grid) Blocks() int { return len(g.ends) }

// Len is the length of a rounded vector: the parameters, then one element for each block.
func (g *Grid) Len() int { return g.Parameters() + g.Blocks() }

// Equal reports whether two grids are equal. Both may be nil.
func (g *Grid) Equal(o *Grid) bool {
	return g == o || g != nil && o != nil && g.width == o.width && g.bits == o.bits && slices.Equal(g.ends, o.ends)
}

// need is the smallest exponent e with greatest ≤ limit·2^e, within [lowest, highest]. greatest is finite. One that
// is above limit·2^e and below 2^(e+bits) takes the exponent above.
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

// power is 2^e for a whole number e. If that is not a normal number, power is the nearest one.
func power(e float32) float32 {
	return math.Float32frombits(uint32(127+int32(min(max(e, -126), 127))) << 23)
}
