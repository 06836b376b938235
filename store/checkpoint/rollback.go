package checkpoint

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"

	"github.com/switchyard-ml/switchyard/internal/disk"
)

// A rollback is decided in memory (Rollback), noted on the disk (NoteRollback), entered into the log by the
// coordinator, and then carried out (EndRollback): void checkpoints are deleted, best.json is put right, the log is
// flushed, and last the note is removed. A crash before the note leaves the run as it was; after it, whoever takes
// the run up treats newer checkpoints as void and finishes the work.

// rollbackFile records the decision to return to an earlier step, until all its work on the disk is done. As long as it
// exists, the checkpoints after its step are void.
const rollbackFile = "rollback"

// rollbackNote is the content of rollbackFile.
type rollbackNote struct {
	Step uint64 `json:"step"`
}

// RolledBack returns the step that a run has returned to, if the folder of its checkpoints records that. Then the work
// on the disk is not finished, and newer checkpoints are void. A note that cannot be read is an error: it is not
// known what is void.
func RolledBack(dir string) (step uint64, noted bool, err error) {
	path := filepath.Join(dir, rollbackFile)
	text, err := disk.ReadFile(path, maxManifest)
	if errors.Is(err, fs.ErrNotExist) {
		return 0, false, nil
	}
	var note rollbackNote
	if err == nil {
		err = json.Unmarshal(text, &note)
	}
	if err != nil {
		return 0, false, fmt.Errorf("read the note of a rollback: %s: %w", path, err)
	}
	return note.Step, true, nil
}

// Rollback returns to the newest valid checkpoint at or before the given step. It returns that checkpoint, or nil for
// the initial parameters. Newer checkpoints become void. The caller has to call NoteRollback, and EndRollback once the
// log has recorded the rollback. The disk is only read.
func (s *Store) Rollback(step uint64) (*Checkpoint, error) {
	cp, _, err := RestoreUpTo(s.Dir, step)
	if err != nil && !errors.Is(err, ErrNotFound) && !errors.Is(err, ErrCorrupt) {
		return nil, fmt.Errorf("go back to step %d: %w", step, err)
	}
	s.kept, s.unnamed, s.back = nil, 0, new(rollbackNote)
	if cp != nil {
		s.back.Step = cp.Step
		s.keep(cp.Step, cp.BestStep)
	}
	return cp, nil
}

// NoteRollback records the decision of Rollback on the disk. After that a crash does not undo the decision. If it
// fails, the decision stays, and it may be called again.
func (s *Store) NoteRollback() error {
	if s.back == nil {
		return nil
	}
	err := disk.MakeIn(s.disk(), s.Dir)
	if err == nil {
		err = s.replace(rollbackFile, func(w io.Writer) error { return json.NewEncoder(w).Encode(s.back) })
	}
	if err != nil {
		return fmt.Errorf("note the rollback to step %d: %w", s.back.Step, err)
	}
	s.back = nil
	return nil
}

// EndRollback finishes a rollback of this program or of an earlier one: it deletes the void checkpoints, makes sure
// that best.json names none of them, and flushes the log, which has to have recorded the rollback by then. Without a
// rollback it does nothing. If it fails, the note stays, and the next Write tries again before it writes anything.
func (s *Store) EndRollback() error {
	if err := s.NoteRollback(); err != nil {
		return err
	}
	last, noted, err := RolledBack(s.Dir)
	if err != nil || !noted {
		return err
	}
	// The note goes last: until then every step of this can be done again.
	for _, act := range []func() error{
		func() error { return s.remove(func(step uint64) bool { return step > last }) },
		func() error { return s.renameBest(last) },
		s.flush,
		func() error { return s.disk().Remove(filepath.Join(s.Dir, rollbackFile)) },
		func() error { return s.disk().SyncFolder(s.Dir) },
	} {
		if err := act(); err != nil {
			return fmt.Errorf("go back to step %d: %w", last, err)
		}
	}
	return nil
}

// renameBest makes best.json name the checkpoint that was the best at a step, or deletes it. It deletes it if that
// checkpoint is gone, or cannot be read.
func (s *Store) renameBest(last uint64) error {
	best, err := bestAt(s.Dir, last)
	if err != nil {
		return err
	}
	if best != nil {
		return s.nameBest(best.Step)
	}
	return s.disk().Remove(filepath.Join(s.Dir, bestManifest))
}

// bestAt is the checkpoint that was the best when the run was at a step; nil if there was none, or if it is gone or
// cannot be read.
func bestAt(dir string, step uint64) (*Checkpoint, error) {
	cp, _, err := RestoreUpTo(dir, step)
	if err != nil && !errors.Is(err, ErrNotFound) && !errors.Is(err, ErrCorrupt) {
		return nil, err
	}
	if cp == nil || cp.BestStep == 0 {
		return nil, nil
	}
	best, err := read(filepath.Join(dir, stem(cp.BestStep)+manifestSuffix))
	if err != nil || best.Step != cp.BestStep {
		return nil, nil
	}
	return best, nil
}
