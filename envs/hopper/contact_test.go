package hopper

import (
	"math"
	"testing"

	"github.com/switchyard-ml/switchyard/rng"
)

// tumble is an arbitrary state near the ground, no point of it below.
func tumble(env *Env, r *rng.Stream) *motion {
	s := new(motion)
	s.Angle[torso], s.Rate[torso] = r.Uniform(-3, 3), r.Uniform(-5, 5)
	for j, limit := range limits {
		s.Angle[j+1] = s.Angle[j] - r.Uniform(limit.low, limit.high)
		s.Rate[j+1] = s.Rate[j] - r.Uniform(-10, 10)
	}
	s.VX, s.VZ = r.Uniform(-3, 3), r.Uniform(-3, 1)
	s.place(&env.body)
	return s
}

// What the solver promises of its impulses, on random impacts: signs, the friction cone, no velocity
// below its bound, no impulse where the velocity is above, and never more kinetic energy.
func TestSolver_Complementarity(t *testing.T) {
	env := robot(t, nil)
	key := rng.New(1, rng.Episode)
	const dt, slack = 0.0165 / 4, 0.05 // of velocities: the sweeps end at changes of 1e-4 m/s, or after 50
	active := 0
	for i := range uint32(2000) {
		r := key.At(0, 0, i)
		s := tumble(env, &r)
		mass, _ := env.body.massMatrix(&s.pose)
		f := factorize(&mass)
		c := &s.solver
		c.addLimits(&f, &s.State, dt)
		c.addContacts(&env.body, &f, s, dt)
		rates := f.transposed(&s.Rate)
		c.y = [dimensions]float64{s.VX, s.VZ, rates[0], rates[1], rates[2], rates[3]}
		before := dot(&c.y, &c.y)
		c.solve(0.8)
		if after := dot(&c.y, &c.y); after > before*(1+1e-12) {
			t.Errorf("state %d: kinetic energy per kg %v becomes %v", i, before/2, after/2)
		}
		for j := range c.rows[:c.n] {
			row := &c.rows[j]
			v := dot(&row.direction, &c.y)
			if row.impulse != 0 {
				active++
			}
			switch {
			case row.normal >= 0 && math.Abs(row.impulse) > 0.8*c.rows[row.normal].impulse+1e-3:
				t.Errorf("state %d: friction %v at normal %v", i, row.impulse, c.rows[row.normal].impulse)
			case row.normal >= 0 && math.Abs(row.impulse) < 0.8*c.rows[row.normal].impulse-1e-3 && math.Abs(v) > slack:
				t.Errorf("state %d: slides at %v with friction %v of normal %v", i, v, row.impulse, c.rows[row.normal].impulse)
			case row.normal < 0 && (row.impulse < 0 || v < row.bound-slack):
				t.Errorf("state %d: impulse %v, velocity %v, bound %v", i, row.impulse, v, row.bound)
			case row.normal < 0 && row.impulse > 1e-3 && v > row.bound+slack:
				t.Errorf("state %d: impulse %v, yet velocity %v above its bound %v", i, row.impulse, v, row.bound)
			}
		}
	}
	if active < 2000 {
		t.Errorf("only %d impulses: the states do not test the solver", active)
	}
}

// A robot dropped with its foot level touches after the time of a free fall over 4 cm and the
// whole substep in which the gap closes; the centre of the foot does not bounce.
func TestStep_FirstContactIsThatOfAFreeFall(t *testing.T) {
	env := robot(t, func(c *Config) { c.Damping, c.Substeps, c.DT = 0, 1, 0.0165/4 })
	s, touching := env.Reset([hinges]float64{})
	if touching {
		t.Fatal("touches at the reset")
	}
	steps := 0
	for !touching {
		touching = env.Step(&s, new([hinges]float64))
		steps++
	}
	want := math.Sqrt(2 * 0.04 / 9.8)
	if got := float64(steps) * 0.0165 / 4; got < want-0.0165/4 || got > want+0.0165/4 {
		t.Errorf("touches after %.4f s, want %.4f s within a substep", got, want)
	}
	p := poseOf(&s)
	if h := s.Z + p.height(&env.body.point[heel]) - footRadius; h < 0 || h > 1e-3 {
		t.Errorf("the heel is %v above ground on contact", h)
	}
}

