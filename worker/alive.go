package worker

import "time"

// stuckAfter is how long the goroutine of a worker may do one thing until it counts as stuck. To install parameters is
// the longest, and takes well below a second; another program is built beside it.
const stuckAfter = 20 * time.Second

// used reports whether a coordinator has given the worker a lease. It may be called from any goroutine.
func (w *Worker) used() bool { return w.trusted.Load() }

// turns reports whether the goroutine of Run does what it should: one that waits for a coordinator does, and one
// whose slots compute. It may be called from any goroutine. Before Run, it does too.
func (w *Worker) turns(now time.Time) bool {
	last := w.turned.Load()
	return last == 0 || now.Sub(time.Unix(0, last)) < stuckAfter
}
