package slds

import (
	"fmt"
	"testing"

	"github.com/switchyard-ml/switchyard/autodiff"
	"github.com/switchyard-ml/switchyard/model"
	"github.com/switchyard-ml/switchyard/model/modeltest"
	"github.com/switchyard-ml/switchyard/rng"
)

// BenchmarkStep is loss and gradient of a batch of 32 windows of 40 steps by a switch that is summed out, and by one
// that is a function of the past. The first also knows how long a regime has lasted.
func BenchmarkStep(b *testing.B) {
	for _, of := range []struct {
		switching Switching
		durations int
	}{{Deterministic, 0}, {Categorical, 0}, {Categorical, 20}} {
		name := string(of.switching)
		if of.durations > 0 {
			name = fmt.Sprintf("durations=%d", of.durations)
		}
		b.Run(name, func(b *testing.B) {
			s := DefaultSettings()
			s.Switching, s.Durations = of.switching, of.durations
			built, err := s.New(model.Data{NX: 2, NU: 1}, rng.New(1, rng.Init))
			if err != nil {
				b.Fatal(err)
			}
			m := built.(modeltest.Model)
			batch := modeltest.Case{NX: 2, NU: 1}.Batch(40, 32)
			tape, terms := autodiff.NewTape(m.Params()), make([]float32, len(m.Terms()))
			for b.Loop() {
				tape.Reset()
				tape.Backward(m.Loss(tape, batch, modeltest.Noise(0), 0, terms))
			}
		})
	}
}
