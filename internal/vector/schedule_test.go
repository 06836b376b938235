package vector

import (
	"math"
	"math/big"
	"slices"
	"strings"
	"testing"
)

// bigCosine is cos(x) for 0 ≤ x ≤ π by its Taylor series in 200 bits.
func bigCosine(x *big.Float) float64 {
	sum, term := big.NewFloat(1).SetPrec(200), big.NewFloat(1).SetPrec(200)
	square := new(big.Float).SetPrec(200).Mul(x, x)
	for k := int64(1); k < 60; k++ {
		term.Mul(term, square)
		term.Quo(term, big.NewFloat(float64(-(2*k-1)*(2*k))))
		sum.Add(sum, term)
	}
	v, _ := sum.Float64()
	return v
}

// The cosine agrees with its formula in 200 bits: at its ends exactly, between them to a few units in the last place.
func TestSchedule_Cosine(t *testing.T) {
	pi, _, err := big.ParseFloat("3.14159265358979323846264338327950288419716939937510582097494", 10, 200, big.ToNearestEven)
	if err != nil {
		t.Fatal(err)
	}
	s := Schedule{Rate: 5e-3, Shape: Cosine, Horizon: 20000, Final: 0.01}
	for _, step := range []uint64{0, 1, 2, 777, 5000, 9999, 10000, 10001, 15000, 19998, 19999} {
		x := new(big.Float).SetPrec(200).Mul(pi, big.NewFloat(float64(step)))
		x.Quo(x, big.NewFloat(20000))
		want := 5e-3 * (0.01 + 0.99*0.5*(1+bigCosine(x)))
		if got := s.At(step); math.Abs(got-want) > 1e-18 {
			t.Errorf("update %d: %v, want %v", step, got, want)
		}
	}
	if s.At(0) != 5e-3 {
		t.Errorf("the first rate is %v", s.At(0))
	}
	for _, step := range []uint64{20000, 20001, math.MaxUint64 - 1} {
		if got := s.At(step); got != 5e-3*0.01 {
			t.Errorf("update %d: %v, want the end", step, got)
		}
	}
}

// A warm-up rises in equal steps to the rate of the schedule, and changes nothing after its last update.
func TestSchedule_Warmup(t *testing.T) {
	for _, base := range []Schedule{
		{Rate: 0.5, Decay: 0.5, DecayEvery: 6},
		{Rate: 0.5, Shape: Cosine, Horizon: 30, Final: 0.1},
	} {
		warm := base
		warm.Warmup = 8
		for step := range uint64(40) {
			want := base.At(step) * min(1, float64(step+1)/8)
			if got := warm.At(step); math.Abs(got-want) > 1e-16 {
				t.Errorf("shape %d, update %d: %v, want %v", base.Shape, step, got, want)
			}
			if step >= 7 && warm.At(step) != base.At(step) {
				t.Errorf("shape %d, update %d: the warm-up goes on", base.Shape, step)
			}
		}
	}
}

func TestSchedule_Faults(t *testing.T) {
	good := Schedule{Rate: 1, Epsilon: 1}
	for want, change := range map[string]func(*Schedule){
		"no updates":          func(s *Schedule) { s.Shape = Cosine },
		"is not known":        func(s *Schedule) { s.Shape = 7 },
		"final rate: 2":       func(s *Schedule) { s.Final = 2 },
		"clip size: -1":       func(s *Schedule) { s.ClipSize = -1 },
		"clip factor: 0.5":    func(s *Schedule) { s.ClipFactor = 0.5 },
		"[3,3)":               func(s *Schedule) { s.Groups = []Group{{3, 3, 1}} },
		"[2,4): it follows 3": func(s *Schedule) { s.Groups = []Group{{0, 3, 1}, {2, 4, 1}} },
		"[0,1): factor -1":    func(s *Schedule) { s.Groups = []Group{{0, 1, -1}} },
	} {
		s := good
		if change(&s); s.Validate() == nil || !strings.Contains(s.Validate().Error(), want) {
			t.Errorf("got %v, want %q", s.Validate(), want)
		}
	}
	if err := good.Validate(); err != nil {
		t.Error(err)
	}
}

// The norms that count are limited to a multiple of those before, so that a gradient of any size is used as one of
// three times the usual, and the next ones are not cut because of it.
func TestAdam_ClipFactor(t *testing.T) {
	s := Schedule{Rate: 0.01, ClipFactor: 3, Beta1: 0, Beta2: 0.5, Epsilon: 1e-8}
	a, running := NewAdam(s, 1), 0.0
	theta := []float32{0}
	for step := range uint64(300) {
		g := 2.0 + float64(step%3)
		switch {
		case step == 50:
			g = 1e15
		case step == 0:
			g = 2
		}
		used := g
		if running > 0 {
			used = min(g, 3*running)
		}
		norm, _, err := a.Update(theta, []float32{float32(g)}, 1, step)
		if err != nil || math.Abs(norm/g-1) > 1e-6 {
			t.Fatalf("update %d: norm %v of %v, %v", step, norm, g, err)
		}
		running += max(1/float64(step+1), 0.01) * (used - running)
		if got := float64(a.running.norm[0]); math.Abs(got-running) > 1e-5*running {
			t.Fatalf("update %d: the running norm is %v, want %v", step, got, running)
		}
		if step > 0 && running > 4.2 {
			t.Fatalf("update %d: the running norm is %v: one gradient has spoilt it", step, running)
		}
		if got := float64(a.m[0]); math.Abs(got-used) > 1e-5*used { // Beta1 is 0: the moment is the gradient
			t.Fatalf("update %d: the gradient was used as %v, want %v", step, got, used)
		}
	}
	before := a.running.norm[0]
	for _, bad := range []float32{float32(math.NaN()), float32(math.Inf(1))} {
		if _, _, err := a.Update(theta, []float32{bad}, 1, 300); err == nil || a.running.norm[0] != before {
			t.Errorf("%v: %v, running norm %v, want %v", bad, err, a.running.norm[0], before)
		}
	}
}

