package maze_test

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"

	"github.com/switchyard-ml/switchyard/envs"
	"github.com/switchyard-ml/switchyard/envs/maze"
	"github.com/switchyard-ml/switchyard/rng"
)

// A flight is what Box2D is asked to repeat, in the layout of envs.Episode: states and controls of
// T steps, and what came out.
type flight struct {
	states, controls []float32
	p, v             []float64 // [T, 2n] of Box2D
	wall, ball       []float64 // [T, n]
}

// box2D compiles the harness, or skips the test where compiler or library are missing.
func box2D(t *testing.T) string {
	t.Helper()
	program := filepath.Join(t.TempDir(), "box2d")
	if out, err := exec.Command("g++", "-O2", "-o", program, "testdata/box2d/box2d.cc", "-lbox2d").CombinedOutput(); err != nil {
		first, _, _ := bytes.Cut(out, []byte("\n"))
		t.Skipf("SKIPPED, no comparison with Box2D: install g++ and libbox2d-dev 2.4.1 (%v: %s)", err, first)
	}
	return program
}

// repeat lets Box2D fly all flights of T steps.
func repeat(t *testing.T, program string, c maze.Config, T int, flights []*flight) {
	t.Helper()
	in := []float64{c.Radius, c.Acceleration, c.Damping, c.Restitution, c.DT, float64(len(c.Walls))}
	for _, w := range c.Walls {
		in = append(in, w.Min.X, w.Min.Y, w.Max.X, w.Max.Y)
	}
	n := c.Balls
	in = append(in, float64(n), float64(len(flights)), float64(T))
	for _, f := range flights {
		for _, x := range slices.Concat(f.states[:4*n], f.controls[2*n:]) {
			in = append(in, float64(x))
		}
	}
	var raw bytes.Buffer
	if err := binary.Write(&raw, binary.LittleEndian, in); err != nil {
		t.Fatal(err)
	}
	command := exec.Command(program)
	command.Stdin = &raw
	out, err := command.Output()
	if err != nil {
		t.Fatal(err)
	}
	values := make([]float64, len(flights)*T*6*n)
	if err := binary.Read(bytes.NewReader(out), binary.LittleEndian, values); err != nil {
		t.Fatal(err)
	}
	for _, f := range flights {
		for range T {
			f.p, f.v = append(f.p, values[:2*n]...), append(f.v, values[2*n:4*n]...)
			f.wall, f.ball = append(f.wall, values[4*n:5*n]...), append(f.ball, values[5*n:6*n]...)
			values = values[6*n:]
		}
	}
}

// steps cuts episodes into flights of one step each, with the states and labels that they should have.
func steps(env envs.Env, episodes uint32) (flights []*flight, next, labels [][]float32) {
	n := env.Spec().Control / 2
	for index := range episodes {
		var e envs.Episode
		env.Simulate(&e, rng.New(5, rng.Episode), index, 20)
		for i := range e.T - 1 {
			flights = append(flights, &flight{states: e.States[4*n*i : 4*n*(i+1)], controls: e.Controls[2*n*i : 2*n*(i+2)]})
			next, labels = append(next, e.States[4*n*(i+1):4*n*(i+2)]), append(labels, e.Labels[4*n*(i+1):4*n*(i+2)])
		}
	}
	return flights, next, labels
}

// distribution logs the median, the 95th percentile and the largest of some differences and compares the
// first two with bounds.
func distribution(t *testing.T, what string, off []float64, median, high float64) {
	t.Helper()
	slices.Sort(off)
	at := func(q float64) float64 { return off[int(q*float64(len(off)-1))] }
	t.Logf("%s, %d steps: off by median %.2g, 95 %% %.2g, most %.2g", what, len(off), at(0.5), at(0.95), at(1))
	if at(0.5) > median || at(0.95) > high {
		t.Errorf("%s: want a median of at most %v, 95 %% at most %v", what, median, high)
	}
}

