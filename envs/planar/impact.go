package planar

import "math"

const (
	// slack is how deep rounding may push one thing into another. A disc that is deeper does not hit this side: it
	// flies away from the opposite one.
	slack = 1e-7
	// still is the speed below which a disc counts as not moving: a disc that slides along a wall does not hit it.
	still = 1e-11
)

// A meeting is the next impact: what a disc meets and when, and the direction of the impulse. normal has length 1
// and points towards disc, away from what it meets.
type meeting struct {
	time        float64
	hit         Contact // 0: there is no impact
	disc, other int     // other is set for two discs
	normal      Vec
}

// first returns the earliest impact within t. Of several at the same time it returns the first in the order disc by
// disc; for each disc arena, walls, discs. Without an impact the time is t. Each meeting that is found shortens the
// time within which the following ones are looked for.
func (w *World) first(discs []Disc, t float64) meeting {
	m := meeting{time: t}
	for i := range discs {
		d := &discs[i]
		if d.near&1 != 0 {
			m.arena(i, d, &w.inner)
		}
		for j := range w.walls {
			if s := &w.walls[j]; d.near.wall(j) && s.close(d, math.Abs(float64(d.V.X*m.time))+slack,
				math.Abs(float64(d.V.Y*m.time))+slack) {
				m.wall(i, d, s, w.cfg.Radius)
			}
		}
		for j := range i {
			if o := &discs[j]; meet(d, o, w.gap+slack, m.time) {
				m.discs(i, j, d, o, w.gap)
			}
		}
	}
	return m
}

// sooner records the impact on a wall if it comes before the known one. A negative time comes from rounding: the impact
// is now.
func (m *meeting) sooner(time float64, i int, normal Vec) {
	if time = max(time, 0); time >= m.time {
		return
	}
	m.time, m.disc, m.normal, m.hit = time, i, normal, HorizontalWall
	if math.Abs(normal.X) >= math.Abs(normal.Y) {
		m.hit = VerticalWall
	}
}

// arena computes the meeting with the border: the centre of a disc stays within inner, so it is at an edge of it.
func (m *meeting) arena(i int, d *Disc, inner *Box) {
	switch {
	case d.V.X > still && inner.Max.X-d.P.X < float64(d.V.X*m.time):
		m.sooner((inner.Max.X-d.P.X)/d.V.X, i, Vec{-1, 0})
	case d.V.X < -still && inner.Min.X-d.P.X > float64(d.V.X*m.time):
		m.sooner((inner.Min.X-d.P.X)/d.V.X, i, Vec{1, 0})
	}
	switch {
	case d.V.Y > still && inner.Max.Y-d.P.Y < float64(d.V.Y*m.time):
		m.sooner((inner.Max.Y-d.P.Y)/d.V.Y, i, Vec{0, -1})
	case d.V.Y < -still && inner.Min.Y-d.P.Y > float64(d.V.Y*m.time):
		m.sooner((inner.Min.Y-d.P.Y)/d.V.Y, i, Vec{0, 1})
	}
}

// wall computes the meeting with the box s. The centres of touching discs form a rectangle with round corners: the
// union of two rectangles and four circles. From outside, the impact is at the first of these that is entered. The
// two rectangles are the box grown by r along x, and along y; the circles of radius r stand at its corners.
func (m *meeting) wall(i int, d *Disc, s *slab, r float64) {
	qx, qy := d.P.X-s.centre.X, d.P.Y-s.centre.Y
	// Each rectangle is entered at the side that faces the velocity; beside its length the corners count.
	if math.Abs(d.V.X) > still {
		side := -math.Copysign(1, d.V.X)
		t := (float64(side*s.grown.X) - qx) / d.V.X
		if t*math.Abs(d.V.X) >= -slack && math.Abs(qy+float64(d.V.Y*t)) <= s.half.Y {
			m.sooner(t, i, Vec{side, 0})
		}
	}
	if math.Abs(d.V.Y) > still {
		side := -math.Copysign(1, d.V.Y)
		t := (float64(side*s.grown.Y) - qy) / d.V.Y
		if t*math.Abs(d.V.Y) >= -slack && math.Abs(qx+float64(d.V.X*t)) <= s.half.X {
			m.sooner(t, i, Vec{0, side})
		}
	}
	// Bits 0 and 1 choose the sides of the corner.
	for corner := range 4 {
		kx, ky := s.half.X, s.half.Y
		if corner&1 != 0 {
			kx = -kx
		}
		if corner&2 != 0 {
			ky = -ky
		}
		if t, ok := entry(qx-kx, qy-ky, d.V.X, d.V.Y, r); ok && t < m.time {
			nx, ny := qx-kx+float64(d.V.X*t), qy-ky+float64(d.V.Y*t)
			m.sooner(t, i, unit(nx, ny))
		}
	}
}

// discs computes the meeting of discs i and j: their difference enters the circle whose radius is gap, two radii of
// a disc.
func (m *meeting) discs(i, j int, d, o *Disc, gap float64) {
	qx, qy, vx, vy := d.P.X-o.P.X, d.P.Y-o.P.Y, d.V.X-o.V.X, d.V.Y-o.V.Y
	t, ok := entry(qx, qy, vx, vy, gap)
	if t = max(t, 0); !ok || t >= m.time {
		return
	}
	*m = meeting{t, OtherDisc, i, j, unit(qx+float64(vx*t), qy+float64(vy*t))}
}

// entry returns when a point at (qx, qy) with velocity (vx, vy) enters the circle of radius r about
// the origin, the smaller root of |q + v·t|² = r², if it approaches it and gets there. The root is
// taken in the form without cancellation.
func entry(qx, qy, vx, vy, r float64) (float64, bool) {
	b := float64(qx*vx) + float64(qy*vy)
	if b >= 0 {
		return 0, false
	}
	v := float64(vx*vx) + float64(vy*vy)
	c := float64(qx*qx) + float64(qy*qy) - float64(r*r)
	root := float64(b*b) - float64(v*c)
	if root < float64(float64(r*r)*(still*still)) { // the normal speed at the impact is √root/r
		return 0, false
	}
	return c / (math.Sqrt(root) - b), true
}

// unit returns (x, y) at length 1; not both may be 0.
func unit(x, y float64) Vec {
	n := math.Sqrt(float64(x*x) + float64(y*y))
	return Vec{x / n, y / n}
}
