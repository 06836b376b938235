package regimes

import (
	"github.com/switchyard-ml/switchyard/envs"
	"github.com/switchyard-ml/switchyard/rng"
)

const (
	bounceWall   = 2.0   // the walls are at −2 and 2
	bounceSpeed  = 0.16  // per step
	bounceStart  = 1.6   // no ball starts farther out
	bounceNoise  = 0.012 // standard deviation of a step of x
	bounceSensor = 0.04  // standard deviation of an observation
)

// Bounce is a ball on a line between walls at −2 and 2, whose direction is the regime:
//
//	x_t = x_{t−1} ± .16 + .012·ε_t        y_t = x_t + .04·ε'_t        ε, ε' ~ N(0, 1)
//
//	k | direction  | ends after a step with
//	0 | down, −.16 | x_t < −2
//	1 | up, +.16   | x_t > 2
//
// The first direction is either with the same chance, and before the first step x is uniform on [−1.6, 1.6). y is
// observed, x is the state. After the bouncing ball of Dong et al. 2020 and Ansari et al. 2021, section 5.1; speed and
// noise are a choice of this package. Bounce is immutable.
type Bounce struct{ spec envs.Spec }

var _ envs.Switching = (*Bounce)(nil)

// NewBounce returns the ball between two walls.
func NewBounce() *Bounce {
	return &Bounce{envs.Spec{Name: "bounce", Observation: 1, State: 1, Labels: []string{"regime"}}}
}

// BounceKind is Bounce as a value of env.kind.
func BounceKind() envs.Kind {
	return envs.Kind{
		Name: "bounce", Doc: "ball on a line between two walls",
		Settings: func() envs.Settings { return new(BounceSettings) },
	}
}

// BounceSettings are none.
type BounceSettings struct{}

// New builds the environment.
func (*BounceSettings) New() (envs.Env, error) { return NewBounce(), nil }

// Spec returns the dimensions: y, x and the regime.
func (e *Bounce) Spec() envs.Spec { return e.spec }

// Regime is the column of the labels that holds k.
func (*Bounce) Regime() int { return 0 }

// Simulate fills dst as the contract of envs.Env says. The state is carried in float64. Random numbers are consumed in
// the order x, first direction, and for each t: noise of x, noise of y.
func (e *Bounce) Simulate(dst *envs.Episode, key rng.Key, index uint32, T int) {
	dst.Resize(e.spec, T)
	s := key.At(0, 0, index)
	x := s.Uniform(-bounceStart, bounceStart)
	up := s.IntN(2) == 1
	for t := range T {
		step := float64(bounceNoise * s.Normal())
		if up {
			x += bounceSpeed + step
		} else {
			x += step - bounceSpeed
		}
		dst.States[t] = float32(x)
		dst.Observations[t] = float32(x + float64(bounceSensor*s.Normal()))
		dst.Labels[t] = envs.Indicator(up)
		// The regime that a wall begins acts from the next step on.
		up = up && x <= bounceWall || !up && x < -bounceWall
	}
}
