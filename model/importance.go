package model

import (
	"math"

	"github.com/switchyard-ml/switchyard/autodiff"
	"github.com/switchyard-ml/switchyard/autodiff/kernel"
	"github.com/switchyard-ml/switchyard/rng"
)

// Weighing is a model with latent variables z whose inference can be weighed against the model draw by draw.
type Weighing interface {
	Trainable
	// LogWeights draws the latent variables of every sequence once, z ~ q(z | x), with all schedules at their end, and
	// writes log p(x, z) − log q(z | x) of each sequence. The tape evaluates.
	LogWeights(tape *autodiff.Tape, b Batch, noise rng.Stream, dst []float64)
}

// Importance computes the importance-weighted bound (Burda, Grosse and Salakhutdinov 2016) of each sequence,
//
//	log (1/K)·Σₖ wₖ,  wₖ = p(x, zₖ)/q(zₖ | x),  zₖ ~ q(z | x)
//
// whose expectation rises with K, from the evidence lower bound at K = 1 towards log p(x). It reuses its memory.
type Importance struct {
	// log wₖ
	weights [][]float64 // by draw, then by sequence
	// log wₖ − max, then its exponentials; they go through package kernel, whose bits do not depend on the machine
	shifted []float32
}

// Bound returns the mean over the sequences of a batch, in nats per sequence and time step, with the given number
// of draws; draw k uses noise(k). The bits are the same on every machine. A sequence with a weight that is
// infinite or NaN makes the mean so. Before every draw the tape begins a pass without records.
func (i *Importance) Bound(m Weighing, tape *autodiff.Tape, b Batch, samples int,
	noise func(k int) rng.Stream,
) float64 {
	// Memory of an earlier call is reused; it grows to the largest number of draws and sequences.
	for len(i.weights) < samples {
		i.weights = append(i.weights, nil)
	}
	for k := range samples {
		if cap(i.weights[k]) < b.B {
			i.weights[k] = make([]float64, b.B)
		}
		i.weights[k] = i.weights[k][:b.B]
		tape.Evaluate()
		m.LogWeights(tape, b, noise(k), i.weights[k])
	}
	sum := 0.0
	for sequence := range b.B {
		sum += i.logMean(sequence, samples)
	}
	return sum / float64(b.B*b.T)
}

// logMean is log (1/K)·Σₖ wₖ of a sequence. The greatest weight is taken out before the exponentials, so that none is
// too large and at least one is 1.
func (i *Importance) logMean(sequence, samples int) float64 {
	greatest := math.Inf(-1)
	for _, w := range i.weights[:samples] {
		greatest = math.Max(greatest, w[sequence])
	}
	if math.IsInf(greatest, 0) || math.IsNaN(greatest) {
		return greatest
	}
	i.shifted = resize(i.shifted, samples)
	for k, w := range i.weights[:samples] {
		i.shifted[k] = float32(w[sequence] - greatest)
	}
	kernel.Exp(i.shifted, i.shifted)
	sum := 0.0
	for _, e := range i.shifted {
		sum += float64(e)
	}
	mean := [1]float32{float32(sum / float64(samples))}
	kernel.Log(mean[:], mean[:])
	return greatest + float64(mean[0])
}
