package eval_test

import (
	"slices"
	"testing"

	"github.com/switchyard-ml/switchyard/eval"
	"github.com/switchyard-ml/switchyard/model"
	"github.com/switchyard-ml/switchyard/rng"
)

// TestLikeness_FitsOneSystem: a walk that hardly moves at −2 and at 2 has a regime for each place, whose systems
// disagree at the other one: x ↦ ±2 + .8 (x ∓ 2). One system predicts both nearly as well. The regimes that carry it
// up and down between the places, one step in six, are others.
func TestLikeness_FitsOneSystem(t *testing.T) {
	y := model.NewSystems(5, 1, 0)
	for k := range y.M {
		y.A[k], y.Bias[k], y.Q[k] = []float64{0.8, 1, 0.8, 1, 0}[k], []float64{-0.4, 0.5, 0.4, -0.5, 9}[k], 0.01
	}
	const steps = 4000
	draws := rng.New(8, rng.Noise).At(0, 0, 0)
	var b model.Batch
	b.Resize(steps, 1, 1, 0)
	var f model.Filtering
	f.Resize(steps, 1, 1, 1)
	regimes, x := make([]int, steps), -2.0
	for i := range regimes {
		switch phase := i % 96; {
		case phase < 40:
			regimes[i] = 0
		case phase < 48:
			regimes[i] = 1
		case phase < 88:
			regimes[i] = 2
		default:
			regimes[i] = 3
		}
		k := regimes[i]
		x = y.A[k]*x + y.Bias[k] + 0.1*draws.Normal()
		f.Mean[i] = float32(x)
	}
	for _, cut := range []int{1, 7} { // in one sequence, or as if it were part of many
		l := eval.NewLikeness(y, cut*50_000)
		for range cut {
			l.Add(&f, b, regimes[5:])
		}
		if got := l.Groups(); !slices.Equal(got, []int{0, 1, 0, 3, 4}) {
			t.Errorf("the groups are %v", got)
		}
	}
}
