// Package reacher simulates the Reacher of OpenAI's Roboschool: a planar arm of two links on a level
// table, driven by torques at shoulder and elbow.
//
// The paper (Becker-Ehmck et al. 2019, section "Reacher") takes the simulator as it is, so this one
// follows what its physics engine, Bullet, does: equations of motion of the two links with the
// moments of their bounding boxes, one semi-implicit Euler step of 0.0165 s per control, an elbow
// that stops at ±3 rad without bouncing, slight damping of all velocities, no friction in the joints.
//
//	symbol      | is                                             | unit or range | kind
//	target      | where the tip should be, plays no part         | m             | observation 0–1, state 0–1
//	tip − target| (x, y), see State.Tip                          | m             | observation 2–3, state 2–3
//	cos θ, sin θ| direction of the first link                    | [−1, 1]       | observation 4–5, state 4–5
//	0.1·θ̇       | rate of the shoulder                           | 10 rad/s      | state 6
//	γ/3         | elbow angle relative to the first link         | [−1, 1]       | observation 6, state 7
//	0.1·γ̇       | rate of the elbow                              | 10 rad/s      | state 8
//	u           | torques at shoulder and elbow, over 0.05 N m   | U[−1, 1]²     | control; u[t] acts from t−1 to t
//	elbow-limit | |γ/3| > 0.99 after the step                    | 0 or 1        | label
//
// Observations are free of noise. Controls are drawn anew at every step.
package reacher

import (
	"errors"
	"math"

	"github.com/switchyard-ml/switchyard/autodiff/kernel"
	"github.com/switchyard-ml/switchyard/envs"
	"github.com/switchyard-ml/switchyard/rng"
)

// Config holds what may be varied. Start from DefaultConfig: a zero is taken literally.
type Config struct {
	DT         float64 // time step, s; default 0.0165
	Torque     float64 // torque at control ±1, N m; default 0.05
	Damping    float64 // of all velocities, 1/s; default 0.04, which Bullet gives every multibody
	RateCap    float64 // largest rate of a joint, rad/s; default 100, Bullet's
	ElbowLimit float64 // the elbow stays within ±ElbowLimit, rad; default 3
	WarmUp     int     // steps under random controls before step 0 is recorded; default 20
}

// DefaultConfig is the Reacher of the paper.
func DefaultConfig() Config {
	return Config{DT: 0.0165, Torque: 0.05, Damping: 0.04, RateCap: 100, ElbowLimit: 3, WarmUp: 20}
}

// ErrConfig is returned for constants that do not describe an arm.
var ErrConfig = errors.New("reacher: invalid constants")

// validate returns all faults, wrapped in ErrConfig. Damping·DT < 1 keeps damping from turning velocities round.
func (c Config) validate() error {
	faults := envs.Constants{Fault: ErrConfig}
	faults.Check("DT", c.DT, c.DT > 0)
	faults.Check("Torque", c.Torque, c.Torque >= 0)
	faults.Check("Damping", c.Damping, c.Damping >= 0 && c.Damping*c.DT < 1)
	faults.Check("RateCap", c.RateCap, c.RateCap > 0)
	faults.Check("ElbowLimit", c.ElbowLimit, c.ElbowLimit > 0)
	faults.Check("WarmUp", float64(c.WarmUp), c.WarmUp >= 0)
	return faults.Err()
}

// Sizes of the arrays, and the reset.
const (
	observations = 7
	states       = 9
	controls     = 2

	targetRange = 0.27 // targets are uniform in [−0.27, 0.27)² m
	jointRange  = 3.14 // joints start uniformly in [−3.14, 3.14) rad, at rest

	rateScale = 0.1  // of the rates in the state
	atLimit   = 0.99 // fraction of the elbow's range beyond which it counts as at its limit
)

// Env is the arm as an environment. It is immutable.
type Env struct {
	cfg  Config
	spec envs.Spec
}

var (
	_ envs.Env    = (*Env)(nil)
	_ envs.Probed = (*Env)(nil)
)

// New returns the arm with the constants of cfg, or all faults of cfg wrapped in ErrConfig.
func New(cfg Config) (*Env, error) {
	if err := cfg.validate(); err != nil {
		return nil, err
	}
	return &Env{cfg, envs.Spec{
		Name: "reacher", Observation: observations, Control: controls, State: states,
		Labels: []string{"elbow-limit"}, DT: cfg.DT,
	}}, nil
}

