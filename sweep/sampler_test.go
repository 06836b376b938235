package sweep

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// TestSobol_KnownPoints compares the sequence with points of Joe and Kuo's program (sobol.cc, first 8 points of three
// dimensions).
func TestSobol_KnownPoints(t *testing.T) {
	want := [][3]float64{
		{0, 0, 0},
		{0.5, 0.5, 0.5},
		{0.75, 0.25, 0.25},
		{0.25, 0.75, 0.75},
		{0.375, 0.375, 0.625},
		{0.875, 0.875, 0.125},
		{0.625, 0.125, 0.875},
		{0.125, 0.625, 0.375},
	}
	for i, point := range want {
		for d, x := range point {
			if got := float64(sobol(uint64(i), d)) / (1 << sobolBits); got != x {
				t.Errorf("point %d, dimension %d: got %g, want %g", i, d, got, x)
			}
		}
	}
}

// TestSobol_Stratified: in each dimension the first 2ᵏ points are in different intervals of length 2⁻ᵏ, and the initial
// direction numbers are odd and below 2ⁱ.
func TestSobol_Stratified(t *testing.T) {
	for d := range maxSobol {
		seen := map[uint32]bool{}
		for i := range uint64(256) {
			seen[sobol(i, d)>>24] = true
		}
		if len(seen) != 256 {
			t.Errorf("dimension %d: 256 points are in %d intervals", d, len(seen))
		}
		if d > 0 {
			for i, m := range joeKuo[d-1].m {
				if m%2 == 0 || m >= 2<<i {
					t.Errorf("dimension %d: number %d is %d", d, i, m)
				}
			}
		}
	}
}

// TestParameter_CoordinateIsTheInverse: the coordinate of a drawn value gives that value again, and values are in their
// range.
func TestParameter_CoordinateIsTheInverse(t *testing.T) {
	for _, p := range []Parameter{
		{Distribution: Uniform, Min: -2, Max: 5},
		{Distribution: LogUniform, Min: 1e-5, Max: 1e-1},
		{Distribution: IntUniform, Min: -3, Max: 12},
		{Distribution: IntLog, Min: 1, Max: 4096},
		{Distribution: QUniform, Min: 0, Max: 1, Q: 0.1},
		{Distribution: QUniform, Min: 0.05, Max: 0.95, Q: 0.1},
		{Distribution: QUniform, Min: -7, Max: 10, Q: 4},
		{Distribution: QUniform, Min: 0.3, Max: 0.35, Q: 0.1},
		{Distribution: QLogUniform, Min: 1e-4, Max: 1e-1, Q: 1e-3},
		{Distribution: QLogUniform, Min: 0.4, Max: 2.6, Q: 1},
		{Distribution: Categorical, Values: []string{"a", "b", "c"}, Weights: []float64{0.2, 0.5, 0.3}},
		{Distribution: Normal, Mu: 3, Sigma: 2},
		{Distribution: LogNormal, Mu: -3, Sigma: 1},
	} {
		for i := range 201 {
			value := p.At(float64(i) / 200)
			again := p.At(p.Coordinate(value))
			x, err := strconv.ParseFloat(value, 64)
			y, _ := strconv.ParseFloat(again, 64)
			if again != value && math.Abs(x-y) > 2e-5*math.Abs(x) {
				t.Errorf("%s: %s became %s", p.Distribution, value, again)
			}
			if err == nil && p.Min < p.Max && (x < p.Min || x > p.Max) {
				t.Errorf("%s: %s is outside", p.Distribution, value)
			}
			if k := x / p.Q; p.stepped() && math.Abs(k-math.Round(k)) > 1e-9 {
				t.Errorf("%s: %s is no multiple of %g", p.Distribution, value, p.Q)
			}
		}
	}
}

// TestParameter_Rounds: values are short, and multiples are exact: all of them from one end of the range to the other.
func TestParameter_Rounds(t *testing.T) {
	for _, c := range []struct {
		p    Parameter
		want string
	}{
		{Parameter{Distribution: QUniform, Min: 0, Max: 1, Q: 0.1}, "0 0.1 0.2 0.3 0.4 0.5 0.6 0.7 0.8 0.9 1"},
		{Parameter{Distribution: QUniform, Min: 1, Max: 10, Q: 4}, "4 8"},
		{Parameter{Distribution: QUniform, Min: 0.5, Max: 2.5, Q: 1}, "1 2"},
		{Parameter{Distribution: QUniform, Min: -0.3, Max: 0.3, Q: 0.1}, "-0.3 -0.2 -0.1 0 0.1 0.2 0.3"},
	} {
		var got []string
		for i := range c.p.Cells() {
			got = append(got, c.p.At((float64(i)+0.5)/float64(c.p.Cells())))
		}
		if !slices.Equal(got, strings.Fields(c.want)) {
			t.Errorf("%s: got %q", c.p.String(), got)
		}
	}
	log := Parameter{Distribution: LogUniform, Min: 1e-4, Max: 1}
	if got := log.At(1.0 / 3); got != "0.00215443" {
		t.Errorf("got %s", got)
	}
}

