package vector

import "math"

const (
	// span is the largest distance, in octaves, between the highest level and those that count; lower levels count as
	// that low. New gradients in a block without gradients are mostly small, and then fit.
	span = 20
	// fade is the number of octaves by which a level falls in each step, unless the gradients need it.
	fade = 1.0 / 64
)

// Scales chooses the exponents of a run's steps. Its state is a level for each block, in octaves: the largest exponent
// that the block needed, which falls from step to step. So the scales of a step are a function of the steps before it.
//
// Levels are multiples of 1/64, and all arithmetic on them is exact.
type Scales struct {
	width     Width
	levels    []float32 // by block, in octaves; never below lowest
	exponents []float32 // of the step under way; the memory belongs to the caller of NewScales
}

// NewScales begins without knowledge: the gradients of the first step do not fit and show which exponents they need.
// exponents is the memory for the current exponents, one for each block.
func NewScales(width Width, exponents []float32) *Scales {
	s := &Scales{width: width, levels: make([]float32, len(exponents)), exponents: exponents}
	s.Restore(nil)
	return s
}

// Levels is the state between two steps. The slice belongs to the Scales.
func (s *Scales) Levels() []float32 { return s.levels }

// Exponents are the current exponents. The slice belongs to the Scales.
func (s *Scales) Exponents() []float32 { return s.exponents }

// Restore continues with levels from before; without levels it begins as NewScales does. It copies them.
func (s *Scales) Restore(levels []float32) {
	if len(levels) == 0 {
		for b := range s.levels {
			s.levels[b] = lowest
		}
	}
	copy(s.levels, levels)
	s.Open()
}

// Open sets the current exponents from the levels.
func (s *Scales) Open() { s.width.Exponents(s.exponents, s.levels) }

// Exponents sets dst to the exponents that follow from levels:
//
//	e[b] = ⌈max(level[b], highest level - span)⌉ + headroom
func (w Width) Exponents(dst, levels []float32) {
	floor := float32(lowest)
	for _, l := range levels {
		floor = max(floor, l-span)
	}
	for b, l := range levels {
		dst[b] = w.exponent(max(l, floor))
	}
}

// exponent is what a level leads to: the next whole number, and the headroom above it.
func (w Width) exponent(level float32) float32 {
	return float32(min(math.Ceil(float64(level))+w.headroom(), highest))
}

// Widen raises the current exponents of the blocks that needed more in a step. It returns the number of these blocks;
// if there are any, the step has to be computed again.
func (s *Scales) Widen(needs []float32) (blocks int) { return s.width.Widen(s.exponents, needs) }

// Widen is Scales.Widen for given exponents. A block that fits keeps its exponent.
func (w Width) Widen(exponents, needs []float32) (blocks int) {
	for b, need := range needs {
		if need > exponents[b] {
			exponents[b] = w.exponent(need)
			blocks++
		}
	}
	return blocks
}

// Close records what the shards of a step needed, and opens the next step. needs are the exponents behind the sum of
// the step, the greatest of all shards.
func (s *Scales) Close(needs []float32) {
	for b, need := range needs {
		s.levels[b] = max(s.levels[b]-fade, need, lowest)
	}
	s.Open()
}
