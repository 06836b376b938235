package maze_test

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/switchyard-ml/switchyard/envs"
	"github.com/switchyard-ml/switchyard/envs/envtest"
	"github.com/switchyard-ml/switchyard/envs/maze"
	"github.com/switchyard-ml/switchyard/envs/planar"
	"github.com/switchyard-ml/switchyard/rng"
)

func newEnv(t testing.TB, cfg maze.Config) *maze.Env {
	t.Helper()
	env, err := maze.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	return env
}

// variants are layouts, crowds and time steps, with the hash of their episodes.
var variants = map[string]struct {
	cfg    func() maze.Config
	golden string
}{
	"A":    {maze.A, "e78016255cf371e9be8882fb8a74184bde7abaaec1eabdeec490dce1e808e14f"},
	"B":    {maze.B, "a65ed0f346b4c61d55d349d77c3f638caa6e856602b0add32ac842f7d93f9b4e"},
	"one":  {func() maze.Config { c := maze.A(); c.Balls = 1; return c }, "c9ef5eddf434ca15d7a5c610fc3e6b8453a0f6e8b5f197e26b609340a76c05dc"},
	"many": {func() maze.Config { c := maze.B(); c.Balls, c.DT = maze.MaxBalls, 0.01; return c }, "b1dd6df78075d35859183530f7e7faa83aedea4d431756cfec1da49bd42b4585"},
	"slow": {func() maze.Config { c := maze.A(); c.DT = 0.002; return c }, "95b713d6a74a8e273f31fd123e62c53e35b1fe193ca010d5d3b06cff729b51b5"},
}

func TestConformance(t *testing.T) {
	for name, v := range variants {
		t.Run(name, func(t *testing.T) { envtest.Test(t, newEnv(t, v.cfg())) })
	}
}

func TestEpisodes_Golden(t *testing.T) {
	for name, v := range variants {
		t.Run(name, func(t *testing.T) { envtest.Golden(t, newEnv(t, v.cfg()), v.golden) })
	}
}

func BenchmarkSimulate(b *testing.B) {
	env := newEnv(b, maze.A())
	var e envs.Episode
	key := rng.New(1, rng.Episode)
	for b.Loop() {
		env.Simulate(&e, key, 1, 1000)
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/1000, "ns/step")
}

// The walls of the two layouts: x from, y from, x to, y to.
func TestLayouts(t *testing.T) {
	for name, c := range map[string]struct {
		cfg  maze.Config
		want [][4]float64
	}{
		"A": {maze.A(), [][4]float64{{-0.37, -1, -0.33, 0.1}, {0.33, -0.1, 0.37, 1}, {-1, 0.43, -0.55, 0.47}, {0.55, -0.47, 1, -0.43}}},
		"B": {maze.B(), [][4]float64{{-0.52, 0.1, -0.48, 0.5}, {0.48, -0.5, 0.52, -0.1}, {0.1, 0.48, 0.5, 0.52}, {-0.5, -0.52, -0.1, -0.48}}},
	} {
		walls := newEnv(t, c.cfg).Walls()
		for i, w := range walls {
			got := [4]float64{w.Min.X, w.Min.Y, w.Max.X, w.Max.Y}
			for k := range got {
				if math.Abs(got[k]-c.want[i][k]) > 1e-12 {
					t.Errorf("%s: wall %d is %v, want %v", name, i, got, c.want[i])
					break
				}
			}
		}
		if len(walls) != len(c.want) {
			t.Errorf("%s has %d walls", name, len(walls))
		}
	}
}

