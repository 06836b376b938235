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

// Store writes the checkpoints of a run into a folder and keeps the last two and the best. Its methods are not for several
// goroutines at a time.
//
// Each file is written under another name, synced and renamed, the manifest after the data, so that what is found under
// its own name is whole or detectably not.
type Store struct {
	Dir      string       // made if missing
	Layout   []Tensor     // of the parameters, without gaps; empty: one tensor "theta"
	Disk     disk.Disk    // nil: the operating system's files
	Identity string       // of what decides the bits of the run, recorded in manifests
	Data     string       // hash of its data set; empty: none
	Flush    func() error // brings to the disk what has to be there before a checkpoint counts; nil: nothing has to

	kept    []retained    // the valid checkpoints that are not to be deleted, oldest first
	back    *rollbackNote // a rollback that is decided and not noted
	unnamed uint64        // the best checkpoint, if best.json does not name it; 0: it does
}

// retained is a checkpoint that is kept, and with it the one that was the best then: a run that goes back to the first
// still has the second.
type retained struct{ step, best uint64 }

// disk is where it writes.
func (s *Store) disk() disk.Disk {
	if s.Disk == nil {
		return disk.System()
	}
	return s.Disk
}

// flush calls Flush.
func (s *Store) flush() error {
	if s.Flush == nil {
		return nil
	}
	return s.Flush()
}

// Write puts a checkpoint on disk, as the best one if it is. It fills in ParamsSHA256 and Path. If it fails, the
// checkpoints of before stay valid.
func (s *Store) Write(cp *Checkpoint, best bool) error {
	if err := disk.MakeFolder(s.disk(), s.Dir); err != nil {
		return fmt.Errorf("make checkpoint folder: %w", err)
	}
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

// Resume continues after a checkpoint. If the best one was written and the program ended before best.json named it, that
// is made up for, now or before the next checkpoint; otherwise keep would protect one and best.json name another.
func (s *Store) Resume(step, best uint64) error {
	s.keep(step, best)
	if best == 0 {
		return nil
	}
	if _, err := read(filepath.Join(s.Dir, stem(best)+manifestSuffix)); err != nil {
		return nil // best.json is no worse
	}
	s.unnamed = best
	return s.nameUnnamed()
}

// nameUnnamed makes best.json name what Resume found it should.
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

// nameBest makes best.json a copy of a checkpoint's manifest.
func (s *Store) nameBest(step uint64) error {
	text, err := os.ReadFile(filepath.Join(s.Dir, stem(step)+manifestSuffix))
	if err != nil {
		return fmt.Errorf("name best checkpoint: %w", err)
	}
	if old, err := os.ReadFile(filepath.Join(s.Dir, bestManifest)); err == nil && bytes.Equal(old, text) {
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

// replace writes a file of the folder so that at any moment there is either the old one or the whole new one.
func (s *Store) replace(name string, write func(io.Writer) error) error {
	return disk.Replace(s.disk(), filepath.Join(s.Dir, name), write)
}

// keep notes a valid checkpoint and the best step; the last two are wanted, and what was the best at each of them.
func (s *Store) keep(step, best uint64) {
	s.kept = slices.DeleteFunc(s.kept, func(k retained) bool { return k.step == step })
	s.kept = append(s.kept, retained{step, best})
	if n := len(s.kept); n > 2 {
		s.kept = s.kept[n-2:]
	}
}

// Prune deletes the checkpoints before the newest that are not wanted, and nothing else. Newer ones, which Restore did
// not accept, stay until they are overtaken. What it cannot delete costs room only; it goes on and returns the errors.
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

// remove deletes the files of the checkpoints that are chosen, manifests first: data without one do not count.
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
