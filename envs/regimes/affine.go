package regimes

import "github.com/switchyard-ml/switchyard/autodiff/kernel"

// affine is a map of the plane, A·x + c, with A row-major.
type affine struct {
	a [4]float64
	c [2]float64
}

// turn is x ↦ ρ·R(α)·x + c. The angle is in radians, counter-clockwise. Numbers have the same bits on every machine:
// see kernel.SinCos.
func turn(angle, radius float64, c [2]float64) affine {
	sin, cos := kernel.SinCos(angle)
	return affine{[4]float64{radius * cos, -radius * sin, radius * sin, radius * cos}, c}
}

// turnAround is the rotation x ↦ R(α)·(x − center) + center.
func turnAround(angle float64, center [2]float64) affine {
	m := turn(angle, 1, [2]float64{})
	moved := m.step(center)
	m.c = [2]float64{center[0] - moved[0], center[1] - moved[1]}
	return m
}

// step returns A·x + c. Products are rounded before they are added, so that no compiler fuses them.
func (m *affine) step(x [2]float64) [2]float64 {
	return [2]float64{
		float64(m.a[0]*x[0]) + float64(m.a[1]*x[1]) + m.c[0],
		float64(m.a[2]*x[0]) + float64(m.a[3]*x[1]) + m.c[1],
	}
}
