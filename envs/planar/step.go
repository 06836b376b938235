package planar

import "math"

// maxImpacts limits the impacts of one sub-step. Many inelastic discs that are pushed together have infinitely many
// impacts in finite time.
const maxImpacts = 200

// Step moves the discs by dt and records in each what it met. The discs must be free (see Free) when
// the simulation begins; afterwards they remain so, up to rounding.
//
// The cost is that of dt/SubStep sub-steps. A disc that is far from everything only flies; one that is
// far from the others is compared with the walls, those that are near each other with all.
func (w *World) Step(discs []Disc, dt float64) {
	n, h := w.divide(dt)
	keep := 1 / (1 + float64(w.cfg.Damping*h))
	// Whether discs are apart is decided once for the whole step.
	together := w.plan(discs, dt)
	if together {
		w.advance(discs, n, h, keep)
		return
	}
	for i := range discs {
		if d := &discs[i]; d.near == 0 {
			d.glide(n, h, keep)
		} else {
			w.advance(discs[i:i+1], n, h, keep)
		}
	}
}

// plan sets what each disc may meet during a step, and reports whether discs may meet each other.
//
// Until it meets another disc, a disc moves at most (|v| + |a|·dt)·dt, because neither damping nor a wall adds speed.
// If some discs may meet, the same bound holds with the norms over all discs, because impacts between equal discs do
// not increase Σ|v|².
func (w *World) plan(discs []Disc, dt float64) (together bool) {
	var v, a float64
	for i := range discs {
		d := &discs[i]
		d.Hit = 0
		vv, aa := square(d.V), square(d.A)
		v, a = v+vv, a+aa
		d.reach = way(vv, aa, dt)
	}
	together = !w.separate(discs)
	for i := range discs {
		d := &discs[i]
		if together {
			d.reach = way(v, a, dt)
		}
		d.near = w.around(d)
	}
	return together
}

// square returns |v|².
func square(v Vec) float64 { return float64(v.X*v.X) + float64(v.Y*v.Y) }

// way bounds the distance that a disc moves within t, for the squares of its speed and acceleration: (|v| +
// |a|·t)·t, and a little more for rounding.
func way(vv, aa, t float64) float64 {
	return float64((math.Sqrt(vv)+float64(math.Sqrt(aa)*t))*t) + slack
}

// separate reports whether certainly no two discs meet during the step. It compares squares around the discs, as
// wide as they may move.
func (w *World) separate(discs []Disc) bool {
	for i := range discs {
		d := &discs[i]
		for j := range i {
			o := &discs[j]
			if r := w.gap + d.reach + o.reach; math.Abs(d.P.X-o.P.X) < r && math.Abs(d.P.Y-o.P.Y) < r {
				return false
			}
		}
	}
	return true
}

// near is the set of what a disc may meet within a step: bit 0 is the border of the arena, bit 1+j is wall j; if there
// are more than 62 walls, the last bit stands for all others.
type near uint64

// wall reports whether wall j may be met.
func (n near) wall(j int) bool { return n>>min(j+1, 63)&1 != 0 }

// around returns what is within reach of d.
func (w *World) around(d *Disc) (n near) {
	if d.P.X-d.reach < w.inner.Min.X || d.P.X+d.reach > w.inner.Max.X || d.P.Y-d.reach < w.inner.Min.Y ||
		d.P.Y+d.reach > w.inner.Max.Y {
		n = 1
	}
	for j := range w.walls {
		if w.walls[j].close(d, d.reach, d.reach) {
			n |= 1 << min(j+1, 63)
		}
	}
	return n
}

// close reports whether d comes near s when it moves by at most dx and dy. It compares with the box grown by the
// radius: a disc near a corner may be close and miss it.
func (s *slab) close(d *Disc, dx, dy float64) bool {
	return math.Abs(d.P.X-s.centre.X) < s.grown.X+dx && math.Abs(d.P.Y-s.centre.Y) < s.grown.Y+dy
}

// glide moves a disc that meets nothing by n sub-steps. Its arithmetic is that of advance, so that a disc takes the
// same way to the same bits, whichever of them moves it.
func (d *Disc) glide(n int, h, keep float64) {
	ax, ay := float64(d.A.X*h), float64(d.A.Y*h)
	p, v := d.P, d.V
	for range n {
		v.X = (v.X + ax) * keep
		v.Y = (v.Y + ay) * keep
		p.X += float64(v.X * h)
		p.Y += float64(v.Y * h)
	}
	d.P, d.V = p, v
}

