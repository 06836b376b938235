package reacher

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/switchyard-ml/switchyard/envs"
	"github.com/switchyard-ml/switchyard/rng"
)

// compile builds a program that drives a reference engine, or skips the test where compiler or
// library are missing.
func compile(t *testing.T, install, source string, flags ...string) string {
	t.Helper()
	program := filepath.Join(t.TempDir(), "reference")
	if out, err := exec.Command("g++", append([]string{"-O1", "-o", program, source}, flags...)...).CombinedOutput(); err != nil {
		first, _, _ := bytes.Cut(out, []byte("\n"))
		t.Skipf("SKIPPED, no comparison: install g++ and %s (%v: %s)", install, err, first)
	}
	return program
}

// ask runs a program on float64 numbers and returns those that it writes.
func ask(t *testing.T, program string, arguments []string, in []float64) []float64 {
	t.Helper()
	var raw, stderr bytes.Buffer
	if err := binary.Write(&raw, binary.LittleEndian, in); err != nil {
		t.Fatal(err)
	}
	command := exec.Command(program, arguments...)
	command.Stdin, command.Stderr, command.Dir = &raw, &stderr, t.TempDir() // MuJoCo logs where it runs
	data, err := command.Output()
	if err != nil {
		t.Fatalf("%v: %s", err, stderr.String())
	}
	out := make([]float64, len(data)/8)
	if err := binary.Read(bytes.NewReader(data), binary.LittleEndian, out); err != nil {
		t.Fatal(err)
	}
	return out
}

// The second body of an engine: link and tip as one.
func secondBody() (mass, moment, centre float64) {
	mass = linkMass + tipMass
	centre = offset / mass
	return mass, momentA2 - mass*centre*centre, centre
}

// A run is an arm's start and its controls.
type run struct {
	start    State
	controls [][2]float64
}

func runs(n, steps int, rate float64) []run {
	key := rng.New(1, rng.Episode)
	list := make([]run, n)
	for i := range list {
		r := key.At(0, 0, uint32(i))
		list[i].start = State{r.Uniform(-3, 3), r.Uniform(-2.5, 2.5), r.Uniform(-rate, rate), r.Uniform(-rate, rate)}
		for range steps {
			list[i].controls = append(list[i].controls, drawControl(&r))
		}
	}
	return list
}

// states are those of env after each step of a run.
func (r run) states(env *Env) (list []State) {
	s := r.start
	for _, u := range r.controls {
		s = env.Step(s, u)
		list = append(list, s)
	}
	return list
}

// torques appends start and torques as the programs read them.
func (r run) torques(in []float64) []float64 {
	in = append(in, r.start.Theta, r.start.Gamma, r.start.ThetaRate, r.start.GammaRate)
	for _, u := range r.controls {
		in = append(in, 0.05*u[0], 0.05*u[1])
	}
	return in
}

const second = 60 // steps in a second, nearly

// difference is the largest distance of the angles of the runs, at each step; out holds four
// numbers for each.
func difference(env *Env, list []run, out []float64) (d [second]float64) {
	for _, r := range list {
		for k, s := range r.states(env) {
			d[k] = max(d[k], math.Abs(s.Theta-out[0]), math.Abs(s.Gamma-out[1]))
			out = out[4:]
		}
	}
	return d
}

// The same equations and the same integrator, from another hand: MuJoCo's Euler, without damping
// and limit. Differences are those of rounding, amplified by the motion.
func TestStep_AgreesWithMuJoCo(t *testing.T) {
	program := compile(t, "libmujoco-dev 2.2.2", "../testdata/mujoco/mujoco.cc", "-lmujoco")
	mass, moment, centre := secondBody()
	model, err := os.ReadFile("../testdata/mujoco/arm.xml")
	if err != nil {
		t.Fatal(err)
	}
	number := func(x float64) string { return fmt.Sprintf("%.17g", x) }
	text := strings.NewReplacer("LINK1", number(linkMoment), "LINK2", number(moment), "MASS2", number(mass), "CENTRE2", number(centre)).Replace(string(model))
	path := filepath.Join(t.TempDir(), "arm.xml")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	env := arm(t, func(c *Config) { c.Damping, c.ElbowLimit = 0, 1e9 })
	list := runs(50, second, 3) // without damping and cap, Euler's steps diverge for some starts
	var in []float64
	for _, r := range list {
		in = r.torques(append(in, second))
	}
	d := difference(env, list, ask(t, program, []string{path}, in))
	t.Logf("largest difference of an angle after 1, 10, 30, 60 steps: %.1e, %.1e, %.1e, %.1e rad", d[0], d[9], d[29], d[59])
	if d[9] > 1e-12 || d[59] > 1e-9 {
		t.Errorf("differences %.1e", d)
	}
}