// Drops from the reset, limp: energy does not grow (but for errors of the integrator, of 1e-4 of
// it), nothing is below ground at any time, and all end at rest.
func TestStep_LimpRobotComesToRest(t *testing.T) {
	env := robot(t, nil)
	key := rng.New(2, rng.Episode)
	largest := 0.0
	for i := range uint32(10) {
		r := key.At(0, 0, i)
		s, _ := env.Reset([hinges]float64{draw(&r, jointRange), draw(&r, jointRange), draw(&r, jointRange)})
		least := math.Inf(1)
		for range 400 {
			env.Step(&s, new([hinges]float64))
			kinetic, potential := env.Energy(&s)
			largest = max(largest, kinetic+potential-least)
			least = min(least, kinetic+potential)
			p := poseOf(&s)
			for k := range env.body.point {
				if h := s.Z + p.height(&env.body.point[k]) - env.body.radius[k]; h < -1e-12 {
					t.Fatalf("drop %d: point %d is %v below ground", i, k, -h)
				}
			}
		}
		if kinetic, _ := env.Energy(&s); kinetic > 1e-3 {
			t.Errorf("drop %d: kinetic energy %v J after 6.6 s", i, kinetic)
		}
	}
	t.Logf("largest growth of the energy: %.4f J of 92 J", largest)
	if largest > 0.01 {
		t.Errorf("energy grows by %.4f J", largest)
	}
}

// A limp robot that lies still and is given a speed v slides with deceleration μ·g: it stops after
// v²/(2·μ·g), and does not move again.
func TestStep_SlidesAgainstFriction(t *testing.T) {
	env := robot(t, func(c *Config) { c.Damping = 0 })
	s, _ := env.Reset([hinges]float64{-0.05, -0.1, 0.05})
	for range 400 {
		env.Step(&s, new([hinges]float64))
	}
	s.VX += 1.5
	x := s.X
	for range 4 {
		env.Step(&s, new([hinges]float64))
	}
	if want := 1.5 - 0.8*9.8*4*0.0165; math.Abs(s.VX-want) > 0.01 {
		t.Errorf("speed after 4 steps = %v, want %v", s.VX, want)
	}
	for range 40 {
		env.Step(&s, new([hinges]float64))
	}
	if want := 1.5 * 1.5 / (2 * 0.8 * 9.8); math.Abs(s.X-x-want) > 0.1*want || math.Abs(s.VX) > 1e-3 {
		t.Errorf("slides %v and has speed %v, want %v, 0", s.X-x, s.VX, want)
	}
}

// Ground reactions of a body at rest carry its weight: without them the momentum would fall by g.
func TestStep_RestIsStill(t *testing.T) {
	env := robot(t, nil)
	s, _ := env.Reset([hinges]float64{-0.05, -0.1, 0.05})
	for range 600 {
		env.Step(&s, new([hinges]float64))
	}
	before := s
	for range 100 {
		env.Step(&s, new([hinges]float64))
	}
	if math.Abs(s.X-before.X) > 1e-4 || math.Abs(s.Z-before.Z) > 1e-4 || math.Abs(s.VZ) > 1e-4 {
		t.Errorf("a robot at rest moves from %+v to %+v", before, s)
	}
}

// A hinge driven into its limit stops there without bouncing, and its momentum goes on: impulses
// within the robot leave both momenta alone.
func TestStep_JointLimit(t *testing.T) {
	env := robot(t, func(c *Config) { c.Damping, c.Gravity = 0, 0 })
	s, _ := env.Reset([hinges]float64{-1, -1, 0.7})
	s.Z = 5
	momentum := env.AngularMomentum(&s)
	for i := range 60 {
		env.Step(&s, &[hinges]float64{0, 0, 1})
		angle, _ := s.Hinge(2)
		if angle > limits[2].high+1e-4 {
			t.Fatalf("step %d: the foot is at %v, beyond %v", i, angle, limits[2].high)
		}
	}
	if angle, rate := s.Hinge(2); !within(angle, limits[2].high, 1e-3) || math.Abs(rate) > 0.05 {
		t.Errorf("the driven foot is at %v with rate %v, want at rest at %v", angle, rate, limits[2].high)
	}
	if s.VX != 0 || s.VZ != 0 || math.Abs(env.AngularMomentum(&s)-momentum) > 0.05 {
		t.Errorf("momentum (%v, %v, %v), want (0, 0, %v)", s.VX, s.VZ, env.AngularMomentum(&s), momentum)
	}
}
