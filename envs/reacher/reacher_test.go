package reacher_test

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/fnv"
	"math"
	"testing"

	"github.com/switchyard-ml/switchyard/envs"
	"github.com/switchyard-ml/switchyard/envs/envtest"
	"github.com/switchyard-ml/switchyard/envs/reacher"
	"github.com/switchyard-ml/switchyard/rng"
)

func newEnv(t testing.TB) *reacher.Env {
	t.Helper()
	env, err := reacher.New(reacher.DefaultConfig())
	if err != nil {
		t.Fatal(err)
	}
	return env
}

func TestConformance(t *testing.T) { envtest.Test(t, newEnv(t)) }

func TestEpisodes_Golden(t *testing.T) {
	envtest.Golden(t, newEnv(t), "78ed79467fa2bcb3860a9daa148ddbe6431a3d40b44fa8572c234574dcd69e17")
}

// The elbow stays within its limits, the rates below the cap, over a long episode of full torques.
func TestSimulate_KeepsLimits(t *testing.T) {
	env := newEnv(t)
	var e envs.Episode
	for i := range uint32(20) {
		env.Simulate(&e, rng.New(1, rng.Episode), i, 2000)
		for step := range e.T {
			s := e.States[9*step : 9*step+9]
			if math.Abs(float64(s[7])) > 1+1e-7 || math.Abs(float64(s[6])) > 10 || math.Abs(float64(s[8])) > 10 {
				t.Fatalf("episode %d, step %d: scaled rates %v, %v, γ/3 = %v", i, step, s[6], s[8], s[7])
			}
		}
	}
}

func TestStep_CapsRatesAndControls(t *testing.T) {
	env := newEnv(t)
	if s := env.Step(reacher.State{ThetaRate: 500, GammaRate: -500}, [2]float64{}); s.ThetaRate != 100 || s.GammaRate != -100 {
		t.Errorf("rates %v, %v, want ±100", s.ThetaRate, s.GammaRate)
	}
	if a, b := env.Step(reacher.State{}, [2]float64{7, -9}), env.Step(reacher.State{}, [2]float64{1, -1}); a != b {
		t.Errorf("controls (7, −9) lead to %+v, (1, −1) to %+v", a, b)
	}
}

// stateOf reads the mechanical state back from the recorded one.
func stateOf(s []float32) reacher.State {
	return reacher.State{
		Theta: math.Atan2(float64(s[5]), float64(s[4])), Gamma: 3 * float64(s[7]),
		ThetaRate: 10 * float64(s[6]), GammaRate: 10 * float64(s[8]),
	}
}

// Each state follows from the one before and from its own control; observation and label follow
// from the state. Differences are those of rounding to float32.
func TestSimulate_EpisodeIsConsistent(t *testing.T) {
	env := newEnv(t)
	var e envs.Episode
	env.Simulate(&e, rng.New(2, rng.Episode), 5, 200)
	for i := range e.T {
		state, x := e.States[9*i:9*i+9], e.Observations[7*i:7*i+7]
		s := stateOf(state)
		if i > 0 {
			u := [2]float64{float64(e.Controls[2*i]), float64(e.Controls[2*i+1])}
			s = env.Step(stateOf(e.States[9*i-9:9*i]), u)
		}
		tipX, tipY := s.Tip()
		want := []float64{
			float64(e.States[0]), float64(e.States[1]), tipX - float64(e.States[0]), tipY - float64(e.States[1]),
			math.Cos(s.Theta), math.Sin(s.Theta), s.ThetaRate / 10, s.Gamma / 3, s.GammaRate / 10,
		}
		for d := range want {
			if math.Abs(float64(state[d])-want[d]) > 2e-5 {
				t.Fatalf("step %d: state %v, want %v", i, state, want)
			}
		}
		for d, j := range []int{0, 1, 2, 3, 4, 5, 7} {
			if x[d] != state[j] {
				t.Fatalf("step %d: observation %v of state %v", i, x, state)
			}
		}
		if got, want := e.Labels[i] == 1, math.Abs(float64(state[7])) > 0.99; got != want {
			t.Fatalf("step %d: label %v at γ/3 = %v", i, e.Labels[i], state[7])
		}
	}
}

