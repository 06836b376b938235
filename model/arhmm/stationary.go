package arhmm

import (
	"math"

	"github.com/switchyard-ml/switchyard/internal/matrix"
)

// stationary writes the distribution π = π P to dst, by elimination without subtraction (Grassmann, Taksar and Heyman
// 1985). Where several distributions are stationary it takes one of them.
func stationary(dst, transition []float64) {
	const least = 1e-30 // probability of leaving an absorbing regime
	K := len(dst)
	a := append([]float64(nil), transition...)
	// Without regime n: a path that enters it goes on to where it leads. No term is negative, so that no digits
	// are lost.
	for n := K - 1; n > 0; n-- {
		leaves := max(sum(a[n*K:n*K+n]), least)
		for i := range n {
			a[i*K+n] /= leaves
			matrix.AddScaled(a[i*K:i*K+n], a[i*K+n], a[n*K:n*K+n])
		}
	}
	clear(dst)
	// Regimes come back one by one, relative to the first.
	dst[0] = 1
	for n := 1; n < K; n++ {
		for i := range n {
			dst[n] += float64(dst[i] * a[i*K+n])
		}
	}
	total := sum(dst)
	for i := range dst {
		dst[i] /= total
	}
}

// chances are the transitions P that maximise Σ_ij N_ij ln P_ij + Σ_k n_k ln π_k(P), where π is stationary.
type chances struct {
	pairs, starts []float64 // N [K,K], n [K]
	p, first      []float64 // P, π
}

// value is what is maximised, for transitions and their stationary distribution.
func (c *chances) value(p, first []float64) float64 {
	total := 0.0
	for i, n := range c.pairs {
		if n > 0 {
			total += float64(n * matrix.Log(p[i]))
		}
	}
	for k, n := range c.starts {
		if n > 0 {
			total += float64(n * matrix.Log(first[k]))
		}
	}
	return total
}

// rise improves P in a few rounds. With h = (I − P + 1π)⁻¹(n/π) the derivative of Σ n ln π by P_ij is π_i h_j, so
// that
//
//	P_ij ∝ N_ij + P_ij π_i (h_j − min h)
//
// at a maximum. The step towards the right-hand side leads upwards; it is halved until the value rises. It changes
// p and first in place, never to a lower value, and stops where a round brings next to nothing.
func (c *chances) rise() {
	const rounds, halvings, gain = 20, 20, 1e-12
	K := len(c.first)
	target, p, first := make([]float64, K*K), make([]float64, K*K), make([]float64, K)
	value := c.value(c.p, c.first)
	for range rounds {
		h := c.response()
		least := h[0]
		for _, v := range h {
			least = min(least, v)
		}
		copy(target, c.p)
		for i := range K {
			row := make([]float64, K)
			for j := range row {
				row[j] = c.pairs[i*K+j] + float64(float64(c.p[i*K+j]*c.first[i])*(h[j]-least))
			}
			share(target[i*K:(i+1)*K], row)
		}
		step, before := 1.0, value
		for range halvings {
			for i, v := range c.p {
				p[i] = v + float64(step*(target[i]-v))
			}
			stationary(first, p)
			if v := c.value(p, first); v > value {
				value = v
				copy(c.p, p)
				copy(c.first, first)
				break
			}
			step /= 2
		}
		if value-before <= float64(gain*math.Abs(value)) {
			return
		}
	}
}

// response is h, by elimination with row pivots. A regime of no probability does not divide by zero.
func (c *chances) response() []float64 {
	K := len(c.first)
	a, h := make([]float64, K*K), make([]float64, K)
	for i := range K {
		for j := range K {
			a[i*K+j] = c.first[j] - c.p[i*K+j]
		}
		a[i*K+i]++
		h[i] = c.starts[i] / max(c.first[i], math.SmallestNonzeroFloat64)
	}
	for n := range K {
		pivot := n
		for i := n + 1; i < K; i++ {
			if math.Abs(a[i*K+n]) > math.Abs(a[pivot*K+n]) {
				pivot = i
			}
		}
		for j := range K {
			a[n*K+j], a[pivot*K+j] = a[pivot*K+j], a[n*K+j]
		}
		h[n], h[pivot] = h[pivot], h[n]
		for i := n + 1; i < K; i++ {
			f := -a[i*K+n] / a[n*K+n]
			matrix.AddScaled(a[i*K+n:(i+1)*K], f, a[n*K+n:(n+1)*K])
			h[i] += float64(f * h[n])
		}
	}
	for n := K - 1; n >= 0; n-- {
		h[n] = (h[n] - matrix.Dot(a[n*K+n+1:(n+1)*K], h[n+1:])) / a[n*K+n]
	}
	return h
}