// Each state follows from the one before and from its own control, up to the rounding of the states
// to float32: u[t] is causal for x[t]. Checked where nobody met anything.
func TestSimulate_ControlIsCausalForItsObservation(t *testing.T) {
	c := maze.A()
	env := newEnv(t, c)
	var e envs.Episode
	checked := 0
	for index := range uint32(20) {
		env.Simulate(&e, rng.New(2, rng.Episode), index, 50)
		for i := 1; i < e.T; i++ {
			for b := range 3 {
				if e.Labels[12*i+b]+e.Labels[12*i+9+b] > 0 {
					continue
				}
				checked++
				for axis := 2 * b; axis < 2*b+2; axis++ {
					p, v := float64(e.States[12*(i-1)+axis]), float64(e.States[12*(i-1)+6+axis])
					for range 8 {
						v = (v + c.Acceleration*float64(e.Controls[6*i+axis])/160) / (1 + c.Damping/160)
						p += v / 160
					}
					if math.Abs(p-float64(e.States[12*i+axis])) > 1e-6 || math.Abs(v-float64(e.States[12*i+6+axis])) > 1e-5 {
						t.Fatalf("episode %d, step %d, agent %d: (%v, %v), want (%v, %v)", index, i, b, e.States[12*i+axis], e.States[12*i+6+axis], p, v)
					}
				}
			}
		}
	}
	if checked < 1000 {
		t.Errorf("only %d steps were free", checked)
	}
}

// Agents are where there is room; labels say so: a wall is vertical or horizontal, an agent at
// t = 0 has met nothing, and two at least meet when agents do.
func TestSimulate_StatesAndLabels(t *testing.T) {
	for name, c := range map[string]maze.Config{"A": maze.A(), "B": maze.B()} {
		env := newEnv(t, c)
		var e envs.Episode
		var seen [4]int
		for index := range uint32(500) {
			env.Simulate(&e, rng.New(3, rng.Episode), index, 20)
			for i := range e.T {
				x, l := e.States[12*i:12*i+6], e.Labels[12*i:12*i+12]
				met := 0
				for b := range 3 {
					if l[b] != max(l[3+b], l[6+b]) || i == 0 && l[b]+l[9+b] > 0 {
						t.Fatalf("%s: episode %d, step %d: labels %v", name, index, i, l)
					}
					if d := room(env, c, x, b); d < -1e-6 {
						t.Fatalf("%s: episode %d, step %d: agent %d at %v is %v too deep in something", name, index, i, b, x[2*b:2*b+2], -d)
					}
					for kind := range seen {
						seen[kind] += int(l[3*kind+b])
					}
					met += int(l[9+b])
				}
				if met == 1 {
					t.Fatalf("%s: episode %d, step %d: one agent met another, but none met it: %v", name, index, i, l)
				}
			}
			if !slices.Equal(e.Observations[:6], e.States[:6]) {
				t.Fatal("the observation is not the position")
			}
		}
		for kind, n := range seen {
			if n < 50 {
				t.Errorf("%s: label %s was set %d times", name, env.Spec().Labels[3*kind], n)
			}
		}
	}
}

// room is the distance of agent b to what is next to it.
func room(env *maze.Env, c maze.Config, x []float32, b int) float64 {
	px, py := float64(x[2*b]), float64(x[2*b+1])
	free := 1 - c.Radius - max(math.Abs(px), math.Abs(py))
	for _, w := range env.Walls() {
		dx := max(w.Min.X-px, px-w.Max.X, 0)
		dy := max(w.Min.Y-py, py-w.Max.Y, 0)
		free = min(free, math.Hypot(dx, dy)-c.Radius)
	}
	for o := range b {
		free = min(free, math.Hypot(px-float64(x[2*o]), py-float64(x[2*o+1]))-2*c.Radius)
	}
	return free
}