// One step from the same state: what Box2D makes of it, beside ours. Without contact only its float32
// separates the two. An impact it notices at the end of a sub-step, too late by up to v/160 of way.
func TestBox2D_OneStep(t *testing.T) {
	program := box2D(t)
	for _, v := range []struct {
		name string
		cfg  maze.Config
		wall float64 // bound on the median after an impact; thrice that for two agents
	}{{"A", maze.A(), 0.003}, {"B", maze.B(), 0.008}} {
		flights, next, labels := steps(newEnv(t, v.cfg), 300)
		repeat(t, program, v.cfg, 2, flights)
		var free, wall, ball []float64
		agree := 0
		for k, f := range flights {
			for b := range 3 {
				off := math.Hypot(f.p[6+2*b]-float64(next[k][2*b]), f.p[6+2*b+1]-float64(next[k][2*b+1]))
				if (f.wall[3+b] > 0) == (labels[k][b] > 0) && (f.ball[3+b] > 0) == (labels[k][9+b] > 0) {
					agree++
				}
				switch {
				case labels[k][9+b] > 0 || f.ball[3+b] > 0:
					ball = append(ball, off)
				case labels[k][b] > 0 || f.wall[3+b] > 0:
					wall = append(wall, off)
				default:
					free = append(free, off)
				}
			}
		}
		distribution(t, v.name+": position, nothing met", free, 1e-6, 1e-6)
		distribution(t, v.name+": position, wall met", wall, v.wall, 4*v.wall)
		distribution(t, v.name+": position, other agent met", ball, 3*v.wall, 24*v.wall)
		share := float64(agree) / float64(3*len(flights))
		t.Logf("%s: the same labels in %.2f %% of the steps", v.name, 100*share)
		if share < 0.98 {
			t.Errorf("%s: the same labels in %.2f %% of the steps only", v.name, 100*share)
		}
	}
}

// Without forces, an impact on the face of a wall has one outcome, whenever it is noticed.
func TestBox2D_VelocityAfterAnImpact(t *testing.T) {
	program := box2D(t)
	for _, e := range []float64{0.5, 0.9, 1} {
		c := maze.A()
		c.Balls, c.Acceleration, c.Damping, c.Restitution, c.Walls = 1, 0, 0, e, nil
		flights, next, labels := steps(newEnv(t, c), 2000)
		repeat(t, program, c, 2, flights)
		var off []float64
		for k, f := range flights {
			if labels[k][0] > 0 && f.wall[1] > 0 {
				off = append(off, math.Hypot(f.v[2]-float64(next[k][2]), f.v[3]-float64(next[k][3])))
			}
		}
		distribution(t, fmt.Sprintf("e = %v: velocity after an impact", e), off, 1e-6, 1e-5)
	}
}

// Episodes with the same starts and controls: motion is chaotic, the statistics agree.
func TestBox2D_Statistics(t *testing.T) {
	program := box2D(t)
	const episodes, T = 2000, 20
	for _, v := range []struct {
		name string
		cfg  maze.Config
	}{{"A", maze.A()}, {"B", maze.B()}} {
		env := newEnv(t, v.cfg)
		var flights []*flight
		for index := range uint32(episodes) {
			var e envs.Episode
			env.Simulate(&e, rng.New(1, rng.Episode), index, T)
			flights = append(flights, &flight{states: e.States, controls: e.Controls})
		}
		repeat(t, program, v.cfg, T, flights)
		ours := measure(env, episodes)
		var theirs figures
		for _, f := range flights {
			for k := range 10 {
				for i := range 6 {
					d, g := f.p[6*(4+k)+i]-f.p[6*3+i], f.p[6*(1+k)+i]-f.p[i]
					theirs.fromFourth[k] += d * d / episodes
					theirs.fromFirst[k] += g * g / episodes
				}
			}
			theirs.wall += sum(f.wall[3:]) / (episodes * (T - 1) * 3)
			theirs.ball += sum(f.ball[3:]) / (episodes * (T - 1) * 3)
		}
		t.Logf("layout %s: target is Box2D", v.name)
		for _, k := range []int{1, 5, 10} {
			within(t, "sum from the fourth", sum(ours.fromFourth[:k]), sum(theirs.fromFourth[:k]), 0.03)
			within(t, "from the first", ours.fromFirst[k-1], theirs.fromFirst[k-1], 0.03)
		}
		within(t, "wall contact", ours.wall, theirs.wall, 0.10)
		within(t, "contact of two", ours.ball, theirs.ball, 0.15)
	}
}
