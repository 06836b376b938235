package eval

import (
	"fmt"

	"gonum.org/v1/gonum/mat"
)

// A step is a one-step forecast without a model: it writes the prediction of the next observation into dst, [NX],
// which may be x. Iterating it predicts k steps ahead. It may keep a buffer: a step serves one goroutine.
type step func(dst, x []float64)

// persistence predicts that nothing changes.
func persistence(dst, x []float64) { copy(dst, x) }

// fitLinear returns the global linear predictor x_{t+1} ≈ A x_t + b with the least squared error over steps [0,
// length) of all trials, by a QR factorisation without a ridge. It returns an error where the features do not
// determine A and b; fitStep is for such data.
func fitLinear(d trials, length int) (step, error) {
	rows := d.N * (length - 1)
	features := mat.NewDense(rows, d.NX+1, nil)
	targets := mat.NewDense(rows, d.NX, nil)
	r := 0
	for n := range d.N {
		for t := range length - 1 {
			for i, v := range d.at(n, t) {
				features.Set(r, i, float64(v))
			}
			features.Set(r, d.NX, 1)
			for i, v := range d.at(n, t+1) {
				targets.Set(r, i, float64(v))
			}
			r++
		}
	}
	var w mat.Dense // [NX+1, NX]
	if err := w.Solve(features, targets); err != nil {
		return nil, fmt.Errorf("fit the linear baseline: %w", err)
	}
	next := make([]float64, d.NX)
	return func(dst, x []float64) {
		for j := range next {
			next[j] = w.At(d.NX, j)
			for i, v := range x {
				next[j] += v * w.At(i, j)
			}
		}
		copy(dst, next)
	}, nil
}

// score iterates f from every start in [first, last] to the end of the trial or the horizon, whichever comes
// first, and returns R²_k, k = 1 … horizon (see the type r2). means are those of the whole trials, [N,NX].
func (f step) score(d trials, means []float64, first, last, horizon int) []float64 {
	r := newR2(horizon)
	x := make([]float64, d.NX)
	for n := range d.N {
		for t := first; t <= last; t++ {
			for i, v := range d.at(n, t) {
				x[i] = float64(v)
			}
			for k := 1; k <= horizon && t+k < d.T; k++ {
				f(x, x)
				r.add(k, d.at(n, t+k), x, means[n*d.NX:(n+1)*d.NX])
			}
		}
	}
	return r.values()
}
