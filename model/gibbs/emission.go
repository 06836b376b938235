package gibbs

import (
	"fmt"
	"math"

	"github.com/switchyard-ml/switchyard/internal/matrix"
)

// drawEmission draws C, d and S, one observed dimension at a time:
//
//	y_ti = C_i·x_t + d_i + N(0, S_i),  (C_i, d_i) | S_i ~ N(0, S_i v_C I),  S_i ~ IW(2, ψ_S) on S_i ≥ s_i
//
// over the steps at which dimension i was seen. With C = I and d = 0 only S is drawn.
//
// Dimensions are independent given x, as S is diagonal: each is a regression of its own, with a stream of its own.
// The sums stay until emissionDensity has read them.
func (c *Chain) drawEmission() error {
	for _, r := range c.rows {
		r.reset()
	}
	for t := range len(c.z) {
		copy(c.homogeneous, c.state(t))
		for i, y := range c.y[t*c.Dy : (t+1)*c.Dy] {
			if math.IsNaN(y) {
				continue
			}
			if c.cfg.Identity {
				c.rows[i].addTarget(y - c.homogeneous[i])
			} else {
				c.residual[0] = y
				c.rows[i].add(1, c.homogeneous, c.residual[:1])
			}
		}
	}
	for i, r := range c.rows {
		s := c.source(drawEmission, i)
		if !c.drawRow(i, r, &s) {
			return fmt.Errorf("%w: the noise of observed dimension %d is zero to rounding: raise Prior.Measuring or scale "+
				"the data", ErrNumeric, i)
		}
	}
	c.emission = c.emissionDensity()
	return nil
}

// drawRow draws S_i, and then (C_i, d_i) given S_i unless they are fixed, from the sums of the dimension:
//
//	S_i ~ IW(2+n, Ψ) on S_i ≥ s_i,  Ψ = ψ_S + Σ (y_i − x_i)² with C = I
//
// It reports whether Ψ was positive.
func (c *Chain) drawRow(i int, r *regression, s *source) bool {
	// The prior of S_i is IW(2, ψ_S).
	const freedom = 2
	prior, variance := c.cfg.Prior, c.theta.Measuring[i:i+1]
	if c.cfg.Identity {
		r.psi[0] = math.Sqrt(prior.Measuring + r.ee[0])
		r.drawVariance(variance, freedom+r.n, c.floors[i], s)
		return true
	}
	row := c.theta.row(i, c.dims)
	if !r.posterior(row, 1/prior.Emission, prior.Measuring) {
		return false
	}
	r.drawVariance(variance, freedom+r.n, c.floors[i], s)
	r.drawCoefficients(row, s)
	return true
}

// emissionDensity returns the mean of ln N(y_ti; C_i·x_t + d_i, S_i) over the seen values, in nats, without
// another pass over the data.
func (c *Chain) emissionDensity() float64 {
	total, seen := 0.0, 0.0
	for i, r := range c.rows {
		variance, row := c.theta.Measuring[i], c.theta.row(i, c.dims)
		squares := r.ee[0] // Σ (y − C x − d)², from the sums that were collected
		if !c.cfg.Identity {
			matrix.Mirror(r.xx, r.columns)
			for j, v := range row {
				squares += float64(v * (matrix.Dot(row, r.xx[j*r.columns:]) - 2*r.ex[j]))
			}
		}
		total -= float64(0.5 * (float64(r.n*(log2Pi+matrix.Log(variance))) + squares/variance))
		seen += r.n
	}
	return total / seen
}
