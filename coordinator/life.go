package coordinator

import "time"

// runState says whether a run goes on. It goes from running to suspended and back, and from either to finished.
type runState uint8

const (
	running   runState = iota
	suspended          // the machine takes nothing in until the shell has gone back to a checkpoint
	finished           // the run is over: with its last step, or with an error
)

// life is the life of a run: whether it goes on, whether it is to stop, and since when it waits.
//
// Invariant: a finished run stays finished.
type life struct {
	state    runState
	stopping bool // the run ends when the step under way is done

	spokeAt    time.Duration // when something was last sent to all workers
	waitSince  time.Duration // when the run began to wait
	reportedAt time.Duration // when the wait was last reported
	waitsFor   string        // what the run waits for; empty: nothing
}

// active reports whether the run goes on. What is not active takes no message in and gives no work out.
func (l *life) active() bool { return l.state == running }

// finish ends the run.
func (l *life) finish() { l.state = finished }

// suspend stops the run until resume. A finished run stays finished.
func (l *life) suspend() {
	if l.state == running {
		l.state = suspended
	}
}

// resume lets a suspended run go on.
func (l *life) resume() {
	if l.state == suspended {
		l.state = running
	}
}

// wait notes what the run waits for, and reports whether that is to be reported: once a second.
func (l *life) wait(now time.Duration, what string) bool {
	if l.waitsFor = what; what == "" || now-l.reportedAt < time.Second {
		return false
	}
	l.reportedAt = now
	return true
}
