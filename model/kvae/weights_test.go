package kvae

import (
	"math"
	"testing"

	"github.com/switchyard-ml/switchyard/autodiff"
	"github.com/switchyard-ml/switchyard/model/modeltest"
)

// TestDrawStates_HaveTheSmoothedMoments: states that are drawn jointly have the smoothed mean and variance at every step, and
// where nothing was seen they follow the transition with its variance Q from step to step.
func TestDrawStates_HaveTheSmoothedMoments(t *testing.T) {
	const n, steps = 4000, 5
	for _, seen := range []bool{true, false} {
		m := lively(controlled, nil)
		one, b := modeltest.Case{NX: 3, NU: 2}.Batch(steps, 1), modeltest.Case{NX: 3, NU: 2}.Batch(steps, n)
		for row := range steps * n {
			copy(b.Observations[row*3:row*3+3], one.Observations[row/n*3:])
			copy(b.Controls[row*2:row*2+2], one.Controls[row/n*2:])
		}
		if !seen {
			b.Seen = make([]float32, len(b.Observations))
		}
		tape, noise := autodiff.NewInferenceTape(m.params), modeltest.Noise(3)
		mean, _ := m.codec.encode(tape, tape.Constant(b.Observations, steps*n, 3))
		f := m.state.filter(tape, newSequence(tape, b, mean))
		s, z := f.smooth(), f.drawStates(&noise)
		nz := m.state.nz
		for step := range steps {
			for i := range nz {
				want, variance := float64(s.mean.Value[step*n*nz+i]), float64(s.cov.Value[step*n*nz*nz+i*(nz+1)])
				got, spread := moments(n, func(k int) float64 { return float64(z.Value[(step*n+k)*nz+i]) })
				if math.Abs(got-want) > 5*math.Sqrt(variance/n) || math.Abs(spread/variance-1) > 0.12 {
					t.Errorf("seen %v, step %d, z_%d: mean %.4f and variance %.4f, want %.4f and %.4f", seen, step, i, got, spread, want, variance)
				}
			}
		}
		if seen {
			continue
		}
		moved := f.move(z.Slice(0, (steps-1)*n), f.seq.u.Slice(n, steps*n), n)
		for i := range nz {
			got, spread := moments((steps-1)*n, func(k int) float64 { return float64(z.Value[(n+k)*nz+i] - moved.Value[k*nz+i]) })
			if q := float64(m.state.q); math.Abs(got) > 5*math.Sqrt(q/(n*(steps-1))) || math.Abs(spread/q-1) > 0.06 {
				t.Errorf("what the transition leaves of z_%d has mean %.4f and variance %.4f, want 0 and %.4f", i, got, spread, q)
			}
		}
	}
}

func moments(n int, value func(k int) float64) (mean, variance float64) {
	for k := range n {
		mean += value(k) / float64(n)
	}
	for k := range n {
		variance += (value(k) - mean) * (value(k) - mean) / float64(n)
	}
	return mean, variance
}
