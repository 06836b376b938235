package runs

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/switchyard-ml/switchyard/internal/disk"
)

// WriteFile replaces the file at path by data: whoever reads it, and whatever
// crashes, finds the old or the new content whole.
func WriteFile(path string, data []byte) error {
	err := replace(path, func(w io.Writer) error {
		_, err := w.Write(data)
		return err
	})
	if err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	return nil
}

// replace writes a temporary file beside path, syncs it, renames it over path and
// syncs the folder. On failure the temporary file is removed.
func replace(path string, write func(io.Writer) error) (err error) {
	dir := filepath.Dir(path)
	tmp, err := os.CreateTemp(dir, "."+filepath.Base(path)+".*")
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, os.Remove(tmp.Name()))
		}
	}()
	if err := errors.Join(write(tmp), tmp.Chmod(0o644), tmp.Sync(), tmp.Close()); err != nil {
		return err
	}
	if err := os.Rename(tmp.Name(), path); err != nil {
		return err
	}
	return disk.System().SyncFolder(dir)
}
