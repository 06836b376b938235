package figure

import (
	"math"
	"testing"

	"github.com/switchyard-ml/switchyard/envs"
	"github.com/switchyard-ml/switchyard/envs/files"
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

// TestPixel_MissingInOneChannel: a pixel of which one colour was not measured has none that is known.
func TestPixel_MissingInOneChannel(t *testing.T) {
	for missing := range 3 {
		e := &files.Episode{Episode: envs.Episode{Observations: []float32{1, 1, 1}}, Mask: []float32{1, 1, 1}}
		e.Observations[missing], e.Mask[missing] = 0, 0
		if got := pixel(e, 0, 3); got != vermilion {
			t.Errorf("without channel %d the pixel is %v", missing, got)
		}
	}
}
