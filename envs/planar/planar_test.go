package planar

import (
	"errors"
	"math"
	"testing"

	"github.com/switchyard-ml/switchyard/rng"
)

var arena = Box{Vec{-1, -1}, Vec{1, 1}}

// pillars are walls with corners, one of them thin, one at the border.
var pillars = []Box{
	{Vec{-0.4, -0.3}, Vec{-0.36, 0.5}}, {Vec{0.2, -0.6}, Vec{0.7, -0.5}}, {Vec{0.3, 0.2}, Vec{0.34, 1}},
}

func world(t testing.TB, c Config) *World {
	t.Helper()
	if c.Arena == (Box{}) {
		c.Arena = arena
	}
	if c.Radius == 0 {
		c.Radius = 0.06
	}
	w, err := New(c)
	if err != nil {
		t.Fatal(err)
	}
	return w
}

// scatter places n discs at random, with velocities up to speed per axis.
func scatter(w *World, s *rng.Stream, n int, speed float64) []Disc {
	discs := make([]Disc, n)
	for i := range discs {
		for ok := false; !ok; ok = w.Free(discs[i].P, discs[:i]) {
			discs[i].P = Vec{s.Uniform(-1, 1), s.Uniform(-1, 1)}
		}
		discs[i].V = Vec{s.Uniform(-speed, speed), s.Uniform(-speed, speed)}
	}
	return discs
}

func energy(discs []Disc) (e float64) {
	for _, d := range discs {
		e += square(d.V) / 2
	}
	return e
}

func closeTo(a, b Vec, tolerance float64) bool { return math.Hypot(a.X-b.X, a.Y-b.Y) <= tolerance }

// Between two walls a disc follows a triangular wave, whatever the length of the steps.
func TestStep_BouncesAtTheExactTime(t *testing.T) {
	w := world(t, Config{Restitution: 1})
	const width = 2 * (1 - 0.06)
	fold := func(x float64) float64 {
		x = math.Mod(math.Mod(x+width/2, 2*width)+2*width, 2*width)
		return min(x, 2*width-x) - width/2
	}
	for _, dt := range []float64{0.003, 0.1, 0.77, 5} {
		d := []Disc{{P: Vec{0.3, -0.2}, V: Vec{1.7, -2.3}}}
		for n := 1; n <= 100; n++ {
			w.Step(d, dt)
			time := float64(n) * dt
			if want := (Vec{fold(0.3 + 1.7*time), fold(-0.2 - 2.3*time)}); !closeTo(d[0].P, want, 1e-10) {
				t.Fatalf("dt = %v, step %d: %v, want %v", dt, n, d[0].P, want)
			}
		}
	}
}

// The speed after n bounces on the floor is eⁿ times the first, and the sideways motion goes on.
func TestImpact_WallRestitution(t *testing.T) {
	for _, e := range []float64{0, 0.3, 0.5, 1} {
		w := world(t, Config{Arena: Box{Vec{-1000, -1}, Vec{1000, 1}}, Restitution: e})
		d := []Disc{{V: Vec{0.4, -3}}}
		w.Step(d, 0.94/3+1e-6) // to the floor; then from one side to the other
		for n, want := 1, 3*e; ; n, want = n+1, want*e {
			if got := math.Abs(d[0].V.Y); math.Abs(got-want) > 1e-12 || d[0].V.X != 0.4 || d[0].Hit != HorizontalWall {
				t.Errorf("e = %v, bounce %d: velocity %v, want |v_y| = %v; hit %b", e, n, d[0].V, want, d[0].Hit)
			}
			if n == 5 || want == 0 {
				break
			}
			w.Step(d, 1.88/want)
		}
	}
}

// A disc that flies past the corner of a box at a distance b < r from it meets it when its centre is at
// √(r² − b²) before the corner; the normal is then (−√(1 − b²/r²), b/r).
func TestImpact_Corner(t *testing.T) {
	const r, b, e, v = 0.06, 0.03, 0.5, 2.0
	w := world(t, Config{Restitution: e, Walls: []Box{{Vec{0, -0.5}, Vec{0.5, 0}}}})
	at := -math.Sqrt(r*r - b*b)
	d := []Disc{{P: Vec{-0.5, b}, V: Vec{v, 0}}}
	before := (at + 0.5) / v
	w.Step(d, before-1e-9)
	if d[0].Hit != 0 || d[0].V.X != v {
		t.Fatalf("met the corner too early, at %v", d[0].P)
	}
	w.Step(d, 2e-9)
	n := Vec{at / r, b / r}
	push := -(1 + e) * v * n.X
	want := Vec{v + push*n.X, push * n.Y}
	if !closeTo(d[0].V, want, 1e-12) || d[0].Hit != VerticalWall {
		t.Errorf("velocity %v, want %v; hit %b, want %b", d[0].V, want, d[0].Hit, VerticalWall)
	}
	if lost := (v*v - square(d[0].V)) / 2; math.Abs(lost-(1-e*e)*v*n.X*v*n.X/2) > 1e-12 {
		t.Errorf("lost %v of energy, want ½(1 − e²)(v·n)²", lost)
	}
	over := []Disc{{P: Vec{-0.5, r + 1e-9}, V: Vec{v, 0}}}
	if w.Step(over, 0.4); over[0].Hit != 0 {
		t.Error("met a corner that it passes")
	}
}

