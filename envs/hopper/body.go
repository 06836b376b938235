package hopper

import "math"

// The four links, from the top, and the three hinges between them: hinge j joins links j and j+1.
const (
	torso = iota
	thigh
	leg
	foot
	links

	hinges = links - 1
)

// The points of the robot that can touch level ground: the ends of the capsules. (The ankle lies
// within the capsule of the foot.)
const (
	head = iota
	hip
	knee
	heel
	toe
	points
)

// The robot of Roboschool's hopper.xml, upright: hinges at heights 1.05, 0.6 and 0.1 m above each
// other, capsules of density 1000 kg/m³, foot from 13 cm behind the ankle to 26 cm before it.
const (
	density     = 1000.0
	torsoHeight = 1.25 // of the centre of the torso at the start, m

	torsoLength, torsoRadius = 0.4, 0.05
	thighLength, thighRadius = 0.45, 0.05
	legLength, legRadius     = 0.5, 0.04
	footLength, footRadius   = 0.39, 0.06
	heelX, toeX              = -0.13, 0.26
)

const degree = math.Pi / 180

// limits are the ranges of the hinges in rad. They are those of hopper.xml. A hinge of 0 is the upright robot; thigh
// and leg bend one way alone.
var limits = [hinges]struct{ low, high float64 }{
	{-150 * degree, 0},
	{-150 * degree, 0},
	{-45 * degree, 45 * degree},
}

// A vec is a vector in the plane of motion: x forward, z up.
type vec struct{ x, z float64 }

// plus, times and dot are v + w, a·v and v·w. Every product is rounded before it is added, here and below, so that
// no compiler fuses them and a trajectory has the same bits everywhere.
func (v vec) plus(w vec) vec      { return vec{v.x + w.x, v.z + w.z} }
func (v vec) times(a float64) vec { return vec{float64(a * v.x), float64(a * v.z)} }
func (v vec) dot(w vec) float64   { return float64(v.x*w.x) + float64(v.z*w.z) }

// cross returns v.x·w.z − v.z·w.x.
func (v vec) cross(w vec) float64 { return float64(v.x*w.z) - float64(v.z*w.x) }

// capsule returns mass and moment (about the centre, across the axis) of a capsule of the given
// length between the centres of its half spheres:
//
//	m = ρπr²·L + ρ·4/3·πr³,  I = m_c·(L²/12 + r²/4) + m_s·(2/5·r² + L²/4 + 3/8·L·r)
func capsule(length, radius float64) (mass, moment float64) {
	square := float64(radius * radius)
	cylinder := float64(density * math.Pi * float64(square*length))
	spheres := float64(density * math.Pi * float64(square*radius) * 4 / 3)
	moment = float64(cylinder*(float64(length*length)/12+float64(square/4))) +
		float64(spheres*(float64(0.4*square)+float64(float64(length*length)/4)+float64(0.375*float64(length*radius))))
	return cylinder + spheres, moment
}

// A chain is a point of the robot as seen from its centre of mass: Σ_k R(φ_k)·chain[k], with one vector in the frame
// of each link and
//
//	R(φ)·(x, z) = (x·cos φ + z·sin φ, −x·sin φ + z·cos φ),
//
// the rotation by φ about the y axis, which leans an upright link forward for φ > 0.
type chain [links]vec

// minus returns the chain from b to a.
func (a chain) minus(b chain) chain {
	for k := range a {
		a[k] = a[k].plus(b[k].times(-1))
	}
	return a
}

// A body holds what the equations of motion need of the robot: a function of its geometry alone. All
// but the mass m itself is per unit of m, so that the inertia of the centre of mass is 1.
//
//	moment_k = I_k/m,  alpha_kl = Σ_i m_i/m·d_ik·d_il,  beta_kl = Σ_i m_i/m·d_ik×d_il
//
// where the chain d_i leads from the centre of mass of the robot to that of link i. Lengths are in m, so moment,
// alpha and beta are in m².
type body struct {
	mass        float64
	moment      [links]float64
	alpha, beta [links][links]float64
	torso       chain         // to the centre of the torso
	point       [points]chain // to the points that can touch
	radius      [points]float64
}

// newBody returns the robot of the constants above. All of it is geometry, computed once: a step reads it alone.
func newBody() body {
	var b body
	var mass [links]float64
	for i, size := range [links][2]float64{
		{torsoLength, torsoRadius},
		{thighLength, thighRadius},
		{legLength, legRadius},
		{footLength, footRadius},
	} {
		mass[i], b.moment[i] = capsule(size[0], size[1])
		b.mass += mass[i]
	}
	for i := range mass {
		mass[i] /= b.mass
		b.moment[i] /= b.mass
	}
	// Chains from the centre of the torso. Each ends in the frame of the link whose vector is given.
	toHip := chain{torso: {0, -torsoLength / 2}}
	toKnee := toHip.ending(thigh, vec{0, -thighLength})
	toAnkle := toKnee.ending(leg, vec{0, -legLength})
	centres := [links]chain{
		torso: {},
		thigh: toHip.ending(thigh, vec{0, -thighLength / 2}),
		leg:   toKnee.ending(leg, vec{0, -legLength / 2}),
		foot:  toAnkle.ending(foot, vec{(heelX + toeX) / 2, 0}),
	}
	// The centre of mass is Σ_i m_i/m·(chain of centre i); chains from it follow by subtraction.
	var centre chain // of mass
	for i, c := range centres {
		for k := range c {
			centre[k] = centre[k].plus(c[k].times(mass[i]))
		}
	}
	for i, c := range centres {
		d := c.minus(centre)
		for k := range d {
			for l := range d {
				b.alpha[k][l] += float64(mass[i] * d[k].dot(d[l]))
				b.beta[k][l] += float64(mass[i] * d[k].cross(d[l]))
			}
		}
	}
	b.torso = chain{}.minus(centre)
	b.point = [points]chain{
		head: chain{torso: {0, torsoLength / 2}}.minus(centre),
		hip:  toHip.minus(centre),
		knee: toKnee.minus(centre),
		heel: toAnkle.ending(foot, vec{heelX, 0}).minus(centre),
		toe:  toAnkle.ending(foot, vec{toeX, 0}).minus(centre),
	}
	// Two capsules meet at hip and knee: the thicker one touches first.
	b.radius = [points]float64{
		head: torsoRadius, hip: max(torsoRadius, thighRadius), knee: max(thighRadius, legRadius),
		heel: footRadius, toe: footRadius,
	}
	return b
}

// ending returns the chain with the vector v of link k at its end.
func (a chain) ending(k int, v vec) chain {
	a[k] = v
	return a
}
