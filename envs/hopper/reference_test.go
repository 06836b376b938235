package hopper

import (
	"bytes"
	"encoding/binary"
	"math"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/switchyard-ml/switchyard/rng"
)

// muJoCo moves the robot from a start under torques, and returns after each substep the place of the
// torso relative to (0, 1.25 m) and the angles of the links. It skips the test where g++ or the
// library are missing.
func muJoCo(t *testing.T, env *Env, starts []State, torques [][][hinges]float64) (out []float64) {
	t.Helper()
	program := filepath.Join(t.TempDir(), "reference")
	if log, err := exec.Command("g++", "-O1", "-o", program, "../testdata/mujoco/mujoco.cc", "-lmujoco").CombinedOutput(); err != nil {
		first, _, _ := bytes.Cut(log, []byte("\n"))
		t.Skipf("SKIPPED, no comparison: install g++ and libmujoco-dev 2.2.2 (%v: %s)", err, first)
	}
	var in []float64
	for i, s := range starts {
		m := motion{State: s, pose: poseOf(&s)}
		at := m.torso(&env.body)
		speed := vec{s.VX, s.VZ}
		for k, d := range m.pose.turning(&env.body.torso) {
			speed = speed.plus(d.times(s.Rate[k]))
		}
		in = append(in, float64(len(torques[i])), at.x, at.z-torsoHeight, s.Angle[torso])
		for j := range hinges {
			angle, _ := s.Hinge(j)
			in = append(in, angle)
		}
		in = append(in, speed.x, speed.z, s.Rate[torso])
		for j := range hinges {
			_, rate := s.Hinge(j)
			in = append(in, rate)
		}
		for _, u := range torques[i] {
			in = append(in, 0, 0, 0, u[0], u[1], u[2])
		}
	}
	var raw, stderr bytes.Buffer
	if err := binary.Write(&raw, binary.LittleEndian, in); err != nil {
		t.Fatal(err)
	}
	model, err := filepath.Abs("../testdata/mujoco/hopper.xml")
	if err != nil {
		t.Fatal(err)
	}
	command := exec.Command(program, model)
	command.Stdin, command.Stderr, command.Dir = &raw, &stderr, t.TempDir() // MuJoCo logs where it runs
	data, err := command.Output()
	if err != nil {
		t.Fatalf("%v: %s", err, stderr.String())
	}
	out = make([]float64, len(data)/8)
	if err := binary.Read(bytes.NewReader(data), binary.LittleEndian, out); err != nil {
		t.Fatal(err)
	}
	return out
}

const dimensionsOfMuJoCo = 12 // qpos and qvel

// fine is the robot with one substep to a step, without damping: Step is one step of MuJoCo's Euler.
func fine(t *testing.T) *Env {
	return robot(t, func(c *Config) { c.DT, c.Substeps, c.Damping = 0.0165/4, 1, 0 })
}

// In flight, under random torques that end before a joint limit, both engines move the same bodies
// by the same integrator: the angles agree to rounding, the torso to the order of the integrator,
// which MuJoCo applies to the torso and we to the centre of mass.
func TestStep_FlightAgreesWithMuJoCo(t *testing.T) {
	const n, steps = 20, 24
	env := fine(t)
	key := rng.New(1, rng.Episode)
	var starts []State
	var torques [][][hinges]float64
	for i := range uint32(n) {
		r := key.At(0, 0, i)
		s, _ := env.Reset([hinges]float64{r.Uniform(-1.5, -1), r.Uniform(-1.5, -1), r.Uniform(-0.2, 0.2)})
		s.Z, s.VX, s.VZ = 4, r.Uniform(-1, 1), r.Uniform(-1, 1)
		for k := range links {
			s.Rate[k] = r.Uniform(-1, 1)
		}
		var list [][hinges]float64
		for range steps {
			list = append(list, [hinges]float64{draw(&r, 5), draw(&r, 5), draw(&r, 1)})
		}
		starts, torques = append(starts, s), append(torques, list)
	}
	out := muJoCo(t, env, starts, torques)
	angles, place := 0.0, 0.0
	for i, s := range starts {
		for _, tau := range torques[i] {
			u := [hinges]float64{tau[0] / 75, tau[1] / 75, tau[2] / 75}
			env.Step(&s, &u)
			angles = max(angles, math.Abs(s.Angle[torso]-out[2]))
			for j := range hinges {
				angle, _ := s.Hinge(j)
				angles = max(angles, math.Abs(angle-out[3+j]))
			}
			m := motion{State: s, pose: poseOf(&s)}
			at := m.torso(&env.body)
			place = max(place, math.Hypot(at.x-out[0], at.z-torsoHeight-out[1]))
			out = out[dimensionsOfMuJoCo:]
		}
	}
	t.Logf("after %d substeps in flight angles differ by at most %.1e rad, the torso by %.1e m", steps, angles, place)
	if angles > 1e-9 || place > 5e-3 {
		t.Errorf("differences: %.1e rad, %.1e m", angles, place)
	}
}

// One limp drop of a second. Until the foot lands the two agree; MuJoCo's contacts and limits then
// are springs, ours impulses, and the fall of a chain of links amplifies the difference.
func TestStep_DropAgreesWithMuJoCo(t *testing.T) {
	const steps = 242
	env := fine(t)
	s, _ := env.Reset([hinges]float64{-0.05, -0.1, 0.05})
	out := muJoCo(t, env, []State{s}, [][][hinges]float64{make([][hinges]float64, steps)})
	landed := 0
	var height, pitch [steps]float64
	for i := range steps {
		if env.Step(&s, new([hinges]float64)) && landed == 0 {
			landed = i + 1
		}
		height[i] = math.Abs(env.TorsoHeight(&s) - torsoHeight - out[1])
		pitch[i] = math.Abs(s.Angle[torso] - out[2])
		out = out[dimensionsOfMuJoCo:]
	}
	for _, i := range []int{landed - 2, landed + 11, 72, 121, 181, 241} {
		t.Logf("%.3f s: torso height differs by %.1e m, pitch by %.1e rad", float64(i+1)*0.0165/4, height[i], pitch[i])
	}
	if height[landed-2] > 1e-9 || height[landed+11] > 0.02 || height[121] > 0.1 {
		t.Errorf("landed at substep %d; height differs by %.1e", landed, height)
	}
}
