package gibbs

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"github.com/switchyard-ml/switchyard/rng"
)

// quadrants has four regimes by quadrant, each of which moves on to the next quadrant at a speed of its own.
func quadrants() truth {
	m := truth{sd: 0.02, regime: func(x [2]float64) int {
		switch {
		case x[0] >= 0 && x[1] >= 0:
			return 0
		case x[0] < 0 && x[1] >= 0:
			return 1
		case x[0] < 0:
			return 2
		}
		return 3
	}}
	for _, angle := range []float64{0.05, 0.3, 0.1, 0.2} {
		a, b := rotation(angle, 1, [2]float64{})
		m.a, m.b = append(m.a, a), append(m.b, b)
	}
	return m
}

// seen are recordings of a truth, seen with little noise, and the regime of each of their steps.
func seen(m truth, recordings, steps int) (Data, []int) {
	s := testSource(4200)
	data := Data{Observed: 2}
	var regimes []int
	for i := range recordings {
		sin, cos := math.Sincos(float64(i))
		states, z := m.path(&s, [2]float64{cos, sin}, steps)
		regimes = append(regimes, z...)
		var r Recording
		for _, x := range states {
			r.Y = append(r.Y, x[0]+0.005*s.normal(), x[1]+0.005*s.normal())
		}
		data.Recordings = append(data.Recordings, r)
	}
	return data, regimes
}

// TestTold_KnowsWhereRegimesAre: before the first sweep, the tree of either shape tells the regime of nearly each step
// from where it is.
func TestTold_KnowsWhereRegimesAre(t *testing.T) {
	data, regimes := seen(quadrants(), 8, 120)
	for _, shape := range []Shape{Caterpillar, Balanced} {
		cfg := DefaultConfig(shape == Balanced)
		cfg.Told = true
		c, err := New(cfg, data, rng.New(3, rng.Noise), 0)
		if err != nil {
			t.Fatal(err)
		}
		counts := [4][4]int{}
		for i, want := range regimes {
			for n := range c.nu {
				c.nu[n] = height(c.theta.plane(n, c.dims), c.state(i))
			}
			c.tree.logProbabilities(c.logPi, c.nu)
			counts[want][c.tree.mostLikely(c.logPi)]++
		}
		most := 0
		permutations(4, func(order []int) {
			right := 0
			for k, leaf := range order {
				right += counts[k][leaf]
			}
			most = max(most, right)
		})
		if share := float64(most) / float64(len(regimes)); share < 0.94 {
			t.Errorf("%s: %.3f of the steps are right", shape, share)
		}
	}
}

// TestTold_IsAFunctionOfItsArguments: the start is that of the chain, whoever computes it.
func TestTold_IsAFunctionOfItsArguments(t *testing.T) {
	data, _ := seen(racetrack(), 3, 60)
	cfg := DefaultConfig(false)
	cfg.Told, cfg.Leaves = true, 2
	var texts []string
	for _, index := range []uint32{1, 1, 2} {
		c, err := New(cfg, data, rng.New(3, rng.Noise), index)
		if err != nil {
			t.Fatal(err)
		}
		texts = append(texts, fmt.Sprint(c.theta))
	}
	if texts[0] != texts[1] || texts[0] == texts[2] {
		t.Errorf("chains 1, 1 and 2 begin with %v", texts)
	}
}

// TestTold_WithLittleToTell: regimes that no step has, and data that are too few for any.
func TestTold_WithLittleToTell(t *testing.T) {
	cfg := DefaultConfig(true)
	cfg.Told = true
	for _, leaves := range []int{1, 5} {
		cfg.Leaves = leaves
		data := Data{Observed: 2, Recordings: []Recording{{Y: []float64{1, 2}}, {Y: []float64{1, 2, 3, 4, 2, 3}}}}
		c, err := New(cfg, data, rng.New(3, rng.Noise), 0)
		if err == nil {
			err = c.Sweep()
		}
		if err != nil {
			t.Errorf("%d leaves: %v", leaves, err)
		}
	}
}

// TestPlacer_Subsets: all ways to choose where they are few, else some.
func TestPlacer_Subsets(t *testing.T) {
	s := testSource(4300)
	g := &placer{grower: &grower{draw: &s}}
	for _, c := range []struct{ n, m, want int }{{4, 2, 6}, {5, 1, 5}, {8, 3, 56}, {12, 6, divisions}} {
		var list []string
		g.subsets(c.n, c.m, func(chosen []bool) {
			if n := len(chosen) - len(slices.DeleteFunc(slices.Clone(chosen), func(b bool) bool { return b })); n != c.m {
				t.Errorf("%d of %d are chosen, want %d", n, c.n, c.m)
			}
			list = append(list, fmt.Sprint(chosen))
		})
		slices.Sort(list)
		if n := len(slices.Compact(list)); n != c.want && c.want < divisions || n < divisions/2 && c.want == divisions {
			t.Errorf("%d of %d: %d ways, want %d", c.m, c.n, n, c.want)
		}
	}
}
