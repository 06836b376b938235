package eval_test

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/switchyard-ml/switchyard/eval"
)

// TestExplained: two systems that differ explain what is left of their noise, regimes that are drawn explain nothing,
// and gaps do not count.
func TestExplained(t *testing.T) {
	draw := rand.New(rand.NewPCG(3, 4))
	const steps, noise = 2000, 0.1
	x, u, truth, drawn := [][]float64{{1}}, [][]float64{{0}}, []int{0}, []int{0}
	single := 0.0 // squares of what one system, the mean of both, misses
	for range steps {
		k, push, last := draw.IntN(2), draw.NormFloat64(), x[len(x)-1][0]
		if math.IsNaN(last) {
			last = 0
		}
		next := 0.5*push + noise*draw.NormFloat64() + map[bool]float64{true: 0.8, false: -0.8}[k == 1]*last
		single += 0.64*last*last + noise*noise
		x, u, truth, drawn = append(x, []float64{next}), append(u, []float64{push}), append(truth, k), append(drawn, draw.IntN(3))
	}
	x[50][0] = math.NaN()
	of := func(regimes []int, m int) float64 {
		return eval.Explained([][][]float64{x}, [][][]float64{u}, [][]int{regimes}, m, 1)
	}
	if got, want := of(truth, 4), 1-steps*noise*noise/single; math.Abs(got-want) > 0.01 {
		t.Errorf("the truth explains %v, want %v", got, want)
	}
	if got := of(drawn, 3); got > 0.01 {
		t.Errorf("drawn regimes explain %v", got)
	}
	if got := eval.Explained([][][]float64{{{1}, {2}}}, [][][]float64{nil}, [][]int{{0, 1}}, 2, 1); !math.IsNaN(got) {
		t.Errorf("two steps explain %v", got)
	}
}

// TestExplained_ChannelsThatNeverChange: what rounding leaves of them says nothing, whatever their value is.
func TestExplained_ChannelsThatNeverChange(t *testing.T) {
	draw := rand.New(rand.NewPCG(5, 6))
	var x []float64
	var regimes []int
	for i := range 400 {
		k, last := i/20%2, 0.0
		if i > 0 {
			last = x[i-1]
		}
		x, regimes = append(x, float64(1-2*k)*0.9*last+draw.NormFloat64()), append(regimes, k)
	}
	of := func(beside ...float64) float64 {
		var rows [][]float64
		for t, v := range x {
			rows = append(rows, append([]float64{v, float64(t) * 0.1}, beside...)) // with a trend
		}
		return eval.Explained([][][]float64{rows}, [][][]float64{nil}, [][]int{regimes}, 2, 1)
	}
	want := of()
	if want < 0.3 {
		t.Fatalf("explains %v", want)
	}
	for _, constant := range []float64{0, 0.1, -3.3, 20.1, 1e8 / 3} {
		if got := of(constant); math.Abs(got-want) > 0.01 {
			t.Errorf("beside a channel that is always %v the regimes explain %v, want %v", constant, got, want)
		}
	}
	alone := [][]float64{{0.1}, {0.1}, {0.1}, {0.1}, {0.1}, {0.1}, {0.1}, {0.1}, {0.1}, {0.1}, {0.1}}
	if got := eval.Explained([][][]float64{alone}, [][][]float64{nil}, [][]int{make([]int, 11)}, 1, 1); !math.IsNaN(got) {
		t.Errorf("of a constant alone the regimes explain %v", got)
	}
}
