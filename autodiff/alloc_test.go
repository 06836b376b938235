//go:build !race

// The race detector allocates on its own, so the test of allocations is built without it.

package autodiff

import (
	"testing"

	"github.com/switchyard-ml/switchyard/rng"
)

// TestNoAllocation holds a warm recording of layers, a recurrence and a divergence to zero allocations;
// the test of the same name in package slds does so for every operation of its model.
func TestNoAllocation(t *testing.T) {
	p := NewParams()
	draws := rng.New(3, rng.Init).At(0, 0, 0)
	w, b := p.Matrix("w", 16, 16), p.Vector("b", 16)
	lstm := LSTMWeights{p.Matrix("i", 16, 64), p.Matrix("r", 16, 64), p.Vector("lb", 64)}
	for _, x := range []*Weight{w, b, lstm.Input, lstm.Recurrent, lstm.Bias} {
		x.InitUniform(&draws, 0.3)
	}
	p.Pack()
	tape := NewTape(p)
	data := make([]float32, 32*16)
	draws.Normals(data)
	step := func() {
		tape.Reset()
		x := tape.Constant(data, 32, 16)
		h := tape.BackwardLSTM(tape.Linear(x, w, b, ReLU), Tensor{}, lstm, 4)
		v := tape.New(32, 16)
		tape.Variance(v, h, 0.1)
		tape.Backward(tape.ConcreteKL(h, v, tape.Constant(data, 32, 16), 0.7, 2))
	}
	step()
	step()
	if n := testing.AllocsPerRun(10, step); n != 0 {
		t.Errorf("a warm step allocates %v times", n)
	}
}