// advance moves discs that may meet each other and the walls by n sub-steps.
func (w *World) advance(discs []Disc, n int, h, keep float64) {
	for range n {
		for i := range discs {
			d := &discs[i]
			d.V.X = (d.V.X + float64(d.A.X*h)) * keep
			d.V.Y = (d.V.Y + float64(d.A.Y*h)) * keep
		}
		if w.clear(discs, h) {
			fly(discs, h)
		} else {
			w.collide(discs, h)
		}
	}
}

// divide returns the number of sub-steps of dt, and their length. A quotient that is a whole number up to rounding
// counts as whole. All have the same length.
func (w *World) divide(dt float64) (n int, h float64) {
	if w.cfg.SubStep == 0 {
		return 1, dt
	}
	n = max(1, int(math.Ceil(dt/w.cfg.SubStep-1e-9)))
	return n, dt / float64(n)
}

// fly moves the discs straight for the time t, by p ← p + v·t.
func fly(discs []Disc, t float64) {
	for i := range discs {
		d := &discs[i]
		d.P.X += float64(d.V.X * t)
		d.P.Y += float64(d.V.Y * t)
	}
}

// collide moves the discs by h from impact to impact. If there are too many impacts, all discs stop: this is crude, but
// nothing overlaps and no speed grows.
func (w *World) collide(discs []Disc, h float64) {
	for range maxImpacts {
		next := w.first(discs, h)
		fly(discs, next.time)
		if next.hit == 0 {
			return
		}
		// The rest of the sub-step begins at the impact, with new velocities.
		h -= next.time
		w.impact(discs, next)
	}
	for i := range discs {
		discs[i].V = Vec{}
	}
}

// impact changes the velocities of those that meet, along the normal, which points towards disc i. What they have
// along the wall, or beside each other, stays.
func (w *World) impact(discs []Disc, m meeting) {
	d := &discs[m.disc]
	d.Hit |= m.hit
	vx, vy := d.V.X, d.V.Y
	share := 1 + w.cfg.Restitution
	if m.hit == OtherDisc {
		o := &discs[m.other]
		o.Hit |= OtherDisc
		vx, vy = vx-o.V.X, vy-o.V.Y
		// Masses are equal: each of two discs takes half of the impulse.
		share /= 2
	}
	push := -share * (float64(vx*m.normal.X) + float64(vy*m.normal.Y))
	px, py := push*m.normal.X, push*m.normal.Y
	d.V.X, d.V.Y = d.V.X+float64(px), d.V.Y+float64(py)
	if m.hit == OtherDisc {
		o := &discs[m.other]
		o.V.X, o.V.Y = o.V.X-float64(px), o.V.Y-float64(py)
	}
}

// clear reports whether certainly nothing meets anything within t. It compares rectangles around the paths. What it
// leaves open, first computes exactly.
func (w *World) clear(discs []Disc, t float64) bool {
	for i := range discs {
		d := &discs[i]
		if d.near != 0 && !w.clearOfWalls(d, float64(d.V.X*t), float64(d.V.Y*t)) {
			return false
		}
		for j := range i {
			if meet(d, &discs[j], w.gap, t) {
				return false
			}
		}
	}
	return true
}

// clearOfWalls is clear for one disc that moves by (dx, dy): its centre stays inside the arena and away from the
// grown walls.
func (w *World) clearOfWalls(d *Disc, dx, dy float64) bool {
	if x, y := d.P.X+dx, d.P.Y+dy; x < w.inner.Min.X || x > w.inner.Max.X || y < w.inner.Min.Y || y > w.inner.Max.Y {
		return false
	}
	dx, dy = math.Abs(dx), math.Abs(dy)
	for j := range w.walls {
		if d.near.wall(j) && w.walls[j].close(d, dx, dy) {
			return false
		}
	}
	return true
}

// meet reports whether the rectangles around the paths of two discs come closer than gap within t.
func meet(d, o *Disc, gap, t float64) bool {
	return math.Abs(d.P.X-o.P.X) < gap+math.Abs(float64((d.V.X-o.V.X)*t)) &&
		math.Abs(d.P.Y-o.P.Y) < gap+math.Abs(float64((d.V.Y-o.V.Y)*t))
}
