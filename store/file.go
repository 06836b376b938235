package store

import (
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/switchyard-ml/switchyard/internal/disk"
)

// WriteFile replaces the file at path by data. A reader finds either the old or the new content, complete, even after a
// crash.
func WriteFile(path string, data []byte) error {
	if err := disk.Write(disk.System(), path, data); err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	return nil
}

// WriteShared is WriteFile for a file that others may replace at the same time: the last one stays. A crash may leave a
// hidden file.
func WriteShared(path string, data []byte) error {
	aside := filepath.Join(filepath.Dir(path), "."+filepath.Base(path)+"."+rand.Text())
	if err := WriteFile(aside, data); err != nil {
		return err
	}
	d := disk.System()
	if err := d.Rename(aside, path); err != nil {
		return errors.Join(fmt.Errorf("write %s: %w", path, err), d.Remove(aside))
	}
	return d.SyncFolder(filepath.Dir(path))
}

// maxFile is the most bytes that are read of a file: more than any but metrics, logs and checkpoints has.
const maxFile = 64 << 20

// ReadFile reads a file that a run or a sweep has written. If it is no regular file, or far too large, it is
// damaged. A file that is missing gives fs.ErrNotExist.
func ReadFile(path string) ([]byte, error) {
	data, err := disk.ReadFile(path, maxFile)
	if errors.Is(err, disk.ErrIrregular) || errors.Is(err, disk.ErrTooLarge) {
		return nil, fmt.Errorf("%w: %w", ErrDamaged, err)
	}
	return data, err
}

// readJSON decodes a JSON file, of limited size, in the folder of the named run. Without the file, into stays as it is.
func readJSON(dir, name, file string, limit int64, into any) error {
	folder, err := find(dir, name)
	if err != nil {
		return err
	}
	path := filepath.Join(folder, file)
	if err := decodeFile(path, limit, into); err != nil {
		return damaged(path, err)
	}
	return nil
}

// damaged is the error for a file of a run that does not hold what it should.
func damaged(path string, err error) error {
	return fmt.Errorf("%w: %s: %w", ErrDamaged, path, bare(err))
}

// decodeFile is readJSON of a path, without a word on where.
func decodeFile(path string, limit int64, into any) error {
	data, err := disk.ReadFile(path, limit)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	return json.Unmarshal(data, into)
}

// OpenFile opens a file that a run has written, to read it. If it is no regular file, it is damaged. The caller
// closes it.
func OpenFile(path string) (*os.File, fs.FileInfo, error) {
	f, info, err := disk.Open(path)
	if errors.Is(err, disk.ErrIrregular) {
		err = fmt.Errorf("%w: %w", ErrDamaged, err)
	}
	return f, info, err
}

// Lock takes the lock at path, or returns ErrHeld. It ends with the returned file, or with the process. The file and
// its folder are made if they are missing, and stay.
func Lock(path string) (*os.File, error) {
	if err := disk.MakeFolder(disk.System(), filepath.Dir(path)); err != nil {
		return nil, fmt.Errorf("make the folder of a lock: %w", err)
	}
	return acquire(disk.System(), path)
}

// Locked reports whether a process has the lock at path.
func Locked(path string) bool { return locked(path) }

// openLock opens the file of a lock, which it makes if there is none.
func openLock(d disk.Disk, path string) (*os.File, error) {
	f, err := disk.OpenLock(path)
	if !errors.Is(err, fs.ErrNotExist) {
		return f, err
	}
	made, err := d.Append(path, 0)
	if err == nil {
		err = made.Close()
	}
	if err != nil {
		return nil, err
	}
	return disk.OpenLock(path)
}
