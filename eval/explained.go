package eval

import (
	"math"
	"slices"
)

// Explained is how much of the error of a single affine autoregression of so many lags is gone where each of m regimes
// has one of its own, averaged over the channels that the single one misses by more than rounding:
//
//	1 − Σ_k n_k/n · σ²_k / σ²        σ² = RSS / (n − p)
//
// with p unknowns a channel, so that regimes that mean nothing have about 0. observations [step][channel] and controls
// [step][control] are by sequence. A step with a missing value, or with one in its lags, does not count; nor does a
// regime of fewer than 2p steps. It is NaN where too few steps are left for the single one, or where it misses
// nothing.
//
// controls[s] is nil where there are none. Step t is of the regime regimes[s][t] and is explained by its lags and
// the control that leads to it. It is between 0 and 1: a loss counts as 0.
func Explained(observations, controls [][][]float64, regimes [][]int, m, lags int) float64 {
	x, y := make([][]float64, m+1), make([][]float64, m+1) // before and after a step of each regime, then of all
	in, out := 0, 0
	for s, series := range observations {
		for t := lags; t < len(series); t++ {
			row := slices.Concat(series[t-lags : t]...)
			if controls[s] != nil {
				row = append(row, controls[s][t]...)
			}
			if slices.ContainsFunc(row, math.IsNaN) || slices.ContainsFunc(series[t], math.IsNaN) {
				continue
			}
			in, out = len(row), len(series[t])
			for _, k := range []int{regimes[s][t], m} {
				x[k], y[k] = append(x[k], row...), append(y[k], series[t]...)
			}
		}
	}
	if in == 0 {
		return math.NaN()
	}
	// The affine map of all steps, place m, is what the regimes are compared with.
	single, n := missed(x[m], y[m], in, out)
	if single == nil {
		return math.NaN()
	}
	gone := make([]float64, out)
	for k := range m {
		own, steps := missed(x[k], y[k], in, out)
		for c, v := range own {
			gone[c] += (1 - v/single[c]) * steps / n
		}
	}
	// What is missed of a channel that never changes, or of a plain trend, is rounding, and so are ratios of it.
	mean, sd := standardise(y[m], out)
	total, channels := 0.0, 0.0
	for c, v := range single {
		if math.Sqrt(v) > 1e-7*sd[c]+1e-12*math.Abs(mean[c]) {
			total, channels = total+gone[c], channels+1
		}
	}
	return max(0, total/channels)
}

// missed is the error σ² = RSS/(n − p) of an affine map that is fitted to rows, for each target, over the degrees
// of freedom that are left: p = in+1. It is nil if there are fewer than twice as many rows as unknowns. x is
// [n,in], y [n,out].
func missed(x, y []float64, in, out int) (errors []float64, n float64) {
	rows := len(y) / out
	if rows < 2*(in+1) {
		return nil, 0
	}
	a, err := leastSquares(x, y, in, out)
	if err != nil {
		return nil, 0
	}
	errors = make([]float64, out)
	for i := range rows {
		for c := range out {
			v := y[i*out+c] - a.b[c]
			for j := range in {
				v -= a.w[c*in+j] * x[i*in+j]
			}
			errors[c] += v * v / float64(rows-in-1)
		}
	}
	return errors, float64(rows)
}
