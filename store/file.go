package store

import (
	"fmt"
	"io"
	"os"

	"github.com/switchyard-ml/switchyard/internal/disk"
)

// WriteFile replaces the file at path by data. A reader finds either the old or the new content, complete, even after a
// crash.
func WriteFile(path string, data []byte) error {
	err := disk.Replace(disk.System(), path, func(w io.Writer) error {
		_, err := w.Write(data)
		return err
	})
	if err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	return nil
}

// Lock takes the lock at path, or returns ErrHeld. It ends with the returned file, or with the process.
func Lock(path string) (*os.File, error) { return acquire(path) }

// Locked reports whether a process has the lock at path.
func Locked(path string) bool { return locked(path) }
