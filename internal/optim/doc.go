// Package optim has the arithmetic of an update: Adam, which computes new parameters from a gradient, and Nesterov's
// momentum, which computes them from the local steps of replicas (DiLoCo). The same calls give the same bits on every
// instruction set. The package works on vectors; it knows nothing of models, messages or files.
package optim

import (
	"errors"
	"fmt"
)

// maxNorm is the largest norm of a usable gradient. The square of 1.8e19 is +Inf in float32, and a parameter whose
// second moment is +Inf never changes again. The margin is for the sum in the moment.
const maxNorm = 1e18

var (
	// ErrOverflow is returned if the norm of a sum over shards is not finite.
	ErrOverflow = errors.New("the sum of the shards' gradients overflows float32")
	// ErrParameters is returned if the parameters are not finite after an update.
	ErrParameters = errors.New("the updated parameters are not finite")
)

// Schedule has the constants of Adam with clipping by the global norm and exponential decay of the rate.
type Schedule struct {
	Rate       float64 // learning rate of the first update
	Decay      float64 // factor on the rate every DecayEvery updates
	DecayEvery uint64  // 0: no decay
	Clip       float64 // largest norm of the gradient; 0: no limit
	Beta1      float64
	Beta2      float64
	Epsilon    float64
}

// At is the rate after that many updates, Rate·Decay^⌊step/DecayEvery⌋, computed by repeated multiplication.
func (s *Schedule) At(step uint64) float64 {
	r := s.Rate
	if s.DecayEvery > 0 {
		for range step / s.DecayEvery {
			r *= s.Decay
		}
	}
	return r
}

// Validate returns all faults of the constants, joined.
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

// Moment is a vector that an optimiser keeps from one update to the next. It has the size of the parameters.
type Moment struct {
	Name   string
	Values []float32
}
