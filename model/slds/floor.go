package slds

import (
	"fmt"
	"math"
)

// DivergenceFloor is the least divergence that a Concrete posterior with one temperature can have from a Concrete prior
// with another, in nats for a switch of M components. It is 0 only for equal temperatures.
//
// In the space of the log density a Concrete variable is y = (l + g)/λ up to a constant in all components, with g from
// Gumbel distributions: the logits only move it, by l/λ. So the divergence is a function of δ = l_q/λ_q − l_p/λ_p
// alone. It is convex in l_p, as −log p is, and flat at δ = 0, where permutations of the components change nothing:
// that is the minimum, for any l_q. There, with r = λ_p/λ_q, Euler's constant γ = E[g] and the digamma function ψ,
//
//	KL = (M−1)·log(λ_q/λ_p) + (r−1)·M·γ + M·(E[log Σₖ Eₖʳ] − ψ(M)),  Eₖ = exp(−gₖ) ~ Exp(1)
//
// and for a binary switch, with L from a logistic distribution,
//
//	KL = M·(log(λ_q/λ_p) − 2·E[softplus(−L)] + 2·E[softplus(−r·L)]),  E[softplus(−L)] = 1
//
// (Densities: Maddison et al. 2017, appendix C.) It is shown to people only; no bit of a run depends on it.
func DivergenceFloor(posterior, prior float64, switches int, binary bool) float64 {
	r, m := prior/posterior, float64(switches)
	if r == 1 || switches < 2 && !binary {
		return 0
	}
	if binary {
		return m * (-math.Log(r) - 2 + 2*expectedSoftplus(r))
	}
	return max(0, -(m-1)*math.Log(r)+(r-1)*m*eulerGamma+m*(logSumOfPowers(r, switches)-digamma(switches)))
}

const eulerGamma = 0.57721566490153286061

// digamma is ψ(n) of a whole number.
func digamma(n int) float64 {
	sum := -eulerGamma
	for k := 1; k < n; k++ {
		sum += 1 / float64(k)
	}
	return sum
}

// expectedSoftplus is E[softplus(−r·L)] of a logistic L, by the trapezoidal rule, whose error falls faster than any
// power of the step for a smooth integrand that vanishes at both ends.
func expectedSoftplus(r float64) float64 {
	const step, ends = 1.0 / 64, 45.0
	sum := 0.0
	for x := -ends; x <= ends; x += step {
		density := math.Exp(-math.Abs(x)) / math.Pow(1+math.Exp(-math.Abs(x)), 2)
		sum += density * (math.Max(0, -r*x) + math.Log1p(math.Exp(-math.Abs(r*x))))
	}
	return sum * step
}

// logSumOfPowers is E[log Σₖ Eₖʳ] of n variables Eₖ ~ Exp(1): with S the sum and v = log x in Frullani's integral,
//
//	E[log S] = ∫ (exp(−x) − E[exp(−x·E₁ʳ)]ⁿ) dv
//
// where E₁ = exp(w) has the density exp(w − eʷ).
func logSumOfPowers(r float64, n int) float64 {
	if r > 1 { // as a function of w the inner exponential would be steep
		return logSumOfHighPowers(r, n)
	}
	const step = 1.0 / 4
	// The integrand is negligible outside.
	const low, high = -30.0, 30.0
	var density, power []float64 // of E₁ in w, and E₁ʳ: the same for every v
	for w := -30.0; w <= 4; w += step {
		density, power = append(density, math.Exp(w-math.Exp(w))), append(power, math.Exp(r*w))
	}
	sum := 0.0
	for v := low; v <= high; v += step {
		x, laplace := math.Exp(v), 0.0
		for i, p := range power {
			laplace += density[i] * math.Exp(-x*p)
		}
		sum += math.Exp(-x) - math.Pow(laplace*step, float64(n))
	}
	return sum * step
}

// logSumOfHighPowers is logSumOfPowers for r ≥ 1, in the variable u = v/r, in which nothing becomes steep or large with
// r. As exp(−x·E₁ʳ) is the chance that another E = eʸ exceeds x·E₁ʳ, and ∫ (exp(−eᵛ) − exp(−e^{v/r})) dv = (r−1)·γ,
//
//	E[log S] = (r−1)·γ + r·∫ (exp(−eᵘ) − E[1 − exp(−e^{y/r−u})]ⁿ) du
func logSumOfHighPowers(r float64, n int) float64 {
	const (
		step  = 1.0 / 8
		inner = 1.0 / 4
		ends  = 36.0 // the integrands are negligible outside
	)
	var density, place []float64 // of E in y, and y/r: the same for every u
	for y := -ends; y <= 4; y += inner {
		density, place = append(density, inner*math.Exp(y-math.Exp(y))), append(place, y/r)
	}
	sum := 0.0
	for u := -ends; u <= ends; u += step {
		laplace := 0.0
		for i, y := range place {
			laplace -= density[i] * math.Expm1(-math.Exp(y-u))
		}
		sum += math.Exp(-math.Exp(u)) - math.Pow(laplace, float64(n))
	}
	return (r-1)*eulerGamma + r*sum*step
}

// divergenceFloor is the floor at the final temperatures.
func (c Config) divergenceFloor() float64 {
	if c.Switching != Concrete {
		return 0
	}
	t := c.Anneal.Final()
	return DivergenceFloor(float64(t.Posterior), float64(t.Prior), c.M, c.binary())
}

// divergenceNote says for people what the divergence of the switches cannot fall below.
func (c Config) divergenceNote() string {
	floor := c.divergenceFloor()
	if floor < 0.005 {
		return ""
	}
	t := c.Anneal.Final()
	return fmt.Sprintf("never below %.2f nats per switch, since the temperatures differ (%.3g and %.3g, M = %d)", floor,
		t.Posterior, t.Prior, c.M)
}

// divergenceRemedy says what makes the Monte Carlo estimate of the divergence of Concrete switches better.
func (c Config) divergenceRemedy() string {
	if c.Switching != Concrete {
		return ""
	}
	return "raise model.kl_samples, or bring anneal.posterior and anneal.prior nearer to each other"
}
