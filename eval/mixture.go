package eval

import (
	"math"
	"slices"
	"sort"
)

// Mixture is a predictive distribution: equally likely Gaussians, one for each path of a forecast. A deviation of zero
// is a point. The two lists are as long as each other and not empty; values and deviations are in the unit of what
// is predicted. A Mixture is read only: its methods may be called at the same time.
type Mixture struct{ Means, Deviations []float64 }

// Quantile is the smallest value such that at least this share of the distribution does not exceed it. Of points alone
// it is one of them. A level of 0 or 1 of a mixture with noise is an infinity.
func (m Mixture) Quantile(level float64) float64 {
	if !slices.ContainsFunc(m.Deviations, func(sd float64) bool { return sd > 0 }) {
		values := slices.Sorted(slices.Values(m.Means))
		n := len(values)
		// A share is compared, and no product rounded up: 0.07·100 is more than 7.
		return values[sort.Search(n-1, func(i int) bool { return float64(i+1)/float64(n) >= level })]
	}
	if level <= 0 || level >= 1 {
		return math.Inf(int(math.Copysign(1, level-0.5)))
	}
	// Bisection: forty deviations beside the outer means the distribution function is 0 and 1 in float64.
	low, high := math.Inf(1), math.Inf(-1)
	for i, mean := range m.Means {
		reach := 40 * m.Deviations[i]
		low, high = min(low, mean-reach), max(high, mean+reach)
	}
	for range 200 {
		middle := low + (high-low)/2
		if middle <= low || middle >= high {
			break
		}
		if _, upTo := m.shares(middle); upTo < level {
			low = middle
		} else {
			high = middle
		}
	}
	return high
}

// shares are those of the distribution that lie below x, and that do not exceed it; points at x are between them. A
// Gaussian adds Φ((x − μ)/σ), a point a step at its place.
func (m Mixture) shares(x float64) (below, upTo float64) {
	for i, mean := range m.Means {
		switch sd := m.Deviations[i]; {
		case sd > 0:
			share := 0.5 * math.Erfc((mean-x)/(sd*math.Sqrt2))
			below, upTo = below+share, upTo+share
		case mean < x:
			below++
			upTo++
		case mean == x:
			upTo++
		}
	}
	n := float64(len(m.Means))
	return below / n, upTo / n
}

// CRPS is the continuous ranked probability score of the distribution for the value x, in the unit of x; less is
// better, and of a point it is the absolute error. With A(m, s) = E|N(m, s²)| it is (Grimit et al. 2006)
//
//	(1/n)·Σᵢ A(x − μᵢ, σᵢ) − (1/2n²)·Σᵢⱼ A(μᵢ − μⱼ, √(σᵢ² + σⱼ²))
//
// The second sum is over all pairs, computed in O(n²) from those with j ≤ i.
func (m Mixture) CRPS(x float64) float64 {
	n := float64(len(m.Means))
	score := 0.0
	for i, a := range m.Means {
		score += absolute(x-a, m.Deviations[i]) / n
		pairs := 0.5 * absolute(0, math.Sqrt2*m.Deviations[i])
		for j, b := range m.Means[:i] {
			pairs += absolute(a-b, math.Hypot(m.Deviations[i], m.Deviations[j]))
		}
		score -= pairs / (n * n)
	}
	return score
}

// absolute is E|N(m, s²)| = s·√(2/π)·e^{−z²/2} + m·erf(z/√2), z = m/s; |m| for s = 0.
func absolute(m, s float64) float64 {
	if s == 0 {
		return math.Abs(m)
	}
	z := m / s
	return s*math.Sqrt(2/math.Pi)*math.Exp(-0.5*z*z) + m*math.Erf(z/math.Sqrt2)
}
