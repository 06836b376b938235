package regimes

import (
	"github.com/switchyard-ml/switchyard/envs"
	"github.com/switchyard-ml/switchyard/rng"
)

const (
	stickyChange = 0.05 // chance that a regime ends with a step
	stickyNoise  = 0.03 // standard deviation of a step of x
	stickySensor = 0.02 // standard deviation of an observation
)

// driven is one regime of Sticky: A·x + b·u + c.
type driven struct {
	affine
	b [2]float64
}

// Sticky is a linear system of the plane with a control, whose regime is a Markov chain that stays where it is at 19 of
// 20 steps, and else goes to either of the other two:
//
//	x_t = ρ_k·R(α_k)·x_{t−1} + b_k·u_t + c_k + .03·ε_t     y_t = x_t + .02·ε'_t     u_t, ε, ε' ~ N(0, 1)
//
//	k | α_k, radians | ρ_k | b_k        | c_k
//	0 |  .3          | .97 | (.1, 0)    | (.1, 0)
//	1 | −.4          | .95 | (0, .1)    | (0, .1)
//	2 |  0           | .9  | (−.1, .1)  | (−.1, −.1)
//
// The first regime is uniform, x ~ N(0, I) before the first step, and u_1 = 0. y is observed, x is the state. Nothing
// that is observed says when a regime ends. Systems and noise are a choice of this package. Sticky is immutable.
type Sticky struct {
	spec    envs.Spec
	regimes [3]driven
}

var _ envs.Switching = (*Sticky)(nil)

// NewSticky returns the three systems.
func NewSticky() *Sticky {
	spec := envs.Spec{Name: "sticky", Observation: 2, Control: 1, State: 2, Labels: []string{"regime"}}
	return &Sticky{spec, [3]driven{
		{turn(0.3, 0.97, [2]float64{0.1, 0}), [2]float64{0.1, 0}},
		{turn(-0.4, 0.95, [2]float64{0, 0.1}), [2]float64{0, 0.1}},
		{turn(0, 0.9, [2]float64{-0.1, -0.1}), [2]float64{-0.1, 0.1}},
	}}
}

// StickyKind is Sticky as a value of env.kind.
func StickyKind() envs.Kind {
	return envs.Kind{
		Name: "sticky", Doc: "three linear systems with a control that switch at random",
		Settings: func() envs.Settings { return new(StickySettings) },
	}
}

// StickySettings are none.
type StickySettings struct{}

// New builds the environment.
func (*StickySettings) New() (envs.Env, error) { return NewSticky(), nil }

// Spec returns the dimensions: y of two, one control, x of two, and the regime.
func (e *Sticky) Spec() envs.Spec { return e.spec }

// Regime is the column of the labels that holds k.
func (*Sticky) Regime() int { return 0 }

// Simulate fills dst as the contract of envs.Env says. The state is carried in float64. Random numbers are consumed in
// the order x, first regime, and for each t: from the second on whether the regime ends, which follows if it does, and
// u; noise of x, noise of y.
func (e *Sticky) Simulate(dst *envs.Episode, key rng.Key, index uint32, T int) {
	dst.Resize(e.spec, T)
	s := key.At(0, 0, index)
	x := [2]float64{s.Normal(), s.Normal()}
	k, u := s.IntN(len(e.regimes)), 0.0
	for t := range T {
		if t > 0 {
			if s.Float64() < stickyChange {
				k = (k + 1 + s.IntN(len(e.regimes)-1)) % len(e.regimes)
			}
			u = s.Normal()
		}
		r := &e.regimes[k]
		x = r.step(x)
		for i := range x {
			x[i] += float64(r.b[i]*u) + float64(stickyNoise*s.Normal())
			dst.States[2*t+i] = float32(x[i])
		}
		for i := range x {
			dst.Observations[2*t+i] = float32(x[i] + float64(stickySensor*s.Normal()))
		}
		dst.Controls[t], dst.Labels[t] = float32(u), float32(k)
	}
}
