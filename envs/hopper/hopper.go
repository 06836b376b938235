// Package hopper simulates the one-legged Hopper of OpenAI's Roboschool in its vertical plane: torso,
// thigh, leg and foot, three driven hinges, and ground that does not give way.
//
// The paper (Becker-Ehmck et al. 2019) lists the environment's dimensions in its appendix and no
// result, so this simulator follows the robot's description and the settings of Roboschool's physics
// engine, Bullet, where they are known, and owes no trajectory to it:
//
//   - Links are capsules with the masses and moments of capsules. Joints have no friction.
//   - A control is held for four substeps of 0.0165 s / 4. A substep changes the rates by
//     accelerations, then by impulses at contacts and joint limits, then moves the coordinates by the
//     new rates (semi-implicit Euler).
//   - Contacts are inelastic impulses with Coulomb friction, at the ends of the capsules, all found
//     together. A contact acts in the substep in which its gap would close. What the curvature of the
//     motion still puts below ground is lifted out.
//   - Joint limits are inelastic impulses too. Links do not collide with each other.
//   - An episode has a fixed length: it does not end where Roboschool's does, at a torso below 0.8 m
//     or pitched by 1 rad. The robot goes on, lying on the ground; the label fallen is 1 from there on.
//
// Observation and state, in their order (state: all; observation: those marked):
//
//	column  | is                                                       | observation
//	0       | height of the torso above that at step 0, m              | 0
//	1, 2    | sin, cos of the angle between heading and target         | 1, 2
//	3, 4, 5 | 0.3 · velocity of the torso: forward, sideways, up       | –
//	6, 7    | roll and pitch of the torso, rad                         | 3, 4
//	8, 9    | thigh: position in its range scaled to [−1, 1], 0.1·rate | 5
//	10, 11  | leg                                                      | 6
//	12, 13  | foot                                                     | 7
//	14      | 1 if the foot pressed on the ground during the step      | –
//
// all clipped to [−5, 5]. Angles are Euler's, as Roboschool has them, and the target is straight
// ahead: as long as the torso leans by less than 90°, columns 1, 2 and 6 are 0, 1 and 0; a torso that
// leans further has turned around (0, −1, π), its forward velocity changes sign and its pitch falls again.
//
// Controls are the torques at thigh, leg and foot over 75 N m, drawn from U[−1, 1]³ at every step;
// u[t] acts between t−1 and t. Labels are foot-contact (column 14) and fallen.
package hopper

import (
	"errors"
	"math"

	"github.com/switchyard-ml/switchyard/envs"
	"github.com/switchyard-ml/switchyard/rng"
)

// Config holds what may be varied. Start from DefaultConfig: a zero is taken literally.
type Config struct {
	DT       float64 // time step, s; default 0.0165
	Substeps int     // of a time step; default 4
	Torque   float64 // torque at control ±1, N m; default 75
	Gravity  float64 // m/s²; default 9.8
	Friction float64 // coefficient of the ground; default 0.8
	Damping  float64 // of all velocities, 1/s; default 0.04, which Bullet gives every multibody
}

// DefaultConfig is the Hopper of Roboschool.
func DefaultConfig() Config {
	return Config{DT: 0.0165, Substeps: 4, Torque: 75, Gravity: 9.8, Friction: 0.8, Damping: 0.04}
}

// ErrConfig is returned for constants that do not describe a robot on the ground.
var ErrConfig = errors.New("hopper: invalid constants")

// validate returns all faults, wrapped in ErrConfig. Damping·DT < 1 keeps damping from turning velocities round.
func (c Config) validate() error {
	faults := envs.Constants{Fault: ErrConfig}
	faults.Check("DT", c.DT, c.DT > 0)
	faults.Check("Substeps", float64(c.Substeps), c.Substeps > 0)
	faults.Check("Torque", c.Torque, c.Torque >= 0)
	faults.Check("Gravity", c.Gravity, c.Gravity >= 0)
	faults.Check("Friction", c.Friction, c.Friction >= 0)
	faults.Check("Damping", c.Damping, c.Damping >= 0 && c.Damping*c.DT < 1)
	return faults.Err()
}

// Sizes of the arrays, the reset and the scales of the state.
const (
	observations = 8
	states       = 15
	labels       = 2

	jointRange = 0.1 // hinges start uniformly in [−0.1, 0.1) rad

	lowest   = 0.8 // a torso at this height or below has fallen, m
	steepest = 1.0 // or one that is pitched by this, rad

	// Scales of velocities and rates in the state, and the bound of all of its columns.
	speedScale = 0.3
	rateScale  = 0.1
	clipAt     = 5
)

// observed are the columns of the state that are observed. Velocities, rates and contact are not: a model has to
// find them.
var observed = [observations]int{0, 1, 2, 6, 7, 8, 10, 12}

// Env is the robot as an environment. It is immutable.
type Env struct {
	cfg  Config
	spec envs.Spec
	body body
}

var (
	_ envs.Env    = (*Env)(nil)
	_ envs.Probed = (*Env)(nil)
)

// New returns the robot with the constants of cfg, or all faults of cfg wrapped in ErrConfig.
func New(cfg Config) (*Env, error) {
	if err := cfg.validate(); err != nil {
		return nil, err
	}
	return &Env{cfg, envs.Spec{
		Name: "hopper", Observation: observations, Control: hinges, State: states,
		Labels: []string{"foot-contact", "fallen"}, DT: cfg.DT,
	}, newBody()}, nil
}

// Spec returns the dimensions: eight observations, three controls, fifteen states, two labels.
func (e *Env) Spec() envs.Spec { return e.spec }

