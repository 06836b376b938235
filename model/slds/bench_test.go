package slds

import (
	"testing"

	"github.com/switchyard-ml/switchyard/autodiff"
	"github.com/switchyard-ml/switchyard/model"
	"github.com/switchyard-ml/switchyard/model/modeltest"
	"github.com/switchyard-ml/switchyard/rng"
)

// BenchmarkStep is loss and gradient of a batch of 32 windows of 40 steps by a switch that is summed out, and by one
// that is a function of the past.
func BenchmarkStep(b *testing.B) {
	for _, switching := range []Switching{Deterministic, Categorical} {
		b.Run(string(switching), func(b *testing.B) {
			s := DefaultSettings()
			s.Switching = switching
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
