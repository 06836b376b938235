package gibbs

import (
	"math"
	"slices"
	"testing"
)

// congruential makes four chains of an autoregressive process of which each has another mean.
func congruential() [][]float64 {
	state, chains := uint64(12345), make([][]float64, 4)
	for c := range chains {
		x := 0.0
		for range 120 {
			x *= 0.5
			for range 4 {
				state = (1103515245*state + 12345) % (1 << 31)
				x += float64(state)/(1<<31) - 0.5
			}
			x += 0.02 * float64(c)
			chains[c] = append(chains[c], x)
		}
	}
	return chains
}

// The figures are those of a program in another language, written from the definitions with a sum per lag.
func TestConverge_IsThatOfTheReference(t *testing.T) {
	got := Converge(congruential())
	near(t, "convergence", []float64{got.RHat, got.Bulk, got.Tail}, []float64{1.0208132044444684, 190.31232755863772, 276.9510829885618}, 1e-9)
}

func TestConverge_SeesWhatDiffers(t *testing.T) {
	s := testSource(5000)
	chains := func(shift, scale float64) [][]float64 {
		var all [][]float64
		for i := range 4 {
			c := randoms(&s, 1000)
			for j := range c {
				if i == 3 {
					c[j] = scale*c[j] + shift
				}
			}
			all = append(all, c)
		}
		return all
	}
	if c := Converge(chains(0, 1)); c.RHat > 1.01 || c.Bulk < 3000 || c.Tail < 2500 {
		t.Errorf("independent draws: %+v", c)
	}
	if c := Converge(chains(2, 1)); c.RHat < 1.1 {
		t.Errorf("a chain with another mean: R̂ = %.3f", c.RHat)
	}
	if c := Converge(chains(0, 3)); c.RHat < 1.05 {
		t.Errorf("a chain with another spread: R̂ = %.3f", c.RHat)
	}
	trend := chains(0, 1)
	for _, c := range trend {
		slices.Sort(c)
	}
	if c := Converge(trend); c.RHat < 1.5 || c.Bulk > 20 {
		t.Errorf("chains that have not settled: %+v", c)
	}
}

func TestConverge_OfWhatCannotBeCompared(t *testing.T) {
	for name, chains := range map[string][][]float64{
		"none":    nil,
		"short":   {{1, 2, 3}, {1, 2, 4}},
		"unequal": {{1, 2, 3, 4}, {1, 2, 4, 5, 6}},
		"NaN":     {{1, 2, 3, math.NaN()}, {1, 2, 4, 5}},
		"still":   {{1, 1, 1, 1}, {1, 1, 1, 1}},
	} {
		if c := Converge(chains); !math.IsNaN(c.RHat) || !math.IsNaN(c.Bulk) || !math.IsNaN(c.Tail) {
			t.Errorf("%s: %+v, want NaN", name, c)
		}
	}
}

// TestConverge_ManyEqualValues: long chains of few values, as of the share of steps at which the regime changes, are
// ranked in the time of a sort. It would take minutes if each value were compared with all of its equals.
func TestConverge_ManyEqualValues(t *testing.T) {
	s := testSource(7300)
	chains := make([][]float64, 4)
	for i := range chains {
		chains[i] = make([]float64, 250_000)
		for j := range chains[i] {
			chains[i][j] = float64(s.stream.IntN(2))
		}
	}
	if c := Converge(chains); !(math.Abs(c.RHat-1) < 1e-3) {
		t.Errorf("%+v", c)
	}
}

// TestConverge_QuantileOfAnEnd: more than a twentieth of the values are the largest one, as of few different values, so
// that none exceeds the upper quantile: the tail is the lower one, and independent draws are as good there.
func TestConverge_QuantileOfAnEnd(t *testing.T) {
	s := testSource(7400)
	for _, n := range []int{50, 64, 1000} {
		for _, values := range []int{2, 5} {
			chains := make([][]float64, 4)
			for i := range chains {
				for range n {
					chains[i] = append(chains[i], float64(s.stream.IntN(values)))
				}
			}
			if c := Converge(chains); !(c.Tail > float64(2*n)) {
				t.Errorf("%d independent draws of %d values: %+v", 4*n, values, c)
			}
		}
	}
}
