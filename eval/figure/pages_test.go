package figure

import (
	"math"
	"testing"
)

// TestDecades_AreLegible: at least two marks, and no more than fit.
func TestDecades_AreLegible(t *testing.T) {
	for _, r := range [][2]float64{{0.9, 1.1}, {0.55, 0.95}, {1e-5, 1}, {0.003, 0.2}, {1e-9, 1e3}} {
		n := len(decades{}.Ticks(math.Log10(r[0]), math.Log10(r[1])))
		if n < 2 || n > 14 {
			t.Errorf("%v: %d marks", r, n)
		}
	}
}

func TestLogRange_LeavesOutWhatHasNoLogarithm(t *testing.T) {
	lo, hi := logRange(1e-6, []point{{1, 0}, {2, math.NaN()}, {3, math.Inf(1)}, {4, 0.1}, {5, 10}})
	if lo > -1 || lo < -1.3 || hi < 1 || hi > 1.3 {
		t.Errorf("got %v to %v, want about −1 to 1", lo, hi)
	}
	if lo, hi = logRange(1e-6, nil); !(lo < hi) {
		t.Errorf("nothing: %v to %v", lo, hi)
	}
}
