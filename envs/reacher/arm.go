package reacher

import (
	"math"

	"github.com/switchyard-ml/switchyard/autodiff/kernel"
)

// The arm of the MuJoCo model: two capsules of radius 1 cm around segments of 10 cm, and a sphere
// of radius 1 cm at the tip, 11 cm along the second link; all of density 1000 kg/m³.
const (
	length    = 0.1         // of a link, m
	centre    = length / 2  // from a joint to the centre of its link, m
	reach     = 0.11        // from the elbow to the tip, m
	radius    = 0.01        // of links and tip, m
	linkMass  = 0.035604717 // 1000·(πr²·length + 4/3·πr³), kg
	tipMass   = 0.0041887902
	tipMoment = 2.0 / 5 * tipMass * radius * radius // of the tip about its centre, kg m²

	// Bullet takes the moment of a link from the box around its capsule: m/12·(0.12² + 0.02²).
	linkMoment = linkMass / 12 * ((length+2*radius)*(length+2*radius) + 4*radius*radius)
)

// Constants of the manipulator equations (see MassMatrix).
const (
	momentA1 = linkMoment + linkMass*centre*centre                                   // link 1 about the shoulder
	momentA2 = linkMoment + linkMass*centre*centre + tipMoment + tipMass*reach*reach // link 2 and tip about the elbow
	beyond   = linkMass + tipMass                                                    // mass carried by the elbow
	offset   = linkMass*centre + tipMass*reach                                       // its first moment, h
)

// A State of the arm: shoulder angle θ, elbow angle γ relative to the first link, and their rates. Both are 0 where
// the arm is stretched out along x, and grow counter-clockwise. The angles of a joint are not wrapped: θ may be any
// number of turns.
type State struct {
	Theta, Gamma         float64 // rad
	ThetaRate, GammaRate float64 // rad/s
}

// MassMatrix returns the entries of the symmetric mass matrix of (θ, γ) in kg m², for a given cos γ:
//
//	M11 = A1 + (m + m_tip)·l² + A2 + 2·l·h·cos γ,  M12 = A2 + l·h·cos γ,  M22 = A2
//
// l is the length of a link, and h the first moment of what the elbow carries.
func MassMatrix(cosGamma float64) (m11, m12, m22 float64) {
	coupling := float64(length * offset * cosGamma)
	return momentA1 + beyond*length*length + momentA2 + 2*coupling, momentA2 + coupling, momentA2
}

// Accelerations returns (θ̈, γ̈), the solution of the manipulator equations
//
//	M(γ)·(θ̈, γ̈) = τ − c − d·M(γ)·(θ̇, γ̇)
//	c = l·h·sin γ·(−(2·θ̇·γ̇ + γ̇²), θ̇²)
//
// for the torques τ in N m and the damping d in 1/s of all velocities of the links. Damping takes the same share of
// every rate, so that M cancels.
func Accelerations(s State, torque [2]float64, damping float64) (theta, gamma float64) {
	sin, cos := kernel.SinCos(s.Gamma)
	m11, m12, m22 := MassMatrix(cos)
	k := length * offset * sin
	w, v := s.ThetaRate, s.GammaRate
	r1 := torque[0] + float64(k*(float64(2*float64(w*v))+float64(v*v)))
	r2 := torque[1] - float64(k*float64(w*w))
	determinant := float64(m11*m22) - float64(m12*m12)
	theta = (float64(m22*r1) - float64(m12*r2)) / determinant
	gamma = (float64(m11*r2) - float64(m12*r1)) / determinant
	return theta - float64(damping*w), gamma - float64(damping*v)
}

// Energy returns the kinetic energy ½·q̇ᵀMq̇ in J. There is no potential energy: the plane is level.
func (s State) Energy() float64 {
	_, cos := kernel.SinCos(s.Gamma)
	m11, m12, m22 := MassMatrix(cos)
	w, v := s.ThetaRate, s.GammaRate
	return float64(float64(0.5*m11)*float64(w*w)) + float64(m12*float64(w*v)) + float64(float64(0.5*m22)*float64(v*v))
}

// AngularMomentum returns the momentum about the shoulder, M11·θ̇ + M12·γ̇, in kg m²/s. Only a
// torque at the shoulder and damping change it.
func (s State) AngularMomentum() float64 {
	_, cos := kernel.SinCos(s.Gamma)
	m11, m12, _ := MassMatrix(cos)
	return float64(m11*s.ThetaRate) + float64(m12*s.GammaRate)
}

// Tip returns the position of the fingertip in m, the shoulder being the origin:
//
//	l·(cos θ, sin θ) + 0.11·(cos(θ+γ), sin(θ+γ))
func (s State) Tip() (x, y float64) {
	sinT, cosT := kernel.SinCos(s.Theta)
	sinTG, cosTG := kernel.SinCos(s.Theta + s.Gamma)
	return float64(length*cosT) + float64(reach*cosTG), float64(length*sinT) + float64(reach*sinTG)
}

// limitElbow changes the rates so that a step of dt does not carry the elbow beyond ±limit: an
// inelastic impulse at the elbow, just large enough that the limit is reached. The momentum about
// the shoulder is kept, so what the elbow loses accelerates the shoulder through the mass matrix:
//
//	γ̇' = (±limit − γ)/dt,  θ̇' = θ̇ − M12/M11·(γ̇' − γ̇)
//
// It reports whether the limit acted.
func limitElbow(s *State, limit, dt float64) bool {
	next := s.Gamma + float64(s.GammaRate*dt)
	if math.Abs(next) <= limit {
		return false
	}
	rate := (math.Copysign(limit, next) - s.Gamma) / dt
	_, cos := kernel.SinCos(s.Gamma)
	m11, m12, _ := MassMatrix(cos)
	s.ThetaRate -= float64(m12 / m11 * (rate - s.GammaRate))
	s.GammaRate = rate
	return true
}
