package files

import (
	"os"
	"path/filepath"
	"strings"
)

// Reads reports whether Read reads a file for paths, or would read it if it were there: one of the files, by
// whatever name (a link, a hard link, another spelling), or a new one in a folder or under a pattern of paths. A
// command that writes a file asks it first, so that it does not overwrite its own data. It opens no file.
func Reads(paths []string, file string) bool {
	info, err := os.Stat(file)
	for _, path := range paths {
		of, failed := os.Stat(path)
		switch {
		// The path is the file, by whatever name.
		case err == nil && failed == nil && os.SameFile(info, of):
			return true
		// A folder: what is laid there is read next time, if its ending is one of data.
		case failed == nil && of.IsDir():
			if isData(file) && within(of, filepath.Dir(file)) {
				return true
			}
		// No such path: it may be a pattern.
		case failed != nil:
			matched, err := filepath.Match(filepath.Clean(path), filepath.Clean(absolute(path, file)))
			if err == nil && matched {
				return true
			}
		}
		// What the path lists may hold a link to the file.
		if inputs, failed := expand([]string{path}); failed == nil && err == nil {
			for _, in := range inputs {
				if of, err := os.Stat(in.path); err == nil && os.SameFile(info, of) {
					return true
				}
			}
		}
	}
	return false
}

// within reports whether Read of a folder lists the files of dir: it is the folder, or one below it of a part.
func within(folder os.FileInfo, dir string) bool {
	if at, err := os.Stat(dir); err == nil && os.SameFile(at, folder) {
		return true
	}
	if _, ok := parsePart(strings.ToLower(filepath.Base(dir))); !ok {
		return false
	}
	at, err := os.Stat(filepath.Dir(dir))
	return err == nil && os.SameFile(at, folder)
}

// absolute is the name of a file in the form of a path: absolute if the path is.
func absolute(path, file string) string {
	if !filepath.IsAbs(path) {
		return file
	}
	if whole, err := filepath.Abs(file); err == nil {
		return whole
	}
	return file
}
