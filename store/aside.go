package store

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/switchyard-ml/switchyard/internal/disk"
	"github.com/switchyard-ml/switchyard/internal/setting"
)

// A folder aside has a name that no run can have: it begins with a point. One that no process holds was left by one
// that was killed, and holds nothing that is needed.
const (
	newSuffix = ".new" // a run that is being made
	oldSuffix = ".old" // a run that is being removed
)

// asideName is the name of the folder aside of a run.
func asideName(run, suffix string) string { return "." + run + suffix }

// isAside reports whether a name is that of a folder aside. The rest of its name has to be that of a run, so that no
// other hidden folder is ever removed.
func isAside(name string) bool {
	for _, suffix := range []string{newSuffix, oldSuffix} {
		if run, ok := strings.CutSuffix(strings.TrimPrefix(name, "."), suffix); ok && name[0] == '.' {
			return setting.CheckRun(run) == nil
		}
	}
	return false
}

// makeAside makes the empty folder at path and holds it. It returns ErrHeld if another process does. What a process
// that was killed has left in it is removed. The lock ends with the returned file; it lies in the folder and keeps
// its hold when the folder is renamed.
func makeAside(d disk.Disk, path string) (*os.File, error) {
	for {
		if err := d.Mkdir(path); err != nil {
			return nil, err
		}
		lock, err := holdFolder(d, path)
		if errors.Is(err, fs.ErrNotExist) {
			continue // another process removed it as a leftover, or renamed it as complete
		}
		if err != nil {
			return nil, err
		}
		if err := empty(d, path); err != nil {
			return nil, errors.Join(err, lock.Close())
		}
		return lock, nil
	}
}

// holdFolder takes the lock of a folder, of one aside or of a run. It returns fs.ErrNotExist if the folder is gone by
// then, or another one. Between opening the lock and taking it, another process may have removed or renamed it: then
// the lock that was taken is that of a file without a name, or in another place, and holds nobody off.
func holdFolder(d disk.Disk, path string) (*os.File, error) {
	file := filepath.Join(path, lockFile)
	lock, err := acquire(d, file)
	if err != nil {
		return nil, err
	}
	mine, err := lock.Stat()
	if err == nil {
		var there fs.FileInfo
		if there, err = os.Lstat(file); err == nil && !os.SameFile(mine, there) {
			err = fs.ErrNotExist
		}
	}
	if err != nil {
		return nil, errors.Join(err, lock.Close())
	}
	return lock, nil
}

// empty removes everything but the lock.
func empty(d disk.Disk, path string) error {
	entries, err := os.ReadDir(path)
	if err != nil {
		return err
	}
	for _, e := range entries {
		if e.Name() == lockFile {
			continue
		}
		if err := disk.RemoveTree(d, filepath.Join(path, e.Name())); err != nil {
			return err
		}
	}
	return nil
}

// Clear removes what processes left in a folder of runs that were killed while they made or removed a run. It leaves
// alone those in which a process is at work. It waits for nobody.
func Clear(dir string) error { return clear(disk.System(), dir) }

// clear is Clear on a given disk.
func clear(d disk.Disk, dir string) error {
	entries, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("look for what is left of runs: %w", err)
	}
	for _, e := range entries {
		if !isAside(e.Name()) {
			continue
		}
		if err := discard(d, filepath.Join(dir, e.Name())); err != nil {
			return fmt.Errorf("remove what is left of a run: %w", err)
		}
	}
	return nil
}

// discard removes a folder aside, unless a process makes a run in it. Several processes may do that at the same
// time. A folder of a run that is being removed needs no lock: nobody will use it again.
func discard(d disk.Disk, path string) error {
	var lock *os.File
	if strings.HasSuffix(path, newSuffix) {
		var err error
		lock, err = holdFolder(d, path)
		switch {
		case errors.Is(err, ErrHeld), errors.Is(err, fs.ErrNotExist):
			return nil
		case err != nil && !errors.Is(err, disk.ErrIrregular) && !errors.Is(err, syscall.ENOTDIR):
			return err
		}
	}
	err := disk.RemoveTree(d, path)
	if errors.Is(err, syscall.ENOTEMPTY) { // another process looks at its lock, and removes it
		err = nil
	}
	if lock != nil {
		err = errors.Join(err, lock.Close())
	}
	return err
}
