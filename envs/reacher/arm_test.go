package reacher

import (
	"math"
	"testing"
)

func arm(t testing.TB, change func(*Config)) *Env {
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

// A few states far from symmetry, within the elbow's limits.
var someStates = []State{
	{0.3, 0.7, 4, -3},
	{-2, 2.5, -1, 8},
	{1, -1.4, 7, 7},
	{3, 0.1, 0, -5},
}

// within reports whether a and b agree to a relative tolerance, or an absolute one below 1.
func within(a, b, tolerance float64) bool {
	return math.Abs(a-b) <= tolerance*max(1, math.Abs(b))
}

// The mass matrix is that of three rigid bodies: ½q̇ᵀMq̇ = Σ ½m|ṙ|² + ½Iω², ṙ by finite differences.
func TestMassMatrix_IsTheKineticEnergyOfTheBodies(t *testing.T) {
	position := func(s State, first, second float64) (x, y float64) { // of a point on the second link
		return first*math.Cos(s.Theta) + second*math.Cos(s.Theta+s.Gamma), first*math.Sin(s.Theta) + second*math.Sin(s.Theta+s.Gamma)
	}
	for _, s := range someStates {
		const h = 1e-6
		want := 0.0
		for _, b := range []struct{ mass, moment, first, second, rate float64 }{
			{linkMass, linkMoment, centre, 0, s.ThetaRate},
			{linkMass, linkMoment, length, centre, s.ThetaRate + s.GammaRate},
			{tipMass, tipMoment, length, reach, s.ThetaRate + s.GammaRate},
		} {
			before, after := s, s
			before.Theta, before.Gamma = s.Theta-h*s.ThetaRate, s.Gamma-h*s.GammaRate
			after.Theta, after.Gamma = s.Theta+h*s.ThetaRate, s.Gamma+h*s.GammaRate
			x0, y0 := position(before, b.first, b.second)
			x1, y1 := position(after, b.first, b.second)
			speed := math.Hypot(x1-x0, y1-y0) / (2 * h)
			want += 0.5*b.mass*speed*speed + 0.5*b.moment*b.rate*b.rate
		}
		if got := s.Energy(); math.Abs(got/want-1) > 1e-8 {
			t.Errorf("energy of %+v = %v, want %v", s, got, want)
		}
	}
}

// rungeKutta integrates the accelerations alone: no cap, no limit.
func rungeKutta(s State, torque [2]float64, damping, dt float64, steps int) State {
	move := func(s, d State, h float64) State {
		return State{s.Theta + h*d.Theta, s.Gamma + h*d.Gamma, s.ThetaRate + h*d.ThetaRate, s.GammaRate + h*d.GammaRate}
	}
	rate := func(s State) State {
		a, b := Accelerations(s, torque, damping)
		return State{s.ThetaRate, s.GammaRate, a, b}
	}
	for range steps {
		k1 := rate(s)
		k2 := rate(move(s, k1, dt/2))
		k3 := rate(move(s, k2, dt/2))
		k4 := rate(move(s, k3, dt))
		s = move(move(move(move(s, k1, dt/6), k2, dt/3), k3, dt/3), k4, dt/6)
	}
	return s
}

// Without torque and damping the equations keep energy and momentum; an accurate integrator shows
// it to its own order, four.
func TestAccelerations_KeepEnergyAndMomentum(t *testing.T) {
	for _, s := range someStates {
		end := rungeKutta(s, [2]float64{}, 0, 1e-4, 10000)
		if !within(end.Energy()/s.Energy(), 1, 1e-11) || !within(end.AngularMomentum()/s.AngularMomentum(), 1, 1e-11) {
			t.Errorf("%+v: energy %v to %v, momentum %v to %v", s, s.Energy(), end.Energy(), s.AngularMomentum(), end.AngularMomentum())
		}
	}
}

// The torques' power is the change of energy: dE/dt = τ·q̇ − 2·d·E.
func TestAccelerations_PowerIsTheChangeOfEnergy(t *testing.T) {
	torque := [2]float64{0.03, -0.05}
	for _, s := range someStates {
		const h, d = 1e-6, 0.04
		before, after := rungeKutta(s, torque, d, -h, 1), rungeKutta(s, torque, d, h, 1)
		got := (after.Energy() - before.Energy()) / (2 * h)
		want := torque[0]*s.ThetaRate + torque[1]*s.GammaRate - 2*d*s.Energy()
		if !within(got, want, 1e-7) {
			t.Errorf("%+v: dE/dt = %v, want %v", s, got, want)
		}
	}
}

// The integrator is of first order: half the step, half the error of state and energy.
func TestStep_ConvergesWithFirstOrder(t *testing.T) {
	s := State{0.3, 0.7, 2, -1}
	reference := rungeKutta(s, [2]float64{}, 0, 1e-4, 5000)
	var state, energy []float64
	for _, n := range []int{500, 1000, 2000, 4000} {
		env := arm(t, func(c *Config) { c.DT, c.Damping = 0.5/float64(n), 0 })
		end := s
		for range n {
			end = env.Step(end, [2]float64{})
		}
		state = append(state, math.Hypot(end.Theta-reference.Theta, end.Gamma-reference.Gamma))
		energy = append(energy, math.Abs(end.Energy()-s.Energy()))
	}
	for i := 1; i < len(state); i++ {
		if p := math.Log2(state[i-1] / state[i]); math.Abs(p-1) > 0.1 {
			t.Errorf("order of the angles = %.3f, want 1 (errors %.2e)", p, state)
		}
		if p := math.Log2(energy[i-1] / energy[i]); math.Abs(p-1) > 0.1 {
			t.Errorf("order of the energy = %.3f, want 1 (errors %.2e)", p, energy)
		}
	}
}

// A straight arm under torques in the proportion M11 : M12 turns as one rod of moment M11 with
// constant acceleration α: θ_n = α·dt²·n(n+1)/2.
func TestStep_StraightArmIsARod(t *testing.T) {
	env := arm(t, func(c *Config) { c.Damping = 0 })
	m11, m12, _ := MassMatrix(1)
	u := [2]float64{0.5, 0.5 * m12 / m11}
	acceleration := 0.5 * 0.05 / m11
	var s State
	for n := 1; n <= 10; n++ {
		s = env.Step(s, u)
		want := acceleration * 0.0165 * 0.0165 * float64(n*(n+1)) / 2
		if !within(s.Theta, want, 1e-12) || math.Abs(s.Gamma) > 1e-12 {
			t.Errorf("after %d steps θ = %v, γ = %v, want %v, 0", n, s.Theta, s.Gamma, want)
		}
	}
}

// Damping takes the fraction d·dt of the rates at every step.
func TestStep_DampingDecaysGeometrically(t *testing.T) {
	env := arm(t, nil)
	s := State{ThetaRate: 5}
	for range 100 {
		s = env.Step(s, [2]float64{})
	}
	if want := 5 * math.Pow(1-0.04*0.0165, 100); !within(s.ThetaRate, want, 1e-12) {
		t.Errorf("θ̇ after 100 steps = %v, want %v", s.ThetaRate, want)
	}
}

// In an arm that turns freely at Ω the elbow is a pendulum in the centrifugal field. For small γ
// it swings with ω² = Ω²·l·h·M11/(M11·M22 − M12²): momentum is kept, so the shoulder recoils.
func TestAccelerations_CentrifugalPendulum(t *testing.T) {
	const rate, amplitude = 5.0, 1e-4
	m11, m12, m22 := MassMatrix(1)
	omega := rate * math.Sqrt(length*offset*m11/(m11*m22-m12*m12))
	quarter := math.Pi / 2 / omega
	s := rungeKutta(State{Gamma: amplitude, ThetaRate: rate}, [2]float64{}, 0, quarter/1000, 1000)
	if math.Abs(s.Gamma)/amplitude > 1e-6 || !within(s.GammaRate/(-amplitude*omega), 1, 1e-6) {
		t.Errorf("after a quarter of a period γ = %v, γ̇ = %v, want 0, %v", s.Gamma, s.GammaRate, -amplitude*omega)
	}
}

func TestLimitElbow(t *testing.T) {
	const limit, dt = 3, 0.0165
	for _, s := range []State{{0.5, 2.95, 4, 9}, {-1, -2.9, 3, -40}, {0, 3.1, 2, 1}} {
		before := s
		if !limitElbow(&s, limit, dt) {
			t.Fatalf("%+v passes", before)
		}
		if got := s.Gamma + dt*s.GammaRate; !within(math.Abs(got), limit, 1e-14) {
			t.Errorf("%+v: the step ends at γ = %v, want ±3", before, got)
		}
		if !within(s.AngularMomentum()/before.AngularMomentum(), 1, 1e-12) {
			t.Errorf("%+v: momentum %v becomes %v", before, before.AngularMomentum(), s.AngularMomentum())
		}
		if math.Abs(before.Gamma) < limit && s.Energy() > before.Energy() {
			t.Errorf("%+v: energy grows from %v to %v", before, before.Energy(), s.Energy())
		}
	}
	s := State{0.5, 2.5, 4, 9}
	if limitElbow(&s, limit, dt) || s != (State{0.5, 2.5, 4, 9}) {
		t.Errorf("the limit acts at γ = 2.5: %+v", s)
	}
}
