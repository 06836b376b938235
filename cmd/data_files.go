package cmd

import (
	"bytes"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/switchyard-ml/switchyard/config"
	"github.com/switchyard-ml/switchyard/envs/files"
)

// Where the data commands read and write: the standard input is kept in a temporary file while it is needed, and an
// output is written beside its place and renamed.

// stdin is the path that stands for the standard input, and stdinName what messages call it.
const (
	stdin     = "-"
	stdinName = "the standard input"
)

// magics are the first bytes of formats. What begins otherwise is taken for a table.
var magics = []struct{ begin, ending string }{
	{"PK\x03\x04", ".npz"}, {"\x93NUMPY", ".npy"}, {"MATLAB ", ".mat"}, {"PAR1", ".parquet"}, {"\x1f\x8b", ".csv.gz"},
}

// inspecting calls work with paths in which a file that holds the standard input takes the place of -, and ends as
// soon as the user interrupts it. The standard input is kept in a file because formats such as npz are read from
// their end; the file lives until work returns. To name - twice is a usage error.
func (a *app) inspecting(paths []string, work func(paths []string) error) error {
	return a.atOnce(func() error {
		at := -1
		for i, p := range paths {
			if p == stdin {
				if at >= 0 {
					return config.Usagef("the standard input (-) can be read once")
				}
				at = i
			}
		}
		if at < 0 {
			return work(paths)
		}
		// An interruption removes the folder, since work goes on until the process ends.
		dir, forget, err := a.leftovers.make(func() (string, error) { return os.MkdirTemp("", "switchyard-") })
		if err != nil {
			return fmt.Errorf("keep the standard input: %w", err)
		}
		defer forget()
		path, err := a.spool(dir)
		if err == nil {
			kept := append([]string(nil), paths...)
			kept[at] = path
			err = work(kept)
			if fault := new(files.Error); errors.As(err, &fault) && fault.File == path {
				fault.File = stdinName // nobody knows the file, which is gone
			}
		}
		return errors.Join(err, os.RemoveAll(dir))
	})
}

// spool writes the standard input into a file with the ending of its format, which its first bytes tell, and
// returns the path. An empty input is an error of the data.
func (a *app) spool(dir string) (string, error) {
	// Longer than each of magics.
	begin := make([]byte, 16)
	n, err := io.ReadFull(a.in, begin)
	if errors.Is(err, io.EOF) {
		return "", &files.Error{Problem: stdinName + " is empty"}
	}
	if err != nil && !errors.Is(err, io.ErrUnexpectedEOF) {
		return "", fmt.Errorf("read the standard input: %w", err)
	}
	ending := ".csv"
	for _, m := range magics {
		if bytes.HasPrefix(begin[:n], []byte(m.begin)) {
			ending = m.ending
		}
	}
	path := filepath.Join(dir, "stdin"+ending)
	f, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return "", fmt.Errorf("keep the standard input: %w", err)
	}
	_, err = io.Copy(f, io.MultiReader(bytes.NewReader(begin[:n]), a.in))
	if err := errors.Join(err, f.Close()); err != nil {
		return "", fmt.Errorf("keep the standard input: %w", err)
	}
	return path, nil
}

// writeData writes a data set in the format of the path's extension, or into a folder with one CSV file per
// episode. It replaces an existing file as a whole. An extension that is not written is a usage error.
func (a *app) writeData(d *files.Dataset, path string) error {
	switch {
	case isNPZ(path):
		return dataFault(a.replaceFile(path, d.WriteNPZ))
	case strings.HasSuffix(strings.ToLower(path), ".csv"):
		return dataFault(a.replaceFile(path, d.WriteCSV))
	case os.IsPathSeparator(path[len(path)-1]):
		return dataFault(a.writeFolder(d, path))
	}
	return outputFault(path)
}

// isNPZ reports whether an output has arrays.
func isNPZ(path string) bool { return strings.HasSuffix(strings.ToLower(path), ".npz") }