// A shorter step is the same system: the same constant control leads to the same place.
func TestSimulate_StepLengthIsPhysicalTime(t *testing.T) {
	spread := func(dt float64, steps int) (s float64) {
		c := maze.A()
		c.Balls, c.DT, c.Walls = 1, dt, nil
		env := newEnv(t, c)
		var e envs.Episode
		const n = 2000
		for index := range uint32(n) {
			env.Simulate(&e, rng.New(4, rng.Episode), index, steps+1)
			for axis := range 2 {
				d := float64(e.States[4*steps+axis] - e.States[axis])
				s += d * d / n
			}
		}
		return s
	}
	// Over 0.1 s the start velocity decides: E|Δx|² = 2·(2.08²/3)·((1 − e^(−3t))/3)², and a little from controls.
	want := 2 * 2.08 * 2.08 / 3 * math.Pow((1-math.Exp(-0.3))/3, 2)
	for _, c := range []struct {
		dt    float64
		steps int
	}{{0.002, 50}, {0.01, 10}} {
		if got := spread(c.dt, c.steps); math.Abs(got/want-1) > 0.15 {
			t.Errorf("dt = %v: E|Δx|² = %.5f after 0.1 s, want %.5f", c.dt, got, want)
		}
	}
}

func TestNew_ReportsEveryFault(t *testing.T) {
	_, err := maze.New(maze.Config{Radius: 0.06, Acceleration: -1, DT: math.NaN(), Restitution: 2})
	if !errors.Is(err, maze.ErrConfig) || !errors.Is(err, planar.ErrWorld) {
		t.Fatalf("err = %v, want ErrConfig and ErrWorld", err)
	}
	for _, want := range []string{"Balls", "DT", "Acceleration", "Restitution"} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("%q does not name %s", err, want)
		}
	}
	full := maze.A()
	full.Walls = append(full.Walls, planar.Box{Min: planar.Vec{X: -1, Y: -1}, Max: planar.Vec{X: 1, Y: 0.9}})
	large := maze.A()
	large.Radius, large.Balls = 0.4, 4
	// A room of .6 × .6, and 32 agents: they would look for places without end.
	crowded := maze.A()
	crowded.Balls, crowded.Walls = 32, []planar.Box{
		{Min: planar.Vec{X: -1, Y: -1}, Max: planar.Vec{X: 1, Y: 0.4}},
		{Min: planar.Vec{X: -1, Y: 0.4}, Max: planar.Vec{X: 0.4, Y: 1}},
	}
	for name, c := range map[string]maze.Config{"walls everywhere": full, "large agents": large, "a small room": crowded} {
		if _, err := maze.New(c); !errors.Is(err, maze.ErrConfig) {
			t.Errorf("%s: err = %v, want ErrConfig", name, err)
		}
	}
}

// TestGolden pins the bits of an episode: they are part of every run's result.
func TestGolden(t *testing.T) {
	var e envs.Episode
	newEnv(t, maze.A()).Simulate(&e, rng.New(1, rng.Episode), 7, 100)
	want := []float32{
		0x1.13f6e8p-02, 0x1.ac3d9p-03, 0x1.8e9742p-02, -0x1.512edp-02, -0x1.8f61f6p-03, -0x1.7e6012p-01,
		-0x1.c9006ep-02, 0x1.9810a2p+00, -0x1.cc7c1cp-04, -0x1.500446p-01, 0x1.c217a4p-02, -0x1.31081ep-01,
	}
	if got := e.States[99*12:]; !slices.Equal(got, want) {
		t.Errorf("the last state is %x, want %x", got, want)
	}
}

// One agent of three: it passes below the short wall on the left.
func Example() {
	env, err := maze.New(maze.A())
	if err != nil {
		panic(err)
	}
	var e envs.Episode
	env.Simulate(&e, rng.New(1, rng.Episode), 2, 20)
	for t := 0; t < e.T; t += 3 {
		met := ""
		if e.Labels[12*t] == 1 {
			met = "  met a wall"
		}
		fmt.Printf("t=%2d  x=%+.2f  y=%+.2f%s\n", t, e.Observations[6*t], e.Observations[6*t+1], met)
	}
	// Output:
	// t= 0  x=-0.52  y=-0.11
	// t= 3  x=-0.88  y=+0.17
	// t= 6  x=-0.82  y=+0.37
	// t= 9  x=-0.71  y=+0.32
	// t=12  x=-0.67  y=+0.35  met a wall
	// t=15  x=-0.54  y=+0.36  met a wall
	// t=18  x=-0.45  y=+0.37
}
