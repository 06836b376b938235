//go:build !race

package modeltest

import (
	"testing"

	"github.com/switchyard-ml/switchyard/autodiff"
)

// allocations: a warm step, forward and backward, allocates nothing.
func (c Case) allocations(t *testing.T) {
	m := c.New(t)
	tape, terms := autodiff.NewTape(m.Params()), make([]float32, len(m.Terms()))
	for _, missing := range []bool{false, true} {
		b := c.Batch(6, 2)
		if missing {
			b.Seen = make([]float32, len(b.Observations))
			b.Seen[0] = 1
		}
		step := func() {
			tape.Reset()
			tape.Backward(m.Loss(tape, b, Noise(0), step, terms))
		}
		step()
		step()
		if n := testing.AllocsPerRun(5, step); n != 0 {
			t.Errorf("a warm step allocates %v times (missing values: %v)", n, missing)
		}
	}
}
