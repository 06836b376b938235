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
		return eval.Explained([][][]float64{x}, [][][]float64{u}, [][]int{regimes}, m)
	}
	if got, want := of(truth, 4), 1-steps*noise*noise/single; math.Abs(got-want) > 0.01 {
		t.Errorf("the truth explains %v, want %v", got, want)
	}
	if got := of(drawn, 3); got > 0.01 {
		t.Errorf("drawn regimes explain %v", got)
	}
	if got := eval.Explained([][][]float64{{{1}, {2}}}, [][][]float64{nil}, [][]int{{0, 1}}, 2); !math.IsNaN(got) {
		t.Errorf("two steps explain %v", got)
	}
}
