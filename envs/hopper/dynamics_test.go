package hopper

import (
	"math"
	"testing"
)

func robot(t testing.TB, change func(*Config)) *Env {
	t.Helper()
	cfg := DefaultConfig()
	if change != nil {
		change(&cfg)
	}
	env, err := New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	return env
}

// A few states in flight, far from symmetry, and torques.
var someStates = []struct {
	state  State
	torque [hinges]float64
}{
	{State{X: 0.3, Z: 5, VX: 1, VZ: -2, Angle: [links]float64{0.3, 1.2, -0.4, 2}, Rate: [links]float64{2, -3, 4, -5}}, [hinges]float64{30, -75, 10}},
	{State{Z: 5, Angle: [links]float64{-2, 0.5, 1.5, 0.1}, Rate: [links]float64{-1, 6, 0, 8}}, [hinges]float64{-75, 0, 50}},
	{State{Z: 5, Angle: [links]float64{0, 0, 0, 0}, Rate: [links]float64{1, 1, 1, -7}}, [hinges]float64{0, 20, 0}},
}

func within(a, b, tolerance float64) bool {
	return math.Abs(a-b) <= tolerance*max(1, math.Abs(b))
}

// A link for itself: its mass and moment, and where it has hinges relative to its centre at angle 0.
type freeLink struct {
	mass, moment float64
	above, below vec
}

func freeLinks() [links]freeLink {
	var list [links]freeLink
	for i, l := range []struct {
		length, radius float64
		above, below   vec
	}{
		{0.4, 0.05, vec{}, vec{0, -0.2}},
		{0.45, 0.05, vec{0, 0.225}, vec{0, -0.225}},
		{0.5, 0.04, vec{0, 0.25}, vec{0, -0.25}},
		{0.39, 0.06, vec{-0.065, 0}, vec{}},
	} {
		mass, moment := capsule(l.length, l.radius)
		list[i] = freeLink{mass, moment, l.above, l.below}
	}
	return list
}

func rotate(v vec, angle float64) vec {
	return vec{v.x*math.Cos(angle) + v.z*math.Sin(angle), v.z*math.Cos(angle) - v.x*math.Sin(angle)}
}

// The masses of the environment's specification, rounded to grams; and a capsule as thin as a rod,
// and one as short as a sphere.
func TestCapsule(t *testing.T) {
	for i, want := range []float64{3.665, 4.058, 2.781, 5.316} {
		if got := freeLinks()[i].mass; math.Abs(got-want) > 0.0005 {
			t.Errorf("mass of link %d = %v, want %v", i, got, want)
		}
	}
	if m, moment := capsule(1, 1e-6); !within(moment/(m/12), 1, 1e-5) {
		t.Errorf("a rod of mass %v has moment %v, want m/12", m, moment)
	}
	if m, moment := capsule(0, 0.1); !within(moment/(0.4*m*0.01), 1, 1e-12) {
		t.Errorf("a sphere of mass %v has moment %v, want 2/5·m·r²", m, moment)
	}
}

// The equations of motion agree with those of four bodies held together by six hinge forces:
//
//	m·a = Σ F + m·g,  I·φ̈ = Σ r×F + τ,  and both sides of a hinge accelerate alike.
func TestAccelerations_AgreeWithHingeForces(t *testing.T) {
	const unknowns = 3*links + 2*hinges
	for _, c := range someStates {
		free := freeLinks()
		var a [unknowns][unknowns + 1]float64
		for i, l := range free {
			a[3*i][3*i], a[3*i+1][3*i+1], a[3*i+2][3*i+2] = l.mass, l.mass, l.moment
			a[3*i+1][unknowns] = -9.8 * l.mass
		}
		for j, tau := range c.torque {
			row := 3*links + 2*j
			for _, side := range []struct {
				link   int
				sign   float64
				offset vec
			}{{j, -1, free[j].below}, {j + 1, 1, free[j+1].above}} {
				r := rotate(side.offset, c.state.Angle[side.link])
				// The force on the link below is an unknown, that on the link above its opposite.
				a[3*side.link][row] -= side.sign
				a[3*side.link+1][row+1] -= side.sign
				a[3*side.link+2][row] -= side.sign * r.z
				a[3*side.link+2][row+1] += side.sign * r.x
				a[3*side.link+2][unknowns] -= side.sign * tau
				// ẍ + φ̈·r_z − φ̇²·r_x, z̈ − φ̈·r_x − φ̇²·r_z of the hinge
				square := c.state.Rate[side.link] * c.state.Rate[side.link]
				a[row][3*side.link], a[row][3*side.link+2] = side.sign, side.sign*r.z
				a[row+1][3*side.link+1], a[row+1][3*side.link+2] = side.sign, -side.sign*r.x
				a[row][unknowns] += side.sign * square * r.x
				a[row+1][unknowns] += side.sign * square * r.z
			}
		}
		want := eliminate(a[:], func(i int) []float64 { return a[i][:] })
		b := newBody()
		got := b.accelerations(&c.state, &c.torque)
		for k := range links {
			if !within(got[k], want[3*k+2], 1e-9) {
				t.Errorf("%+v: φ̈ = %v, want [%v %v %v %v]", c.state, got, want[2], want[5], want[8], want[11])
				break
			}
		}
	}
}