// Probes are the velocities of the torso in its plane, the rates of the joints, and the foot on the ground.
func (e *Env) Probes() envs.Probes {
	return envs.Probes{
		Rates: []envs.Column{
			{Name: "forward velocity", Unit: "10/3 m/s", Index: 3},
			{Name: "upward velocity", Unit: "10/3 m/s", Index: 5},
			{Name: "thigh rate", Unit: "10 rad/s", Index: 9},
			{Name: "leg rate", Unit: "10 rad/s", Index: 11},
			{Name: "foot rate", Unit: "10 rad/s", Index: 13},
		},
		Contacts: []int{0},
		Limited: []envs.Column{
			{Name: "thigh", Unit: "half its range", Index: 5},
			{Name: "leg", Unit: "half its range", Index: 6},
			{Name: "foot", Unit: "half its range", Index: 7},
		},
	}
}

// Simulate fills dst as the contract of envs.Env says. The state is carried in float64 and rounded
// to float32 for the episode only. Random numbers are consumed in the order thigh, leg, foot, then
// three controls for each step, of one stream per episode.
func (e *Env) Simulate(dst *envs.Episode, key rng.Key, index uint32, T int) {
	dst.Resize(e.spec, T)
	r := key.At(0, 0, index)
	var m motion
	touching := e.reset(&m, [hinges]float64{draw(&r, jointRange), draw(&r, jointRange), draw(&r, jointRange)})
	start, fallen := m.torso(&e.body).z, false
	for t := range T {
		var u [hinges]float64
		if t > 0 {
			u = [hinges]float64{draw(&r, 1), draw(&r, 1), draw(&r, 1)}
			touching = e.step(&m, &u)
		}
		// Once fallen, it stays so: the label marks what comes after an episode of Roboschool.
		fallen = fallen || m.falls(&e.body)
		for j, v := range u {
			dst.Controls[hinges*t+j] = float32(v)
		}
		dst.Labels[labels*t], dst.Labels[labels*t+1] = envs.Indicator(touching), envs.Indicator(fallen)
		state := dst.States[states*t : states*t+states]
		m.record(state, &e.body, start, touching)
		for i, column := range observed {
			dst.Observations[observations*t+i] = state[column]
		}
	}
}

// Reset returns the robot at rest with an upright torso 1.25 m above ground and the given angles of thigh, leg and
// foot, and whether the foot touches the ground. Where a link would be below ground the robot stands higher by as much.
func (e *Env) Reset(hinge [hinges]float64) (s State, touching bool) {
	var m motion
	touching = e.reset(&m, hinge)
	return m.State, touching
}

// reset is Reset for a zero motion. A robot that had to be lifted out of the ground touches it.
func (e *Env) reset(m *motion, hinge [hinges]float64) (touching bool) {
	for j, angle := range hinge {
		m.Angle[j+1] = m.Angle[j] - angle
	}
	m.pose = poseOf(&m.State)
	at := m.torso(&e.body)
	m.X, m.Z = -at.x, torsoHeight-at.z
	return m.place(&e.body) > 0
}

// TorsoHeight returns the height of the centre of the torso above ground in m.
func (e *Env) TorsoHeight(s *State) float64 {
	m := motion{State: *s, pose: poseOf(s)}
	return m.torso(&e.body).z
}

// torso returns the position of the centre of the torso.
func (m *motion) torso(b *body) vec { return vec{m.X, m.Z}.plus(m.pose.end(&b.torso)) }

// falls reports whether the torso is as low or as pitched as where an episode of Roboschool ends.
func (m *motion) falls(b *body) bool {
	pitch, _ := euler(m.Angle[torso])
	return m.torso(b).z <= lowest || math.Abs(pitch) >= steepest
}

// record writes the state of one step. start is the height of the torso at step 0. The table of the package comment
// is the order of values.
func (m *motion) record(dst []float32, b *body, start float64, touching bool) {
	// The torso moves with the centre of mass, and around it as the links turn.
	speed := vec{m.VX, m.VZ}
	for k, d := range m.pose.turning(&b.torso) {
		speed = speed.plus(d.times(m.Rate[k]))
	}
	pitch, around := euler(m.Angle[torso])
	// A torso that has turned around faces backwards: its forward velocity changes sign.
	heading, roll := 1.0, 0.0
	if around {
		heading, roll = -1, math.Pi
	}
	values := [states]float64{
		m.torso(b).z - start, 0, heading,
		float64(speedScale * heading * speed.x), 0, float64(speedScale * speed.z),
		roll, pitch,
	}
	for j, limit := range limits {
		angle, rate := m.Hinge(j)
		values[8+2*j] = (2*angle - limit.low - limit.high) / (limit.high - limit.low)
		values[9+2*j] = float64(rateScale * rate)
	}
	values[14] = float64(envs.Indicator(touching))
	for i, v := range values {
		dst[i] = float32(clip(v, clipAt))
	}
}

// euler returns the pitch in [−π/2, π/2] that the Euler angles of a torso at the given angle have,
// and whether it has turned around: then roll and yaw are π.
func euler(angle float64) (pitch float64, around bool) {
	pitch = angle - float64(2*math.Pi*math.RoundToEven(angle/(2*math.Pi)))
	switch {
	case pitch > math.Pi/2:
		return math.Pi - pitch, true
	case pitch < -math.Pi/2:
		return -math.Pi - pitch, true
	default:
		return pitch, false
	}
}

// draw returns a number uniform in [−bound, bound).
func draw(r *rng.Stream, bound float64) float64 { return r.Uniform(-bound, bound) }

// clip returns x cut to [−bound, bound].
func clip(x, bound float64) float64 {
	if x > bound {
		return bound
	}
	if x < -bound {
		return -bound
	}
	return x
}