// Spec returns the dimensions: seven observations, two controls, nine states, one label.
func (e *Env) Spec() envs.Spec { return e.spec }

// Probes are the rates of the joints, turned by the angle of the shoulder, and the limit of the elbow.
func (e *Env) Probes() envs.Probes {
	return envs.Probes{
		Rates: []envs.Column{
			{Name: "shoulder rate", Unit: "10 rad/s", Index: 6},
			{Name: "elbow rate", Unit: "10 rad/s", Index: 8},
		},
		Turned:   []int{4, 5},
		Contacts: []int{0},
		Limited:  []envs.Column{{Name: "elbow angle", Unit: "3 rad", Index: 6}},
	}
}

// Simulate fills dst as the contract of envs.Env says. The state is carried in float64 and rounded to float32 for
// the episode only. Random numbers are consumed in the order target x, y, θ, γ, then two controls for each step,
// those of the warm-up first, of one stream per episode. Controls of the warm-up are not part of the episode.
func (e *Env) Simulate(dst *envs.Episode, key rng.Key, index uint32, T int) {
	dst.Resize(e.spec, T)
	r := key.At(0, 0, index)
	target := [2]float64{r.Uniform(-targetRange, targetRange), r.Uniform(-targetRange, targetRange)}
	var s State
	s.Theta, s.Gamma = r.Uniform(-jointRange, jointRange), r.Uniform(-jointRange, jointRange)
	for range e.cfg.WarmUp {
		s = e.Step(s, drawControl(&r))
	}
	for t := range T {
		var u [controls]float64
		if t > 0 {
			u = drawControl(&r)
			s = e.Step(s, u)
		}
		dst.Controls[controls*t], dst.Controls[controls*t+1] = float32(u[0]), float32(u[1])
		dst.Labels[t] = envs.Indicator(math.Abs(s.Gamma/e.cfg.ElbowLimit) > atLimit)
		e.record(dst.Observations[observations*t:], dst.States[states*t:], s, target)
	}
}

// Step returns the state one time step later under the control u, which is clipped to [−1, 1]. The
// new rates move the angles (semi-implicit Euler), after cap and elbow limit:
//
//	q̇' = q̇ + dt·q̈(q, q̇, τ),  q' = q + dt·q̇'
func (e *Env) Step(s State, u [controls]float64) State {
	c := &e.cfg
	torque := [controls]float64{float64(c.Torque * clip(u[0], 1)), float64(c.Torque * clip(u[1], 1))}
	theta, gamma := Accelerations(s, torque, c.Damping)
	s.ThetaRate = clip(s.ThetaRate+float64(c.DT*theta), c.RateCap)
	s.GammaRate = clip(s.GammaRate+float64(c.DT*gamma), c.RateCap)
	limitElbow(&s, c.ElbowLimit, c.DT)
	s.Theta += float64(c.DT * s.ThetaRate)
	s.Gamma += float64(c.DT * s.GammaRate)
	return s
}

// record writes the observation and the state of one step, in the order of the table of the package comment.
func (e *Env) record(x, state []float32, s State, target [2]float64) {
	sin, cos := kernel.SinCos(s.Theta)
	tipX, tipY := s.Tip()
	gamma := float32(s.Gamma / e.cfg.ElbowLimit)
	x[0], x[1] = float32(target[0]), float32(target[1])
	x[2], x[3] = float32(tipX-target[0]), float32(tipY-target[1])
	x[4], x[5] = float32(cos), float32(sin)
	x[6] = gamma
	copy(state, x[:6])
	state[6] = float32(rateScale * s.ThetaRate)
	state[7] = gamma
	state[8] = float32(rateScale * s.GammaRate)
}

// drawControl draws the torques of a step, shoulder before elbow, uniformly in [−1, 1).
func drawControl(r *rng.Stream) [controls]float64 {
	return [controls]float64{r.Uniform(-1, 1), r.Uniform(-1, 1)}
}

// clip returns x cut to [−bound, bound].
func clip(x, bound float64) float64 { return max(-bound, min(bound, x)) }
