package hopper

// Constants of the solver of impulses.
const (
	sweeps    = 50   // at most
	converged = 1e-4 // largest change of y in a sweep at which it stops, m/s

	// Constraints that could act in this substep: those that the rates before it bring closer than a
	// margin, which covers what accelerations and impulses within a substep may add.
	contactMargin = 0.02 // m
	limitMargin   = 0.1  // rad
	farthest      = 0.2  // m; a point would need 24 m/s to close it in a substep

	// mostRows are a normal and a friction row for each point, and one limit for each hinge.
	mostRows = 2*points + hinges
)

// dimensions of the velocity: two of the centre of mass, four angles.
const dimensions = 2 + links

// A row is one constraint on the velocity. In the coordinates y = (ċ, Lᵀ·φ̇), with L·Lᵀ the mass
// matrix, the kinetic energy is ½m·|y|², and the constraint reads
//
//	direction·y >= bound
//
// An impulse of m·λ changes y by λ·direction. Rows do not depend on y: they are made once for a substep, and swept
// many times.
type row struct {
	direction [dimensions]float64
	square    float64 // |direction|²
	inverse   float64 // its inverse
	bound     float64 // of a normal or limit: the velocity that just closes the gap
	impulse   float64
	normal    int // the row whose impulse bounds the friction of this one; −1: a normal or a limit
	point     int // that touches; −1: a limit
}

// A solver gathers the constraints of one substep and finds their impulses. y is the velocity that they start from,
// and after solve the one that they leave. It is reused from substep to substep, so that nothing is allocated.
type solver struct {
	rows [mostRows]row
	n    int
	y    [dimensions]float64
}

// add appends a row with the Jacobian (x, z, angles) and returns its index. It turns the Jacobian into the direction
// (x, z, L⁻¹·angles), and overwrites angles.
func (c *solver) add(f *factor, x, z float64, angles *[links]float64, bound float64, normal, point int) int {
	r := &c.rows[c.n]
	c.n++
	f.forward(angles)
	r.direction = [dimensions]float64{x, z, angles[0], angles[1], angles[2], angles[3]}
	r.square = dot(&r.direction, &r.direction)
	r.inverse = 1 / r.square
	r.bound, r.impulse, r.normal, r.point = bound, 0, normal, point
	return c.n - 1
}

// addContacts adds a normal and a friction row for each point near the ground.
//
// The gap may not become negative within dt, so the normal velocity is at least −gap/dt. There is no
// bounce: Bullet's restitution is 0 by default.
func (c *solver) addContacts(b *body, f *factor, m *motion, dt float64) {
	for i, gap := range m.gap {
		if gap > farthest {
			continue
		}
		by := m.pose.turning(&b.point[i])
		var tangent, normal [links]float64
		speed := m.VZ
		for k, d := range by {
			tangent[k], normal[k] = d.x, d.z
			speed += float64(d.z * m.Rate[k])
		}
		if gap+float64(dt*speed) > contactMargin {
			continue
		}
		// A sphere rolls: its lowest point moves against the turning of its link.
		tangent[linkOf[i]] -= b.radius[i]
		// Friction follows the row whose impulse bounds it.
		row := c.add(f, 0, 1, &normal, -positive(gap)/dt, -1, i)
		c.add(f, 1, 0, &tangent, 0, row, i)
	}
}

// linkOf is the link that carries a point.
var linkOf = [points]int{head: torso, hip: torso, knee: thigh, heel: foot, toe: foot}

// addLimits adds a row for each hinge near an end of its range. A hinge that a reset has put beyond its range may
// not go further, but is not pushed back. The Jacobian of a hinge is +1 for the link above it and −1 for the link
// below. Both ends are never near: ranges are wider than two margins.
func (c *solver) addLimits(f *factor, s *State, dt float64) {
	for j := range hinges {
		angle, rate := s.Hinge(j)
		move := float64(dt * rate)
		var jacobian [links]float64
		if gap := angle - limits[j].low; gap+move < limitMargin {
			jacobian[j], jacobian[j+1] = 1, -1
			c.add(f, 0, 0, &jacobian, -positive(gap)/dt, -1, -1)
		} else if gap := limits[j].high - angle; gap-move < limitMargin {
			jacobian[j], jacobian[j+1] = -1, 1
			c.add(f, 0, 0, &jacobian, -positive(gap)/dt, -1, -1)
		}
	}
}

// solve finds impulses m·λ such that for normals and limits λ >= 0, v >= bound and λ·(v − bound) = 0, and for
// friction |λ| <= μ·λ_normal with v = 0 where that is less: projected Gauss–Seidel, each visit a step to the least
// kinetic energy along its row. All impulses start at 0. The sweeps end with one in which no row changes y by more
// than converged, or with the last; what is then still below ground motion.place lifts out.
func (c *solver) solve(friction float64) {
	for range sweeps {
		largest := 0.0
		for i := range c.rows[:c.n] {
			r := &c.rows[i]
			// The impulse at which the velocity along the row is exactly its bound.
			impulse := r.impulse + float64(r.inverse*(r.bound-dot(&r.direction, &c.y)))
			if r.normal < 0 {
				impulse = positive(impulse)
			} else {
				impulse = clip(impulse, float64(friction*c.rows[r.normal].impulse))
			}
			change := impulse - r.impulse
			if change == 0 {
				continue
			}
			r.impulse = impulse
			addScaled(&c.y, change, &r.direction)
			if energy := float64(float64(change*change) * r.square); energy > largest {
				largest = energy
			}
		}
		if largest < converged*converged {
			return
		}
	}
}

// touches reports whether the solved impulses press the foot to the ground. A contact without an impulse is none.
func (c *solver) touches() bool {
	for i := range c.rows[:c.n] {
		r := &c.rows[i]
		if r.normal < 0 && r.impulse > 0 && (r.point == heel || r.point == toe) {
			return true
		}
	}
	return false
}

// positive returns max(x, 0).
func positive(x float64) float64 {
	if x > 0 {
		return x
	}
	return 0
}

// dot returns a·b. The six terms are written out, as those of addScaled: the sweeps spend their time here.
func dot(a, b *[dimensions]float64) float64 {
	return float64(a[0]*b[0]) + float64(a[1]*b[1]) + float64(a[2]*b[2]) +
		float64(a[3]*b[3]) + float64(a[4]*b[4]) + float64(a[5]*b[5])
}

// addScaled adds a·x to y.
func addScaled(y *[dimensions]float64, a float64, x *[dimensions]float64) {
	y[0] += float64(a * x[0])
	y[1] += float64(a * x[1])
	y[2] += float64(a * x[2])
	y[3] += float64(a * x[3])
	y[4] += float64(a * x[4])
	y[5] += float64(a * x[5])
}
