package store

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
	return SizeOf(folder)
}

// SizeOf is the room that a file, or the files in a folder, take, in bytes; 0 if there is none. Files that vanish
// meanwhile count nothing.
func SizeOf(path string) (int64, error) {
	var size int64
	err := filepath.WalkDir(path, func(_ string, e fs.DirEntry, err error) error {
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
		return 0, fmt.Errorf("measure %s: %w", path, err)
	}
	return size, nil
}
