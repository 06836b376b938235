package regimes_test

import (
	"math"
	"testing"

	"github.com/switchyard-ml/switchyard/envs"
	"github.com/switchyard-ml/switchyard/envs/regimes"
	"github.com/switchyard-ml/switchyard/rng"
)

func TestSticky_StaysByChance(t *testing.T) {
	changes, steps := 0, 0
	var to [3][3]int
	var first [3]int
	for index := range uint32(200) {
		_, list := episode(regimes.NewSticky(), index, 200)
		first[list[0]]++
		for i := 1; i < len(list); i++ {
			steps++
			if list[i] != list[i-1] {
				changes++
				to[list[i-1]][list[i]]++
			}
		}
	}
	if share := float64(changes) / float64(steps); math.Abs(share-0.05) > 0.003 {
		t.Errorf("%.4f of the steps change, want .05", share)
	}
	for i := range 3 {
		if first[i] < 40 {
			t.Errorf("regime %d is the first of %d episodes of 200", i, first[i])
		}
		if a, b := to[i][(i+1)%3], to[i][(i+2)%3]; float64(a)/float64(a+b) < 0.44 || float64(a)/float64(a+b) > 0.56 {
			t.Errorf("from regime %d: %d and %d times to the others", i, a, b)
		}
	}
}

func TestSticky_IsLinearInStateAndControl(t *testing.T) {
	e := regimes.NewSticky()
	constants := [][6]float64{{0.3, 0.97, 0.1, 0, 0.1, 0}, {-0.4, 0.95, 0, 0.1, 0, 0.1}, {0, 0.9, -0.1, 0.1, -0.1, -0.1}}
	var state, sensor, control, n float64
	for index := range uint32(50) {
		episode, list := episode(e, index, 200)
		for i := 1; i < episode.T; i++ {
			c := constants[list[i]]
			sin, cos := math.Sincos(c[0])
			u := float64(episode.Controls[i])
			a, b := float64(episode.States[2*i-2]), float64(episode.States[2*i-1])
			for j, mean := range []float64{c[1]*(cos*a-sin*b) + c[2]*u + c[4], c[1]*(sin*a+cos*b) + c[3]*u + c[5]} {
				x := float64(episode.States[2*i+j])
				state += (x - mean) * (x - mean)
				sensor += (float64(episode.Observations[2*i+j]) - x) * (float64(episode.Observations[2*i+j]) - x)
				control += u * u
				n++
			}
		}
	}
	if state, sensor, control = math.Sqrt(state/n), math.Sqrt(sensor/n), math.Sqrt(control/n); !near(state, 0.03) ||
		!near(sensor, 0.02) || !near(control, 1) {
		t.Errorf("noise %.4f and %.4f, controls %.4f, want .03, .02 and 1", state, sensor, control)
	}
}

func TestNASCAR_GoesRoundTheTrack(t *testing.T) {
	e := regimes.NewNASCAR(0)
	angles, centers := []float64{-math.Pi / 24, -math.Pi / 48}, []float64{2, -2}
	state, sensor := deviations(e, func(k int, x []float32) []float64 {
		a, b := float64(x[0]), float64(x[1])
		if k > 1 {
			return []float64{a + []float64{0.1, -0.25}[k-2], b}
		}
		sin, cos := math.Sincos(angles[k])
		a -= centers[k]
		return []float64{cos*a - sin*b + centers[k], sin*a + cos*b}
	})
	if !near(state, 0.01) || !near(sensor, 0.01) {
		t.Errorf("noise %.4f and %.4f, want .01 and .01", state, sensor)
	}
	followers := map[[2]int]bool{}
	rounds, steps := 0, 0
	for index := range uint32(50) {
		episode, list := episode(e, index, 240)
		for i := 1; i < episode.T; i++ {
			x, y := float64(episode.States[2*i-2]), float64(episode.States[2*i-1])
			values := []float64{x - 2, -x - 2, y, -y}
			for k, v := range values {
				if v > values[list[i]]+1e-6 {
					t.Fatalf("episode %d, step %d: part %d at (%v, %v), want %d", index, i, list[i], x, y, k)
				}
			}
			if steps++; list[i] != list[i-1] {
				followers[[2]int{list[i-1], list[i]}] = true
				if list[i] == 2 {
					rounds++
				}
			}
		}
	}
	for _, turn := range [][2]int{{2, 0}, {0, 3}, {3, 1}, {1, 2}} {
		if !followers[turn] {
			t.Errorf("part %d never follows part %d: %v", turn[1], turn[0], followers)
		}
	}
	if round := float64(steps) / float64(rounds); round < 105 || round > 145 {
		t.Errorf("a round takes %.1f steps, want about 120", round)
	}
}

