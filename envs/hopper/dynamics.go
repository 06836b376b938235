package hopper

import (
	"math"

	"github.com/switchyard-ml/switchyard/autodiff/kernel"
)

// A State holds the coordinates and their rates. The coordinates are the centre of mass of the robot and the
// absolute angles of the links about the y axis: with these, gravity and the motion of the whole never mix with the
// motion within. The plane is that of x, forward, and z, up; the ground is z = 0.
type State struct {
	X, Z   float64        // centre of mass, m
	VX, VZ float64        // m/s
	Angle  [links]float64 // of torso, thigh, leg, foot; 0 = as the upright robot, > 0 leans forward; rad
	Rate   [links]float64 // rad/s
}

// Hinge returns angle and rate of hinge j (thigh, leg, foot) about the −y axis: the angle of the
// link above it less that of the link below.
func (s *State) Hinge(j int) (angle, rate float64) {
	return s.Angle[j] - s.Angle[j+1], s.Rate[j] - s.Rate[j+1]
}

// A pose holds sines and cosines of the angles.
type pose struct{ sin, cos [links]float64 }

// poseOf returns the sines and cosines of a state, as kernel.SinCos has them: the same bits on every machine.
func poseOf(s *State) (p pose) {
	for k, angle := range s.Angle {
		p.sin[k], p.cos[k] = kernel.SinCos(angle)
	}
	return p
}

// turned returns R(φ_k)·d.
func (p *pose) turned(k int, d vec) vec {
	return vec{
		float64(d.x*p.cos[k]) + float64(d.z*p.sin[k]),
		float64(d.z*p.cos[k]) - float64(d.x*p.sin[k]),
	}
}

// end returns the end of a chain, Σ_k R(φ_k)·c_k.
func (p *pose) end(c *chain) (at vec) {
	for k, d := range c {
		at = at.plus(p.turned(k, d))
	}
	return at
}

// turning returns how the end of a chain moves with each angle, ∂/∂φ_k R(φ_k)·c_k.
func (p *pose) turning(c *chain) (by [links]vec) {
	for k, d := range c {
		v := p.turned(k, d)
		by[k] = vec{v.z, -v.x}
	}
	return by
}

// height returns the z of the end of a chain. It is that of end, without the x.
func (p *pose) height(c *chain) float64 {
	z := 0.0
	for k, d := range c {
		z += float64(d.z*p.cos[k]) - float64(d.x*p.sin[k])
	}
	return z
}

// A matrix is symmetric, or antisymmetric, and held below and on the diagonal. Entry [k][l] counts for l ≤ k; of an
// antisymmetric one the diagonal is zero.
type matrix [links][links]float64

// massMatrix returns the mass matrix of the angles and the matrix of the centrifugal terms, both
// per unit of the robot's mass:
//
//	M_kl = δ_kl·moment_k + alpha_kl·cos δ + beta_kl·sin δ,  N_kl = ∂M_kl/∂φ_l,  δ = φ_l − φ_k
//
// M is symmetric, N antisymmetric. They follow from Lagrange's equations for the kinetic energy ½m·φ̇ᵀMφ̇ of the
// motion about the centre of mass. Velocities of two links couple by the angle between them alone, so a term
// φ̇_k·φ̇_l, k ≠ l, never appears in a force.
func (b *body) massMatrix(p *pose) (m, n matrix) {
	for k := range links {
		m[k][k] = b.moment[k] + b.alpha[k][k]
		for l := range k {
			cos := float64(p.cos[l]*p.cos[k]) + float64(p.sin[l]*p.sin[k])
			sin := float64(p.sin[l]*p.cos[k]) - float64(p.cos[l]*p.sin[k])
			m[k][l] = float64(b.alpha[k][l]*cos) + float64(b.beta[k][l]*sin)
			n[k][l] = float64(b.beta[k][l]*cos) - float64(b.alpha[k][l]*sin)
		}
	}
	return m, n
}

