package gibbs

import (
	"math"

	"github.com/switchyard-ml/switchyard/internal/matrix"
)

// polyaGamma draws ω ~ PG(1, c), the distribution with
//
//	E e^{−ω s} = cosh(c/2) / cosh(√(c²/4 + s/2)),  E ω = tanh(c/2)/(2c),
//
// exactly, by rejection (Devroye 2009; Polson, Scott and Windle 2013, appendix). ω = X/4, where with z = |c|/2 the
// density of X is proportional to
//
//	f(x) = e^{−z²x/2} Σ_{n≥0} (−1)ⁿ a_n(x),  a_n(x) = (2n+1) a_0(x) ρ(x)^{n(n+1)/2}
//	x ≤ 2/π:  a_0(x) = ℓ(x) = 2/√(2πx³) e^{−1/(2x)}   ρ(x) = e^{−4/x}
//	x > 2/π:  a_0(x) = r(x) = π/2 e^{−π²x/8}          ρ(x) = e^{−π²x}
//
// where the partial sums are bounds in turn. Two envelopes keep the chance of a rejection low for every z, and need no
// distribution function:
//
//	z < 1:  ℓ(x) up to 2/π and e^{−z²x/2} r(x) beyond, of masses 2 erfc(√π/2) and π/(2k) e^{−2k/π}, k = π²/8 + z²/2
//	z ≥ 1:  e^{−z²x/2} ℓ(x) everywhere, an inverse Gaussian; ℓ ≥ r beyond 2/π, where they cross
func polyaGamma(s *source, c float64) float64 {
	z := 0.5 * math.Abs(c)
	if z < 1 {
		return 0.25 * tiltedJacobi(s, z)
	}
	for {
		x := s.inverseGaussian(1 / z)
		bound := s.uniform()
		if x > crossing { // U ℓ(x) against the series that begins with r(x)
			root := math.Sqrt(x)
			bound *= float64(4/(math.Pi*root*x*math.Sqrt(2*math.Pi))) * matrix.Exp(float64(math.Pi*math.Pi/8*x)-0.5/x)
		}
		if belowSeries(x, bound) {
			return 0.25 * x
		}
	}
}

const (
	crossing = 2 / math.Pi
	// lowMass is 2 erfc(√π/2), the mass of ℓ up to the crossing.
	lowMass = 0.4201828108878746
	// firstTerm is the largest a_1/a_0 of either series, at the crossing: 3 e^{−2π}, rounded up.
	firstTerm = 0.0056023282
)

// tiltedJacobi draws X for z < 1. A candidate comes from beyond the crossing with the share of mass that is there:
// 2/π plus an exponential of rate k; else from below it.
func tiltedJacobi(s *source, z float64) float64 {
	half := float64(0.5 * float64(z*z))
	k := math.Pi*math.Pi/8 + half
	high := float64(math.Pi / 2 / k * matrix.Exp(-float64(k*crossing)))
	for {
		var x float64
		// U times the envelope, divided by e^{−z²x/2} a_0: the series of a_n/a_0 has to be larger.
		bound := s.uniform()
		if float64(s.uniform()*(lowMass+high)) < high {
			x = crossing + s.exponential()/k
		} else {
			x = s.lowLevy()
			bound *= matrix.Exp(float64(half * x)) // U ℓ(x) against e^{−z²x/2} times the series
		}
		if belowSeries(x, bound) {
			return x
		}
	}
}

// belowSeries reports whether bound < Σ (−1)ⁿ a_n(x)/a_0(x). The terms fall, so that a partial sum that ends with
// a subtraction is a lower bound and the next one an upper bound: it stops as soon as one of them decides.
func belowSeries(x, bound float64) bool {
	// The first two terms bound the sum: most calls need no exponential.
	if bound < 1-firstTerm {
		return true
	}
	if bound >= 1 {
		return false
	}
	exponent := -math.Pi * math.Pi * x
	if x <= crossing {
		exponent = -4 / x
	}
	sum := 1.0
	for n := 1.0; ; n += 2 {
		sum -= float64((2*n + 1) * matrix.Exp(float64(exponent*n*(n+1)/2)))
		if bound < sum {
			return true
		}
		sum += float64((2*n + 3) * matrix.Exp(float64(exponent*(n+1)*(n+2)/2)))
		if bound >= sum {
			return false
		}
	}
}

// lowLevy draws x ≤ 2/π with density proportional to x^{−3/2} e^{−1/(2x)}: 1/N² given N² ≥ π/2 (Devroye 1986, page
// 382).
func (s *source) lowLevy() float64 {
	for {
		e := s.exponential()
		if float64(e*e) <= float64(2/crossing*s.exponential()) {
			d := 1 + float64(crossing*e)
			return crossing / float64(d*d)
		}
	}
}

// inverseGaussian draws from the inverse Gaussian distribution of mean μ and shape 1 (Michael, Schucany and Haas 1976).
func (s *source) inverseGaussian(mu float64) float64 {
	n := s.normal()
	y := float64(mu * float64(n*n))
	// the smaller root, without cancellation; their product is μ²
	x := mu / (1 + float64(0.5*(y+math.Sqrt(float64(y*(4+y))))))
	if float64(s.uniform()*(mu+x)) > mu {
		return float64(mu*mu) / x
	}
	return x
}