// Channels are a fixed mixture of the state: the same in every episode, and the first ones for any number of them.
func TestNASCAR_Channels(t *testing.T) {
	many, few := regimes.NewNASCAR(10), regimes.NewNASCAR(2)
	a, _ := episode(many, 3, 100)
	if len(a.Observations) != 1000 || many.Spec().Observation != 10 {
		t.Fatalf("%d values of 100 steps, want 10 each", len(a.Observations))
	}
	// Least squares of a channel on the state have the error of the sensor, with coefficients of another episode.
	fit := func(e *envs.Episode, n, channel int) [2]float64 {
		var xx, xy, yy, xo, yo float64
		for i := range e.T {
			x, y, o := float64(e.States[2*i]), float64(e.States[2*i+1]), float64(e.Observations[i*n+channel])
			xx, xy, yy, xo, yo = xx+x*x, xy+x*y, yy+y*y, xo+x*o, yo+y*o
		}
		d := xx*yy - xy*xy
		return [2]float64{(xo*yy - yo*xy) / d, (yo*xx - xo*xy) / d}
	}
	b, _ := episode(few, 7, 100)
	for channel := range 10 {
		c, square := fit(a, 10, channel), 0.0
		for i := range a.T {
			d := float64(a.Observations[i*10+channel]) - c[0]*float64(a.States[2*i]) - c[1]*float64(a.States[2*i+1])
			square += d * d
		}
		if sd := math.Sqrt(square / 100); sd < 0.007 || sd > 0.013 {
			t.Errorf("channel %d: error %.4f, want .01", channel, sd)
		}
		if channel < 2 {
			if o := fit(b, 2, channel); math.Abs(o[0]-c[0]) > 0.02 || math.Abs(o[1]-c[1]) > 0.02 {
				t.Errorf("channel %d: coefficients %v and %v", channel, c, o)
			}
		}
	}
}

// The lobe is the sign of the first coordinate, both are visited, and the moments are those of the attractor: the mean
// of Z is 23.55 and the standard deviation of X 7.92 (from 10⁶ steps of an integrator of order 8 with steps of .001).
func TestLorenz_IsTheAttractor(t *testing.T) {
	e := regimes.NewLorenz()
	var n, x2, z, sensor float64
	turns, lobes := 0, [2]int{}
	for index := range uint32(100) {
		s, list := episode(e, index, 500)
		for i := range s.T {
			x := float64(s.States[3*i])
			if (x >= 0) != (list[i] == 1) {
				t.Fatalf("episode %d, step %d: lobe %d at %v", index, i, list[i], x)
			}
			lobes[list[i]]++
			if i > 0 && list[i] != list[i-1] {
				turns++
			}
			n, x2, z = n+1, x2+x*x, z+float64(s.States[3*i+2])
			d := float64(s.Observations[3*i]) - x
			sensor += d * d
		}
	}
	if sd, mean := 10*math.Sqrt(x2/n), 10*z/n+25; math.Abs(sd-7.92) > 0.15 || math.Abs(mean-23.55) > 0.3 {
		t.Errorf("standard deviation of X %.3f, mean of Z %.3f, want 7.92 and 23.55", sd, mean)
	}
	if share := float64(lobes[0]) / n; share < 0.45 || share > 0.55 {
		t.Errorf("%.3f of the steps are in lobe 0", share)
	}
	if mean := n / float64(turns); mean < 40 || mean > 90 {
		t.Errorf("a lobe lasts %.1f steps", mean)
	}
	if sd := math.Sqrt(sensor / n); !near(sd, 0.02) {
		t.Errorf("noise of the observations %.4f, want .02", sd)
	}
}

// An episode without noise follows the equations: the step of the environment is within 1e-4 of one of a hundred parts.
func TestLorenz_Integrates(t *testing.T) {
	var square, n float64
	e := regimes.NewLorenz()
	s := new(envs.Episode)
	e.Simulate(s, rng.New(3, rng.Episode), 0, 2000)
	for i := 1; i < s.T; i++ {
		x := [3]float64{float64(s.States[3*i-3]), float64(s.States[3*i-2]), float64(s.States[3*i-1])}
		for range 2000 { // Euler's method
			X, Y, Z := 10*x[0], 10*x[1], 10*x[2]+25
			const h = 0.02 / 2000 / 10
			x[0], x[1], x[2] = x[0]+h*10*(Y-X), x[1]+h*(X*(28-Z)-Y), x[2]+h*(X*Y-8.0/3*Z)
		}
		for j := range x {
			d := float64(s.States[3*i+j]) - x[j]
			square, n = square+d*d, n+1
		}
	}
	if sd := math.Sqrt(square / n); !near(sd, 0.01) {
		t.Errorf("noise of a step %.5f, want .01", sd)
	}
}
