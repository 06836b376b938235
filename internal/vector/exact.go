package vector

import (
	"math"
	"math/bits"
)

// Words is the number of float32 that one float64 is written in: 64 = 22 + 21 + 21 bits.
const Words = 3

// low are the 21 bits of the second and third word.
const low = 1<<21 - 1

// Write writes float64 values to dst, [len(src), Words]. dst has room for them. A NaN keeps its bits, too, as it
// travels as integers.
func Write(dst []float32, src []float64) {
	for i, v := range src {
		b, w := math.Float64bits(v), dst[i*Words:(i+1)*Words]
		w[0], w[1], w[2] = float32(b>>42), float32(b>>21&low), float32(b&low)
	}
}

// Read reads float64 values that Write has written. It reports whether they can be such: dst is undefined if not. It
// is safe for parameters that another process has sent: only whole numbers within their range are turned into bits.
func Read(dst []float64, src []float32) bool {
	for i := range dst {
		var b uint64
		for j, w := range src[i*Words : (i+1)*Words] {
			limit, shift := float32(1<<21), 21
			if j == 0 {
				limit, shift = 1<<22, 0
			}
			// The negation refuses a NaN, too.
			if !(w >= 0 && w < limit) || w != float32(uint64(w)) {
				return false
			}
			b = b<<shift | uint64(w)
		}
		dst[i] = math.Float64frombits(b)
	}
	return true
}

// Layout is where the states of several chains stand in the parameters θ. Each has a region of its own, one after the
// other: a mark, 0 before the chain has begun and 1 from then on, and its state. All zeros are the parameters before
// any chain has begun.
//
// A round of local steps moves θ to θ − rate·mean(θ − θ_shard). The shard of a chain has gone θ − θ′ in its own region
// and nothing in the others; a shard without a chain has gone nothing. With Shards(), a power of two, as rate, the sum
// over shards, the division by their number, the product with the rate and the difference are all exact: θ becomes θ′.
type Layout struct {
	Chains int
	State  int // float64 values of a state
}

// Of returns the layout of parameters of that size; false if no states of so many chains have it.
func Of(parameters, chains int) (Layout, bool) {
	if chains < 1 || parameters%chains != 0 || parameters/chains%Words != 1 {
		return Layout{}, false
	}
	return Layout{Chains: chains, State: parameters / chains / Words}, true
}

// Region is the number of parameters of a chain.
func (l Layout) Region() int { return 1 + Words*l.State }

// Size is the number of parameters.
func (l Layout) Size() int { return l.Chains * l.Region() }

// Of returns the region of a chain in a vector of Size.
func (l Layout) Of(v []float32, chain int) []float32 {
	return v[chain*l.Region() : (chain+1)*l.Region()]
}

// Shards is the number of shards of a round: the least power of two that is not below Chains.
func (l Layout) Shards() int { return Shards(l.Chains) }

// Shards is the number of shards for so many chains.
func Shards(chains int) int { return 1 << bits.Len(uint(chains-1)) }

// Chain is the chain of a shard, or −1 if it has none. Chain c is at c with its bits reversed, so that blocks of
// shards, which are what workers compute, have equal numbers of chains but for one.
func (l Layout) Chain(shard int) int {
	width := bits.Len(uint(l.Shards())) - 1
	if width == 0 {
		return 0
	}
	chain := int(bits.Reverse64(uint64(shard)) >> (64 - width))
	if chain >= l.Chains {
		return -1
	}
	return chain
}

// Put writes the state of a chain that has begun to its region. The region is that of Layout.Of.
func Put(region []float32, state []float64) {
	region[0] = 1
	Write(region[1:], state)
}

// Get reads a state from its region. It returns false for begun before the chain has begun, and false for ok if the
// region holds no state.
func Get(state []float64, region []float32) (begun, ok bool) {
	switch region[0] {
	case 0:
		return false, true
	case 1:
		return true, Read(state, region[1:])
	}
	return false, false
}
