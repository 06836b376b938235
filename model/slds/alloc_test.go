//go:build !race

// The race detector allocates on its own, so the test of allocations is built without it.

package slds

import (
	"testing"

	"github.com/switchyard-ml/switchyard/autodiff"
)

// TestLoss_WarmStepAllocatesNothing, forward and backward, in every variant.
func TestLoss_WarmStepAllocatesNothing(t *testing.T) {
	for name, c := range variants() {
		m := newModel(t, c)
		tape, terms := autodiff.NewTape(m.Params()), make([]float32, 5)
		b := randomBatch(c, 6, 2)
		step := func() {
			tape.Reset()
			tape.Backward(m.Loss(tape, b, noiseOf(0), 0, terms))
		}
		step()
		step()
		if n := testing.AllocsPerRun(5, step); n != 0 {
			t.Errorf("%s: a warm step allocates %v times", name, n)
		}
	}
}
