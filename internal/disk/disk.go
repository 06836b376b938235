// Package disk writes the files of a run so that a crash, of the program or of the machine, leaves either the old or
// the new content. All changes go through a Disk, so that a test can make each of them fail. The package does not know
// the content of the files.
package disk

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
)

// File is a file that is being written.
type File interface {
	io.WriteCloser
	// Sync flushes the file to the disk.
	Sync() error
}

// Disk changes files and folders. Reading does not need it.
type Disk interface {
	// Create creates a file, or empties an existing one. A link is not followed.
	Create(path string) (File, error)
	// Append opens a file, or creates it, to write after its first size bytes. The rest of the file is cut off. A link
	// to a file is ErrIrregular.
	Append(path string, size int64) (File, error)
	// Rename renames a file, and replaces the file that has the new name.
	Rename(from, to string) error
	// Remove deletes a file or an empty folder. A file that does not exist is no error.
	Remove(path string) error
	// Mkdir makes a folder. A folder that exists is no error.
	Mkdir(path string) error
	// SyncFolder makes the entries of a folder survive a crash of the machine.
	SyncFolder(path string) error
}

// System returns the disk of the operating system.
func System() Disk { return system{} }

// system is the disk of the operating system. Files are readable by all users, as far as the umask lets them.
type system struct{}

// Create implements Disk. A pipe at the path does not make it wait for a reader.
func (system) Create(path string) (File, error) {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_WRONLY|os.O_TRUNC|patient|direct, 0o644)
	if err != nil { // a nil *os.File is no nil File
		return nil, err
	}
	return f, nil
}

// Append implements Disk. O_APPEND alone would write behind what a crash has left after size.
func (system) Append(path string, size int64) (File, error) {
	flags := os.O_CREATE
	info, err := os.Lstat(path)
	// A link to a device, such as /dev/null, is followed, and nothing is created behind it; a link to a file is
	// refused.
	linked := err == nil && info.Mode()&fs.ModeSymlink != 0
	if linked {
		flags = 0
	}
	f, err := os.OpenFile(path, flags|os.O_WRONLY|os.O_APPEND|patient, 0o644)
	if err != nil {
		return nil, err
	}
	info, err = f.Stat()
	switch {
	case err != nil || !info.Mode().IsRegular(): // a device cannot be cut
	case linked: // to a file that may be anybody's
		err = fmt.Errorf("%s: %w", path, ErrIrregular)
	case info.Size() > size:
		err = f.Truncate(size)
	}
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}

func (system) Rename(from, to string) error { return os.Rename(from, to) }

// Remove implements Disk.
func (system) Remove(path string) error {
	if err := os.Remove(path); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

// Mkdir implements Disk. The parent must be there; MakeFolder makes it.
func (system) Mkdir(path string) error {
	if err := os.Mkdir(path, 0o755); !errors.Is(err, fs.ErrExist) {
		return err
	}
	return nil
}

func (system) SyncFolder(path string) error { return syncFolder(path) }

// Suffix ends the temporary name that Replace uses. A file of that name is what a crash has left, and may be
// removed.
const Suffix = ".tmp"

// Replace writes a file such that at any moment either the old file exists or the complete new one. It writes under
// a temporary name, syncs, renames, and syncs the folder. If it fails before the rename, the old file stays, and
// the temporary one is removed. Two calls for one path must not run at the same time.
func Replace(d Disk, path string, write func(io.Writer) error) (err error) {
	temp := path + Suffix
	if info, err := os.Lstat(temp); err == nil && !info.Mode().IsRegular() { // not left by a program like this
		if err := d.Remove(temp); err != nil {
			return err
		}
	}
	f, err := d.Create(temp)
	if err != nil {
		return err
	}
	if err = write(f); err == nil {
		err = f.Sync()
	}
	// The first error counts, but the file is closed in any case.
	if e := f.Close(); err == nil {
		err = e
	}
	if err == nil {
		err = d.Rename(temp, path)
	}
	if err != nil {
		if e := d.Remove(temp); e != nil {
			err = fmt.Errorf("%w, and %w", err, e)
		}
		return err
	}
	return d.SyncFolder(filepath.Dir(path))
}

// Write replaces the file at path by data, as Replace does.
func Write(d Disk, path string, data []byte) error {
	return Replace(d, path, func(w io.Writer) error {
		_, err := w.Write(data)
		return err
	})
}

// RemoveTree deletes a file, or a folder with all that it holds, one by one: what a link points to stays. What does
// not exist is no error. It goes on after a failure, and returns all of them.
func RemoveTree(d Disk, path string) error {
	info, err := os.Lstat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return err
	case !info.IsDir():
		return d.Remove(path)
	}
	entries, err := os.ReadDir(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	all := []error{err}
	for _, e := range entries {
		all = append(all, RemoveTree(d, filepath.Join(path, e.Name())))
	}
	// A folder that still holds something could not be removed either.
	if err := errors.Join(all...); err != nil {
		return err
	}
	return d.Remove(path)
}

// MakeFolder makes a folder and its missing parents; all of them survive a crash of the machine. A folder that
// exists is no error.
func MakeFolder(d Disk, path string) error {
	if info, err := os.Stat(path); err == nil && info.IsDir() {
		return nil
	}
	// From the outermost missing folder inwards; the entry of each is flushed to the disk.
	if parent := filepath.Dir(path); parent != path {
		if err := MakeFolder(d, parent); err != nil {
			return err
		}
	}
	return MakeIn(d, path)
}

// MakeIn is MakeFolder for a folder whose parent must be there. What belongs to a folder that somebody has moved or
// removed is not written into a new one.
func MakeIn(d Disk, path string) error {
	if info, err := os.Stat(path); err == nil && info.IsDir() {
		return nil
	}
	err := d.Mkdir(path)
	if err == nil {
		err = d.SyncFolder(filepath.Dir(path))
	}
	return err
}