// Two discs that meet off centre: momentum and the tangential velocities stay, the normal velocity
// is reversed and scaled, the energy ¼(1 − e²)((v₁−v₂)·n)² is lost.
func TestImpact_TwoDiscs(t *testing.T) {
	for _, e := range []float64{0, 0.5, 1} {
		w := world(t, Config{Restitution: e})
		const b = 0.07 // between the lines of flight; the gap is 0.12
		d := []Disc{{P: Vec{-0.3, 0}, V: Vec{1, 0.2}}, {P: Vec{0.3, -b}, V: Vec{-2, 0.2}}}
		before := energy(d)
		n := Vec{-math.Sqrt(0.12*0.12-b*b) / 0.12, b / 0.12}
		w.Step(d, (0.6+n.X*0.12)/3+1e-9)
		push := -(1 + e) / 2 * 3 * n.X
		want := [2]Vec{{1 + push*n.X, 0.2 + push*n.Y}, {-2 - push*n.X, 0.2 - push*n.Y}}
		for i := range d {
			if !closeTo(d[i].V, want[i], 1e-12) || d[i].Hit != OtherDisc {
				t.Errorf("e = %v: disc %d has velocity %v, want %v; hit %b", e, i, d[i].V, want[i], d[i].Hit)
			}
		}
		if lost := before - energy(d); math.Abs(lost-(1-e*e)*9*n.X*n.X/4) > 1e-12 {
			t.Errorf("e = %v: lost %v of energy, want %v", e, lost, (1-e*e)*9*n.X*n.X/4)
		}
	}
}

func TestStep_MomentumWithoutWalls(t *testing.T) {
	w := world(t, Config{Arena: Box{Vec{-1e4, -1e4}, Vec{1e4, 1e4}}, Restitution: 0.7})
	s := rng.New(1, rng.Episode).At(0, 0, 0)
	d := scatter(w, &s, 12, 0.1)
	var p Vec
	for i := range d {
		d[i].V = Vec{-d[i].P.X, -d[i].P.Y} // all to the middle
		p.X, p.Y = p.X+d[i].V.X, p.Y+d[i].V.Y
	}
	hits := 0
	for range 40 {
		w.Step(d, 0.05)
		for i := range d {
			p.X, p.Y = p.X-d[i].V.X, p.Y-d[i].V.Y
			hits += int(d[i].Hit / OtherDisc)
		}
		if !closeTo(p, Vec{}, 1e-13) {
			t.Fatalf("momentum changed by %v", p)
		}
		for i := range d {
			p.X, p.Y = p.X+d[i].V.X, p.Y+d[i].V.Y
		}
	}
	if hits < 10 {
		t.Errorf("only %d contacts", hits)
	}
}

func TestStep_EnergyOfAnElasticGas(t *testing.T) {
	w := world(t, Config{Restitution: 1, Walls: pillars, SubStep: 0.01})
	s := rng.New(2, rng.Episode).At(0, 0, 0)
	d := scatter(w, &s, 10, 2)
	want := energy(d)
	var seen Contact
	for n := range 2000 {
		w.Step(d, 0.05)
		if got := energy(d); math.Abs(got/want-1) > 1e-11 {
			t.Fatalf("step %d: energy %v, want %v", n, got, want)
		}
		for i := range d {
			seen |= d[i].Hit
		}
	}
	if seen != AnyWall|OtherDisc {
		t.Errorf("only contacts %b were seen", seen)
	}
}

