//go:build unix

package disk

import (
	"errors"
	"os"
)

// syncFolder makes a rename in dir survive a crash of the machine.
func syncFolder(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}
