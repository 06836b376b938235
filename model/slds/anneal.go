package slds

import (
	"math"

	"github.com/switchyard-ml/switchyard/model"
)

// Anneal is the schedule of the Concrete temperatures and the weight of the switch divergence:
//
//	λ(i) = λ_end · max(1, Start·Rate^⌊i/Every⌋)
//
// with one factor for posterior and prior, so that a run begins with nearly uniform mixing weights,
// a globally linear model (paper, appendix "Training"). With an End the n multiplications by Rate that lead from Start
// to 1 are spread evenly over the first End updates, whatever Every is: ⌊i·n/End⌋ of them before update i.
type Anneal struct {
	Posterior, Prior float64 // final temperatures
	Start, Rate      float64
	Every            uint64
	End              uint64  // 0: Every counts
	KLSwitch         float64 // β
}

// Temperatures of a training step.
type Temperatures struct{ Posterior, Prior float32 }

// At returns the temperatures of step i, counted from 0. The power is a repeated product, whose bits
// are the same on every machine.
func (a Anneal) At(i uint64) Temperatures {
	if i == model.EndOfSchedule {
		return a.Final()
	}
	// times is how many multiplications by Rate come before step i.
	times := i / max(a.Every, 1)
	switch {
	case a.End > 0 && i >= a.End:
		return a.Final()
	case a.End > 0:
		_, n := a.after(math.MaxUint64)
		times = i * n / a.End
	}
	factor, _ := a.after(times)
	return Temperatures{float32(factor * a.Posterior), float32(factor * a.Prior)}
}

// after is the factor on the temperatures after so many multiplications by Rate, and how many there were: none
// follows the one that leads to 1. With times = MaxUint64 it is the n of the whole way; a rate of 1 makes none.
func (a Anneal) after(times uint64) (factor float64, made uint64) {
	factor = max(1, a.Start)
	if a.Rate >= 1 {
		return factor, 0
	}
	for made < times && factor > 1 {
		factor = max(1, float64(factor*a.Rate))
		made++
	}
	return factor, made
}

// Final returns the temperatures at the end of the schedule, which validation, filtering and forecasts
// use. With a rate of 1 the temperatures never move.
func (a Anneal) Final() Temperatures {
	factor := 1.0
	if a.Rate >= 1 {
		factor = max(1, a.Start)
	}
	return Temperatures{float32(factor * a.Posterior), float32(factor * a.Prior)}
}
