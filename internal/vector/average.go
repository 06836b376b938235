package vector

import "github.com/switchyard-ml/switchyard/autodiff/kernel"

// Average is the exponential average of the parameters over updates (Polyak and Juditsky 1992; as in Adam's paper,
// section 7.2). It begins at the initial parameters. Early, its memory is shorter, so that it does not lag behind them.
type Average struct {
	Values []float32 // by parameter; they belong to the Average, and are in checkpoints
	memory float64   // share that stays at an update of Stride
}

// NewAverage returns the average of parameters that are theta now and that change every stride updates. memory is the
// share of the average that stays after one update. It copies theta. The power is formed by stride multiplications,
// so that it has the same bits everywhere.
func NewAverage(memory float64, stride uint64, theta []float32) *Average {
	a := &Average{Values: append([]float32(nil), theta...), memory: 1}
	for range stride {
		a.memory = float64(a.memory * memory)
	}
	return a
}

// Add enters the parameters after their change number n, counted from 0:
//
//	a ← β·a + (1−β)·θ  with  β = min(memory, (1+n)/(10+n))
func (a *Average) Add(theta []float32, n uint64) {
	keep := float32(min(a.memory, float64(1+n)/float64(10+n)))
	for from := 0; from < len(theta); from += strip {
		end := min(from+strip, len(theta))
		kernel.Scale(a.Values[from:end], keep)
		kernel.AddScaled(a.Values[from:end], 1-keep, theta[from:end])
	}
}
