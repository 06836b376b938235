package slds

import "github.com/switchyard-ml/switchyard/model"

// Anneal is the schedule of the Concrete temperatures and the weight of the switch divergence:
//
//	λ(i) = λ_end · max(1, Start·Rate^⌊i/Every⌋)
//
// with one factor for posterior and prior, so that a run begins with nearly uniform mixing weights,
// a globally linear model (paper, appendix "Training").
type Anneal struct {
	Posterior, Prior float64 // final temperatures
	Start, Rate      float64
	Every            uint64
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
	factor := max(1, a.Start)
	for range i / max(a.Every, 1) {
		factor *= a.Rate
		if factor <= 1 {
			factor = 1
			break
		}
	}
	return Temperatures{float32(factor * a.Posterior), float32(factor * a.Prior)}
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
