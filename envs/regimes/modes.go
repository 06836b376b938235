package regimes

import (
	"github.com/switchyard-ml/switchyard/envs"
	"github.com/switchyard-ml/switchyard/rng"
)

const (
	modesNoise  = 0.03 // standard deviation of a step of x
	modesSensor = 0.05 // standard deviation of an observation
)

// rotation is one regime of Modes. A visit to it lasts shortest to longest steps, each number with the same chance.
type rotation struct {
	affine
	shortest int // steps
	longest  int
}

// Modes are three rotations of the plane that take turns, each for a number of steps with a distribution of its own:
//
//	x_t = ρ_k·R(α_k)·x_{t−1} + c_k + .03·ε_t        y_t = x_t + .05·ε'_t        ε, ε' ~ N(0, I)
//
//	k | α_k, radians | ρ_k | c_k         | steps, uniformly
//	0 |  .35         | .99 | (.1, 0)     | 4 to 6
//	1 | −.2          | .99 | (0, .1)     | 9 to 12
//	2 |  .8          | .95 | (−.15, −.1) | 15 to 18
//
// The first regime is uniform, and begins at the first step; the next one is any of the other two. Before the first
// step x ~ N(0, I). y is observed, x is the state. The durations are those of Ansari et al. 2021, section 5.1, "3 mode
// system"; angles, offsets and noise are a choice of this package. Modes is immutable.
type Modes struct {
	spec    envs.Spec
	regimes [3]rotation
}

var _ envs.Switching = (*Modes)(nil)

// NewModes returns the three rotations.
func NewModes() *Modes {
	spec := envs.Spec{Name: "modes", Observation: 2, State: 2, Labels: []string{"regime"}}
	return &Modes{spec, [3]rotation{
		{turn(0.35, 0.99, [2]float64{0.1, 0}), 4, 6},
		{turn(-0.2, 0.99, [2]float64{0, 0.1}), 9, 12},
		{turn(0.8, 0.95, [2]float64{-0.15, -0.1}), 15, 18},
	}}
}

// ModesKind is Modes as a value of env.kind.
func ModesKind() envs.Kind {
	return envs.Kind{
		Name: "modes", Doc: "three rotations of the plane that take turns",
		Settings: func() envs.Settings { return new(ModesSettings) },
	}
}

// ModesSettings are none.
type ModesSettings struct{}

// New builds the environment.
func (*ModesSettings) New() (envs.Env, error) { return NewModes(), nil }

// Spec returns the dimensions: y of two, x of two, and the regime.
func (e *Modes) Spec() envs.Spec { return e.spec }

// Regime is the column of the labels that holds k.
func (*Modes) Regime() int { return 0 }

// Simulate fills dst as the contract of envs.Env says. The state is carried in float64. Random numbers are consumed in
// the order x, first regime, its steps, and for each t: regime and steps where one ends, noise of x, noise of y.
func (e *Modes) Simulate(dst *envs.Episode, key rng.Key, index uint32, T int) {
	dst.Resize(e.spec, T)
	s := key.At(0, 0, index)
	x := [2]float64{s.Normal(), s.Normal()}
	k := s.IntN(len(e.regimes))
	left := e.regimes[k].duration(&s)
	for t := range T {
		if left == 0 {
			k = (k + 1 + s.IntN(len(e.regimes)-1)) % len(e.regimes)
			left = e.regimes[k].duration(&s)
		}
		left--
		x = e.regimes[k].step(x)
		for i := range x {
			x[i] += float64(modesNoise * s.Normal())
			dst.States[2*t+i] = float32(x[i])
		}
		for i := range x {
			dst.Observations[2*t+i] = float32(x[i] + float64(modesSensor*s.Normal()))
		}
		dst.Labels[t] = float32(k)
	}
}

// duration draws how many steps the regime lasts.
func (r *rotation) duration(s *rng.Stream) int { return r.shortest + s.IntN(r.longest-r.shortest+1) }
