package hopper

// rateCap bounds every velocity, in rad/s and m/s; Bullet has the same bound for multibodies.
const rateCap = 100

// A motion is a state with what follows from it, and room for the constraints of a substep. Invariant between
// substeps: pose and gap are those of the state, and no gap is negative, up to rounding.
type motion struct {
	State
	pose   pose
	gap    [points]float64 // of each point to the ground, m
	solver solver
}

// place recomputes pose and gaps from the state, and raises the robot until no point is below
// ground. It returns by how much.
func (m *motion) place(b *body) (lift float64) {
	m.pose = poseOf(&m.State)
	for i := range b.point {
		m.gap[i] = m.Z + m.pose.height(&b.point[i]) - b.radius[i]
		if m.gap[i] < -lift {
			lift = -m.gap[i]
		}
	}
	if lift > 0 {
		m.Z += lift
		for i := range m.gap {
			m.gap[i] += lift
		}
	}
	return lift
}

// Step moves the robot by one time step under the control u, clipped to [−1, 1], and reports whether the foot
// pressed on the ground on the way. A robot that is below ground is lifted out first. s is changed in place; u is
// not.
func (e *Env) Step(s *State, u *[hinges]float64) (touching bool) {
	m := motion{State: *s}
	m.place(&e.body)
	touching = e.step(&m, u)
	*s = m.State
	return touching
}

// step is Step for a motion that is placed already. It allocates nothing.
func (e *Env) step(m *motion, u *[hinges]float64) (touching bool) {
	var torque [hinges]float64
	for j, v := range u {
		torque[j] = float64(e.cfg.Torque * clip(v, 1))
	}
	dt := e.cfg.DT / float64(e.cfg.Substeps)
	for range e.cfg.Substeps {
		if e.substep(m, &torque, dt) {
			touching = true
		}
	}
	return touching
}

// substep moves the robot by dt:
//
//	ċ' = (1 − d·dt)·ċ + dt·(0, −g),  φ̇' = (1 − d·dt)·φ̇ + dt·M⁻¹(Q − N·φ̇²)
//
// then impulses, then c' = c + dt·ċ', φ' = φ + dt·φ̇'. Rates are changed in the coordinates (ċ, Lᵀ·φ̇)
// of the solver, M = L·Lᵀ. It reports whether the foot is pressed to the ground.
func (e *Env) substep(m *motion, torque *[hinges]float64, dt float64) (touching bool) {
	// Accelerations: the rates that would follow without ground and limits.
	mass, centrifugal := e.body.massMatrix(&m.pose)
	f := factorize(&mass)
	force := e.body.forces(&centrifugal, &m.State, torque)
	f.forward(&force)
	keep := 1 - float64(e.cfg.Damping*dt)
	c := &m.solver
	c.y[0], c.y[1] = float64(keep*m.VX), float64(keep*m.VZ)-float64(dt*e.cfg.Gravity)
	for k, v := range f.transposed(&m.Rate) {
		c.y[2+k] = float64(keep*v) + float64(dt*force[k])
	}
	// Impulses: the constraints that could act, from the rates before the substep.
	c.n = 0
	c.addLimits(&f, &m.State, dt)
	c.addContacts(&e.body, &f, m, dt)
	c.solve(e.cfg.Friction)
	// Rates back from y, bounded, and the coordinates by them.
	m.VX, m.VZ = clip(c.y[0], rateCap), clip(c.y[1], rateCap)
	m.Rate = [links]float64(c.y[2:])
	f.backward(&m.Rate)
	m.X += float64(dt * m.VX)
	m.Z += float64(dt * m.VZ)
	for k := range m.Angle {
		m.Rate[k] = clip(m.Rate[k], rateCap)
		m.Angle[k] += float64(dt * m.Rate[k])
	}
	m.place(&e.body)
	return c.touches()
}

// Energy returns kinetic and potential energy in J, the latter above the ground:
//
//	½m·(|ċ|² + φ̇ᵀMφ̇),  m·g·z
//
// Without torques, damping, contacts and limits of joints their sum is conserved, up to the error of the integrator.
func (e *Env) Energy(s *State) (kinetic, potential float64) {
	p := poseOf(s)
	m, _ := e.body.massMatrix(&p)
	kinetic = vec{s.VX, s.VZ}.dot(vec{s.VX, s.VZ}) / 2
	for k := range links {
		kinetic += float64(float64(m[k][k]/2) * float64(s.Rate[k]*s.Rate[k]))
		for l := range k {
			kinetic += float64(m[k][l] * float64(s.Rate[k]*s.Rate[l]))
		}
	}
	return float64(e.body.mass * kinetic), float64(float64(e.body.mass*e.cfg.Gravity) * s.Z)
}

// AngularMomentum returns the momentum about the centre of mass, m·Σ_kl M_kl·φ̇_l, in kg m²/s. Only contacts and
// damping change it: gravity, torques and limits of joints do not.
func (e *Env) AngularMomentum(s *State) float64 {
	p := poseOf(s)
	m, _ := e.body.massMatrix(&p)
	total := 0.0
	for k := range links {
		total += float64(m[k][k] * s.Rate[k])
		for l := range k {
			total += float64(m[k][l] * (s.Rate[k] + s.Rate[l]))
		}
	}
	return float64(e.body.mass * total)
}
