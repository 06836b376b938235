package envs

import (
	"errors"
	"fmt"

	"github.com/switchyard-ml/switchyard/rng"
)

// ErrNoise is returned for dimensions that no episode can have.
var ErrNoise = errors.New("noise: invalid size")

// Noise is an environment without any structure: observations and controls are independent standard normals. Benchmarks
// and determinism tests feed a model of any size with it, at almost no cost; there is nothing in it to learn. It is
// immutable.
type Noise struct{ observation, control int }

var _ Env = (*Noise)(nil)

// NewNoise returns an environment with the given numbers of observed and control dimensions.
// It returns ErrNoise for less than one observation or a negative number of controls.
func NewNoise(observation, control int) (*Noise, error) {
	if observation < 1 || control < 0 {
		return nil, fmt.Errorf("%w: %d observations, %d controls", ErrNoise, observation, control)
	}
	return &Noise{observation, control}, nil
}

// Spec returns the dimensions. There is no state and there are no labels.
func (e *Noise) Spec() Spec {
	return Spec{Name: "noise", Observation: e.observation, Control: e.control}
}

// Simulate fills dst as the contract of Env says. Observations and controls come from two
// streams, each drawn in the order of its array, so that a longer episode begins with the shorter one.
func (e *Noise) Simulate(dst *Episode, key rng.Key, index uint32, T int) {
	dst.Resize(e.Spec(), T)
	x, u := key.At(0, 0, index), key.At(0, 1, index)
	x.Normals(dst.Observations)
	if T > 0 {
		clear(dst.Controls[:e.control])
		u.Normals(dst.Controls[e.control:])
	}
}

// NoiseKind is noise as a value of env.kind.
func NoiseKind() Kind {
	return Kind{Name: "noise", Doc: "independent normals", Settings: func() Settings { return new(NoiseSettings) }}
}

// NoiseSettings are the keys of noise.
type NoiseSettings struct {
	Observations int `yaml:"observations" want:"[0,65536]" doc:"observed dimensions; nascar: 0 shows the state itself; files set their own"`
	Controls     int `yaml:"controls" want:"[0,65536]" doc:"control dimensions; files set their own"`
}

// New builds the environment.
func (s *NoiseSettings) New() (Env, error) { return NewNoise(s.Observations, s.Controls) }

// Check asks for an observation.
func (s *NoiseSettings) Check() []Fault {
	if s.Observations > 0 {
		return nil
	}
	return []Fault{Faultf([]string{"env.observations", "env.kind"}, "e.g. env.observations=6",
		"env.kind=noise needs at least 1")}
}
