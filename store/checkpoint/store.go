package checkpoint

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"

	"github.com/switchyard-ml/switchyard/internal/disk"
)

// Store writes the checkpoints of a run into a folder. It keeps the last two and the best, so that one that turns
// out to be damaged has a predecessor. Its methods must not be called at the same time.
//
// Each file is written under a temporary name, synced and renamed, the manifest after the data. So a file with its
// final name is either complete or can be recognised as damaged. This is the order in which a checkpoint becomes
// durable:
//
//	step-N.safetensors    the data; nothing refers to them yet
//	Flush                 the log, which is never behind a valid checkpoint
//	step-N.json           the manifest: from here on the checkpoint is valid
//	best.json             a copy of it, if it is the best one
type Store struct {
	Dir      string    // created if missing
	Layout   []Tensor  // of the parameters, without gaps; empty: one tensor "theta"
	Disk     disk.Disk // nil: the operating system's files
	Identity string    // identity of the run's configuration, for manifests
	Data     string    // hash of the run's data set; empty: it has none
	// flushes other files that have to be on the disk before a checkpoint is valid; nil: there are none
	Flush func() error

	kept    []retained    // the valid checkpoints that must not be deleted, oldest first
	back    *rollbackNote // a rollback that is decided and not recorded
	unnamed uint64        // step of the best checkpoint if best.json does not name it; 0: it does
}

// retained is a checkpoint that is kept, with the one that was the best at that time, 0 for none: a run that returns
// to the first needs the second, too.
type retained struct{ step, best uint64 }

// disk is the disk that the store writes to.
func (s *Store) disk() disk.Disk {
	if s.Disk == nil {
		return disk.System()
	}
	return s.Disk
}

// flush calls Flush unless it is nil.
func (s *Store) flush() error {
	if s.Flush == nil {
		return nil
	}
	return s.Flush()
}

// Write writes a checkpoint, and makes it the best one if best is set. It sets ParamsSHA256 and Path. If it fails, the
// earlier checkpoints stay valid. A file without its manifest may be left behind. It blocks until all is on the
// disk.
func (s *Store) Write(cp *Checkpoint, best bool) error {
	if err := disk.MakeIn(s.disk(), s.Dir); err != nil {
		return fmt.Errorf("make checkpoint folder: %w", err)
	}
	// What an earlier failure has left undone comes first.
	if err := errors.Join(s.EndRollback(), s.nameUnnamed()); err != nil {
		return err
	}
	if err := s.write(cp, best); err != nil {
		return fmt.Errorf("write checkpoint of step %d: %w", cp.Step, err)
	}
	s.keep(cp.Step, cp.BestStep)
	return nil
}

// write writes the files of a checkpoint, the data first.
func (s *Store) write(cp *Checkpoint, best bool) error {
	if err := CheckLayout(s.Layout, len(cp.Theta)); err != nil {
		return err
	}
	cp.ParamsSHA256 = Hash(cp.Theta)
	man := newManifest(cp, s.Identity, s.Data)
	err := s.replace(man.File, func(w io.Writer) (err error) {
		man.Bytes, man.SHA256, err = cp.write(w, s.Layout)
		return err
	})
	if err != nil {
		return err
	}
	text, err := json.MarshalIndent(man, "", "  ")
	if err != nil {
		return err
	}
	// The log has to have all steps up to the checkpoint before that is valid.
	if err := s.flush(); err != nil {
		return err
	}
	names := []string{stem(cp.Step) + manifestSuffix}
	if best {
		names = append(names, bestManifest)
	}
	for _, name := range names {
		err := s.replace(name, func(w io.Writer) error {
			_, err := w.Write(append(text, '\n'))
			return err
		})
		if err != nil {
			return err
		}
	}
	cp.Path = filepath.Join(s.Dir, names[0])
	return nil
}

// Resume continues after a checkpoint. If the program ended after it wrote the best checkpoint and before best.json
// named it, best.json is corrected, now or before the next checkpoint: the best checkpoint that is kept has to be the
// one that best.json names. 0 is for no best checkpoint. An error does not keep the run from going on.
func (s *Store) Resume(step, best uint64) error {
	s.keep(step, best)
	if best == 0 {
		return nil
	}
	if _, err := read(filepath.Join(s.Dir, stem(best)+manifestSuffix)); err != nil {
		return nil // best.json names it, or a better one
	}
	s.unnamed = best
	return s.nameUnnamed()
}

// nameUnnamed corrects best.json, if Resume found that it must.
func (s *Store) nameUnnamed() error {
	if s.unnamed == 0 {
		return nil
	}
	err := s.nameBest(s.unnamed)
	if err == nil {
		s.unnamed = 0
	}
	return err
}

// nameBest makes best.json a copy of a checkpoint's manifest. It writes nothing if it is one already.
func (s *Store) nameBest(step uint64) error {
	text, err := disk.ReadFile(filepath.Join(s.Dir, stem(step)+manifestSuffix), maxManifest)
	if err != nil {
		return fmt.Errorf("name best checkpoint: %w", err)
	}
	if old, err := disk.ReadFile(filepath.Join(s.Dir, bestManifest), maxManifest); err == nil && bytes.Equal(old, text) {
		return nil
	}
	err = s.replace(bestManifest, func(w io.Writer) error {
		_, err := w.Write(text)
		return err
	})
	if err != nil {
		return fmt.Errorf("name best checkpoint: %w", err)
	}
	return nil
}

// replace writes a file of the folder such that at any moment either the old file or the complete new one exists.
func (s *Store) replace(name string, write func(io.Writer) error) error {
	return disk.Replace(s.disk(), filepath.Join(s.Dir, name), write)
}

// keep records a valid checkpoint and the best step. It keeps the last two checkpoints, and the best one at the time of
// each.
func (s *Store) keep(step, best uint64) {
	s.kept = slices.DeleteFunc(s.kept, func(k retained) bool { return k.step == step })
	s.kept = append(s.kept, retained{step, best})
	if n := len(s.kept); n > 2 {
		s.kept = s.kept[n-2:]
	}
}

// Prune deletes checkpoints that are older than the newest kept one and need not be kept, and nothing else. Checkpoints
// that are newer, because Restore has skipped them, stay until the run passes their steps. A failure to delete only
// wastes space: Prune continues and returns the errors.
func (s *Store) Prune() error {
	if len(s.kept) == 0 {
		return nil
	}
	newest := s.kept[len(s.kept)-1].step
	return s.remove(func(step uint64) bool {
		wanted := func(k retained) bool { return step == k.step || step == k.best }
		return step < newest && !slices.ContainsFunc(s.kept, wanted)
	})
}

// remove deletes the files of the chosen checkpoints, manifests first: without a manifest, data are no checkpoint. A
// crash in between leaves data alone, which a later call deletes. It goes on after a failure.
func (s *Store) remove(chosen func(step uint64) bool) error {
	entries, err := os.ReadDir(s.Dir)
	if err != nil {
		return fmt.Errorf("delete old checkpoints: %w", err)
	}
	var errs []error
	for _, e := range entries { // ReadDir sorts: .json before .safetensors
		step, ok := stepOf(e.Name())
		if !ok || !e.Type().IsRegular() || !chosen(step) {
			continue
		}
		if err := s.disk().Remove(filepath.Join(s.Dir, e.Name())); err != nil {
			errs = append(errs, fmt.Errorf("delete old checkpoint: %w", err))
		}
	}
	return errors.Join(errs...)
}
