package rng

import (
	"math/bits"

	"github.com/switchyard-ml/switchyard/autodiff/kernel"
)

// Stream is a sequence of random numbers, read from its start. Its methods advance it; a copy goes on by itself from
// the same place. The zero Stream is not usable: streams come from Key.At. It serves one goroutine at a time, and
// panics when its 2³² blocks are used up.
type Stream struct {
	philox kernel.Philox
	sample uint64    // counter word 1, in place
	next   uint64    // the next block
	words  [4]uint32 // the block before next
	left   int       // of its words, how many are still to be used, from the end
}

const (
	blocks      = 1 << 32 // of a stream
	groupBlocks = 8       // of a group of the kernels
	groupValues = 32
)

// Uint32 returns 32 random bits: the next word of the stream.
func (s *Stream) Uint32() uint32 {
	if s.left == 0 {
		s.words = s.philox.Block(s.take(1))
		s.left = len(s.words)
	}
	s.left--
	return s.words[len(s.words)-1-s.left]
}

// Uint64 returns 64 random bits: the next two words, the first one high.
func (s *Stream) Uint64() uint64 {
	high := uint64(s.Uint32())
	return high<<32 | uint64(s.Uint32())
}

// IntN returns a number uniform in [0, n), exactly (Lemire 2019). It uses two words
// and rarely more. It panics if n <= 0.
func (s *Stream) IntN(n int) int {
	if n <= 0 {
		panic("rng: IntN: n <= 0")
	}
	bound := uint64(n)
	high, low := bits.Mul64(s.Uint64(), bound)
	if low < bound {
		for reject := -bound % bound; low < reject; {
			high, low = bits.Mul64(s.Uint64(), bound)
		}
	}
	return int(high)
}

// Float64 returns a number uniform in [0, 1), a multiple of 2⁻⁵³. It uses two words.
func (s *Stream) Float64() float64 {
	return float64(s.Uint64()>>11) * (1.0 / (1 << 53))
}

// Uniform returns lo + (hi-lo)·u with u as of Float64; rounding may give hi. It uses two words.
func (s *Stream) Uniform(lo, hi float64) float64 {
	return lo + float64((hi-lo)*s.Float64())
}

// Normal returns a standard normal number. It uses two words and is the float32 that the kernels would make of them.
func (s *Stream) Normal() float64 {
	a := s.Uint32()
	return float64(kernel.NormalOf(a, s.Uint32()))
}

// Uniforms fills dst with numbers uniform in (0, 1].
//
// This and the other bulk methods start at the next whole group of eight blocks
// (after the place where single draws have got to) and use whole groups of 32
// values: two calls for 10 values each take two groups, one call for 20 takes one.
func (s *Stream) Uniforms(dst []float32) {
	s.philox.Uniforms(dst, s.takeGroups(len(dst)))
}

// Normals fills dst with standard normal numbers. It, Gumbels and Logistics start where Uniforms would, and take as
// many groups.
func (s *Stream) Normals(dst []float32) {
	s.philox.Normals(dst, s.takeGroups(len(dst)))
}

// Gumbels fills dst with standard Gumbel numbers -ln(-ln u).
func (s *Stream) Gumbels(dst []float32) {
	s.philox.Gumbels(dst, s.takeGroups(len(dst)))
}

// Logistics fills dst with standard logistic numbers ln u - ln(1-u).
func (s *Stream) Logistics(dst []float32) {
	s.philox.Logistics(dst, s.takeGroups(len(dst)))
}

// Round rounds a·x to integers at random: see kernel.Philox.Round. It uses a group for every 64 values.
func (s *Stream) Round(x []float32, a, limit float32) {
	s.philox.Round(x, a, limit, s.takeGroups((len(x)+1)/2))
}

// takeGroups advances past the groups that n values need and returns the first block. Words that single draws have
// left in their block are dropped.
func (s *Stream) takeGroups(n int) uint64 {
	s.left = 0
	s.next = (s.next + groupBlocks - 1) / groupBlocks * groupBlocks
	return s.take(uint64((n + groupValues - 1) / groupValues * groupBlocks))
}

// take advances by n blocks and returns the first of them.
func (s *Stream) take(n uint64) uint64 {
	first := s.next
	s.next += n
	if s.next > blocks {
		panic("rng: stream exhausted after 2³² blocks")
	}
	return s.sample | first
}
