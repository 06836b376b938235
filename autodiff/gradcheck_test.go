package autodiff

import (
	"math"
	"strings"
	"testing"
)

// A derivative that is not finite is none, however large a difference its size would allow.
func TestGradCheck_RefusesWhatIsNotFinite(t *testing.T) {
	for _, g := range []float64{math.Inf(1), math.Inf(-1), math.NaN()} {
		err := GradCheck{
			Values: []float32{1, 2}, Gradient: []float32{1, float32(g)}, Loss: func() float64 { return 3 },
			Directions: 1, Steps: []float64{1e-3}, Tolerance: 1e-2,
		}.Run(func() float64 { return 1 })
		if err == nil || !strings.Contains(err.Error(), "derivative 1 of 2") {
			t.Errorf("a derivative of %v: %v", g, err)
		}
	}
}
