package gibbs

import (
	"fmt"

	"github.com/switchyard-ml/switchyard/internal/matrix"
)

// plane collects what the draw of one hyperplane needs, for the steps t whose path leads through its node: with
// x̃ = [x; 1] and κ = +½ where the path goes left, −½ where it goes right,
//
//	Λ = I/v_R + Σ ω x̃ x̃ᵀ,  h = Σ κ x̃
type plane struct {
	precision []float64 // [D+1,D+1] lower triangle
	weighted  []float64 // [D+1]
}

// newPlane is that of a hyperplane in d dimensions, without steps.
func newPlane(d int) *plane {
	return &plane{precision: make([]float64, (d+1)*(d+1)), weighted: make([]float64, d+1)}
}

// reset forgets all steps.
func (p *plane) reset() {
	clear(p.precision)
	clear(p.weighted)
}

// add enters one step; homogeneous is x̃ [D+1].
func (p *plane) add(omega, kappa float64, homogeneous []float64) {
	matrix.AddOuter(p.precision, omega, homogeneous)
	matrix.AddScaled(p.weighted, kappa, homogeneous)
}

// drawPlanes draws (R_n, r_n) ~ N(Λ⁻¹h, Λ⁻¹) for each node, from what the draw of the regimes has collected. Given
// ω the logistic likelihood of a turn is Gaussian (Polson, Scott and Windle 2013):
//
//	σ(ν)^[left] σ(−ν)^[right] = ½ e^{κν} E_ω e^{−ων²/2},  ω ~ PG(1, 0)
//
// At a node that no path leads through it is a draw of the prior.
func (c *Chain) drawPlanes() error {
	for n, p := range c.planes {
		s := c.source(drawHyperplanes, n)
		if !p.draw(c.theta.plane(n, c.dims), 1/c.cfg.Prior.Plane, &s) {
			return fmt.Errorf("%w: the precision of hyperplane %d is not positive definite", ErrNumeric, n)
		}
	}
	return nil
}

// draw writes a draw L⁻ᵀ(L⁻¹h + ε) of (R, r) to dst [D+1] under a prior of the given precision. The sums are of no
// use after it: L is in the place of Λ.
func (p *plane) draw(dst []float64, prior float64, s *source) bool {
	if !p.solve(dst, prior) {
		return false
	}
	for i := range dst {
		dst[i] += s.normal()
	}
	matrix.SolveUpper(p.precision, dst)
	return true
}

// mean writes Λ⁻¹h to dst, and uses up the sums like draw.
func (p *plane) mean(dst []float64, prior float64) bool {
	if !p.solve(dst, prior) {
		return false
	}
	matrix.SolveUpper(p.precision, dst)
	return true
}

// solve replaces the precision by its Cholesky factor L and writes L⁻¹h to dst. It reports whether Λ is positive
// definite.
func (p *plane) solve(dst []float64, prior float64) bool {
	n := len(dst)
	for i := range n {
		p.precision[i*n+i] += prior
	}
	if !matrix.Cholesky(p.precision, n) {
		return false
	}
	copy(dst, p.weighted)
	matrix.SolveLower(p.precision, dst)
	return true
}
