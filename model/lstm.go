package model

import (
	"github.com/switchyard-ml/switchyard/autodiff"
	"github.com/switchyard-ml/switchyard/rng"
)

// NewLSTM declares the parameters of a long short-term memory layer: NAME.input [in, 4·units], NAME.recurrent
// [units, 4·units] and NAME.bias [4·units], with the gates side by side in the order input, forget, cell, output.
// All are drawn from U(±1/√units); the bias of the forget gate is raised by one, so that a new layer remembers.
func NewLSTM(p *autodiff.Params, name string, in, units int, draws *rng.Stream) autodiff.LSTMWeights {
	w := autodiff.LSTMWeights{
		Input:     p.Matrix(name+".input", in, 4*units),
		Recurrent: p.Matrix(name+".recurrent", units, 4*units),
		Bias:      p.Vector(name+".bias", 4*units),
	}
	w.Input.InitFanIn(draws, units)
	w.Recurrent.InitFanIn(draws, units)
	w.Bias.InitFanIn(draws, units)
	forget := w.Bias.Values()[units : 2*units]
	for i := range forget {
		forget[i]++
	}
	return w
}
