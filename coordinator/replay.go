package coordinator

import (
	"context"
	"fmt"
	"time"

	"github.com/switchyard-ml/switchyard/internal/vector"
	"github.com/switchyard-ml/switchyard/store/checkpoint"
)

// ReplayError is the error of a step that an earlier coordinator has made and logged, and that gave other parameters
// when it was made once more. It is an ErrReplay.
type ReplayError struct {
	Step             uint64
	Logged, Computed Entry
}

// Error says which step it is, and what can be the reason.
func (e *ReplayError) Error() string {
	text := fmt.Sprintf("%v: step %d gave parameters with hash %s, the log says %s", ErrReplay, e.Step, e.Computed.Theta,
		e.Logged.Theta)
	if block, logged, computed, ok := e.culprits(); ok {
		text += fmt.Sprintf("; shards %s differ: worker %s computed them for the log, worker %s once more", block, logged,
			computed)
	}
	return text + "; one of the two has other arithmetic, damaged memory, or a damaged log or checkpoint: verify " +
		"recomputes the" +
		" step and says which; without the file log.jsonl the run continues with what it computes now"
}

// Is makes the error an ErrReplay.
func (e *ReplayError) Is(target error) bool { return target == ErrReplay }

// culprits names the first block that both have and whose checksums differ. They can be compared only if both were
// formed over chunks of the same length, which the caller does not know: equal chunks are the usual case.
func (e *ReplayError) culprits() (block vector.Block, logged, computed string, ok bool) {
	for _, a := range e.Logged.Blocks {
		for _, b := range e.Computed.Blocks {
			if a.Block == b.Block && (a.Digest == "") == (b.Digest == "") && a.Fingerprint() != b.Fingerprint() {
				return a.Block, a.Worker, b.Worker, true
			}
		}
	}
	return vector.Block{}, "", "", false
}

// takeUp reads and writes what a new coordinator of the run needs before it may send a message: the steps that are
// logged, to compare them, and a term of its own. It waits for a disk that takes nothing. From the log come the term,
// who contributed, and what the steps are compared with.
func (c *Coordinator) takeUp(ctx context.Context) error {
	m := c.machine
	path, step := m.cfg.Log, m.run.opt.step
	if path != "" {
		log, err := ReadLog(path, max(step, 1)-1)
		if err != nil {
			return err
		}
		if log.Damaged > 0 {
			c.log.Warn("lines of the log cannot be read", "log", path, "lines", log.Damaged)
		}
		c.history.expected = log
	}
	rolledBack, err := c.dropVoid()
	if err != nil {
		return err
	}
	m.accounts.Inherit(contributors(c.history.expected.Events))
	// The checkpoint itself may be of other bits than the log says.
	if e, ok := c.history.expected.Entries[step]; ok {
		if theta := HashTheta(m.run.opt.theta); e.Theta != theta {
			return &ReplayError{Step: step, Logged: e, Computed: Entry{Step: step, Theta: theta}}
		}
		delete(c.history.expected.Entries, step)
	}
	if err := c.raiseTerm(ctx); err != nil {
		return err
	}
	if path != "" {
		c.openLog(path)
	}
	if rolledBack != nil {
		c.note(*rolledBack)
	}
	c.note(Event{
		Kind: EventOpen, Step: step, Chunk: m.transfer.chunks.Elements, Identity: m.cfg.identity(),
		Data: m.transfer.data.hash,
	})
	if n := len(c.history.expected.Entries); n > 0 {
		c.log.Info("logged steps are made again and compared", "from", step+1, "to", c.history.expected.Last)
	}
	return nil
}

// dropVoid forgets the entries after the step of a rollback that an earlier coordinator did not finish. The event
// that the earlier coordinator did not write is returned, to be noted in the new log; nil if it finished.
func (c *Coordinator) dropVoid() (*Event, error) {
	last, noted, err := checkpoint.RolledBack(c.machine.cfg.Dir)
	if err != nil || !noted {
		return nil, err
	}
	c.history.expected.cut(last)
	return &Event{Kind: EventRollback, Step: last, Reason: "taken up by the next coordinator"}, nil
}

// raiseTerm gives the coordinator a term above all that were used. It is on disk when raiseTerm returns. The error is
// that of the disk when ctx ended.
func (c *Coordinator) raiseTerm(ctx context.Context) error {
	m := c.machine
	used, err := readTerm(m.cfg.Dir)
	if err != nil {
		c.log.Warn("the term of the last coordinator is not known; log and checkpoint say what is", "error", err)
	}
	m.term = max(m.term, used+1, c.history.expected.Term+1)
	var pause backoff
	for {
		err := writeTerm(m.cfg.Disk, m.cfg.Dir, m.term)
		if err == nil {
			return nil
		}
		c.log.Error("the run waits for its disk", "error", err, "remedy", diskRemedy(err))
		c.observer.Storage(StorageReport{What: "the term", Err: err})
		select {
		case <-time.After(pause.next()):
		case <-ctx.Done():
			return err
		}
	}
}

// logMade logs the step that was made. A difference from the log ends the run.
func (c *Coordinator) logMade() {
	if err := c.history.flush(c.machine.run.opt.theta); err != nil {
		c.halt(err)
	}
}

// note appends an event to the log.
func (c *Coordinator) note(e Event) { c.history.note(e, c.machine.term) }

// openLog begins to write the log. Checkpoints then wait until the log is synced: it is ahead of them.
func (c *Coordinator) openLog(path string) {
	c.history.open(c.machine.cfg.Disk, path)
	c.saver.store.Flush = c.history.journal.flush
}

// reportLog reports that the log could not be written, or can be again.
func (c *Coordinator) reportLog() {
	r := c.history.trouble.report()
	if r.Err != nil {
		c.log.Error("log not written", "error", r.Err, "remedy", diskRemedy(r.Err))
	} else {
		c.log.Info("the log is written again", "seconds", r.Seconds)
	}
	c.observer.Storage(r)
}

// closeLog writes the end of the log. It waits for one more attempt.
func (c *Coordinator) closeLog() {
	if c.history.journal == nil {
		return
	}
	reason := "done"
	if c.err != nil {
		reason = c.err.Error()
	}
	c.note(Event{Kind: EventEnd, Step: c.machine.run.opt.step, Reason: reason})
	c.history.close()
}
