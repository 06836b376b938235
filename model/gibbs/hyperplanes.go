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

func newPlane(d int) *plane {
	return &plane{precision: make([]float64, (d+1)*(d+1)), weighted: make([]float64, d+1)}
}

func (p *plane) reset() {
	clear(p.precision)
	clear(p.weighted)
}

// add enters one step; homogeneous is x̃.
func (p *plane) add(omega, kappa float64, homogeneous []float64) {
	matrix.AddOuter(p.precision, omega, homogeneous)
	matrix.AddScaled(p.weighted, kappa, homogeneous)
}

// drawPlanes draws (R_n, r_n) ~ N(Λ⁻¹h, Λ⁻¹) for each node. Given ω the logistic likelihood of a turn is Gaussian:
// σ(ν)^[left] σ(−ν)^[right] ∝ E_ω matrix.Exp(κν − ων²/2).
func (c *Chain) drawPlanes() error {
	for n, p := range c.planes {
		s := c.source(drawHyperplanes, n)
		if !p.draw(c.theta.plane(n, c.dims), 1/c.cfg.Prior.Plane, &s) {
			return fmt.Errorf("%w: the precision of hyperplane %d is not positive definite", ErrNumeric, n)
		}
	}
	return nil
}

// draw writes (R, r) to dst under a prior of the given precision.
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

// mean writes Λ⁻¹h to dst.
func (p *plane) mean(dst []float64, prior float64) bool {
	if !p.solve(dst, prior) {
		return false
	}
	matrix.SolveUpper(p.precision, dst)
	return true
}

// solve replaces the precision by its Cholesky factor L and writes L⁻¹h to dst.
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
