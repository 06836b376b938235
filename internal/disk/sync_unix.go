//go:build unix

package disk

import (
	"errors"
	"os"
)

// syncFolder makes a rename in dir survive a crash of the machine: the entries of a folder are flushed apart from
// the files.
func syncFolder(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}
