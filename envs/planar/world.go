package planar

import (
	"errors"
	"fmt"
	"math"
	"slices"
)

// ErrWorld is returned for a world in which nothing can move as described.
var ErrWorld = errors.New("planar: invalid world")

// Vec is a point or a vector. y may grow up or down: nothing here depends on it.
type Vec struct{ X, Y float64 }

// Box is an axis-parallel rectangle. Min is less than Max in both coordinates.
type Box struct{ Min, Max Vec }

// Disc is the state of one disc, the acceleration that acts on it, and what it touched. The caller sets P, V and A;
// Step changes P, V and Hit, and keeps the rest for itself.
type Disc struct {
	P, V Vec     // centre, velocity
	A    Vec     // acceleration, constant over a step
	Hit  Contact // set by Step: what the disc met during it

	reach float64 // largest distance that it moves within a step
	near  near    // what is within reach
}

// Contact is a set of kinds of impact.
type Contact uint8

// The kinds of impact. A wall is vertical if the impact acts more along x than along y, so the end of
// a long vertical box counts as a horizontal wall.
const (
	VerticalWall Contact = 1 << iota
	HorizontalWall
	OtherDisc

	AnyWall = VerticalWall | HorizontalWall
)

// Config describes a world.
type Config struct {
	Arena       Box     // discs stay within
	Walls       []Box   // solid boxes; they may overlap each other and the border of the arena
	Radius      float64 // of every disc
	Restitution float64 // e, from 0 (inelastic) to 1 (elastic), of walls and discs alike
	Damping     float64 // c, per unit of time
	SubStep     float64 // longest sub-step h; 0: a step is not divided, which is exact where no forces act
}

// World is the fixed part of a simulation. It is immutable. Its methods may be called concurrently, each with discs
// of its own.
type World struct {
	cfg   Config
	inner Box    // where centres may be
	walls []slab // walls by centre and half extent
	gap   float64
}

// A slab is a box by its centre, its half extents and these grown by the radius of a disc. A disc whose centre is
// outside the grown box does not touch the box.
type slab struct{ centre, half, grown Vec }

// New returns the world of cfg, or all faults of cfg wrapped in ErrWorld. It keeps no reference to cfg.Walls.
func New(cfg Config) (*World, error) {
	if err := cfg.validate(); err != nil {
		return nil, err
	}
	r := cfg.Radius
	w := &World{cfg: cfg, gap: 2 * r, inner: Box{
		Vec{cfg.Arena.Min.X + r, cfg.Arena.Min.Y + r}, Vec{cfg.Arena.Max.X - r, cfg.Arena.Max.Y - r},
	}}
	w.cfg.Walls = slices.Clone(cfg.Walls)
	for _, b := range cfg.Walls {
		half := Vec{float64((b.Max.X - b.Min.X) / 2), float64((b.Max.Y - b.Min.Y) / 2)}
		w.walls = append(w.walls, slab{
			centre: Vec{(b.Min.X + b.Max.X) / 2, (b.Min.Y + b.Max.Y) / 2},
			half:   half, grown: Vec{half.X + r, half.Y + r},
		})
	}
	return w, nil
}

// validate returns all faults, wrapped in ErrWorld: numbers out of their ranges or not finite, an arena that a disc
// does not fit into, and walls without an inside.
func (c Config) validate() error {
	var errs []error
	check := func(what string, v float64, ok bool) {
		if !ok || math.IsNaN(v) || math.IsInf(v, 0) {
			errs = append(errs, fmt.Errorf("%w: %s = %v", ErrWorld, what, v))
		}
	}
	check("Radius", c.Radius, c.Radius > 0)
	check("Restitution", c.Restitution, c.Restitution >= 0 && c.Restitution <= 1)
	check("Damping", c.Damping, c.Damping >= 0)
	check("SubStep", c.SubStep, c.SubStep >= 0)
	check("width of the arena", c.Arena.Max.X-c.Arena.Min.X, c.Arena.Max.X-c.Arena.Min.X > 2*c.Radius)
	check("height of the arena", c.Arena.Max.Y-c.Arena.Min.Y, c.Arena.Max.Y-c.Arena.Min.Y > 2*c.Radius)
	for i, b := range c.Walls {
		check(fmt.Sprintf("width of wall %d", i), b.Max.X-b.Min.X, b.Max.X > b.Min.X)
		check(fmt.Sprintf("height of wall %d", i), b.Max.Y-b.Min.Y, b.Max.Y > b.Min.Y)
	}
	return errors.Join(errs...)
}

// Free reports whether a disc with its centre at p overlaps neither a wall nor any of the discs. Discs that only
// touch are free.
func (w *World) Free(p Vec, discs []Disc) bool {
	in := w.inner
	if p.X < in.Min.X || p.X > in.Max.X || p.Y < in.Min.Y || p.Y > in.Max.Y {
		return false
	}
	for i := range w.walls {
		s := &w.walls[i]
		dx := max(math.Abs(p.X-s.centre.X)-s.half.X, 0)
		dy := max(math.Abs(p.Y-s.centre.Y)-s.half.Y, 0)
		if float64(dx*dx)+float64(dy*dy) < float64(w.cfg.Radius*w.cfg.Radius) {
			return false
		}
	}
	for i := range discs {
		dx, dy := p.X-discs[i].P.X, p.Y-discs[i].P.Y
		if float64(dx*dx)+float64(dy*dy) < float64(w.gap*w.gap) {
			return false
		}
	}
	return true
}

// Walls returns the walls of the world. The caller owns the result. The border of the arena is not among them.
func (w *World) Walls() []Box { return slices.Clone(w.cfg.Walls) }