// accelerations returns φ̈ of the robot in flight.
func (b *body) accelerations(s *State, torque *[hinges]float64) [links]float64 {
	p := poseOf(s)
	m, n := b.massMatrix(&p)
	f := factorize(&m)
	q := b.forces(&n, s, torque)
	f.forward(&q)
	f.backward(&q)
	return q
}

// eliminate solves the equations of the augmented rows by Gauss elimination with pivots.
func eliminate[R any](rows []R, row func(int) []float64) []float64 {
	n := len(rows)
	order := make([][]float64, n)
	for i := range order {
		order[i] = row(i)
	}
	for i := range n {
		pivot := i
		for k := i; k < n; k++ {
			if math.Abs(order[k][i]) > math.Abs(order[pivot][i]) {
				pivot = k
			}
		}
		order[i], order[pivot] = order[pivot], order[i]
		for k := range n {
			if k != i {
				f := order[k][i] / order[i][i]
				for j := i; j <= n; j++ {
					order[k][j] -= f * order[i][j]
				}
			}
		}
	}
	x := make([]float64, n)
	for i := range n {
		x[i] = order[i][n] / order[i][i]
	}
	return x
}

// rungeKutta integrates the angles in flight.
func rungeKutta(b *body, s State, torque [hinges]float64, dt float64, steps int) State {
	type slope struct{ angle, rate [links]float64 }
	at := func(s State, d slope, h float64) State {
		for k := range links {
			s.Angle[k] += h * d.angle[k]
			s.Rate[k] += h * d.rate[k]
		}
		return s
	}
	rate := func(s State) slope { return slope{s.Rate, b.accelerations(&s, &torque)} }
	for range steps {
		k1 := rate(s)
		k2 := rate(at(s, k1, dt/2))
		k3 := rate(at(s, k2, dt/2))
		k4 := rate(at(s, k3, dt))
		s = at(at(at(at(s, k1, dt/6), k2, dt/3), k3, dt/3), k4, dt/6)
	}
	return s
}

// Without torques the equations keep kinetic energy and angular momentum; torques at the hinges
// keep the momentum still.
func TestAccelerations_KeepEnergyAndMomentum(t *testing.T) {
	env := robot(t, nil)
	for _, c := range someStates {
		end := rungeKutta(&env.body, c.state, [hinges]float64{}, 1e-3, 1000)
		before, _ := env.Energy(&c.state)
		after, _ := env.Energy(&end)
		if !within(after/before, 1, 1e-8) {
			t.Errorf("%+v: energy %v becomes %v", c.state, before, after)
		}
		end = rungeKutta(&env.body, c.state, c.torque, 1e-4, 1000)
		if p, q := env.AngularMomentum(&c.state), env.AngularMomentum(&end); !within(q, p, 1e-9) {
			t.Errorf("%+v: momentum %v becomes %v", c.state, p, q)
		}
	}
}

// The power of the torques is the change of energy: dE/dt = Σ τ_j·q̇_j.
func TestAccelerations_PowerIsTheChangeOfEnergy(t *testing.T) {
	env := robot(t, nil)
	for _, c := range someStates {
		const h = 1e-6
		before := rungeKutta(&env.body, c.state, c.torque, -h, 1)
		after := rungeKutta(&env.body, c.state, c.torque, h, 1)
		e0, _ := env.Energy(&before)
		e1, _ := env.Energy(&after)
		want := 0.0
		for j, tau := range c.torque {
			_, rate := c.state.Hinge(j)
			want += tau * rate
		}
		if got := (e1 - e0) / (2 * h); !within(got, want, 1e-6) {
			t.Errorf("%+v: dE/dt = %v, want %v", c.state, got, want)
		}
	}
}