// An update far outside the others is left out, whatever its size, and the next ones are as if it had not been; gradients
// that have grown for good are followed again in the end. The first hundred updates are never left out.
func TestAdam_Outlier(t *testing.T) {
	for _, c := range []struct{ clip, factor float64 }{{0, 0}, {0, 3}, {1, 0}, {1, 3}} {
		a := NewAdam(Schedule{Rate: 0.01, Clip: c.clip, ClipFactor: c.factor, Outlier: 100, Beta1: 0.9, Beta2: 0.99, Epsilon: 1e-8}, 1)
		theta, step := []float32{0}, uint64(0)
		update := func(g float32) bool {
			if _, _, err := a.Update(theta, []float32{g}, 1, step); err != nil {
				t.Fatal(err)
			}
			step++
			return a.LeftOut()
		}
		for range 99 {
			update(2)
		}
		if update(2e4) {
			t.Error("update 99 was left out")
		}
		for range 400 { // the running norm forgets it
			update(2)
		}
		state := []float32{theta[0], a.m[0], a.v[0]}
		if norm := a.running.norm[0]; !update(-1e6) || !slices.Equal(state, []float32{theta[0], a.m[0], a.v[0]}) || a.running.norm[0] > 1.02*norm {
			t.Errorf("clip and factor %v: left out %v, state %v, was %v; running norm %v, was %v", c, a.LeftOut(),
				[]float32{theta[0], a.m[0], a.v[0]}, state, a.running.norm[0], norm)
		}
		if update(2) {
			t.Error("the update after an outlying one was left out")
		}
		followed := 0
		for followed < 2000 && update(-1e4) {
			followed++
		}
		if followed < 100 || followed == 2000 {
			t.Errorf("clip and factor %v: gradients that have grown for good are followed after %d updates", c, followed)
		}
	}
}

// TestAdam_OutlierInTheWarmup: gradients that grow a hundredfold while the rate rises are no outliers. After the warm-up one is.
func TestAdam_OutlierInTheWarmup(t *testing.T) {
	a := NewAdam(Schedule{Rate: 0.01, Warmup: 300, ClipFactor: 3, Outlier: 10, Beta1: 0.9, Beta2: 0.99, Epsilon: 1e-8}, 1)
	for step := range uint64(1000) {
		g := float32(2)
		if step >= 150 {
			g = 200
		}
		if step == 900 {
			g = 1e4
		}
		if _, _, err := a.Update([]float32{0}, []float32{g}, 1, step); err != nil || a.LeftOut() != (step == 900) {
			t.Fatalf("update %d: left out %v, %v", step, a.LeftOut(), err)
		}
	}
}

// TestAdam_OutlierAfterZeros: while all gradients were 0 none is outlying, and the first of another size says what is usual.
func TestAdam_OutlierAfterZeros(t *testing.T) {
	a := NewAdam(Schedule{Rate: 0.01, Outlier: 10, Beta1: 0.9, Beta2: 0.99, Epsilon: 1e-8}, 1)
	for step := range uint64(250) {
		g := []float32{0}
		switch {
		case step >= 200:
			g[0] = 1e3
		case step >= 100:
			g[0] = 1
		}
		if _, _, err := a.Update([]float32{0}, g, 1, step); err != nil || a.LeftOut() != (step >= 200) {
			t.Fatalf("update %d: left out %v, %v", step, a.LeftOut(), err)
		}
	}
}

// Both limits hold: the smaller counts.
func TestAdam_ClipAndClipFactor(t *testing.T) {
	a := NewAdam(Schedule{Rate: 0.01, Clip: 5, ClipFactor: 3, Beta1: 0, Beta2: 0.5, Epsilon: 1e-8}, 1)
	for step, want := range []float32{1, 3, 5} { // no norm before, 3 times 1, the fixed limit below 3 times 2
		g := []float32{1, 100, 100}[step]
		if _, _, err := a.Update([]float32{0}, []float32{g}, 1, uint64(step)); err != nil || a.m[0] != want {
			t.Errorf("update %d: used as %v, want %v, %v", step, a.m[0], want, err)
		}
	}
}

