package runs

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
)

// Size is the room that the files of the named run take, in bytes. Files that vanish meanwhile count nothing.
func Size(dir, name string) (int64, error) {
	folder, err := find(dir, name)
	if err != nil {
		return 0, err
	}
	var size int64
	err = filepath.WalkDir(folder, func(_ string, e fs.DirEntry, err error) error {
		if err == nil && e.Type().IsRegular() {
			var info fs.FileInfo
			if info, err = e.Info(); err == nil {
				size += info.Size()
			}
		}
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		return err
	})
	if err != nil {
		return 0, fmt.Errorf("measure %s: %w", folder, err)
	}
	return size, nil
}
