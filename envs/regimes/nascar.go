package regimes

import (
	"math"

	"github.com/switchyard-ml/switchyard/envs"
	"github.com/switchyard-ml/switchyard/rng"
)

const (
	nascarBend    = 2.0  // the bends turn around (−2, 0) and (2, 0)
	nascarUpper   = 0.1  // per step, to the right
	nascarLower   = 0.25 // per step, to the left
	nascarNoise   = 0.01 // standard deviation of a step of x
	nascarSensor  = 0.01 // standard deviation of an observation
	nascarScatter = 0.1  // standard deviation of where a car starts
	nascarSeed    = 1    // of the matrix of the observations
)

// NASCAR is a car that goes round a track of two bends and two straights, each a linear system of its own. Which one
// acts follows from where the car is:
//
//	x_t = A_k·x_{t−1} + c_k + .01·ε_t       k = argmax of (x − 2, −x − 2, y, −y) of x_{t−1} = (x, y)
//
//	k | part           | moves by
//	0 | right bend     | a turn of −π/24 around (2, 0)
//	1 | left bend      | a turn of −π/48 around (−2, 0)
//	2 | upper straight | (.1, 0)
//	3 | lower straight | (−.25, 0)
//
// Observed are the state itself, or any number of channels C·x, with entries of C ~ N(0, 1) that are the same in every
// episode; either with noise of standard deviation .01. A car starts anywhere on the straights, at y near 1 or −1. A
// round takes about 120 steps. After the data of Linderman et al. 2017, section 5; their code draws the regime with 100
// times these values as logits. Where cars start is a choice of this package. NASCAR is immutable.
type NASCAR struct {
	spec    envs.Spec
	c       [][2]float64 // of each channel
	regimes [4]affine
}

var _ envs.Switching = (*NASCAR)(nil)

// NewNASCAR returns the track, seen by so many channels; 0: the state itself. The matrix C of channels comes from a
// seed of its own, so it is the same in every run.
func NewNASCAR(channels int) *NASCAR {
	e := &NASCAR{
		spec: envs.Spec{Name: "nascar", Observation: channels, State: 2, Labels: []string{"regime"}},
		regimes: [4]affine{
			turnAround(-math.Pi/24, [2]float64{nascarBend, 0}), turnAround(-math.Pi/48, [2]float64{-nascarBend, 0}),
			turn(0, 1, [2]float64{nascarUpper, 0}), turn(0, 1, [2]float64{-nascarLower, 0}),
		},
	}
	if channels == 0 {
		e.spec.Observation, e.c = 2, [][2]float64{{1, 0}, {0, 1}}
		return e
	}
	s := rng.New(nascarSeed, rng.Init).At(0, 0, 0)
	for range channels {
		e.c = append(e.c, [2]float64{s.Normal(), s.Normal()})
	}
	return e
}

// NASCARKind is NASCAR as a value of env.kind.
func NASCARKind() envs.Kind {
	return envs.Kind{
		Name: "nascar", Doc: "a car on a track of two bends and two straights",
		Settings: func() envs.Settings { return new(NASCARSettings) },
	}
}

// NASCARSettings are the keys of the track.
type NASCARSettings struct {
	Observations int `yaml:"observations" want:"[0,65536]" doc:"observed dimensions; nascar: 0 shows the state itself; files set their own"`
}

// New builds the environment.
func (s *NASCARSettings) New() (envs.Env, error) { return NewNASCAR(s.Observations), nil }

// Spec returns the dimensions: channels, x of two, and the regime.
func (e *NASCAR) Spec() envs.Spec { return e.spec }

// Regime is the column of the labels that holds k.
func (*NASCAR) Regime() int { return 0 }

// Simulate fills dst as the contract of envs.Env says. The state is carried in float64. Random numbers are consumed in
// the order x, straight, scatter of x and y, and for each t: noise of x, noise of the channels.
func (e *NASCAR) Simulate(dst *envs.Episode, key rng.Key, index uint32, T int) {
	dst.Resize(e.spec, T)
	s := key.At(0, 0, index)
	x := [2]float64{s.Uniform(-nascarBend, nascarBend), float64(2*s.IntN(2) - 1)}
	for i := range x {
		x[i] += float64(nascarScatter * s.Normal())
	}
	for t := range T {
		k := section(x)
		x = e.regimes[k].step(x)
		for i := range x {
			x[i] += float64(nascarNoise * s.Normal())
			dst.States[2*t+i] = float32(x[i])
		}
		seen := dst.Observations[t*len(e.c):][:len(e.c)]
		for i, c := range e.c {
			seen[i] = float32(float64(c[0]*x[0]) + float64(c[1]*x[1]) + float64(nascarSensor*s.Normal()))
		}
		dst.Labels[t] = float32(k)
	}
}

// section is the part of the track at x. Of equal values the first counts. The regime of a step is that of where the
// car was before it.
func section(x [2]float64) int {
	k, most := 0, math.Inf(-1)
	for i, v := range [4]float64{x[0] - nascarBend, -x[0] - nascarBend, x[1], -x[1]} {
		if v > most {
			k, most = i, v
		}
	}
	return k
}
