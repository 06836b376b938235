package store

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"strings"

	"github.com/switchyard-ml/switchyard/internal/disk"
)

// Copy copies the run in the folder from to dir, under another name, and adds a file to it. The copy, with what change
// does to its run.json, appears in whole, in place of any run of that name, whose labels it takes over. Copy returns
// ErrHeld while a process works on that run. The source is not held: it should be a run that has ended. Locks and
// hidden files are not copied.
// A failure before the old run is removed leaves it as it was.
func Copy(from, dir, name, file string, content []byte, change func(*Info)) (err error) {
	d := disk.System()
	if err := disk.MakeFolder(d, dir); err != nil {
		return err
	}
	aside, folder := filepath.Join(dir, asideName(name, newSuffix)), filepath.Join(dir, name)
	lock, err := makeAside(d, aside)
	if err != nil {
		return fmt.Errorf("copy %s: %w", from, err)
	}
	defer func() {
		if err != nil {
			err = errors.Join(fmt.Errorf("copy %s: %w", from, err), disk.RemoveTree(d, aside))
		}
		err = errors.Join(err, lock.Close())
	}()
	if err := copyTree(d, from, aside); err != nil {
		return err
	}
	if err := put(d, filepath.Join(aside, file), content); err != nil {
		return err
	}
	info, err := readInfo(from)
	if err != nil {
		return err
	}
	info.renamed(name)
	change(&info)
	data, err := encodeInfo(info)
	if err != nil {
		return err
	}
	if err := disk.Write(d, filepath.Join(aside, infoFile), data); err != nil {
		return err
	}
	err = disk.Copy(d, filepath.Join(folder, LabelsFile), filepath.Join(aside, LabelsFile))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	// The copy is complete: only the name is missing.
	if err := Remove(dir, name); err != nil && !errors.Is(err, ErrNotFound) {
		return err
	}
	return errors.Join(d.Rename(aside, folder), d.SyncFolder(dir))
}

// copyTree copies the files of a folder but its lock, those aside, and what is in hidden folders.
func copyTree(d disk.Disk, from, to string) error {
	return filepath.WalkDir(from, func(path string, e fs.DirEntry, err error) error {
		hidden := err == nil && path != from && strings.HasPrefix(e.Name(), ".")
		switch {
		case hidden && e.IsDir():
			return filepath.SkipDir
		case err != nil || path == from || hidden || e.Name() == lockFile:
			return err
		}
		target := filepath.Join(to, strings.TrimPrefix(path, from))
		if e.IsDir() {
			return disk.MakeFolder(d, target)
		}
		return disk.Copy(d, path, target)
	})
}
