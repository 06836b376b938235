package arhmm

import (
	"math"

	"github.com/switchyard-ml/switchyard/model"
)

// recording is one sequence of a batch, in float64. It is not changed after it is made.
type recording struct {
	T    int
	x    []float64 // [T,D]; NaN where a value is missing
	u    []float64 // [T,Du]
	full []bool    // [T] all of x_t is seen
}

// newRecording copies sequence n of a batch.
func newRecording(b model.Batch, n int) recording {
	r := recording{T: b.T, x: make([]float64, b.T*b.NX), u: make([]float64, b.T*b.NU), full: make([]bool, b.T)}
	for t := range b.T {
		row := t*b.B + n
		r.full[t] = true
		for i := range b.NX {
			r.x[t*b.NX+i] = float64(b.Observations[row*b.NX+i])
			if b.Seen != nil && b.Seen[row*b.NX+i] == 0 {
				r.x[t*b.NX+i], r.full[t] = math.NaN(), false
			}
		}
		for i := range b.NU {
			r.u[t*b.NU+i] = float64(b.Controls[row*b.NU+i])
		}
	}
	return r
}

// complete reports whether all channels of step t and of so many steps before it are seen.
func (r recording) complete(t, order int) bool {
	for s := t - order; s <= t; s++ {
		if !r.full[s] {
			return false
		}
	}
	return true
}