// outputEndings is the hint for an output whose format is not known.
const outputEndings = "end the name in .npz or .csv, or in / for a folder with one CSV file per episode"

// outputFault is the usage error for an output of a format that is not written.
func outputFault(path string) error {
	return config.Hint(config.Usagef("%s: no such format is written", path), outputEndings)
}

// target is where a command writes data.
type target struct {
	path  string
	force bool // an existing file may be replaced
}

// addForce defines the flag --force.
func (o *target) addForce(c *cobra.Command) {
	c.Flags().BoolVar(&o.force, "force", false, "replace the file if it exists")
}

// check is called before any work is done. It refuses a path that writeData would refuse, a file that is also read, an
// existing file unless it may be replaced, and a folder that is not empty: together with the new episodes, its files
// would be read as one data set.
func (o target) check(read []string) error {
	name := strings.ToLower(o.path)
	if o.path == "" || !strings.HasSuffix(name, ".npz") && !strings.HasSuffix(name, ".csv") &&
		!os.IsPathSeparator(o.path[len(o.path)-1]) {
		return outputFault(o.path)
	}
	info, err := os.Stat(o.path)
	if errors.Is(err, fs.ErrNotExist) {
		if os.IsPathSeparator(o.path[len(o.path)-1]) { // a folder is made with those above it
			return nil
		}
		return checkPlace(o.path)
	}
	if err != nil {
		return fmt.Errorf("find the output: %w", err)
	}
	if info.IsDir() {
		return checkFolder(o.path)
	}
	for _, path := range read {
		if in, err := os.Stat(path); err == nil && os.SameFile(in, info) {
			return config.Hint(config.Usagef("%s is one of the files to read, and the last argument is the file to write",
				o.path), "add the name of a new file")
		}
	}
	if !o.force {
		return config.Usagef("%s exists; choose another name or --force", o.path)
	}
	return checkPlace(o.path)
}

// checkPlace returns a usage error if no file can be written at a path: the folder for it is not there, or something
// else has its place, of which a file would be no replacement.
func checkPlace(path string) error {
	dir := filepath.Dir(path)
	info, err := os.Stat(dir)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return config.Hint(config.Usagef("%s: there is no folder %s", path, dir), "mkdir -p %s", dir)
	case err == nil && !info.IsDir():
		return config.Hint(config.Usagef("%s: %s is no folder", path, dir), "choose another name")
	}
	switch info, err = os.Stat(path); {
	case err != nil || info.Mode().IsRegular():
		return nil
	case info.IsDir():
		return config.Usagef("%s is a folder; choose another name", path)
	}
	return config.Usagef("%s is a pipe or a device, and a file would take its place; choose another name", path)
}

// checkFolder returns a usage error unless dir ends in a separator, which says that a folder is meant, and is
// empty.
func checkFolder(dir string) error {
	if !os.IsPathSeparator(dir[len(dir)-1]) {
		return config.Usagef("%s is a folder; choose another name", dir)
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		return fmt.Errorf("read the folder of the output: %w", err)
	}
	if len(entries) > 0 {
		return config.Hint(config.Usagef("the folder %s is not empty", dir),
			"choose another name, or empty it first: all files in a folder are read as one data set")
	}
	return nil
}

// writeFolder writes a CSV file for each episode, which are numbered with as many digits as the last needs: read as
// a folder, they are in their order again. They are written into a hidden folder, and get their place when all are
// there: some of them would be read as the whole data set. After a failure or an interruption none is there.
func (a *app) writeFolder(d *files.Dataset, dir string) (err error) {
	// A folder that is there, empty, stays: it may be a link, or where a disk is mounted.
	_, fault := os.Stat(dir)
	beside, there := filepath.Dir(filepath.Clean(dir)), fault == nil
	if there {
		beside = dir
	}
	if err := os.MkdirAll(beside, 0o755); err != nil {
		return fmt.Errorf("write the data: %w", err)
	}
	aside, forget, err := a.leftovers.make(func() (string, error) { return os.MkdirTemp(beside, ".episodes.*") })
	if err != nil {
		return fmt.Errorf("write the data: %w", err)
	}
	defer forget()
	defer func() {
		if fault := os.RemoveAll(aside); fault != nil {
			err = errors.Join(err, fmt.Errorf("write the data: %w", fault))
		}
	}()
	made := filepath.Join(aside, "data")
	if err := a.writeEpisodes(d, made); err != nil {
		return err
	}
	return a.leftovers.keep(func() error {
		move := os.Rename
		if there {
			move = moveFiles
		}
		if err := move(made, filepath.Clean(dir)); err != nil {
			return fmt.Errorf("write the data: %w", err)
		}
		return nil
	})
}

