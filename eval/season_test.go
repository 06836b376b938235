package eval

import (
	"math"
	"testing"
)

// The season is found beside a trend and noise, and is not a multiple of itself; what only oscillates slowly, or drifts, is
// not divided.
func TestFindSeason(t *testing.T) {
	noise := func(t int) float64 { return 0.1 * math.Sin(1e4*math.Sin(float64(t))) }
	for _, c := range []struct {
		name  string
		steps int
		at    func(t int) float64
		known int
		want  int
	}{
		{"quarters that grow with a trend", 64, func(t int) float64 {
			return math.Exp(float64(t)/60) * (1 + 0.3*[]float64{1, 0, -1, 0.1}[t%4] + 0.1*noise(t))
		}, 0, 4},
		{"months", 120, func(t int) float64 { return math.Sin(math.Pi*float64(t)/6) + noise(t) }, 0, 12},
		{"months with halves of a year", 120, func(t int) float64 {
			return math.Sin(math.Pi*float64(t)/6) + 0.5*math.Sin(math.Pi*float64(t)/3) + noise(t)
		}, 0, 12},
		{"the calendar's where three of them are a better one", 300, func(t int) float64 {
			return math.Sin(math.Pi*float64(t)/26) + 0.5*math.Sin(math.Pi*float64(t)/78)
		}, 52, 52},
		{"none of the calendar", 400, func(t int) float64 { return math.Sin(math.Pi * float64(t) / 20) }, 12, 40},
		{"a cycle of forty", 400, func(t int) float64 { return math.Sin(math.Pi*float64(t)/20) + noise(t) }, 0, 40},
		{"a cycle of forty beside a small one of two", 400, func(t int) float64 { return math.Sin(math.Pi*float64(t)/20) + 0.24*float64(t%2) }, 0, 40},
		{"a drift", 120, func(t int) float64 { return float64(t) }, 12, 0},
	} {
		x := make([]float32, c.steps)
		for i := range x {
			x[i] = float32(c.at(i))
		}
		if got := FindSeason([]Recording{{T: c.steps, Observations: x}}, 1, c.known); got != c.want {
			t.Errorf("%s: a season of %d steps, want %d", c.name, got, c.want)
		}
	}
}
