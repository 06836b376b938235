package store

import (
	"errors"
	"fmt"
	"path/filepath"

	"github.com/switchyard-ml/switchyard/internal/disk"
	"github.com/switchyard-ml/switchyard/internal/setting"
)

// Remove removes the folder of the named run with all that it holds. It returns ErrHeld while a process works on the
// run. The name is free at once; a process that is killed later leaves a folder aside, which the next Create or Clear
// removes. A damaged run is removed, too.
func Remove(dir, name string) error { return remove(disk.System(), dir, name) }

// remove is Remove on a given disk. The folder is renamed aside first: then it is no run any more, however long it
// takes to delete its files.
func remove(d disk.Disk, dir, name string) error {
	folder, err := find(dir, name)
	if err != nil {
		return err
	}
	r := &Run{folder: folder, disk: d}
	if err := r.hold(); err != nil && !errors.Is(err, disk.ErrIrregular) { // a lock that cannot be one holds nobody off
		return err
	}
	aside := filepath.Join(dir, asideName(name, oldSuffix))
	err = disk.RemoveTree(d, aside) // left by a process that was killed
	if err == nil {
		err = d.Rename(folder, aside)
	}
	if err == nil {
		err = errors.Join(d.SyncFolder(dir), disk.RemoveTree(d, aside))
	}
	if err = errors.Join(err, r.Close()); err != nil {
		return fmt.Errorf("remove %s: %w", folder, err)
	}
	return nil
}

// Rename gives a run another name. The run says what it was called before. It returns ErrHeld while a process works on
// the run, and ErrOccupied if the name is taken. Only the folder gets another name: run.json is as it was, and the
// new name is put in when it is read, with the old one in Was.
func Rename(dir, from, to string) error { return rename(disk.System(), dir, from, to) }

// rename is Rename on a given disk.
func rename(d disk.Disk, dir, from, to string) error {
	if err := setting.CheckRun(to); err != nil {
		return fmt.Errorf("%w: %w", ErrName, err)
	}
	r, err := Open(dir, from)
	if err != nil {
		return err
	}
	target := filepath.Join(dir, to)
	err = free(d, target)
	if err == nil {
		if err = d.Rename(r.folder, target); err == nil {
			err = d.SyncFolder(dir)
		}
		if err != nil {
			err = fmt.Errorf("rename the run: %w", err)
		}
	}
	return errors.Join(err, r.Close())
}

// NormalisationFile is the file, in the folder of a run on recorded data, with the scaling of the data.
const NormalisationFile = "normalisation.json"
