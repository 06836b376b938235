package trained

import (
	"math"
	"testing"
)

// TestMainDirections: of states on a line, most of them, and a little beside it, the first axis is the line. It begins
// on the side where the first state grows, whatever the order of the components.
func TestMainDirections(t *testing.T) {
	var states [][]float64
	for i := range 100 {
		along, beside := float64(i-50), 0.1*float64(i%2)
		states = append(states, []float64{0.6*along - 0.8*beside + 7, -1, 0.8*along + 0.6*beside - 2})
	}
	s := mainDirections(states, nil)
	for i, x := range s.X {
		if want := float64(i) - 49.5; math.Abs(x-want) > 0.01 {
			t.Errorf("state %d is at %g along the main direction, want %g", i, x, want)
		}
	}
	spread := 0.0
	for _, y := range s.Y {
		spread = max(spread, math.Abs(y))
	}
	if math.Abs(spread-0.05) > 0.01 || s.Share < 0.9999 {
		t.Errorf("up to %g beside it, want 0.05; share %g, want almost 1", spread, s.Share)
	}
	if mainDirections(states[:1], nil) != nil || mainDirections([][]float64{{1}, {math.NaN()}}, nil) != nil {
		t.Error("one state, or one that is not a number, has a direction")
	}
}
