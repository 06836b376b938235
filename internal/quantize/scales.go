package quantize

import "math"

const (
	// headroom is how many octaves above its level the exponent of a block lies, so that a step rarely has to be made twice.
	headroom = 3
	// span is how many octaves below the highest level the others count as that low. Gradients that appear where there were
	// none are mostly small, and then fit.
	span = 20
	// fade is by how many octaves a level falls per step while nothing holds it up.
	fade = 1.0 / 64
)

// Scales chooses the exponents of a run's steps. Its state is a level for each block, in octaves: the greatest exponent
// that the block needed, which fades as steps pass. So the scales of a step are a function of the steps before it.
//
// Levels are multiples of 1/64 and all arithmetic on them is exact.
type Scales struct {
	levels    []float32
	exponents []float32
}

// NewScales starts without knowledge: the first step does not fit, and shows what is needed. The exponents in force
// stand in the given memory, one for each block.
func NewScales(exponents []float32) *Scales {
	s := &Scales{levels: make([]float32, len(exponents)), exponents: exponents}
	s.Restore(nil)
	return s
}

// Levels is the state between two steps. It belongs to the Scales.
func (s *Scales) Levels() []float32 { return s.levels }

// Exponents are those in force. They belong to the Scales.
func (s *Scales) Exponents() []float32 { return s.exponents }

// Restore continues from levels of before; without any it starts anew.
func (s *Scales) Restore(levels []float32) {
	if len(levels) == 0 {
		for b := range s.levels {
			s.levels[b] = lowest
		}
	}
	copy(s.levels, levels)
	s.Open()
}

// Open puts into force what the levels say.
func (s *Scales) Open() { Exponents(s.exponents, s.levels) }

// Exponents sets dst to the exponents that levels put into force:
//
//	e[b] = ⌈max(level[b], highest level - span)⌉ + headroom
func Exponents(dst, levels []float32) {
	floor := float32(lowest)
	for _, l := range levels {
		floor = max(floor, l-span)
	}
	for b, l := range levels {
		dst[b] = exponent(max(l, floor))
	}
}

func exponent(level float32) float32 {
	return float32(min(math.Ceil(float64(level))+headroom, highest))
}

// Widen compares the exponents in force with what the shards of a step needed. Where they needed more they get it, and
// it returns the number of those blocks; the step is then to be computed once more.
func (s *Scales) Widen(needs []float32) (blocks int) { return Widen(s.exponents, needs) }

// Widen is Scales.Widen of exponents in force.
func Widen(exponents, needs []float32) (blocks int) {
	for b, need := range needs {
		if need > exponents[b] {
			exponents[b] = exponent(need)
			blocks++
		}
	}
	return blocks
}

// Close notes what the shards of a step needed, and opens the next one.
func (s *Scales) Close(needs []float32) {
	for b, need := range needs {
		s.levels[b] = max(s.levels[b]-fade, need, lowest)
	}
	s.Open()
}
