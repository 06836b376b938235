package sweep

import (
	"math"
	"slices"
	"time"
)

// Status says where a trial stands.
type Status string

// The statuses. The last four are final.
const (
	StatusWaiting     Status = "waiting" // for a worker, or for the others of its cohort
	StatusRunning     Status = "running"
	StatusPreempted   Status = "preempted"
	StatusInterrupted Status = "interrupted"
	StatusComplete    Status = "complete"
	StatusPruned      Status = "pruned"
	StatusDiverged    Status = "diverged"
	StatusFailed      Status = "failed"
)

// Final reports whether nothing happens to the trial any more.
func (s Status) Final() bool {
	return slices.Contains([]Status{StatusComplete, StatusPruned, StatusDiverged, StatusFailed}, s)
}

// Trial is a configuration that is tried. It waits and runs in turn until it is judged at a rung; then it waits
// again, or has a final status, which stays.
//
// Invariant: each run has the results of at least Passed rungs, and of Passed+1 at most.
type Trial struct {
	ID       int // from 1
	Cohort   int
	First    int // rung at which it is judged first
	Of       int // the trial that it confirms; 0: none
	Settings Settings
	Steps    []uint64 // updates at each rung
	Seeds    []uint64 // of its runs, in order
	Runs     []Run
	Status   Status
	Passed   int    // rungs at which it was judged, and went on; counted from First
	Reason   string // why it failed
	draw     uint64
}

// Run is one replicate of a trial.
type Run struct {
	Seed    uint64
	Results []Result // at the rungs from Trial.First
	Fate    Fate     // of the last leg that did not reach its rung; empty: none
	Reason  string
	Faults  int  // legs in a row that failed
	Leading bool // a leg was started and has not ended
	Began   time.Time
}

// rung is the next rung of the trial.
func (t *Trial) rung() int { return t.First + t.Passed }

// last reports whether a rung is the end of the training.
func (t *Trial) last(rung int) bool { return rung == len(t.Steps)-1 }

// settled reports whether each run has reached the rung or cannot.
func (t *Trial) settled() bool {
	return !slices.ContainsFunc(t.Runs, func(r Run) bool { return len(r.Results) <= t.Passed && !r.lost() })
}

// lost reports whether a run will get no further.
func (r *Run) lost() bool { return r.Fate == Diverged || r.Fate == Failed && r.Faults > retries }

// retries is how often a leg that failed is tried again.
const retries = 2

// Reached is the number of rungs, from First, that all runs have reached.
func (t *Trial) Reached() int {
	n := math.MaxInt
	for _, r := range t.Runs {
		n = min(n, len(r.Results))
	}
	return n
}

// Step is the number of updates at the last rung that all runs have reached, of the longest run if some have ended
// before it; 0: none.
func (t *Trial) Step() uint64 { return t.step(t.Reached()) }

// step is Step after n rungs from First.
func (t *Trial) step(n int) uint64 {
	most := uint64(0)
	for _, r := range t.Runs {
		if n > 0 && n <= len(r.Results) {
			most = max(most, r.Results[n-1].Step)
		}
	}
	return most
}

// Values are the values of a metric in the runs, after n rungs from First.
func (t *Trial) Values(metric string, n int) []float64 {
	var list []float64
	for _, r := range t.Runs {
		if n > 0 && n <= len(r.Results) {
			if v, ok := r.Results[n-1].Values[metric]; ok {
				list = append(list, v)
			}
		}
	}
	return list
}

// Seconds is the time of a core that the trial has taken, about: that of each run up to its last rung.
func (t *Trial) Seconds() float64 {
	sum := 0.0
	for _, r := range t.Runs {
		if n := len(r.Results); n > 0 {
			sum += r.Results[n-1].Seconds
		}
	}
	return sum
}

// refresh sets the status of a trial that is not final.
func (t *Trial) refresh() {
	t.Status = StatusWaiting
	for _, r := range t.Runs {
		switch {
		case r.Leading:
			t.Status = StatusRunning
			return
		case r.Fate == Preempted:
			t.Status = StatusPreempted
		case r.Fate == Interrupted:
			t.Status = StatusInterrupted
		}
	}
}

// conclude ends a trial at its rung, or lets it go on. A run that is lost ends it whatever was decided; one that
// diverged says more than one that failed.
func (t *Trial) conclude(kept bool) {
	for _, r := range t.Runs {
		switch {
		case len(r.Results) > t.Passed:
		case r.Fate == Diverged:
			t.Status, t.Reason = StatusDiverged, r.Reason
			return
		case t.Status != StatusDiverged:
			t.Status, t.Reason = StatusFailed, r.Reason
		}
	}
	switch {
	case t.Status == StatusFailed:
	case !kept:
		t.Status = StatusPruned
	case t.last(t.rung()):
		t.Status = StatusComplete
	default:
		t.Passed++
		t.Status = StatusWaiting
	}
}
