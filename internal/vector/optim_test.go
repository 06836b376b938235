package vector

import (
	"errors"
	"fmt"
	"math"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/switchyard-ml/switchyard/autodiff/kernel"
)

func TestAdam_Reference(t *testing.T) {
	a := NewAdam(Schedule{Rate: 0.01, Decay: 0.5, DecayEvery: 3, Clip: 2, Beta1: 0.9, Beta2: 0.999, Epsilon: 1e-8}, 3)
	got := []float32{1, -2, 3}
	theta, m, v := []float64{1, -2, 3}, make([]float64, 3), make([]float64, 3)
	for step := 1; step <= 10; step++ {
		sum := []float32{float32(step), -4, 0.5}
		g := []float64{float64(step) / 4, -1, 0.125}
		want := math.Sqrt(g[0]*g[0] + g[1]*g[1] + g[2]*g[2])
		norm, rate, err := a.Update(got, sum, 4, uint64(step-1))
		if err != nil {
			t.Fatal(err)
		}
		if math.Abs(norm-want) > 1e-6 || rate != 0.01*math.Pow(0.5, float64((step-1)/3)) {
			t.Errorf("step %d: norm %v, want %v; rate %v", step, norm, want, rate)
		}
		for i := range theta {
			g[i] *= min(1, 2/want)
			m[i] = 0.9*m[i] + 0.1*g[i]
			v[i] = 0.999*v[i] + 0.001*g[i]*g[i]
			mhat, vhat := m[i]/(1-math.Pow(0.9, float64(step))), v[i]/(1-math.Pow(0.999, float64(step)))
			theta[i] -= rate * mhat / (math.Sqrt(vhat) + 1e-8)
			if math.Abs(theta[i]-float64(got[i])) > 1e-5 {
				t.Errorf("step %d: theta[%d] = %v, want %v", step, i, got[i], theta[i])
			}
		}
	}
	before := slices.Clone(got)
	norm, _, err := a.Update(got, []float32{float32(math.Inf(1)), 0, 0}, 4, 10)
	if !errors.Is(err, ErrOverflow) || !math.IsInf(norm, 1) || !slices.Equal(got, before) {
		t.Errorf("an infinite gradient: norm %v, parameters %v, %v", norm, got, err)
	}
}

// A gradient whose square overflows would stop its parameter for ever; clipped, it is welcome.
func TestAdam_HugeGradient(t *testing.T) {
	s := Schedule{Rate: 0.01, Beta1: 0.9, Beta2: 0.999, Epsilon: 1e-8}
	a, theta := NewAdam(s, 2), []float32{1, 2}
	_, _, err := a.Update(theta, []float32{2e19, 1}, 1, 0)
	if err == nil || !strings.Contains(err.Error(), "2e+19") || theta[1] != 2 || a.v[1] != 0 {
		t.Errorf("got %v, parameters %v, moments %v", err, theta, a.v)
	}
	if _, _, err := a.Update(theta, []float32{9e17, 1}, 1, 0); err != nil || !kernel.Finite(a.v) {
		t.Errorf("below the bound: %v, moments %v", err, a.v)
	}
	s.Clip = 10
	a = NewAdam(s, 2)
	if _, _, err := a.Update(theta, []float32{2e19, 1}, 1, 0); err != nil || !kernel.Finite(a.v) {
		t.Errorf("clipped: %v, moments %v", err, a.v)
	}
	s.Rate = 1e38
	if _, _, err := NewAdam(s, 2).Update([]float32{3e38, -3e38}, []float32{-1, 1}, 1, 0); !errors.Is(err, ErrParameters) {
		t.Errorf("got %v", err)
	}
}

// After Reset, Adam does what a new one does; after Resume with the moments of another, what that does.
func TestAdam_ResetAndResume(t *testing.T) {
	s := Schedule{Rate: 0.1, Beta1: 0.9, Beta2: 0.99, Epsilon: 1e-8}
	used, fresh := NewAdam(s, 2), NewAdam(s, 2)
	update := func(a *Adam, theta []float32) {
		t.Helper()
		if _, _, err := a.Update(theta, []float32{3, -1}, 2, 5); err != nil {
			t.Fatal(err)
		}
	}
	update(used, []float32{0, 0})
	used.Reset()
	a, b := []float32{1, 2}, []float32{1, 2}
	update(used, a)
	update(fresh, b)
	if !slices.Equal(a, b) {
		t.Errorf("after a reset %v, want %v", a, b)
	}
	other := NewAdam(s, 2)
	for i, m := range fresh.Moments() {
		copy(other.Moments()[i].Values, m.Values)
	}
	other.Resume(1)
	update(other, a)
	update(fresh, b)
	if !slices.Equal(a, b) {
		t.Errorf("resumed %v, want %v", a, b)
	}
}