// TestParameter_MultiplesAreCounted: more of them than a number can count are no range, and would all be its beginning.
func TestParameter_MultiplesAreCounted(t *testing.T) {
	p := Parameter{Key: "x", Distribution: QUniform, Min: 0, Max: 1e20, Q: 1}
	if list := p.faults("x", Random, nil); list == nil {
		t.Errorf("it is taken, and the values are %s to %s", p.At(0.2), p.At(0.9))
	}
	p.Max = 1e15
	if list := p.faults("x", Random, nil); list != nil || p.At(0.5) != "500000000000000" {
		t.Errorf("got %v, %s", list, p.At(0.5))
	}
}

// TestQNormal_HasOneZero: a small number below 0 is the same multiple, and the same text, as one above.
func TestQNormal_HasOneZero(t *testing.T) {
	p := Parameter{Distribution: QNormal, Sigma: 1, Q: 1}
	if below, above := p.At(0.4), p.At(0.6); below != "0" || above != "0" {
		t.Errorf("got %s and %s", below, above)
	}
}

// TestGrid_ConditionsCollapse: a grid lists each configuration once, though conditions take parameters away.
func TestGrid_ConditionsCollapse(t *testing.T) {
	s := testSpec(Grid, NoStop)
	list := s.Combinations(1000)
	if want := 3 * (1 + 2*4); len(list) != want { // a has no size, b and c have four
		t.Errorf("got %d configurations, want %d", len(list), want)
	}
	if got := fmt.Sprint(list[1].Arguments()); got != "[rate=1e-3 kind=b size=1]" {
		t.Errorf("got %s", got)
	}
}

// TestGrid_PassesByEqualCombinations: those that conditions, or faults, take away are not the end of a grid.
func TestGrid_PassesByEqualCombinations(t *testing.T) {
	when := []Condition{{Key: "kind", Values: []string{"b"}}}
	s := &Spec{Method: Grid, Parameters: []Parameter{
		{Key: "kind", Distribution: Categorical, Values: []string{"a", "b"}},
		{Key: "x", Distribution: IntUniform, Min: 1, Max: 40, When: when},
		{Key: "y", Distribution: IntUniform, Min: 1, Max: 40, When: when},
	}}
	valid := func(c Settings) error {
		if x, _ := c.Get("x"); x != "" && x != "40" {
			return errors.New("no configuration")
		}
		return nil
	}
	list := s.Sample(1000, valid)
	if len(list) != 41 || fmt.Sprint(list[40].Arguments()) != "[kind=b x=40 y=40]" {
		t.Errorf("%d configurations: %v", len(list), list)
	}
}

// TestTPE_DensityIsOne: the density of a mixture integrates to one over a conditional space.
func TestTPE_DensityIsOne(t *testing.T) {
	s := testSpec(TPE, NoStop)
	h := history{}
	for i, c := range []Settings{
		{{"rate", "0.01"}, {"kind", "a"}}, {{"rate", "0.02"}, {"kind", "b"}, {"size", "3"}}, {{"rate", "0.9"}, {"kind", "c"}, {"size", "12"}},
	} {
		h.ranked = append(h.ranked, observation{i + 1, c})
	}
	m := s.mixture(h.ranked)
	sum := 0.0
	const n = 400
	for i := range n {
		rate := s.Parameters[0].At((float64(i) + 0.5) / n)
		sum += math.Exp(m.logDensity(Settings{{"rate", rate}, {"kind", "a"}})) / n
		for _, kind := range []string{"b", "c"} {
			for size := range 12 {
				sum += math.Exp(m.logDensity(Settings{{"rate", rate}, {"kind", kind}, {"size", fmt.Sprint(size + 1)}})) / n
			}
		}
	}
	if math.Abs(sum-1) > 1e-3 {
		t.Errorf("got %g", sum)
	}
}

// TestRank: one metric is ordered by value, several by fronts; what failed comes last.
func TestRank(t *testing.T) {
	if got := rank([]score{{3}, nil, {1}, {2}, {1}}); !slices.Equal(got, []int{2, 4, 3, 0, 1}) {
		t.Errorf("got %v", got)
	}
	front := fronts([]score{{1, 4}, {2, 2}, {4, 1}, {3, 3}, nil, {5, 5}})
	if !slices.Equal(front, []int{0, 0, 0, 1, 3, 2}) {
		t.Errorf("got %v", front)
	}
	// The first metric is the same for all: only the others have ends.
	if got := rank([]score{{7, 1, 2}, {7, 0, 3}, {7, 3, 0}, {7, 1.1, 1.9}}); !slices.Equal(got, []int{1, 2, 3, 0}) {
		t.Errorf("got %v", got)
	}
}

// TestEstimate compares with the textbook: five values of mean 3 and standard deviation √2.5.
func TestEstimate(t *testing.T) {
	e := NewEstimate([]float64{1, 2, 3, 4, 5})
	if e.Mean != 3 || math.Abs(e.Deviation-math.Sqrt(2.5)) > 1e-12 || math.Abs(e.Low-1.0368) > 1e-3 || math.Abs(e.High-4.9632) > 1e-3 {
		t.Errorf("got %+v", e)
	}
	if got := student(60); math.Abs(got-2.0003) > 1e-3 {
		t.Errorf("got %g", got)
	}
	if a, b := student(30), student(31); b >= a || a-b > 0.01 {
		t.Errorf("the table and the expansion do not meet: %g, %g", a, b)
	}
}
