package gibbs

import (
	"math"
	"slices"
	"sort"
)

// R̂ and effective sample sizes as Vehtari et al. (2021) define them: chains are cut in halves, and values are
// replaced by normal scores of their ranks, so that the distribution needs no moments.

// Convergence says how well several chains of one quantity agree, after Vehtari et al. (2021).
type Convergence struct {
	// RHat is the rank-normalised split R̂, the larger of that of the values and that of their distances from the
	// median; 1 for chains that cannot be told apart. Values above 1.01 ask for longer chains, or say that chains
	// have found different modes.
	RHat float64
	// Bulk is the effective sample size for the centre of the distribution, Tail for its 5 and 95 per cent
	// quantiles, whichever is less; one that no value exceeds has none. Both are to be at least 400.
	Bulk, Tail float64
}

// Converge compares chains of equal length ≥ 4; all values are NaN for shorter ones, or if a value is not a number, and
// for chains that never move.
func Converge(chains [][]float64) Convergence {
	nan := Convergence{math.NaN(), math.NaN(), math.NaN()}
	if len(chains) == 0 {
		return nan
	}
	var all []float64
	for _, c := range chains {
		if len(c) < 4 || len(c) != len(chains[0]) {
			return nan
		}
		all = append(all, c...)
	}
	slices.Sort(all)
	if math.IsNaN(all[0]) || all[0] == all[len(all)-1] { // NaN sorts first
		return nan
	}
	// folded sees chains that differ in spread but not in place, which ranked does not.
	halves := split2(chains)
	median := quantile(all, 0.5)
	ranked := normalScores(halves)
	folded := normalScores(each(halves, func(v float64) float64 { return math.Abs(v - median) }))
	// The efficiency of a quantile is that of the indicator of the values below it.
	below := func(q float64) float64 {
		limit := quantile(all, q)
		return effectiveSize(each(halves, func(v float64) float64 {
			if v <= limit {
				return 1
			}
			return 0
		}))
	}
	c := Convergence{RHat: reduction(ranked), Bulk: effectiveSize(ranked), Tail: below(0.05)}
	if !still(folded) {
		c.RHat = math.Max(c.RHat, reduction(folded))
	}
	if high := below(0.95); high < c.Tail || math.IsNaN(c.Tail) {
		c.Tail = high
	}
	return c
}

// still reports whether all values are equal.
func still(chains [][]float64) bool {
	return !slices.ContainsFunc(chains, func(c []float64) bool {
		return slices.ContainsFunc(c, func(v float64) bool { return v != chains[0][0] })
	})
}

// split2 cuts each chain in halves; of an odd number the value in the middle is left out.
func split2(chains [][]float64) [][]float64 {
	var halves [][]float64
	for _, c := range chains {
		n := len(c) / 2
		halves = append(halves, c[:n], c[len(c)-n:])
	}
	return halves
}

// each returns f of every value of every chain.
func each(chains [][]float64, f func(float64) float64) [][]float64 {
	out := make([][]float64, len(chains))
	for i, c := range chains {
		out[i] = make([]float64, len(c))
		for j, v := range c {
			out[i][j] = f(v)
		}
	}
	return out
}

// quantile interpolates linearly between the sorted values, of which there are at least two (type 7 of Hyndman and
// Fan 1996).
func quantile(sorted []float64, p float64) float64 {
	at := p * float64(len(sorted)-1)
	i := min(int(at), len(sorted)-2)
	return sorted[i] + (at-float64(i))*(sorted[i+1]-sorted[i])
}

// normalScores replaces each value by the normal quantile of its rank r among all S values, Φ⁻¹((r − 3/8)/(S + 1/4));
// equal values share their mean rank.
func normalScores(chains [][]float64) [][]float64 {
	var sorted []float64
	for _, c := range chains {
		sorted = append(sorted, c...)
	}
	slices.Sort(sorted)
	s := float64(len(sorted))
	return each(chains, func(v float64) float64 {
		first, _ := slices.BinarySearch(sorted, v)
		// Not one by one: long chains of few values have many equal ones.
		last := first + sort.Search(len(sorted)-first, func(i int) bool { return sorted[first+i] > v })
		rank := float64(first+last+1) / 2
		return math.Sqrt2 * math.Erfinv(2*(rank-0.375)/(s+0.25)-1)
	})
}

// moments returns the mean of each chain, the mean W of their variances, and the estimate of the variance of all,
//
//	var⁺ = (n−1)/n · W + B/n
//
// where B/n is the variance of the means of the chains, all of length n.
func moments(chains [][]float64) (means []float64, within, all float64) {
	n := float64(len(chains[0]))
	for _, c := range chains {
		mean, square := 0.0, 0.0
		for _, v := range c {
			mean += v / n
		}
		for _, v := range c {
			square += (v - mean) * (v - mean)
		}
		means = append(means, mean)
		within += square / (n - 1) / float64(len(chains))
	}
	grand, between := 0.0, 0.0
	for _, m := range means {
		grand += m / float64(len(means))
	}
	for _, m := range means {
		between += (m - grand) * (m - grand) / float64(len(means)-1)
	}
	return means, within, within*(n-1)/n + between
}

// reduction returns R̂ = √(var⁺/W), near 1 if the chains have one distribution.
func reduction(chains [][]float64) float64 {
	_, within, all := moments(chains)
	return math.Sqrt(all / within)
}

// effectiveSize returns m·n/τ, with the autocorrelation time τ = −1 + 2 Σ_t P_t over pairs P_t = ρ_2t + ρ_2t+1 of the
// combined autocorrelation while they are positive, each no larger than the one before (Geyer 1992), and at most
// m·n·log₁₀(m·n). It is NaN of values that are all equal, of which rounding would leave a variance.
func effectiveSize(chains [][]float64) float64 {
	if still(chains) {
		return math.NaN()
	}
	m, n := len(chains), len(chains[0])
	means, within, all := moments(chains)
	total := float64(m * n)
	if !(all > 0) {
		return math.NaN()
	}
	// The combined autocorrelation is 1 − (W − mean autocovariance)/var⁺.
	rho := func(lag int) float64 {
		covariance := 0.0
		for i, c := range chains {
			for t := lag; t < n; t++ {
				covariance += (c[t] - means[i]) * (c[t-lag] - means[i]) / float64(n) / float64(m)
			}
		}
		return 1 - (within-covariance)/all
	}
	tau, before := -1.0, math.Inf(1)
	for lag := 0; lag+1 < n-2; lag += 2 {
		even := 1.0
		if lag > 0 {
			even = rho(lag)
		}
		// Sums of neighbours are positive and fall for a reversible chain: the first negative one is noise.
		pair := even + rho(lag+1)
		if pair < 0 {
			if even > 0 {
				tau += even // what the last pair leaves, to lessen the variance of the estimate
			}
			break
		}
		before = min(before, pair)
		tau += 2 * before
	}
	return total / math.Max(tau, 1/math.Log10(total))
}