// Two updates on ½x², whose replicas each go half of the way to the minimum: Δ = x/2. By hand, with rate ½ and momentum
// ½: x = 8: d = 4, u = 4, x = 8 − ½·(4 + 2) = 5; d = 2.5, u = 4.5, x = 5 − ½·(2.5 + 2.25) = 2.625. All numbers are
// exact.
func TestNesterov_Quadratic(t *testing.T) {
	n := NewNesterov(Outer{Rate: 0.5, Momentum: 0.5, Every: 3}, Schedule{Rate: 0.1, Decay: 0.5, DecayEvery: 3}, 1)
	x := []float32{8}
	for i, want := range []struct{ x, u, norm, rate float64 }{{5, 4, 4, 0.1}, {2.625, 4.5, 2.5, 0.05}} {
		sum := []float32{x[0]/4 + 3*x[0]/4} // two replicas that have gone x/4 and 3x/4: x/2 in the mean
		norm, rate, err := n.Update(x, sum, 2, uint64(3*i))
		if err != nil || float64(x[0]) != want.x || float64(n.velocity[0]) != want.u || norm != want.norm || rate != want.rate {
			t.Errorf("round %d: x %v, velocity %v, norm %v, rate %v, %v; want %+v", i, x, n.velocity, norm, rate, err, want)
		}
	}
	if n.Stride() != 3 {
		t.Errorf("stride %d", n.Stride())
	}
	if _, _, err := n.Update(x, []float32{float32(math.NaN())}, 1, 6); !errors.Is(err, ErrOverflow) || x[0] != 2.625 || n.velocity[0] != 4.5 {
		t.Errorf("a NaN: %v, x %v, velocity %v", err, x, n.velocity)
	}
}

// The bits do not depend on the cores that an update is spread over.
func TestAdam_SameBitsOnAllCores(t *testing.T) {
	const size = 3*Elements + 5
	s := Schedule{Rate: 0.01, Clip: 1, Beta1: 0.9, Beta2: 0.999, Epsilon: 1e-8}
	run := func(spread bool) []float32 {
		a, theta, sum := NewAdam(s, size), make([]float32, size), make([]float32, size)
		a.Spread = spread
		for step := range uint64(3) {
			for i := range sum {
				sum[i] = float32(i%331)/7 - float32(step)
			}
			if _, _, err := a.Update(theta, sum, 4, step); err != nil {
				t.Fatal(err)
			}
		}
		return theta
	}
	want := run(false)
	for _, cores := range []int{1, 2, 3} {
		before := runtime.GOMAXPROCS(cores)
		if !slices.Equal(run(true), want) {
			t.Errorf("%d cores: other bits", cores)
		}
		runtime.GOMAXPROCS(before)
	}
}

// The updates have the same bits on every instruction set.
func TestUpdates_SameBitsOnEveryISA(t *testing.T) {
	const size = 1003
	active := kernel.Active()
	defer func() {
		if err := kernel.Use(active); err != nil {
			t.Error(err)
		}
	}()
	run := func() []float32 {
		s := Schedule{Rate: 0.01, Clip: 3, Beta1: 0.9, Beta2: 0.999, Epsilon: 1e-8}
		a, n := NewAdam(s, size), NewNesterov(Outer{Rate: 0.7, Momentum: 0.9, Every: 1}, s, size)
		theta, sum := make([]float32, size), make([]float32, size)
		for step := range uint64(5) {
			for i := range sum {
				sum[i] = float32(i%31)/7 - float32(step)
			}
			before := slices.Clone(theta)
			if _, _, err := a.Update(theta, sum, 4, step); err != nil {
				t.Fatal(err)
			}
			kernel.Sub(sum, before, theta)
			if _, _, err := n.Update(before, sum, 2, step); err != nil {
				t.Fatal(err)
			}
			theta = before
		}
		return theta
	}
	want := run()
	for _, isa := range []string{"avx512", "avx2", "portable"} {
		set, err := kernel.ParseISA(isa)
		if err != nil {
			t.Fatal(err)
		}
		if err := kernel.Use(set); errors.Is(err, kernel.ErrNoISA) {
			t.Logf("%s is not there", isa)
			continue
		} else if err != nil {
			t.Fatal(err)
		}
		if got := run(); !slices.Equal(got, want) {
			t.Errorf("%s: other bits", isa)
		}
	}
}