// writeEpisodes makes a folder with a file for each episode.
func (a *app) writeEpisodes(d *files.Dataset, dir string) error {
	if err := os.Mkdir(dir, 0o755); err != nil {
		return fmt.Errorf("write the data: %w", err)
	}
	digits, writeEpisode := len(fmt.Sprint(len(d.Episodes)-1)), d.EpisodeCSV()
	for i := range d.Episodes {
		var f *os.File
		// While an interruption removes the folder, no file is made in it.
		_, forget, err := a.leftovers.make(func() (path string, err error) {
			path = filepath.Join(dir, fmt.Sprintf("episode_%0*d.csv", digits, i))
			f, err = os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o644)
			return path, err
		})
		if err != nil {
			return fmt.Errorf("write the data: %w", err)
		}
		forget() // the folder is removed with all that it holds
		if err := errors.Join(writeEpisode(f, i), f.Close()); err != nil {
			return err
		}
	}
	return nil
}

// moveFiles moves the files of a folder into another one; if one cannot be moved, those before it are removed.
func moveFiles(from, to string) error {
	entries, err := os.ReadDir(from)
	for i := 0; err == nil && i < len(entries); i++ {
		name := entries[i].Name()
		if err = os.Rename(filepath.Join(from, name), filepath.Join(to, name)); err != nil {
			for _, e := range entries[:i] {
				err = errors.Join(err, os.Remove(filepath.Join(to, e.Name())))
			}
		}
	}
	return err
}

// replaceFile writes a temporary file beside path and renames it to path: whatever fails, an existing file stays
// whole. An interruption removes the temporary file.
func (a *app) replaceFile(path string, write func(io.Writer) error) (err error) {
	var f *os.File
	_, forget, err := a.leftovers.make(func() (string, error) {
		made, err := newBeside(path)
		if err != nil {
			return "", err
		}
		f = made
		return f.Name(), nil
	})
	if err != nil {
		return fmt.Errorf("write the data: %w", err)
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, os.Remove(f.Name()))
		}
		forget()
	}()
	if err := write(f); err != nil {
		return errors.Join(err, f.Close())
	}
	if err := f.Close(); err != nil {
		return fmt.Errorf("write the data: %w", err)
	}
	if err := a.leftovers.keep(func() error { return os.Rename(f.Name(), path) }); err != nil {
		return fmt.Errorf("write the data: %w", err)
	}
	return nil
}

// newBeside makes a hidden file that is to take the place of path. Who may read it is as for any file that the user
// makes, or, if a file is replaced, as for that one.
func newBeside(path string) (*os.File, error) {
	old, err := os.Stat(path)
	replaces := err == nil && old.Mode().IsRegular()
	mode := fs.FileMode(0o644)
	if replaces {
		mode = old.Mode().Perm()
	}
	name := filepath.Join(filepath.Dir(path), "."+filepath.Base(path)+"."+rand.Text()[:10])
	f, err := os.OpenFile(name, os.O_CREATE|os.O_EXCL|os.O_WRONLY, mode)
	if err != nil || !replaces {
		return f, err
	}
	if err := f.Chmod(mode); err != nil { // what the umask took away
		return nil, errors.Join(err, f.Close(), os.Remove(name))
	}
	return f, nil
}
