package fhn_test

import (
	"errors"
	"fmt"
	"math"
	"testing"

	"github.com/switchyard-ml/switchyard/envs"
	"github.com/switchyard-ml/switchyard/envs/envtest"
	"github.com/switchyard-ml/switchyard/envs/fhn"
	"github.com/switchyard-ml/switchyard/rng"
)

func newEnv(t testing.TB) *fhn.Env {
	t.Helper()
	env, err := fhn.New(fhn.DefaultConfig())
	if err != nil {
		t.Fatal(err)
	}
	return env
}

func TestConformance(t *testing.T) { envtest.Test(t, newEnv(t)) }

func TestEpisodes_Golden(t *testing.T) {
	envtest.Golden(t, newEnv(t), "48fcce22969d244b1c02f74413d5249c3146221b93661b69a9dc88171281ae1d")
}

// The figures are worked out by hand from the equations, with dt = 0.1 and I = 0.7 + 0.2·u.
func TestStep_IsTheEulerStep(t *testing.T) {
	env := newEnv(t)
	for _, c := range []struct{ v, w, u, wantV, wantW float64 }{
		{0, 0, 0, 0.07, 0.0056},                    // dv = 0.7, dw = 0.08·0.7
		{1, -1, 2, 1.2766666666666667, -0.98},      // dv = 1 − 1/3 + 1 + 1.1, dw = 0.08·2.5
		{-2, 1, -0.5, -1.9733333333333334, 0.9832}, // dv = −2 + 8/3 − 1 + 0.6 = 4/15, dw = −0.08·2.1
		{3, -3, 0, 2.77, -2.9512},                  // dv = 3 − 9 + 3 + 0.7, dw = 0.08·6.1
	} {
		v, w := env.Step(c.v, c.w, c.u)
		if math.Abs(v-c.wantV) > 1e-12 || math.Abs(w-c.wantW) > 1e-12 {
			t.Errorf("Step(%v, %v, %v) = %v, %v, want %v, %v", c.v, c.w, c.u, v, w, c.wantV, c.wantW)
		}
	}
}

// Each observation follows from the one before and from its own control, up to the rounding of
// the observations to float32: u[t] is causal for x[t].
func TestSimulate_ControlIsCausalForItsObservation(t *testing.T) {
	env := newEnv(t)
	var e envs.Episode
	env.Simulate(&e, rng.New(1, rng.Episode), 0, 100)
	for i := 1; i < e.T; i++ {
		v, w := env.Step(float64(e.States[2*i-2]), float64(e.States[2*i-1]), float64(e.Controls[i]))
		if dv, dw := math.Abs(v-float64(e.States[2*i])), math.Abs(w-float64(e.States[2*i+1])); dv > 1e-6 || dw > 1e-6 {
			t.Fatalf("step %d is off by (%.1e, %.1e)", i, dv, dw)
		}
	}
}

func TestSimulate_Distributions(t *testing.T) {
	env := newEnv(t)
	var e envs.Episode
	var n, sum, squares, start float64
	lo, hi := math.Inf(1), math.Inf(-1)
	const episodes = 400
	for i := range uint32(episodes) {
		env.Simulate(&e, rng.New(2, rng.Episode), i, 100)
		for _, u := range e.Controls[1:] {
			n++
			sum += float64(u)
			squares += float64(u) * float64(u)
		}
		for _, x := range e.States[:2] {
			lo, hi = min(lo, float64(x)), max(hi, float64(x))
			start += float64(x) * float64(x) / (2 * episodes)
		}
	}
	// Five standard errors each: 1/√n, √2/√n, and the variance 3 of U[−3,3] over 800 draws.
	if mean := sum / n; math.Abs(mean) > 5/math.Sqrt(n) {
		t.Errorf("mean of u = %.4f, want 0", mean)
	}
	if v := squares / n; math.Abs(v-1) > 5*math.Sqrt2/math.Sqrt(n) {
		t.Errorf("variance of u = %.4f, want 1", v)
	}
	if math.Abs(start-3) > 5*2.7/math.Sqrt(2*episodes) || lo < -3 || hi > 3 || lo > -2.9 || hi < 2.9 {
		t.Errorf("starts: variance %.3f, range [%.3f, %.3f], want U[−3,3]", start, lo, hi)
	}
}

func TestNullclines_AreWhereTheFieldVanishes(t *testing.T) {
	env := newEnv(t)
	for v := -2.5; v <= 2.5; v += 0.25 {
		ofV, ofW := env.Nullclines(v)
		if dv, _ := env.Field(v, ofV, 0); math.Abs(dv) > 1e-12 {
			t.Errorf("dv/dt = %v on the v-nullcline at v = %v", dv, v)
		}
		if _, dw := env.Field(v, ofW, 0); math.Abs(dw) > 1e-12 {
			t.Errorf("dw/dt = %v on the w-nullcline at v = %v", dw, v)
		}
	}
}

func TestNew_ReportsEveryFault(t *testing.T) {
	_, err := fhn.New(fhn.Config{DT: 0, Rate: math.NaN(), StimulusSD: -1})
	if !errors.Is(err, fhn.ErrConfig) {
		t.Fatalf("err = %v, want ErrConfig", err)
	}
	if errs, ok := err.(interface{ Unwrap() []error }); !ok || len(errs.Unwrap()) != 3 {
		t.Errorf("err = %v, want three faults", err)
	}
}

// One episode of the oscillator: it jumps from the silent to the active branch and back.
func Example() {
	env, err := fhn.New(fhn.DefaultConfig())
	if err != nil {
		panic(err)
	}
	var e envs.Episode
	env.Simulate(&e, rng.New(1, rng.Episode), 0, 400)
	for t := 0; t < e.T; t += 50 {
		phase := "jumping"
		for i, name := range env.Spec().Labels {
			if e.Labels[2*t+i] == 1 {
				phase = name
			}
		}
		fmt.Printf("t=%3d  v=%+.2f  w=%+.2f  %s\n", t, e.States[2*t], e.States[2*t+1], phase)
	}
	// Output:
	// t=  0  v=+2.11  w=+0.30  active
	// t= 50  v=+1.59  w=+1.06  active
	// t=100  v=+1.15  w=+1.47  active
	// t=150  v=-1.85  w=+1.35  silent
	// t=200  v=-1.64  w=+0.58  silent
	// t=250  v=-1.40  w=+0.13  silent
	// t=300  v=-1.05  w=-0.06  silent
	// t=350  v=-0.24  w=-0.08  jumping
}