// forces returns the right-hand side of the equations of motion of the angles,
//
//	M·φ̈ = Q − N·φ̇²,  Q_k = (τ_k − τ_{k−1})/m
//
// where τ_j, in N m, acts at hinge j about the −y axis, turning the link above it by +τ and that below by −τ.
// Gravity is not among them: it moves the centre of mass alone. Forces are per unit of the mass, in m²/s².
func (b *body) forces(n *matrix, s *State, torque *[hinges]float64) (q [links]float64) {
	for j, tau := range torque {
		tau /= b.mass
		q[j] += tau
		q[j+1] -= tau
	}
	for k := range links {
		square := float64(s.Rate[k] * s.Rate[k])
		for l := range k {
			q[k] -= float64(n[k][l] * float64(s.Rate[l]*s.Rate[l]))
			q[l] += float64(n[k][l] * square)
		}
	}
	return q
}

// A factor is the Cholesky factor L of a mass matrix, M = L·Lᵀ, and the inverses of its diagonal.
// The loops over the four links are written out: they are most of the work of a substep.
type factor struct {
	l       matrix
	inverse [links]float64
}

// factorize returns the factor of a positive definite matrix. A mass matrix always is: moments are above zero.
func factorize(m *matrix) (f factor) {
	l, inverse := &f.l, &f.inverse
	l[0][0] = math.Sqrt(m[0][0])
	inverse[0] = 1 / l[0][0]
	l[1][0] = float64(m[1][0] * inverse[0])
	l[2][0] = float64(m[2][0] * inverse[0])
	l[3][0] = float64(m[3][0] * inverse[0])
	l[1][1] = math.Sqrt(m[1][1] - float64(l[1][0]*l[1][0]))
	inverse[1] = 1 / l[1][1]
	l[2][1] = float64((m[2][1] - float64(l[2][0]*l[1][0])) * inverse[1])
	l[3][1] = float64((m[3][1] - float64(l[3][0]*l[1][0])) * inverse[1])
	l[2][2] = math.Sqrt(m[2][2] - float64(l[2][0]*l[2][0]) - float64(l[2][1]*l[2][1]))
	inverse[2] = 1 / l[2][2]
	l[3][2] = float64((m[3][2] - float64(l[3][0]*l[2][0]) - float64(l[3][1]*l[2][1])) * inverse[2])
	l[3][3] = math.Sqrt(m[3][3] - float64(l[3][0]*l[3][0]) - float64(l[3][1]*l[3][1]) - float64(l[3][2]*l[3][2]))
	inverse[3] = 1 / l[3][3]
	return f
}

// transposed returns Lᵀ·x: of rates x those in which the kinetic energy, per unit of mass, is half the square of
// their length.
func (f *factor) transposed(x *[links]float64) (y [links]float64) {
	l := &f.l
	y[0] = float64(l[0][0]*x[0]) + float64(l[1][0]*x[1]) + float64(l[2][0]*x[2]) + float64(l[3][0]*x[3])
	y[1] = float64(l[1][1]*x[1]) + float64(l[2][1]*x[2]) + float64(l[3][1]*x[3])
	y[2] = float64(l[2][2]*x[2]) + float64(l[3][2]*x[3])
	y[3] = float64(l[3][3] * x[3])
	return y
}

// forward solves L·y = x in place.
func (f *factor) forward(x *[links]float64) {
	l := &f.l
	x[0] = float64(x[0] * f.inverse[0])
	x[1] = float64((x[1] - float64(l[1][0]*x[0])) * f.inverse[1])
	x[2] = float64((x[2] - float64(l[2][0]*x[0]) - float64(l[2][1]*x[1])) * f.inverse[2])
	x[3] = float64((x[3] - float64(l[3][0]*x[0]) - float64(l[3][1]*x[1]) - float64(l[3][2]*x[2])) * f.inverse[3])
}

// backward solves Lᵀ·y = x in place.
func (f *factor) backward(x *[links]float64) {
	l := &f.l
	x[3] = float64(x[3] * f.inverse[3])
	x[2] = float64((x[2] - float64(l[3][2]*x[3])) * f.inverse[2])
	x[1] = float64((x[1] - float64(l[3][1]*x[3]) - float64(l[2][1]*x[2])) * f.inverse[1])
	x[0] = float64((x[0] - float64(l[3][0]*x[3]) - float64(l[2][0]*x[2]) - float64(l[1][0]*x[1])) * f.inverse[0])
}
