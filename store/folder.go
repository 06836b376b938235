package store

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/switchyard-ml/switchyard/internal/setting"
)

// Remove removes the folder of the named run with all that it holds. It returns ErrHeld while a process works on the
// run.
func Remove(dir, name string) error {
	r, err := Open(dir, name)
	if err != nil {
		return err
	}
	// Without run.json the folder is no run any more, whatever interrupts the rest.
	err = errors.Join(os.Remove(r.Path(infoFile)), os.RemoveAll(r.folder), r.Close())
	if err != nil {
		return fmt.Errorf("remove %s: %w", r.folder, err)
	}
	return nil
}

// Rename gives a run another name. The run says what it was called before. It returns ErrHeld while a process works on
// the run, and ErrOccupied if the name is taken.
func Rename(dir, from, to string) error {
	if err := setting.CheckRun(to); err != nil {
		return fmt.Errorf("%w: %w", ErrName, err)
	}
	r, err := Open(dir, from)
	if err != nil {
		return err
	}
	target := filepath.Join(dir, to)
	_, err = os.Lstat(target)
	switch {
	case err == nil:
		err = fmt.Errorf("%w: %s exists", ErrOccupied, target)
	case errors.Is(err, fs.ErrNotExist):
		if err = os.Rename(r.folder, target); err != nil {
			err = fmt.Errorf("rename the run: %w", err)
		}
	}
	return errors.Join(err, r.Close())
}

// NormalisationFile is the file, in the folder of a run on recorded data, with the scaling of the data.
const NormalisationFile = "normalisation.json"