func TestSimulate_ResetIsUniform(t *testing.T) {
	cfg := reacher.DefaultConfig()
	cfg.WarmUp = 0
	env, err := reacher.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	var e envs.Episode
	const episodes = 4000
	var square [4]float64 // of target x and y, θ, γ over their ranges
	for i := range uint32(episodes) {
		env.Simulate(&e, rng.New(6, rng.Episode), i, 1)
		s := stateOf(e.States)
		for d, v := range []float64{float64(e.States[0]) / 0.27, float64(e.States[1]) / 0.27, s.Theta / 3.14, s.Gamma / 3.14} {
			square[d] += v * v / episodes
			if math.Abs(v) > 1+1e-6 {
				t.Fatalf("episode %d: value %d = %v of its range", i, d, v)
			}
		}
		if s.ThetaRate != 0 || s.GammaRate != 0 {
			t.Fatalf("episode %d starts with rates %v, %v", i, s.ThetaRate, s.GammaRate)
		}
	}
	for d, v := range square {
		if math.Abs(v-1.0/3) > 5*0.3/math.Sqrt(episodes) { // five standard errors of the mean of u²
			t.Errorf("mean square of value %d = %.4f, want 1/3", d, v)
		}
	}
}

// The bits of an episode, the same on every machine and in every build.
func TestSimulate_Bits(t *testing.T) {
	var e envs.Episode
	newEnv(t).Simulate(&e, rng.New(1, rng.Episode), 0, 100)
	h := fnv.New64a()
	for _, column := range [][]float32{e.Observations, e.Controls, e.States, e.Labels} {
		if err := binary.Write(h, binary.LittleEndian, column); err != nil {
			t.Fatal(err)
		}
	}
	if got, want := h.Sum64(), uint64(0x85a3670e63b76fb1); got != want {
		t.Errorf("hash of episode 0 = %#x, want %#x", got, want)
	}
}

func TestNew_ReportsEveryFault(t *testing.T) {
	_, err := reacher.New(reacher.Config{DT: 0, Torque: math.NaN(), Damping: -1, RateCap: 1, ElbowLimit: 1, WarmUp: -1})
	if !errors.Is(err, reacher.ErrConfig) {
		t.Fatalf("err = %v, want ErrConfig", err)
	}
	if errs, ok := err.(interface{ Unwrap() []error }); !ok || len(errs.Unwrap()) != 4 {
		t.Errorf("err = %v, want four faults", err)
	}
}

// Steps per second; an episode has 50 steps with the warm-up, of which 30 are recorded.
func BenchmarkSimulate(b *testing.B) {
	env := newEnv(b)
	var e envs.Episode
	key, index := rng.New(1, rng.Episode), uint32(0)
	for b.Loop() {
		env.Simulate(&e, key, index, 30)
		index++
	}
	b.ReportMetric(30*float64(index)/b.Elapsed().Seconds(), "steps/s")
}

// An arm that swings freely from rest under one constant control.
func Example() {
	env, err := reacher.New(reacher.DefaultConfig())
	if err != nil {
		panic(err)
	}
	var s reacher.State
	for i := range 40 {
		if i%10 == 0 {
			x, y := s.Tip()
			fmt.Printf("t=%.3f s  tip (%+.3f, %+.3f) m  elbow %+.2f rad\n", 0.0165*float64(i), x, y, s.Gamma)
		}
		s = env.Step(s, [2]float64{0.2, -0.1})
	}
	// Output:
	// t=0.000 s  tip (+0.210, +0.000) m  elbow +0.00 rad
	// t=0.165 s  tip (+0.118, -0.031) m  elbow -1.91 rad
	// t=0.330 s  tip (+0.018, +0.001) m  elbow -3.00 rad
	// t=0.495 s  tip (-0.051, +0.000) m  elbow -2.66 rad
}