// bullet moves the runs in Bullet.
func bullet(t *testing.T, program string, list []run, damping, limit float64) []float64 {
	mass, moment, centre := secondBody()
	var in []float64
	for _, r := range list {
		in = append(in, float64(len(r.controls)), 0.0165, damping, limit, linkMass, linkMoment, mass, moment, centre)
		in = r.torques(in)
	}
	return ask(t, program, nil, in)
}

func compileBullet(t *testing.T) string {
	return compile(t, "libbullet-dev 3.24", "testdata/bullet/arm.cc", "-I/usr/include/bullet", "-lBulletDynamics", "-lBulletCollision", "-lLinearMath")
}

// Bullet's multibody, in single precision, without damping is the same. With its damping, which has
// a term in |v| more, the motion of this chaotic arm soon is another: recorded, not bounded.
func TestStep_AgreesWithBullet(t *testing.T) {
	program := compileBullet(t)
	list := runs(100, second, 3)
	for _, c := range []struct {
		name               string
		damping, at1, at60 float64
	}{{"no damping", 0, 1e-5, 0.05}, {"damping 0.04", 0.04, 1e-3, math.Inf(1)}} {
		env := arm(t, func(cfg *Config) { cfg.Damping, cfg.ElbowLimit = c.damping, 1e9 })
		d := difference(env, list, bullet(t, program, list, c.damping, 1e9))
		t.Logf("%s: largest difference of an angle after 1, 10, 30, 60 steps: %.1e, %.1e, %.1e, %.1e rad", c.name, d[0], d[9], d[29], d[59])
		if d[0] > c.at1 || d[59] > c.at60 {
			t.Errorf("%s: differences %.1e", c.name, d)
		}
	}
}

// The distribution of the motion, with damping and elbow limit as Bullet has them, from the same
// starts at rest under the same controls: errors of a static forecast from step 23 on.
func TestCalibration_AgreesWithBullet(t *testing.T) {
	const episodes, reference, length = 3000, 22, 50
	program := compileBullet(t)
	list := runs(episodes, length, 0)
	out := bullet(t, program, list, 0.04, 3)
	env := arm(t, nil)
	var ours, theirs figures
	for _, r := range list {
		var path []State
		for range length {
			path = append(path, State{out[0], out[1], out[2], out[3]})
			out = out[4:]
		}
		theirs.add(path, reference, episodes)
		ours.add(r.states(env), reference, episodes)
	}
	t.Logf("errors after 1, 5, 10 steps: %.4f %.4f %.4f, Bullet %.4f %.4f %.4f", ours.errors[1], ours.errors[5], ours.errors[10], theirs.errors[1], theirs.errors[5], theirs.errors[10])
	t.Logf("steps at the limit %.4f, Bullet %.4f", ours.limit, theirs.limit)
	for _, k := range []int{1, 5, 10} {
		if math.Abs(ours.errors[k]/theirs.errors[k]-1) > 0.05 {
			t.Errorf("error after %d steps %.4f, Bullet %.4f", k, ours.errors[k], theirs.errors[k])
		}
	}
}

// figures are averages over episodes.
type figures struct {
	errors [11]float64 // squared, of all that is observed and moves, after 0 … 10 steps
	limit  float64     // share of steps at the elbow's limit
}

func (f *figures) add(path []State, reference, episodes int) {
	observed := func(s State) [5]float64 {
		x, y := s.Tip()
		return [5]float64{x, y, math.Cos(s.Theta), math.Sin(s.Theta), s.Gamma / 3}
	}
	from := observed(path[reference])
	for k := range f.errors {
		for d, v := range observed(path[reference+k]) {
			f.errors[k] += (v - from[d]) * (v - from[d]) / float64(episodes)
		}
	}
	for _, s := range path[20:] {
		f.limit += indicatorOf(math.Abs(s.Gamma/3) > atLimit) / float64(episodes*(len(path)-20))
	}
}

func indicatorOf(b bool) float64 { return float64(envs.Indicator(b)) }
