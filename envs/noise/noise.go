// Package noise is an environment without any structure: observations and controls are independent
// standard normals. Benchmarks and determinism tests use it to feed a model of any size with data
// that cost almost nothing to make; there is nothing in them to learn.
package noise

import (
	"errors"
	"fmt"

	"github.com/switchyard-ml/switchyard/envs"
	"github.com/switchyard-ml/switchyard/rng"
)

// ErrSize is returned for dimensions that no episode can have.
var ErrSize = errors.New("noise: invalid size")

// Env produces episodes of independent standard normals. It is immutable.
type Env struct{ observation, control int }

var _ envs.Env = (*Env)(nil)

// New returns an environment with the given numbers of observed and control dimensions.
// It returns ErrSize for less than one observation or a negative number of controls.
func New(observation, control int) (*Env, error) {
	if observation < 1 || control < 0 {
		return nil, fmt.Errorf("%w: %d observations, %d controls", ErrSize, observation, control)
	}
	return &Env{observation, control}, nil
}

// Spec returns the dimensions. There is no state and there are no labels.
func (e *Env) Spec() envs.Spec {
	return envs.Spec{Name: "noise", Observation: e.observation, Control: e.control}
}

// Simulate fills dst as the contract of envs.Env says. Observations and controls come from two
// streams, each drawn in the order of its array, so that a longer episode begins with the shorter one.
func (e *Env) Simulate(dst *envs.Episode, key rng.Key, index uint32, T int) {
	dst.Resize(e.Spec(), T)
	x, u := key.At(0, 0, index), key.At(0, 1, index)
	x.Normals(dst.Observations)
	if T > 0 {
		clear(dst.Controls[:e.control])
		u.Normals(dst.Controls[e.control:])
	}
}
