package vector

import (
	"errors"
	"fmt"
	"math"

	"github.com/switchyard-ml/switchyard/autodiff/kernel"
)

// Shape is the course of the learning rate over updates.
type Shape uint8

const (
	// Exponential multiplies the rate by Decay every DecayEvery updates.
	Exponential Shape = iota
	// Cosine lets the rate fall from Rate to Final·Rate at update Horizon along half a cosine (Loshchilov and Hutter
	// 2017, without restarts), and stay there.
	Cosine
)

// Schedule has the constants of Adam, of its learning rate and of the clipping of the gradient.
type Schedule struct {
	Rate       float64 // learning rate of the first update after the warm-up
	Shape      Shape
	Decay      float64 // Exponential: factor on the rate every DecayEvery updates
	DecayEvery uint64  // Exponential; 0: no decay
	Horizon    uint64  // Cosine: updates until the rate is at its end
	Final      float64 // Cosine: that end, as a share of Rate
	Warmup     uint64  // the first updates, over which the rate rises from Rate/Warmup in equal steps

	Clip       float64 // largest norm of the gradient; 0: no limit
	ClipFactor float64 // largest norm as a multiple of the norms before: see running; 0: no limit
	ClipSize   float64 // largest size of the gradient in units of Adam's second moment: see Adam.size; 0: no limit
	Outlier    float64 // norm, as the same multiple, above which an update is left out; 0: none is

	Beta1   float64
	Beta2   float64
	Epsilon float64

	Groups []Group // parameters with a rate of their own, in ascending order and apart; those of no group have factor 1
}

// Group is the parameters [From, To), whose rate is Factor times that of the schedule.
type Group struct {
	From, To int
	Factor   float64
}

// At is the rate of update step, counted from 0:
//
//	Exponential: Rate·Decay^⌊step/DecayEvery⌋, by repeated multiplication
//	Cosine:      Rate·(Final + (1 − Final)·½(1 + cos(π·step/Horizon))) before Horizon, then Rate·Final
//
// times (step+1)/Warmup in the first Warmup updates. It is a function of step alone, so a run that is resumed has the
// same rates.
func (s *Schedule) At(step uint64) float64 { return s.at(step, new(decay)) }

// decay is how often a rate was multiplied so far, and what came of it: the next update takes the multiplications that
// are new, and not all of a long run. The zero decay knows nothing.
type decay struct {
	times uint64
	rate  float64
}

// to is the rate of a schedule after so many multiplications.
func (d *decay) to(s *Schedule, times uint64) float64 {
	if d.times == 0 || times < d.times { // it begins, or the run has gone back
		*d = decay{0, s.Rate}
	}
	for ; d.times < times; d.times++ {
		d.rate *= s.Decay
	}
	return d.rate
}

// at is At, given what is known of the updates before, which it makes more of.
func (s *Schedule) at(step uint64, known *decay) float64 {
	r := s.decayed(step, known)
	if step+1 < s.Warmup {
		r = float64(r*float64(step+1)) / float64(s.Warmup)
	}
	return r
}

// decayed is the rate without warm-up. The conversions keep the compiler from fusing products and sums.
func (s *Schedule) decayed(step uint64, known *decay) float64 {
	r := s.Rate
	if s.Shape == Cosine {
		if step >= s.Horizon {
			return float64(r * s.Final)
		}
		// The kernel's cosine has the same bits on every machine; that of package math need not.
		_, cos := kernel.SinCos(float64(math.Pi*float64(step)) / float64(s.Horizon))
		return float64(r * (s.Final + float64((1-s.Final)*float64(0.5*(1+cos)))))
	}
	if s.DecayEvery > 0 {
		return known.to(s, step/s.DecayEvery)
	}
	return r
}

// Validate returns all faults of the constants, joined.
func (s *Schedule) Validate() error {
	var errs []error
	check := func(ok bool, format string, v ...any) {
		if !ok {
			errs = append(errs, fmt.Errorf(format, v...))
		}
	}
	check(s.Rate > 0, "rate: %g is not positive", s.Rate)
	check(s.Shape <= Cosine, "shape of the rate: %d is not known", s.Shape)
	check(s.Shape != Exponential || s.Decay > 0 || s.DecayEvery == 0, "decay: %g is not positive", s.Decay)
	check(s.Shape != Cosine || s.Horizon > 0, "horizon: the cosine has no updates")
	check(s.Final >= 0 && s.Final <= 1, "final rate: %g is not in [0,1]", s.Final)
	check(s.Clip >= 0, "clip: %g is negative", s.Clip)
	check(s.ClipFactor == 0 || s.ClipFactor >= 1, "clip factor: %g is below 1", s.ClipFactor)
	check(s.ClipSize >= 0, "clip size: %g is negative", s.ClipSize)
	check(s.Outlier == 0 || s.Outlier > 1, "outlier: %g is not above 1", s.Outlier)
	check(s.Beta1 >= 0 && s.Beta1 < 1, "beta1: %g is not in [0,1)", s.Beta1)
	check(s.Beta2 >= 0 && s.Beta2 < 1, "beta2: %g is not in [0,1)", s.Beta2)
	check(s.Epsilon > 0, "epsilon: %g is not positive", s.Epsilon)
	end := 0
	for _, g := range s.Groups {
		check(g.From >= end && g.To > g.From, "group of parameters [%d,%d): it follows %d", g.From, g.To, end)
		check(g.Factor >= 0 && g.Factor <= math.MaxFloat32, "group of parameters [%d,%d): factor %g", g.From, g.To, g.Factor)
		end = g.To
	}
	return errors.Join(errs...)
}

// groups calls update for each part of [from, to) whose parameters have the same factor, in order. The calls cover
// [from, to) without gaps.
func (s *Schedule) groups(from, to int, update func(from, to int, factor float64)) {
	for _, g := range s.Groups {
		if g.To <= from || g.From >= to {
			continue
		}
		if from < g.From {
			update(from, g.From, 1)
			from = g.From
		}
		end := min(g.To, to)
		update(from, end, g.Factor)
		from = end
	}
	if from < to {
		update(from, to, 1)
	}
}
