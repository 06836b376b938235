package arhmm

import "github.com/switchyard-ml/switchyard/model"

// recording is one sequence of a batch, in float64. It is not changed after it is made.
type recording struct {
	T    int
	x    []float64 // [T,D]; NaN where a value is missing
	u    []float64 // [T,Du]
	full []bool    // [T] all of x_t is seen
}

// newRecording copies sequence n of a batch.
func newRecording(b model.Batch, n int) recording {
	r := recording{T: b.T, full: make([]bool, b.T)}
	r.x, r.u = b.Sequence(n)
	for t := range r.full {
		r.full[t] = b.Complete(t, n)
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
