package statespace

import (
	"github.com/switchyard-ml/switchyard/autodiff"
	"github.com/switchyard-ml/switchyard/model"
)

// Unit is that of the terms of a loss.
const Unit = "nats per sequence and time step"

// Terms are what a negative evidence lower bound has in all families: the loss, and its parts before their weights.
func Terms() []model.Term {
	return []model.Term{
		{Name: "loss", Label: "loss", Short: "loss", Unit: Unit},
		{Name: "reconstruction", Label: "reconstruction", Short: "rec", Unit: Unit, Weight: 1, Bound: 1},
		{Name: "kl_initial", Label: "KL initial", Short: "kl_h", Unit: Unit, Weight: 1, Bound: 1},
		{Name: "kl_state", Label: "KL state", Short: "kl_z", Unit: Unit, Weight: 1, Bound: 1},
	}
}

// Weighted is a part of a loss, summed over sequences and time steps, with its weight.
type Weighted struct {
	Sum    autodiff.Tensor
	Weight float32
}

// mostParts is the most parts that a loss has.
const mostParts = 4

// Loss records the sum of the weighted parts, divided by the numbers of sequences and time steps of the batch. It
// writes to terms the loss, and each part divided alike without its weight, and returns the terms that follow.
func Loss(t *autodiff.Tape, b model.Batch, terms []float32, parts ...Weighted) (loss autodiff.Tensor, rest []float32) {
	unit := 1 / float32(b.T*b.B)
	var weights [mostParts]float32
	var sums [mostParts]autodiff.Tensor
	for i, p := range parts {
		weights[i], sums[i] = float32(unit*p.Weight), p.Sum
		terms[1+i] = unit * p.Sum.Value[0]
	}
	loss = t.WeightedSum(weights[:len(parts)], sums[:len(parts)]...)
	terms[0] = loss.Value[0]
	return loss, terms[1+len(parts):]
}
