package hopper_test

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/fnv"
	"math"
	"slices"
	"testing"

	"github.com/switchyard-ml/switchyard/envs"
	"github.com/switchyard-ml/switchyard/envs/envtest"
	"github.com/switchyard-ml/switchyard/envs/hopper"
	"github.com/switchyard-ml/switchyard/rng"
)

const (
	nx = 8
	ns = 15
)

func newEnv(t testing.TB) *hopper.Env {
	t.Helper()
	env, err := hopper.New(hopper.DefaultConfig())
	if err != nil {
		t.Fatal(err)
	}
	return env
}

func TestConformance(t *testing.T) { envtest.Test(t, newEnv(t)) }

func TestEpisodes_Golden(t *testing.T) {
	envtest.Golden(t, newEnv(t), "041ca53035bc448c2fd10e95edc509c975aaeebcc5e5f64101b5c4240db6464d")
}

// Over long episodes of full torques, most of them lying on the ground, everything stays bounded:
// columns within ±5, hinges within their ranges (or the 0.1 rad of the reset beyond), the foot's
// contact and the label of it the same, a fallen robot fallen for ever.
func TestSimulate_StaysBounded(t *testing.T) {
	env := newEnv(t)
	var e envs.Episode
	beyond := [3]float64{1 + 0.2/2.617, 1 + 0.2/2.617, 1}
	for i := range uint32(10) {
		env.Simulate(&e, rng.New(1, rng.Episode), i, 800)
		for step := range e.T {
			s, labels := e.States[ns*step:ns*step+ns], e.Labels[2*step:2*step+2]
			for d, v := range s {
				if !(math.Abs(float64(v)) <= 5) {
					t.Fatalf("episode %d, step %d: column %d = %v", i, step, d, v)
				}
			}
			for j := range 3 {
				if p := float64(s[8+2*j]); math.Abs(p) > beyond[j]+0.01 {
					t.Fatalf("episode %d, step %d: hinge %d at %v of its range", i, step, j, p)
				}
			}
			if labels[0] != s[14] || step > 0 && e.Labels[2*step-1] > labels[1] {
				t.Fatalf("episode %d, step %d: labels %v, contact %v", i, step, labels, s[14])
			}
		}
	}
}

// Hinges start uniformly in [−0.1, 0.1) rad, at rest, the torso upright and at the height of all others.
func TestSimulate_Reset(t *testing.T) {
	env := newEnv(t)
	var e envs.Episode
	scale := [3]float64{2 / (150 * math.Pi / 180), 2 / (150 * math.Pi / 180), 1 / (45 * math.Pi / 180)}
	centre := [3]float64{1, 1, 0}
	const episodes = 4000
	var square [3]float64
	for i := range uint32(episodes) {
		env.Simulate(&e, rng.New(3, rng.Episode), i, 1)
		for j := range square {
			angle := (float64(e.States[8+2*j]) - centre[j]) / scale[j] / 0.1
			square[j] += angle * angle / episodes
			if math.Abs(angle) > 1+1e-5 {
				t.Fatalf("episode %d: hinge %d starts at %v of its bound", i, j, angle)
			}
		}
		still := slices.Concat(e.States[:8], []float32{e.States[9], e.States[11], e.States[13]})
		if !slices.Equal(still, []float32{0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0}) {
			t.Fatalf("episode %d starts with %v", i, e.States)
		}
	}
	for j, v := range square {
		if math.Abs(v-1.0/3) > 5*0.3/math.Sqrt(episodes) { // five standard errors of the mean of u²
			t.Errorf("mean square of hinge %d = %.4f, want 1/3", j, v)
		}
	}
}

// The observation is the part of the state that the documentation says.
func TestSimulate_ObservationIsPartOfState(t *testing.T) {
	env := newEnv(t)
	var e envs.Episode
	env.Simulate(&e, rng.New(4, rng.Episode), 2, 100)
	for i := range e.T {
		for d, column := range []int{0, 1, 2, 6, 7, 8, 10, 12} {
			if e.Observations[nx*i+d] != e.States[ns*i+column] {
				t.Fatalf("step %d: observation %v of state %v", i, e.Observations[nx*i:nx*i+nx], e.States[ns*i:ns*i+ns])
			}
		}
	}
}

