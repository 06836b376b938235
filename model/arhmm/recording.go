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

// begun is the recording from its first step with a value on. What is before it, as where differences have nothing to
// subtract, teaches nothing, and as a gap it would cost EM more than all the rest.
func (r recording) begun() recording {
	d := len(r.x) / max(r.T, 1)
	t := 0
	for t < r.T && r.missing(t) == d {
		t++
	}
	return recording{T: r.T - t, x: r.x[t*d:], u: r.u[t*len(r.u)/max(r.T, 1):], full: r.full[t:]}
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
