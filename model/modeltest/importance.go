package modeltest

import (
	"math"
	"testing"

	"github.com/switchyard-ml/switchyard/autodiff"
	"github.com/switchyard-ml/switchyard/model"
	"github.com/switchyard-ml/switchyard/rng"
)

// weights: the mean log weight of a draw is the bound that the terms say, also with missing values, and the
// importance-weighted bound rises with the number of draws.
func (c Case) weights(t *testing.T) {
	m, ok := c.New(t).(model.Weighing)
	if !ok {
		return
	}
	for _, missing := range []bool{false, true} {
		b := c.Batch(c.First+4, 3)
		if missing {
			b.Seen = make([]float32, len(b.Observations))
			for i := range b.Seen {
				b.Seen[i] = 1
			}
			// A first value, a last value, and a value of the last step, behind what the initial state reads.
			for _, i := range []int{(c.First*3 + 1) * c.NX, ((c.First+1)*3+1)*c.NX + c.NX - 1, (c.First + 3) * 3 * c.NX} {
				b.Seen[i], b.Observations[i] = 0, 0
			}
		}
		const draws = 120
		tape, terms := autodiff.NewInferenceTape(m.Params()), make([]float32, len(m.Terms()))
		direct, directError := average(draws, func(k uint64) float64 {
			tape.Reset()
			m.Loss(tape, b, Noise(k), model.EndOfSchedule, terms)
			bound, _ := model.ELBO(m.Terms(), terms)
			return bound
		})
		single, singleError := average(draws, importance(m, b, 1))
		if math.Abs(direct-single) > 4*(directError+singleError)+1e-3 {
			t.Errorf("missing values %v: bound %.4f ± %.4f, mean log weight %.4f ± %.4f", missing, direct, directError, single,
				singleError)
		}
		if several, se := average(draws/4, importance(m, b, 8)); several+4*se < single {
			t.Errorf("missing values %v: %.4f ± %.4f with 8 draws, %.4f with 1", missing, several, se, single)
		}
	}
}

// importance is the bound with so many draws, of the k-th noise.
func importance(m model.Weighing, b model.Batch, samples int) func(k uint64) float64 {
	tape, bound := autodiff.NewInferenceTape(m.Params()), new(model.Importance)
	return func(k uint64) float64 {
		return bound.Bound(m, tape, b, samples, func(i int) rng.Stream { return rng.New(29, rng.Noise).At(k, 0, uint32(i)) })
	}
}

// average is the mean of value(0) … value(n−1) with its standard error.
func average(n int, value func(k uint64) float64) (mean, se float64) {
	values := make([]float64, n)
	for k := range values {
		values[k] = value(uint64(k))
		mean += values[k] / float64(n)
	}
	for _, v := range values {
		se += (v - mean) * (v - mean) / float64(n-1)
	}
	return mean, math.Sqrt(se / float64(n))
}

// CheckImportance checks the importance-weighted bound of a model with the exact posterior of two steps, where every
// draw weighs the evidence; and with a posterior of h that does not look at the data, where it rises with the number of
// draws to the log evidence.
func (o LinearGaussian) CheckImportance(t *testing.T, m model.Weighing) {
	t.Helper()
	x, u := []float64{0.7, 0.9}, []float64{0, 0.8}
	want := o.Evidence(x, u) / 2
	b := copies(x, u, 20)
	for _, samples := range []int{1, 7} {
		if got := importance(m, b, samples)(0); math.Abs(got-want) > 2e-5 {
			t.Errorf("%d draws from the posterior: %.6f, log evidence %.6f", samples, got, want)
		}
	}
	// Zero weights: q(h) no longer looks at the data.
	Set(m, "initial.mean.weight")
	b = copies(x, u, 100)
	last := math.Inf(-1)
	for _, samples := range []int{1, 4, 32, 300} {
		got, se := average(5, importance(m, b, samples))
		if got < last || got > want+4*se {
			t.Errorf("%d draws: %.5f ± %.5f after %.5f, log evidence %.5f", samples, got, se, last, want)
		}
		last = got
	}
	if first, _ := average(5, importance(m, b, 1)); first > want-0.05 || math.Abs(last-want) > 0.02 {
		t.Errorf("1 draw: %.5f, 300 draws: %.5f, log evidence %.5f", first, last, want)
	}
}

// copies is a batch of n equal sequences.
func copies(x, u []float64, n int) model.Batch {
	var b model.Batch
	b.Resize(len(x), n, 1, 1)
	for s := range x {
		for i := range n {
			b.Observations[s*n+i], b.Controls[s*n+i] = float32(x[s]), float32(u[s])
		}
	}
	return b
}
