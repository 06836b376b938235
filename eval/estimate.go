package eval

import "math"

// Estimate is a number that was measured, and its standard error over episodes. SE is NaN where one episode, or
// none, says nothing of it.
type Estimate struct{ Value, SE float64 }

// tally holds, for each episode, the sums from which estimates are made. A protocol says what the columns are; a
// statistic must be a function of their totals alone, as a mean, a ratio or an R² is. Goroutines may write to rows
// of different episodes at a time.
type tally struct {
	n, width int
	sums     []float64 // [n,width]
}

// newTally returns a tally of n episodes with width sums each, all zero.
func newTally(n, width int) *tally { return &tally{n, width, make([]float64, n*width)} }

// row are the sums of episode i, which the caller adds to in place.
func (t *tally) row(i int) []float64 { return t.sums[i*t.width : (i+1)*t.width : (i+1)*t.width] }

// total are the sums over all episodes.
func (t *tally) total() []float64 {
	total := make([]float64, t.width)
	for i := range t.n {
		for j, v := range t.row(i) {
			total[j] += v
		}
	}
	return total
}

// estimate computes a statistic from the sums over all episodes. Its standard error is that of the delete-one
// jackknife:
//
//	SE² = (n−1)/n · Σᵢ (θ₍ᵢ₎ − θ̄)²
//
// with θ₍ᵢ₎ the statistic without episode i and θ̄ their mean: for a mean it is the usual one, and it holds for
// ratios too. It is NaN for a single episode. The statistic is called n+1 times, and must not keep its argument.
func (t *tally) estimate(statistic func(sums []float64) float64) Estimate {
	total := t.total()
	e := Estimate{statistic(total), math.NaN()}
	if t.n < 2 {
		return e
	}
	without, thetas := make([]float64, t.width), make([]float64, t.n)
	mean := 0.0
	for i := range t.n {
		for j, v := range t.row(i) {
			without[j] = total[j] - v
		}
		thetas[i] = statistic(without)
		mean += thetas[i] / float64(t.n)
	}
	square := 0.0
	for _, v := range thetas {
		square += (v - mean) * (v - mean)
	}
	e.SE = math.Sqrt(square * float64(t.n-1) / float64(t.n))
	return e
}

// values are the values of estimates, in order.
func values(e []Estimate) []float64 {
	v := make([]float64, len(e))
	for i := range e {
		v[i] = e[i].Value
	}
	return v
}

// withErrors are estimates, each followed by its standard error.
func withErrors(e ...Estimate) []float64 {
	v := make([]float64, 0, 2*len(e))
	for i := range e {
		v = append(v, e[i].Value, e[i].SE)
	}
	return v
}

// errorsOf are the standard errors of estimates, in order.
func errorsOf(e []Estimate) []float64 {
	v := make([]float64, len(e))
	for i := range e {
		v[i] = e[i].SE
	}
	return v
}