// TestAdam_MomentsAreNeverSubnormal: of parameters whose gradient ends, of those whose gradient is tiny, and of those that
// have one all the time.
func TestAdam_MomentsAreNeverSubnormal(t *testing.T) {
	const size = 96
	a := NewAdam(Schedule{Rate: 0.01, Beta1: 0.9, Beta2: 0.9, Epsilon: 1e-8}, size)
	theta, sum := make([]float32, size), make([]float32, size)
	for step := range uint64(3000) {
		for i := range sum {
			switch {
			case i%3 == 0 && step > 5, i%3 == 1 && step > 500:
				sum[i] = 0
			case i%3 == 2:
				sum[i] = 1e-3
			default:
				sum[i] = float32(math.Pow(10, -float64(i)/16))
			}
		}
		if _, _, err := a.Update(theta, sum, 1, step); err != nil {
			t.Fatal(err)
		}
		for _, m := range a.Moments() {
			for i, v := range m.Values {
				if v != 0 && math.Abs(float64(v)) < 0x1p-126 {
					t.Fatalf("step %d: %s of parameter %d is %v", step, m.Name, i, v)
				}
				if i%3 == 2 && v == 0 {
					t.Fatalf("step %d: %s of parameter %d, which has a gradient, is 0", step, m.Name, i)
				}
			}
		}
	}
}

// TestAdam_SmallEpsilon: a second moment that stands beside a tiny ε stays, however small it is: without it the parameters
// would leap.
func TestAdam_SmallEpsilon(t *testing.T) {
	a := NewAdam(Schedule{Rate: 0.01, Beta1: 0.9, Beta2: 0.999, Epsilon: 1e-25}, 1)
	theta := []float32{0}
	for step := range uint64(64) {
		before := theta[0]
		if _, _, err := a.Update(theta, []float32{1e-18}, 1, step); err != nil {
			t.Fatal(err)
		}
		if moved := math.Abs(float64(theta[0] - before)); moved > 0.02 {
			t.Fatalf("step %d moves the parameter by %g", step, moved)
		}
	}
}

// BenchmarkAdam_Idle is an update of which half of the parameters had a gradient only once, long ago.
func BenchmarkAdam_Idle(b *testing.B) {
	const size = 1 << 20
	a := NewAdam(Schedule{Rate: 0.01, Beta1: 0.9, Beta2: 0.999, Epsilon: 1e-8}, size)
	theta, sum := make([]float32, size), make([]float32, size)
	update := func(step uint64) {
		for i := range sum {
			sum[i] = float32(i % 2)
		}
		if step == 0 {
			for i := range sum {
				sum[i] = 1
			}
		}
		if _, _, err := a.Update(theta, sum, 1, step); err != nil {
			b.Fatal(err)
		}
	}
	step := uint64(0)
	for ; step < 1100; step++ {
		update(step)
	}
	for b.Loop() {
		update(step)
		step++
	}
}

// BenchmarkAdam_ClipSize is an update without and with a limit on the gradient's size.
func BenchmarkAdam_ClipSize(b *testing.B) {
	const size = 1 << 18
	for _, limit := range []float64{0, 1} {
		b.Run(fmt.Sprint(limit), func(b *testing.B) {
			a := NewAdam(Schedule{Rate: 0.01, Beta1: 0.9, Beta2: 0.999, Epsilon: 1e-8, ClipSize: limit}, size)
			theta, sum := make([]float32, size), make([]float32, size)
			for step := uint64(0); b.Loop(); step++ {
				for i := range sum {
					sum[i] = float32(i%7 - 3)
				}
				if _, _, err := a.Update(theta, sum, 1, step); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// TestAdam_RateOfALongRun: where the rate decays with each update, one late in a run goes on from the rate of the one
// before, and the rate is that of the schedule to the bit, also if the run goes back.
func TestAdam_RateOfALongRun(t *testing.T) {
	s := Schedule{Rate: 1, Decay: 1 - 1e-9, DecayEvery: 1, Beta1: 0.9, Beta2: 0.9, Epsilon: 1}
	a, theta := NewAdam(s, 1), make([]float32, 1)
	update := func(step uint64) float64 {
		_, rate, err := a.Update(theta, []float32{1}, 1, step)
		if err != nil {
			t.Fatal(err)
		}
		return rate
	}
	const late = 100_000
	if rate := update(late); rate != s.At(late) {
		t.Errorf("a late rate is %g, want %g", rate, s.At(late))
	}
	a.decay.rate = 2 // the next update goes on from what this one has found
	if rate := update(late + 1); rate != 2*s.Decay {
		t.Errorf("the rate after a rate of 2 is %g, want %g", rate, 2*s.Decay)
	}
	for _, step := range []uint64{7, 3, 4} {
		if rate := update(step); rate != s.At(step) {
			t.Errorf("step %d: rate %g, want %g", step, rate, s.At(step))
		}
	}
}
