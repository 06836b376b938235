package coordinator

import (
	"strings"
	"sync"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/switchyard-ml/switchyard/coordinator/exchange"
	"github.com/switchyard-ml/switchyard/internal/disk"
)

// history is the log of a run: what an earlier coordinator wrote, which is compared, and what this one writes. The
// goroutine of Run owns it; the journal writes on its own.
type history struct {
	made     []Entry  // made, and not logged yet: the last step, or none
	expected *Log     // the steps that an earlier coordinator made, and that are compared
	repeated int      // steps of them that gave the same parameters
	journal  *journal // nil: there is no log
	trouble  *logTrouble
	log      hclog.Logger
	relays   string // who hands on parameters, as the log says
}

// repeats reports whether the log holds a step already: it is compared before anything is sent out.
func (h *history) repeats(step uint64) bool {
	_, ok := h.expected.Entries[step]
	return ok
}

// flush logs the step that was made. If the log has the step already and its hash differs, that is the error. A new
// step is logged after its parameters were sent: they need not wait for their hash. It returns a ReplayError then.
func (h *history) flush(theta []float32) error {
	defer func() { h.made = h.made[:0] }()
	for _, e := range h.made {
		e.Theta = HashTheta(theta)
		if err := h.add(e); err != nil {
			return err
		}
	}
	return nil
}

// add compares a step with the log, or appends it. The hash of the parameters alone is compared: the other fields say
// who computed what, or are a function of the same steps.
func (h *history) add(e Entry) error {
	logged, ok := h.expected.Entries[e.Step]
	delete(h.expected.Entries, e.Step)
	switch {
	case !ok:
		h.journal.append(e)
	case logged.Theta != e.Theta:
		return &ReplayError{Step: e.Step, Logged: logged, Computed: e}
	default:
		h.repeated++
		if e.Step == h.expected.Last {
			h.log.Info("all logged steps were repeated with the same bits", "step", e.Step)
		}
	}
	return nil
}

// note appends an event to the log. Without a log nothing happens.
func (h *history) note(e Event, term uint64) {
	if h.journal == nil {
		return
	}
	e.Time, e.Term = time.Now().UTC(), term
	h.journal.append(e)
}

// noteRelays appends who hands on parameters, if that has changed.
func (h *history) noteRelays(r exchange.Relay, step, term uint64) {
	var names []string
	for _, to := range r.To[:r.Sections.Count] {
		names = append(names, to.ID)
	}
	if list := strings.Join(names, ", "); list != h.relays {
		h.relays = list
		h.note(Event{Kind: EventRelays, Step: step, Reason: list}, term)
	}
}

// open begins to write the log after its last whole line. d and path are those of the log; a failure to write is
// reported by troubled.
func (h *history) open(d disk.Disk, path string) {
	h.trouble = &logTrouble{again: make(chan struct{}, 1)}
	h.journal = startJournal(d, path, h.expected.Size, h.trouble.hear)
}

// troubled is ready when the log could not be written, or can be again.
func (h *history) troubled() <-chan struct{} {
	if h.trouble == nil {
		return nil
	}
	return h.trouble.again
}

// close writes what is left of the log.
func (h *history) close() {
	if err := h.journal.close(); err != nil {
		h.log.Error("the end of the log is not written: the steps it lacks are recomputed when the run is resumed", "error",
			err)
	}
	if n := h.journal.dropped; n > 0 {
		h.log.Error("steps have no line in the log", "lines", n)
	}
}

// logTrouble is what the journal reports to the coordinator.
type logTrouble struct {
	mu    sync.Mutex
	err   error     // of the last attempt; nil: it succeeded
	since time.Time // of the first failure in a row; zero: all is well
	again chan struct{}
}

// hear is called by the journal with the outcome of an attempt to write. It is called on the goroutine of the journal
// and does not wait.
func (t *logTrouble) hear(err error) {
	t.mu.Lock()
	t.err = err
	if t.since.IsZero() {
		t.since = time.Now()
	}
	t.mu.Unlock()
	select {
	case t.again <- struct{}{}:
	default:
	}
}

// report says what the trouble is, or that it is over.
func (t *logTrouble) report() StorageReport {
	t.mu.Lock()
	defer t.mu.Unlock()
	r := StorageReport{What: "the log", Err: t.err, Seconds: time.Since(t.since).Seconds()}
	if t.err == nil {
		t.since = time.Time{}
	}
	return r
}
