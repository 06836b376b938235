package planar

import (
	"math"
	"testing"

	"github.com/switchyard-ml/switchyard/rng"
)

// order estimates the order of convergence from the errors with sub-steps h and h/2.
func order(coarse, fine float64) float64 { return math.Log2(coarse / fine) }

// flight is where v' = a − c·v leads from p and v after a time t.
func flight(p, v, a, c, t float64) (float64, float64) {
	decay := math.Exp(-c * t)
	return p + a/c*t + (v-a/c)*(1-decay)/c, a/c + (v-a/c)*decay
}

// Sub-steps converge to the damped motion under a constant force with order 1.
func TestStep_OrderOfConvergence(t *testing.T) {
	errorAt := func(h float64) (float64, float64) {
		w := world(t, Config{Damping: 3, SubStep: h})
		d := []Disc{{P: Vec{-0.5, 0}, V: Vec{2, 0}, A: Vec{4, 0}}}
		for range 5 {
			w.Step(d, 0.05)
		}
		p, v := flight(-0.5, 2, 4, 3, 0.25)
		return math.Abs(d[0].P.X - p), math.Abs(d[0].V.X - v)
	}
	p, v := errorAt(1. / 320)
	p2, v2 := errorAt(1. / 640)
	if o := order(p, p2); math.Abs(o-1) > 0.05 || p > 0.01 {
		t.Errorf("position: error %.1e, order %.2f, want 1", p, o)
	}
	if o := order(v, v2); math.Abs(o-1) > 0.05 || v > 0.01 {
		t.Errorf("velocity: error %.1e, order %.2f, want 1", v, o)
	}
}

// A ball that falls from a height H under gravity g bounces at √(2H/g)·(1 + 2e + 2e² + …), and to e²ⁿH.
// Its motion between impacts is computed to order 1, so the times are, too.
func TestStep_BounceTimes(t *testing.T) {
	const g, height, e = 9.81, 0.9, 0.8
	times := func(h float64) (list []float64) {
		w := world(t, Config{Radius: 0.05, Restitution: e, Arena: Box{Vec{-1, -0.05}, Vec{1, 10}}, SubStep: h})
		d := []Disc{{P: Vec{0, height}, A: Vec{0, -g}}}
		for n := 1; len(list) < 5; n++ {
			if w.Step(d, h); d[0].Hit != 0 {
				list = append(list, float64(n)*h)
			}
		}
		return list
	}
	coarse, fine := times(1./2000), times(1./16000)
	want := math.Sqrt(2 * height / g)
	for n := range coarse {
		// One step is the resolution of the times; each bounce may add one.
		if err := math.Abs(fine[n] - want); err > float64(n+1)/16000 {
			t.Errorf("bounce %d at %.5f, want %.5f", n+1, fine[n], want)
		}
		if err := math.Abs(coarse[n] - want); err > float64(n+1)/2000 {
			t.Errorf("bounce %d at %.5f, want %.5f in coarse steps", n+1, coarse[n], want)
		}
		want += 2 * math.Sqrt(2*height/g) * math.Pow(e, float64(n+1))
	}
}

// What looks ahead to save comparisons changes nothing but rounding: a world that compares everything
// at every sub-step has the same contacts and the same motion.
func TestPlan_ChangesNothing(t *testing.T) {
	w := world(t, Config{Restitution: 0.5, Damping: 3, SubStep: 1. / 160, Walls: pillars})
	for index := range uint32(300) {
		s := rng.New(6, rng.Episode).At(0, 0, index)
		a := scatter(w, &s, 4, 3)
		b := append([]Disc(nil), a...)
		for n := range 10 {
			for i := range a {
				a[i].A = Vec{s.Uniform(-20, 20), s.Uniform(-20, 20)}
				b[i].A, b[i].Hit, b[i].near = a[i].A, 0, math.MaxUint64
			}
			w.Step(a, 0.05)
			w.advance(b, 8, 0.05/8, 1/(1+3*0.05/8))
			for i := range a {
				if !closeTo(a[i].P, b[i].P, 1e-6) || a[i].Hit != b[i].Hit {
					t.Fatalf("run %d, step %d, disc %d: %v and %v, hits %b and %b", index, n, i, a[i].P, b[i].P, a[i].Hit, b[i].Hit)
				}
			}
		}
	}
}

// Mirrored and transposed worlds have mirrored and transposed motion, to the bit.
func TestStep_Symmetry(t *testing.T) {
	mirror := func(v Vec) Vec { return Vec{-v.X, v.Y} }
	turn := func(v Vec) Vec { return Vec{v.Y, v.X} }
	for name, f := range map[string]func(Vec) Vec{"mirror": mirror, "transpose": turn} {
		var walls []Box
		for _, b := range pillars {
			p, q := f(b.Min), f(b.Max)
			walls = append(walls, Box{Vec{min(p.X, q.X), min(p.Y, q.Y)}, Vec{max(p.X, q.X), max(p.Y, q.Y)}})
		}
		c := Config{Restitution: 0.5, Damping: 1, SubStep: 1. / 160, Walls: pillars}
		w := world(t, c)
		c.Walls = walls
		v := world(t, c)
		s := rng.New(7, rng.Episode).At(0, 0, 0)
		a := scatter(w, &s, 3, 2)
		b := append([]Disc(nil), a...)
		for i := range b {
			b[i].P, b[i].V = f(a[i].P), f(a[i].V)
		}
		for n := range 200 {
			for i := range a {
				a[i].A = Vec{s.Uniform(-20, 20), s.Uniform(-20, 20)}
				b[i].A = f(a[i].A)
			}
			w.Step(a, 0.05)
			v.Step(b, 0.05)
			for i := range a {
				if f(a[i].P) != b[i].P || f(a[i].V) != b[i].V {
					t.Fatalf("%s: step %d, disc %d: %v, want %v", name, n, i, b[i].P, f(a[i].P))
				}
			}
		}
	}
}

// TestGolden pins the bits of a trajectory with contacts of every kind: they are the same on every machine.
func TestGolden(t *testing.T) {
	w := world(t, Config{Restitution: 0.5, Damping: 0.3, SubStep: 1. / 160, Walls: pillars})
	s := rng.New(8, rng.Episode).At(0, 0, 0)
	d := scatter(w, &s, 3, 2)
	var seen Contact
	for range 100 {
		for i := range d {
			d[i].A = Vec{s.Uniform(-20, 20), s.Uniform(-20, 20)}
		}
		w.Step(d, 0.05)
		for i := range d {
			seen |= d[i].Hit
		}
	}
	want := []Vec{{-0x1.d0be0a5b0b9cap-01, -0x1.b42a3db827022p-01}, {0x1.b7f3602a5ef87p-02, 0x1.e4b4e4f32c138p-03}, {-0x1.8fbe5f90db429p-07, 0x1.e2f2658affad2p-05}}
	for i := range d {
		if d[i].P != want[i] {
			t.Errorf("disc %d at %x, want %x", i, d[i].P, want[i])
		}
	}
	if seen != AnyWall|OtherDisc {
		t.Errorf("only contacts %b", seen)
	}
}
