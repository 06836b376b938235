// Package fhn simulates the FitzHugh–Nagumo oscillator, a two-dimensional caricature of a neuron that rests, fires and
// recovers:
//
//	dv/dt = v − v³/3 − w + I(t)        τ dw/dt = v + a − b·w
//
// integrated by explicit Euler steps of dt, with a stimulus I drawn anew at every step from N(mean, sd²). Becker-Ehmck
// et al. 2019, section "FitzHugh-Nagumo", after Nassar et al. 2019; the step length and the redrawing of I at every
// step are not in the text of either paper: they follow the public code of the latter, and of the readings tried only
// these give the published multi-step errors.
//
//	symbol      | is                          | range                       | kind
//	x = (v, w)  | membrane potential, recovery| about [−2.5, 2.5], [−1, 2]  | observation and state, noise-free
//	u           | (I − mean)/sd               | standard normal             | control; u[t] acts between t−1 and t
//	silent      | v ≤ −1, left branch         | 0 or 1                      | label
//	active      | v ≥ 1, right branch         | 0 or 1                      | label
//
// The cubic v-nullcline turns at v = ±1: an orbit creeps along one of its outer branches and jumps to the other, so the
// labels name the phases that a switching model may discover.
package fhn

import (
	"errors"

	"github.com/switchyard-ml/switchyard/envs"
	"github.com/switchyard-ml/switchyard/rng"
)

// Config holds the constants of the oscillator. Start from DefaultConfig, because a zero is not replaced by a default.
type Config struct {
	DT           float64 // length of an Euler step; default 0.1
	A            float64 // a, offset of the recovery; default 0.7
	B            float64 // b, damping of the recovery; default 0.8
	Rate         float64 // 1/τ, speed of the recovery; default 0.08 (τ = 12.5)
	StimulusMean float64 // mean of I; default 0.7
	StimulusSD   float64 // standard deviation of I at each step; default 0.2. Zero: a constant stimulus, u has no effect
	Start        float64 // v and w start uniformly in [−Start, Start); default 3
}

// DefaultConfig is the setting of the paper.
func DefaultConfig() Config {
	return Config{DT: 0.1, A: 0.7, B: 0.8, Rate: 0.08, StimulusMean: 0.7, StimulusSD: 0.2, Start: 3}
}

// ErrConfig is returned for constants that do not describe an oscillator.
var ErrConfig = errors.New("fhn: invalid constants")

// validate returns all faults, wrapped in ErrConfig. A, B and StimulusMean may have any sign.
func (c Config) validate() error {
	faults := envs.Constants{Fault: ErrConfig}
	faults.Check("DT", c.DT, c.DT > 0)
	faults.Check("A", c.A, true)
	faults.Check("B", c.B, true)
	faults.Check("Rate", c.Rate, c.Rate > 0)
	faults.Check("StimulusMean", c.StimulusMean, true)
	faults.Check("StimulusSD", c.StimulusSD, c.StimulusSD >= 0)
	faults.Check("Start", c.Start, c.Start >= 0)
	return faults.Err()
}

// Env is the oscillator as an environment. It is immutable.
type Env struct {
	cfg  Config
	spec envs.Spec
}

var _ envs.Env = (*Env)(nil)

// New returns the oscillator with the constants of cfg, or all faults of cfg wrapped in ErrConfig.
func New(cfg Config) (*Env, error) {
	if err := cfg.validate(); err != nil {
		return nil, err
	}
	return &Env{cfg, envs.Spec{
		Name: "fhn", Observation: 2, Control: 1, State: 2,
		Labels: []string{"silent", "active"}, DT: cfg.DT,
	}}, nil
}

// Spec returns the dimensions: two observations, one control, two states, two labels.
func (e *Env) Spec() envs.Spec { return e.spec }

// Simulate fills dst as the contract of envs.Env says. The state is carried in float64 and rounded to float32 for the
// episode only. Random numbers are consumed in the order v_0, w_0, u_1, u_2, … of one stream per episode.
func (e *Env) Simulate(dst *envs.Episode, key rng.Key, index uint32, T int) {
	dst.Resize(e.Spec(), T)
	s := key.At(0, 0, index)
	v := s.Uniform(-e.cfg.Start, e.cfg.Start)
	w := s.Uniform(-e.cfg.Start, e.cfg.Start)
	for t := range T {
		u := 0.0
		if t > 0 {
			u = s.Normal()
			v, w = e.Step(v, w, u)
		}
		dst.Controls[t] = float32(u)
		x := dst.Observations[2*t : 2*t+2]
		x[0], x[1] = float32(v), float32(w)
		copy(dst.States[2*t:], x)
		dst.Labels[2*t] = envs.Indicator(v <= -1)
		dst.Labels[2*t+1] = envs.Indicator(v >= 1)
	}
}

// Step returns the state one step later under the standardised stimulus u:
//
//	v' = v + dt·(v − v³/3 − w + I),  w' = w + dt·rate·(v + a − b·w),  I = mean + sd·u
//
// Step(v, w, 0) is the best prediction of one step for someone who cannot see I.
// Products are rounded before they are added, so that no compiler fuses them.
func (e *Env) Step(v, w, u float64) (float64, float64) {
	dv, dw := e.Field(v, w, u)
	return v + float64(e.cfg.DT*dv), w + float64(e.cfg.DT*dw)
}

// Field returns the time derivative (dv/dt, dw/dt) under the standardised stimulus u.
func (e *Env) Field(v, w, u float64) (dv, dw float64) {
	c := e.cfg
	stimulus := c.StimulusMean + float64(c.StimulusSD*u)
	cubic := float64(float64(v*v)*v) / 3
	dv = v - cubic - w + stimulus
	dw = float64(c.Rate * (v + c.A - float64(c.B*w)))
	return dv, dw
}

// Nullclines returns the values of w at which v does not change (dv/dt = 0) and at which w does not change (dw/dt = 0),
// for a given v and the mean stimulus. The second is infinite for B = 0.
func (e *Env) Nullclines(v float64) (ofV, ofW float64) {
	c := e.cfg
	return v - float64(float64(v*v)*v)/3 + c.StimulusMean, (v + c.A) / c.B
}