// Control and trajectory belong together: the controls of an episode, applied from its reset, give
// the heights and pitches of the episode. Controls are rounded to float32 in it, and the motion
// amplifies that: hence only 20 steps and 1e-3.
func TestSimulate_ControlIsCausalForItsObservation(t *testing.T) {
	env := newEnv(t)
	var e envs.Episode
	env.Simulate(&e, rng.New(5, rng.Episode), 1, 20)
	var hinge [3]float64
	scale, centre := [3]float64{2 / (150 * math.Pi / 180), 2 / (150 * math.Pi / 180), 1 / (45 * math.Pi / 180)}, [3]float64{1, 1, 0}
	for j := range hinge {
		hinge[j] = (float64(e.States[8+2*j]) - centre[j]) / scale[j]
	}
	s, _ := env.Reset(hinge)
	start := env.TorsoHeight(&s)
	for i := 1; i < e.T; i++ {
		u := [3]float64{float64(e.Controls[3*i]), float64(e.Controls[3*i+1]), float64(e.Controls[3*i+2])}
		touching := env.Step(&s, &u)
		if d := env.TorsoHeight(&s) - start - float64(e.Observations[nx*i]); math.Abs(d) > 1e-3 || touching != (e.Labels[2*i] == 1) {
			t.Fatalf("step %d: height off by %v, contact %v, label %v", i, d, touching, e.Labels[2*i])
		}
		if got, want := float64(e.Labels[2*i+1]), env.TorsoHeight(&s) <= 0.8 || math.Abs(s.Angle[0]) >= 1; want && got != 1 {
			t.Fatalf("step %d: fallen, but labelled %v", i, got)
		}
	}
}

// No figure of this environment is published. These are its own, over 1000 episodes of 50 steps
// under random controls, kept to 10 % so that a change of the physics does not pass unseen.
func TestCalibration_ContactAndFall(t *testing.T) {
	env := newEnv(t)
	var e envs.Episode
	const episodes, length = 1000, 50
	var contact, fallen, fall float64
	for i := range uint32(episodes) {
		env.Simulate(&e, rng.New(6, rng.Episode), i, length)
		for step := range length {
			contact += float64(e.Labels[2*step]) / (episodes * length)
			fall += float64(1-e.Labels[2*step+1]) / episodes
		}
		fallen += float64(e.Labels[2*length-1]) / episodes
	}
	for _, c := range []struct {
		name      string
		got, want float64
	}{
		{"steps with foot contact", contact, 0.394},
		{"episodes that have fallen after 50 steps", fallen, 1},
		{"mean steps before the fall", fall, 10.1},
	} {
		t.Logf("%s: %.4f", c.name, c.got)
		if math.Abs(c.got/c.want-1) > 0.1 {
			t.Errorf("%s: %.4f, want %v ± 10 %%", c.name, c.got, c.want)
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
	if got, want := h.Sum64(), uint64(0x7b2de74878ac9fc6); got != want {
		t.Errorf("hash of episode 0 = %#x, want %#x", got, want)
	}
}

func TestNew_ReportsEveryFault(t *testing.T) {
	_, err := hopper.New(hopper.Config{DT: 0, Substeps: 0, Torque: math.NaN(), Gravity: -1, Friction: -1, Damping: math.Inf(1)})
	if !errors.Is(err, hopper.ErrConfig) {
		t.Fatalf("err = %v, want ErrConfig", err)
	}
	if errs, ok := err.(interface{ Unwrap() []error }); !ok || len(errs.Unwrap()) != 6 {
		t.Errorf("err = %v, want six faults", err)
	}
}

// Steps per second over episodes of 30 steps, as in training.
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

// A limp robot drops from its start and collapses.
func Example() {
	env, err := hopper.New(hopper.DefaultConfig())
	if err != nil {
		panic(err)
	}
	s, _ := env.Reset([3]float64{-0.05, -0.1, 0.05})
	for i := range 60 {
		touching := env.Step(&s, &[3]float64{})
		if i%12 == 0 {
			fmt.Printf("t=%.2f s  torso %.2f m  foot on the ground: %v\n", 0.0165*float64(i+1), env.TorsoHeight(&s), touching)
		}
	}
	// Output:
	// t=0.02 s  torso 1.25 m  foot on the ground: false
	// t=0.21 s  torso 1.18 m  foot on the ground: true
	// t=0.41 s  torso 0.93 m  foot on the ground: true
	// t=0.61 s  torso 0.44 m  foot on the ground: true
	// t=0.81 s  torso 0.25 m  foot on the ground: true
}