// Whatever pushes, nothing overlaps and nothing gets through a wall.
func TestStep_NothingOverlaps(t *testing.T) {
	for _, c := range []Config{
		{Restitution: 0}, {Restitution: 0.5, Damping: 3}, {Restitution: 0.99}, {Restitution: 1},
	} {
		c.Walls = pillars
		for _, c.SubStep = range []float64{0, 1. / 160} {
			w := world(t, c)
			s := rng.New(3, rng.Episode).At(0, 0, 0)
			d := scatter(w, &s, 8, 40)
			for n := range 150 {
				for i := range d {
					d[i].A = Vec{s.Uniform(-300, 300), s.Uniform(-300, 300)}
				}
				w.Step(d, 0.05)
				for i := range d {
					shrunk := *w
					shrunk.cfg.Radius -= 1e-8
					shrunk.gap -= 1e-8
					shrunk.inner = Box{Vec{w.inner.Min.X - 1e-8, w.inner.Min.Y - 1e-8}, Vec{w.inner.Max.X + 1e-8, w.inner.Max.Y + 1e-8}}
					if !shrunk.Free(d[i].P, d[:i]) {
						t.Fatalf("%+v, step %d: disc %d at %v overlaps", c, n, i, d[i].P)
					}
				}
			}
		}
	}
}

// Discs that are pushed into a corner for ever come to rest there, on top of each other.
func TestStep_Jam(t *testing.T) {
	for _, e := range []float64{0, 0.1, 0.5} {
		for _, n := range []int{4, 10} {
			w := world(t, Config{Restitution: e, SubStep: 1. / 160})
			s := rng.New(9, rng.Episode).At(0, 0, 0)
			d := scatter(w, &s, n, 1)
			if n == 4 { // a square that would touch all at once
				d = []Disc{{P: Vec{0.8, 0.8}}, {P: Vec{0.6, 0.8}}, {P: Vec{0.8, 0.6}}, {P: Vec{0.6, 0.6}}}
			}
			for range 40 {
				for i := range d {
					d[i].A = Vec{20, 20}
				}
				w.Step(d, 0.05)
			}
			var last float64
			for i := range d {
				last = max(last, d[i].P.X)
			}
			if last < 0.93 || energy(d) > 0.1*float64(n) {
				t.Errorf("e = %v, %d discs: the first is at x = %v, energy %v", e, n, last, energy(d))
			}
		}
	}
}

// Without forces and loss, reversing the velocities leads back.
func TestStep_Reversible(t *testing.T) {
	w := world(t, Config{Restitution: 1, Walls: pillars})
	for index := range uint32(20) {
		s := rng.New(4, rng.Episode).At(0, 0, index)
		d := scatter(w, &s, 3, 1)
		begin := append([]Disc(nil), d...)
		for range 2 {
			for range 40 {
				w.Step(d, 0.05)
			}
			for i := range d {
				d[i].V = Vec{-d[i].V.X, -d[i].V.Y}
			}
		}
		for i := range d {
			if !closeTo(d[i].P, begin[i].P, 1e-7) || !closeTo(d[i].V, begin[i].V, 1e-7) {
				t.Errorf("run %d, disc %d returns to %v with %v, want %v with %v", index, i, d[i].P, d[i].V, begin[i].P, begin[i].V)
			}
		}
	}
}

func TestStep_DoesNotAllocate(t *testing.T) {
	w := world(t, Config{Restitution: 0.5, Walls: pillars, SubStep: 1. / 160})
	s := rng.New(5, rng.Episode).At(0, 0, 0)
	d := scatter(w, &s, 5, 4)
	if n := testing.AllocsPerRun(50, func() { w.Step(d, 0.05) }); n != 0 {
		t.Errorf("a step allocates %v times", n)
	}
}

func TestNew_ReportsEveryFault(t *testing.T) {
	_, err := New(Config{Arena: arena, Radius: 1, Restitution: 1.1, Damping: -1, SubStep: math.NaN(), Walls: []Box{{Vec{0, 0}, Vec{0, 1}}}})
	if !errors.Is(err, ErrWorld) {
		t.Fatalf("err = %v, want ErrWorld", err)
	}
	if errs, ok := err.(interface{ Unwrap() []error }); !ok || len(errs.Unwrap()) != 6 {
		t.Errorf("err = %v, want six faults", err)
	}
}

func TestFree(t *testing.T) {
	w := world(t, Config{Walls: []Box{{Vec{0, 0}, Vec{0.5, 0.5}}}, Radius: 0.1})
	discs := []Disc{{P: Vec{-0.5, -0.5}}}
	for _, c := range []struct {
		p    Vec
		want bool
	}{
		{Vec{-0.9, -0.9}, true},
		{Vec{-0.91, -0.8}, false},
		{Vec{0.8, 0.91}, false},
		{Vec{0.25, 0.25}, false},
		{Vec{0.25, -0.09}, false},
		{Vec{0.25, -0.11}, true},
		{Vec{-0.08, -0.08}, true},
		{Vec{-0.07, -0.07}, false}, // 0.1/√2 from the corner
		{Vec{-0.3, -0.5}, true},
		{Vec{-0.31, -0.5}, false},
	} {
		if got := w.Free(c.p, discs); got != c.want {
			t.Errorf("Free(%v) = %v, want %v", c.p, got, c.want)
		}
	}
}