// flight is a motion that meets neither ground nor joint limits: bent, slowly turning, high up.
func flight(env *Env) State {
	s, _ := env.Reset([hinges]float64{-0.8, -1, 0})
	s.Z, s.VX, s.VZ = 8, 0.7, 2
	s.Rate = [links]float64{0.5, -0.8, 1, 0.6}
	return s
}

// In flight the centre of mass keeps its horizontal momentum and falls with g, exactly: after n
// substeps z = z0 + v0·n·h − g·h²·n(n+1)/2. Momentum about it and energy are kept up to the order
// of the integrator, one: half the step, half the error.
func TestStep_FlightKeepsMomentum(t *testing.T) {
	var angles, momentum, energy []float64
	start := flight(robot(t, nil))
	body := newBody()
	reference := rungeKutta(&body, start, [hinges]float64{}, 0.264/4000, 4000)
	for _, substeps := range []int{16, 32, 64, 128} {
		env := robot(t, func(c *Config) { c.Damping, c.Substeps = 0, substeps })
		s := start
		for range 16 {
			env.Step(&s, new([hinges]float64))
		}
		n, h := float64(16*substeps), 0.0165/float64(substeps)
		if want := start.Z + start.VZ*n*h - 9.8*h*h*n*(n+1)/2; s.VX != start.VX || !within(s.Z, want, 1e-12) {
			t.Errorf("%d substeps: vx = %v, z = %v, want %v, %v", substeps, s.VX, s.Z, start.VX, want)
		}
		distance := 0.0
		for k := range links {
			distance = math.Hypot(distance, s.Angle[k]-reference.Angle[k])
		}
		angles = append(angles, distance)
		momentum = append(momentum, math.Abs(env.AngularMomentum(&s)-env.AngularMomentum(&start)))
		inner := func(s State) float64 { k, _ := env.Energy(&s); return k - env.body.mass/2*(s.VX*s.VX+s.VZ*s.VZ) }
		energy = append(energy, math.Abs(inner(s)-inner(start)))
	}
	for _, q := range []struct {
		name   string
		errors []float64
	}{{"angles", angles}, {"momentum", momentum}, {"energy", energy}} {
		for i := 1; i < len(q.errors); i++ {
			if p := math.Log2(q.errors[i-1] / q.errors[i]); math.Abs(p-1) > 0.15 {
				t.Errorf("order of the %s = %.3f, want 1 (errors %.2e)", q.name, p, q.errors)
			}
		}
	}
}

// Euler angles of a torso that leans by every angle, several turns included.
func TestEuler(t *testing.T) {
	for _, c := range []struct {
		angle, pitch float64
		around       bool
	}{
		{0, 0, false},
		{1, 1, false},
		{-1.5, -1.5, false},
		{2, math.Pi - 2, true},
		{-3, 3 - math.Pi, true},
		{4, math.Pi - 4, true},
		{5, 5 - 2*math.Pi, false},
		{-20, 6*math.Pi - 20, false},
	} {
		pitch, around := euler(c.angle)
		if !within(pitch, c.pitch, 1e-12) || around != c.around {
			t.Errorf("euler(%v) = %v, %v, want %v, %v", c.angle, pitch, around, c.pitch, c.around)
		}
		// Whatever the angles: the torso's axis points where they say.
		if sign := map[bool]float64{false: 1, true: -1}[around]; !within(sign*math.Cos(pitch), math.Cos(c.angle), 1e-12) || !within(math.Sin(pitch), math.Sin(c.angle), 1e-12) {
			t.Errorf("euler(%v) = %v, %v: another direction", c.angle, pitch, around)
		}
	}
}

// The recorded velocity is that of the torso: its displacement over a short time, in the frame of
// a torso that has turned around where it has.
func TestRecord_VelocityOfTheTorso(t *testing.T) {
	env := robot(t, nil)
	for _, angle := range []float64{0.4, 2.5} {
		const h = 1e-6
		m := motion{State: flight(env)}
		m.Angle[torso] = angle
		m.place(&env.body)
		before := m.torso(&env.body)
		var state [states]float32
		m.record(state[:], &env.body, 0, false)
		m.X, m.Z = m.X+h*m.VX, m.Z+h*m.VZ
		for k := range links {
			m.Angle[k] += h * m.Rate[k]
		}
		m.place(&env.body)
		after := m.torso(&env.body)
		x, z := 0.3*(after.x-before.x)/h*float64(state[2]), 0.3*(after.z-before.z)/h
		if math.Abs(float64(state[3])-x) > 1e-4 || math.Abs(float64(state[5])-z) > 1e-4 {
			t.Errorf("torso at %v: recorded %v, %v, moves %v, %v", angle, state[3], state[5], x, z)
		}
	}
}
