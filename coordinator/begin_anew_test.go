package coordinator

import (
	"slices"
	"testing"
	"time"

	"github.com/switchyard-ml/switchyard/internal/reduce"
	"github.com/switchyard-ml/switchyard/internal/wire"
)

// A step that begins anew because somebody lied has the scales that it had at first: what the liar said it needed is forgotten.
func TestMachine_BeginsAnewWithTheScalesOfBefore(t *testing.T) {
	m := newMachine(Config{
		Run: "r", Steps: 2, Shards: 4, FailureDetection: 5 * time.Second, Chunk: 64, Credit: 128, Gradients: wire.Int16,
		Optimizer: Optimizer{Rate: 0.5, Beta1: 0.5, Beta2: 0.5, Epsilon: 1}, TermNames: []string{"loss"}, Dir: "d",
	}, make([]float32, 40), 64)
	m.start(0)
	before := slices.Clone(m.state)
	sum := make([]float32, 41)
	sum[40] = 20
	if !m.redo(reduce.Partial{Values: sum}) || m.state[40] <= 20 {
		t.Fatalf("exponent %g for a need of 20", m.state[40])
	}
	m.beginAnew(0)
	if !slices.Equal(m.state, before) || m.narrow != 0 || m.pass != 1 {
		t.Errorf("exponent %g, want %g; pass %d", m.state[40], before[40], m.pass)
	}
}
