package coordinator

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"os"
	"path/filepath"

	"github.com/switchyard-ml/switchyard/internal/disk"
)

// rollbackFile notes that a run went back, from the moment of that decision until its work on the disk is done. From
// that moment the checkpoints after its step do not count.
const rollbackFile = "rollback"

// rollbackNote is the content of rollbackFile.
type rollbackNote struct {
	Step uint64 `json:"step"`
}

// lastValid is the last step whose checkpoint counts. All do, unless a rollback is noted.
func lastValid(dir string) (uint64, error) {
	path := filepath.Join(dir, rollbackFile)
	text, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return math.MaxUint64, nil
	}
	var note rollbackNote
	if err == nil {
		err = json.Unmarshal(text, &note)
	}
	if err != nil {
		return 0, fmt.Errorf("read the note of a rollback: %s: %w", path, err)
	}
	return note.Step, nil
}

// rollback goes back to the newest valid checkpoint of at most the given step. It returns that checkpoint, or nil for
// the initial parameters. Newer ones do not count any more. Call endRollback when the log has the rollback, too.
func (s *store) rollback(step uint64) (*Checkpoint, error) {
	cp, _, err := RestoreUpTo(s.dir, step)
	if err != nil && !errors.Is(err, ErrNoCheckpoint) && !errors.Is(err, ErrCorrupt) {
		return nil, fmt.Errorf("go back to step %d: %w", step, err)
	}
	s.kept, s.unnamed, s.back = nil, 0, new(rollbackNote)
	if cp != nil {
		s.back.Step = cp.Step
		s.keep(cp.Step, cp.BestStep)
	}
	return cp, nil
}

// noteRollback puts the decision of rollback on disk.
func (s *store) noteRollback() error {
	if s.back == nil {
		return nil
	}
	err := disk.MakeFolder(s.disk, s.dir)
	if err == nil {
		err = s.replace(rollbackFile, func(w io.Writer) error { return json.NewEncoder(w).Encode(s.back) })
	}
	if err != nil {
		return fmt.Errorf("note the rollback to step %d: %w", s.back.Step, err)
	}
	s.back = nil
	return nil
}

// endRollback finishes a rollback that this coordinator or an earlier one began. It deletes the checkpoints that do not
// count, lets best.json name one that does, and waits until the log is on disk. Without a rollback it does nothing.
func (s *store) endRollback() error {
	if err := s.noteRollback(); err != nil {
		return err
	}
	last, err := lastValid(s.dir)
	if err != nil || last == math.MaxUint64 {
		return err
	}
	for _, act := range []func() error{
		func() error { return s.remove(func(step uint64) bool { return step > last }) },
		func() error { return s.renameBest(last) },
		s.flush,
		func() error { return s.disk.Remove(filepath.Join(s.dir, rollbackFile)) },
		func() error { return s.disk.SyncFolder(s.dir) },
	} {
		if err := act(); err != nil {
			return fmt.Errorf("go back to step %d: %w", last, err)
		}
	}
	return nil
}

// renameBest makes best.json name what was the best at a step, or nothing.
func (s *store) renameBest(last uint64) error {
	cp, _, err := RestoreUpTo(s.dir, last)
	if err != nil && !errors.Is(err, ErrNoCheckpoint) && !errors.Is(err, ErrCorrupt) {
		return err
	}
	if cp != nil && cp.BestStep > 0 {
		if best, err := readCheckpoint(filepath.Join(s.dir, stem(cp.BestStep)+".json")); err == nil && best.Step == cp.BestStep {
			return s.nameBest(cp.BestStep)
		}
	}
	return s.disk.Remove(filepath.Join(s.dir, bestManifest))
}

// rollBack goes back to the newest checkpoint of at most the given step, or to the initial parameters, and returns that
// state. Checkpoints that wait to be written are dropped. If the disk fails, the run goes on all the same, and the rest
// is done before the next checkpoint.
func (c *Coordinator) rollBack(step uint64, reason string) (*Checkpoint, error) {
	c.saver.drop()
	c.await()
	c.saver.drop()
	store := c.saver.store
	cp, err := store.rollback(step)
	if err != nil {
		return nil, err
	}
	if cp == nil {
		cp = &Checkpoint{Run: c.machine.cfg.Run, Seed: c.machine.cfg.Seed, BestLoss: math.Inf(1), Theta: c.initial}
	}
	c.log.Warn("the run goes back", "step", cp.Step, "reason", reason)
	err = store.noteRollback()
	c.history.expected.cut(cp.Step)
	c.note(Event{Kind: EventRollback, Step: cp.Step, Reason: reason})
	c.observer.Rollback(RollbackReport{Step: cp.Step, Reason: reason}) // who notes the newest checkpoint does it before it goes
	if err = errors.Join(err, store.endRollback()); err != nil {
		c.log.Error("the rollback is not on disk", "error", err, "remedy", diskRemedy)
	}
	return cp, nil
}