// A gradient that is large for parameters whose gradients were small is cut, though its norm is as usual; where it is as
// usual for all of them, no bit differs.
func TestAdam_ClipSize(t *testing.T) {
	const updates, beta = 50, 0.9
	run := func(limit float64, last float32) (theta, used []float32) {
		a := NewAdam(Schedule{Rate: 0.01, ClipSize: limit, Beta1: 0, Beta2: beta, Epsilon: 1e-8}, 2)
		theta = []float32{0, 0}
		for step := range uint64(updates) {
			quiet := float32(0.01)
			if step == updates-1 {
				quiet = last
			}
			if _, _, err := a.Update(theta, []float32{100, quiet}, 1, step); err != nil {
				t.Fatal(err)
			}
		}
		return theta, a.m // Beta1 is 0: the moment is the gradient
	}
	free, _ := run(0, 0.01)
	if limited, _ := run(1.001, 0.01); !slices.Equal(limited, free) {
		t.Error("a limit that is not reached changes the parameters")
	}
	// Of both elements v̂ before is g²; that of the second becomes (β₂(1−β₂ᵗ⁻¹)·0.01² + (1−β₂)·1²)/(1−β₂ᵗ).
	v := (beta*(1-math.Pow(beta, updates-1))*1e-4 + (1-beta)*1) / (1 - math.Pow(beta, updates))
	size := math.Sqrt((1 + 1/v) / 2)
	if size < 2 {
		t.Fatalf("the size of the last gradient is %v, as usual", size)
	}
	_, used := run(1.5, 1)
	for i, g := range []float64{100, 1} {
		if want := g * 1.5 / size; math.Abs(float64(used[i])-want) > 1e-5*want {
			t.Errorf("element %d was used as %v, want %v", i, used[i], want)
		}
	}
}

// The size is that of its formula over several pieces, and parameters that never had a gradient count as zeros.
func TestAdam_Size(t *testing.T) {
	const n, clip, beta = 3*piece + 5, 0.5, 0.99
	a := NewAdam(Schedule{Rate: 0.01, ClipSize: 1, Beta1: 0.9, Beta2: beta, Epsilon: 1e-8}, n)
	a.Resume(30)
	g, want := make([]float32, n), 0.0
	for i := range g {
		if i%3 == 0 {
			continue
		}
		g[i], a.v[i] = float32(i%17)-8.5, float32(i%5)
		square := math.Pow(float64(g[i])*clip, 2)
		want += square * (1 - math.Pow(beta, 30)) / (beta*float64(a.v[i]) + (1-beta)*square)
	}
	want = math.Sqrt(want / n)
	if got := a.size(g, clip); !(math.Abs(got-want) < 1e-5*want) {
		t.Errorf("%v, want %v", got, want)
	}
}

// A parameter of a group moves as if the rate were its factor times as large; a factor of 0 leaves it where it is. The
// groups lie across the pieces in which an update is computed.
func TestAdam_Groups(t *testing.T) {
	const size = 3*Elements + 5
	s := Schedule{Rate: 0.01, Beta1: 0.9, Beta2: 0.999, Epsilon: 1e-8}
	run := func(s Schedule, spread bool) []float32 {
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
	plain := run(s, false)
	s.Groups = []Group{{5, 9, 10}, {9, strip + 3, 0}, {size - 7, size - 2, 0.5}}
	grouped := run(s, false)
	if !slices.Equal(run(s, true), grouped) {
		t.Error("other bits on all cores")
	}
	for i, x := range grouped {
		factor := 1.0
		switch {
		case i >= 5 && i < 9:
			factor = 10
		case i >= 9 && i < strip+3:
			factor = 0
		case i >= size-7 && i < size-2:
			factor = 0.5
		}
		if want := factor * float64(plain[i]); math.Abs(float64(x)-want) > 1e-6*math.Abs(want) {
			t.Fatalf("parameter %d: %v, want %v", i, x, want)
		}
	}
}

// The average follows its formula, computed in float64. Of constant parameters it comes to be those parameters, but
// for the rounding of float32.
func TestAverage_Reference(t *testing.T) {
	for _, stride := range []uint64{1, 5} {
		theta := []float32{1, -2, 1e-3}
		a := NewAverage(0.98, stride, theta)
		want := []float64{1, -2, float64(theta[2])}
		for n := range uint64(200) {
			for i := range theta {
				theta[i] = theta[i]*0.99 + float32(n%7)*0.01
			}
			a.Add(theta, n)
			keep := min(math.Pow(0.98, float64(stride)), float64(1+n)/float64(10+n))
			for i := range want {
				want[i] = keep*want[i] + (1-keep)*float64(theta[i])
				if math.Abs(float64(a.Values[i])-want[i]) > 1e-5 {
					t.Fatalf("stride %d, change %d: %v, want %v", stride, n, a.Values, want)
				}
			}
		}
		for n := range uint64(3000) {
			a.Add(theta, 200+n)
		}
		for i, x := range theta {
			if math.Abs(float64(a.Values[i]-x)) > 5e-6*math.Abs(float64(x)) {
				t.Errorf("stride %d: the average of %v is %v", stride, x, a.Values[i])
			}
		}
	}
}
