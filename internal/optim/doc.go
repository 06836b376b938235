// Package optim is the arithmetic of an update: Adam, which turns a gradient into new parameters, and Nesterov's momentum,
// which turns what replicas have made of the parameters by themselves into new ones (DiLoCo). The same calls give the same
// bits on every instruction set. It sees vectors, and knows nothing of models, messages or files.
package optim

import (
	"errors"
	"fmt"
)

// maxNorm bounds a gradient: from 1.8e19 on its square is +Inf in float32, and a parameter whose second moment is +Inf
// never moves again. The margin is for the sum of the moment.
const maxNorm = 1e18

var (
	// ErrOverflow is returned for a sum over shards whose norm is not finite.
	ErrOverflow = errors.New("the sum of the shards' gradients overflows float32")
	// ErrParameters is returned when the parameters are not finite after an update.
	ErrParameters = errors.New("the updated parameters are not finite")
)

// Schedule holds the constants of Adam with clipping by global norm and exponential decay of the rate.
type Schedule struct {
	Rate       float64 // learning rate of the first update
	Decay      float64 // factor on the rate every DecayEvery updates
	DecayEvery uint64  // 0: no decay
	Clip       float64 // bound on the gradient's norm; 0: no bound
	Beta1      float64
	Beta2      float64
	Epsilon    float64
}

// At is the rate of the update after so many, Rate·Decay^⌊step/DecayEvery⌋, by repeated multiplication.
func (s *Schedule) At(step uint64) float64 {
	r := s.Rate
	if s.DecayEvery > 0 {
		for range step / s.DecayEvery {
			r *= s.Decay
		}
	}
	return r
}

// Validate joins all that is wrong with the constants.
func (s *Schedule) Validate() error {
	var errs []error
	check := func(ok bool, format string, v float64) {
		if !ok {
			errs = append(errs, fmt.Errorf(format, v))
		}
	}
	check(s.Rate > 0, "rate: %g is not positive", s.Rate)
	check(s.Decay > 0 || s.DecayEvery == 0, "decay: %g is not positive", s.Decay)
	check(s.Clip >= 0, "clip: %g is negative", s.Clip)
	check(s.Beta1 >= 0 && s.Beta1 < 1, "beta1: %g is not in [0,1)", s.Beta1)
	check(s.Beta2 >= 0 && s.Beta2 < 1, "beta2: %g is not in [0,1)", s.Beta2)
	check(s.Epsilon > 0, "epsilon: %g is not positive", s.Epsilon)
	return errors.Join(errs...)
}

// Moment is a vector that an optimiser carries from one update to the next, of the parameters' size.
type Moment struct {
	Name   string
	Values []float32
}
