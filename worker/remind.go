package worker

import (
	"time"

	"github.com/switchyard-ml/switchyard/wire"
)

const (
	// promptBeats is how many times in a heartbeat's interval a worker may speak up after something happened.
	promptBeats = 25
	// promptAsks is how often it asks at that pace for what it lacks.
	promptAsks = 2
)

// prompt is how long a worker waits for what comes next before it looks for it: a message may have been lost.
func (w *Worker) prompt() time.Duration { return w.heartbeat / promptBeats }

// stir notes that something happened: soon after it a heartbeat says what the worker has in hand, from which the
// coordinator learns what was lost.
func (w *Worker) stir(now time.Time) { w.stirred, w.beats = now, 0 }

// beatsSoon reports whether a heartbeat is due before its time. They follow ever more slowly.
func (w *Worker) beatsSoon(now time.Time) bool {
	return now.Sub(latest(w.lastBeat, w.stirred)) >= w.prompt()<<min(w.beats, promptBeats)
}

// latest is the later of two times.
func latest(x, y time.Time) time.Time {
	if y.After(x) {
		return y
	}
	return x
}

// lacking returns the chunks of the parameters to ask for now; nil if there are none. Those that were lost for certain
// are asked for soon; those that may just be slow, or that do not come for the asking, are not.
func (w *Worker) lacking(now time.Time) []wire.Range {
	t := &w.theta
	missing, quiet := t.missingRanges(), now.Sub(t.movedAt)
	// With one sender, all that is missing once a later message came was lost. With several links, only what was
	// overtaken on its own link is known to be.
	relayed, soon := w.relay.sections.Count > 0, t.asks < promptAsks
	switch {
	case missing == nil:
		return nil
	case relayed && quiet >= max(t.patience(w.heartbeat/4), min(2*t.longest, w.heartbeat)):
		return missing
	case relayed && soon && quiet >= t.patience(w.prompt()):
		return w.overtaken()
	case !relayed && t.behind && soon && quiet >= t.patience(w.prompt()):
		return missing
	case !relayed && !(t.behind && soon) && quiet >= t.patience(w.heartbeat/4):
		return missing
	}
	return nil
}
