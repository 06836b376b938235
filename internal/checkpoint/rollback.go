package checkpoint

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/switchyard-ml/switchyard/internal/disk"
)

// rollbackFile notes that a run went back, from the moment of that decision until its work on the disk is done. From that
// moment the checkpoints after its step do not count.
const rollbackFile = "rollback"

// rollbackNote is the content of rollbackFile.
type rollbackNote struct {
	Step uint64 `json:"step"`
}

// RolledBack returns the step that a run went back to, if that is noted in the folder of its checkpoints: its work on the disk
// is not done, and newer checkpoints do not count.
func RolledBack(dir string) (step uint64, noted bool, err error) {
	path := filepath.Join(dir, rollbackFile)
	text, err := os.ReadFile(path)
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

// Rollback goes back to the newest valid checkpoint of at most the given step: it returns that checkpoint, or nil for the
// initial parameters. The newer ones do not count any more. NoteRollback and EndRollback are to follow, the second once the
// log says it too.
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

// NoteRollback puts the decision of Rollback on disk.
func (s *Store) NoteRollback() error {
	if s.back == nil {
		return nil
	}
	err := disk.MakeFolder(s.disk(), s.Dir)
	if err == nil {
		err = s.replace(rollbackFile, func(w io.Writer) error { return json.NewEncoder(w).Encode(s.back) })
	}
	if err != nil {
		return fmt.Errorf("note the rollback to step %d: %w", s.back.Step, err)
	}
	s.back = nil
	return nil
}

// EndRollback does what is left of a rollback, of this program or of the one before: it deletes the void checkpoints,
// sees to it that best.json names none of them, and waits for the log to say it. It does nothing if there is none.
func (s *Store) EndRollback() error {
	if err := s.NoteRollback(); err != nil {
		return err
	}
	last, noted, err := RolledBack(s.Dir)
	if err != nil || !noted {
		return err
	}
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

// renameBest makes best.json name what was the best at a step, or nothing.
func (s *Store) renameBest(last uint64) error {
	cp, _, err := RestoreUpTo(s.Dir, last)
	if err != nil && !errors.Is(err, ErrNotFound) && !errors.Is(err, ErrCorrupt) {
		return err
	}
	if cp != nil && cp.BestStep > 0 {
		if best, err := read(filepath.Join(s.Dir, stem(cp.BestStep)+manifestSuffix)); err == nil && best.Step == cp.BestStep {
			return s.nameBest(cp.BestStep)
		}
	}
	return s.disk().Remove(filepath.Join(s.Dir, bestManifest))
}
