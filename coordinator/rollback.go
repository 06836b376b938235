package coordinator

import (
	"errors"
	"math"
)

// rollBack goes back to the newest checkpoint of at most the given step, or to the initial parameters, and returns
// that state. Checkpoints that wait to be written are dropped. If the disk fails, the run goes on all the same, and
// the rest is done before the next checkpoint. An error means that the checkpoints cannot be read.
func (c *Coordinator) rollBack(step uint64, reason string) (*Checkpoint, error) {
	c.saver.drop()
	c.await()
	c.saver.drop()
	store := c.saver.store
	cp, err := store.Rollback(step)
	if err != nil {
		return nil, err
	}
	// There is no checkpoint of so early a step: the run begins anew.
	if cp == nil {
		cp = &Checkpoint{Run: c.machine.cfg.Run, Seed: c.machine.cfg.Seed, BestLoss: math.Inf(1), Theta: c.initial}
	}
	c.log.Warn("the run goes back", "step", cp.Step, "reason", reason)
	err = store.NoteRollback()
	c.history.expected.cut(cp.Step)
	c.note(Event{Kind: EventRollback, Step: cp.Step, Reason: reason})
	// who notes the newest checkpoint does it before it goes
	c.observer.Rollback(RollbackReport{Step: cp.Step, Reason: reason, Checkpoint: cp})
	if err = errors.Join(err, store.EndRollback()); err != nil {
		c.log.Error("the rollback is not on disk", "error", err, "remedy", diskRemedy(err))
	}
	return cp, nil
}
