package cmd

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/switchyard-ml/switchyard/config"
	"github.com/switchyard-ml/switchyard/envs/files"
)

// stdin is the path that stands for the standard input.
const stdin = "-"

// magics are the first bytes of formats. What begins otherwise is taken for a table.
var magics = []struct{ begin, ending string }{
	{"PK\x03\x04", ".npz"}, {"\x93NUMPY", ".npy"}, {"MATLAB ", ".mat"}, {"PAR1", ".parquet"}, {"\x1f\x8b", ".csv.gz"},
}

// inspecting calls work with paths in which a file that holds the standard input takes the place of -, and ends as soon
// as the user interrupts it.
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
		dir, err := os.MkdirTemp("", "switchyard-")
		if err != nil {
			return fmt.Errorf("keep the standard input: %w", err)
		}
		forget, err := a.leftovers.add(dir)
		if err != nil {
			return errors.Join(err, os.RemoveAll(dir))
		}
		defer forget()
		path, err := a.spool(dir)
		if err == nil {
			kept := append([]string(nil), paths...)
			kept[at] = path
			err = work(kept)
		}
		return errors.Join(err, os.RemoveAll(dir))
	})
}

// spool writes the standard input into a file with the ending of its format.
func (a *app) spool(dir string) (string, error) {
	begin := make([]byte, 16)
	n, err := io.ReadFull(a.in, begin)
	if n == 0 {
		return "", fmt.Errorf("%w: the standard input is empty", files.ErrData)
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
