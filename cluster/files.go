package cluster

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
)

// State says what Init did with a file.
type State uint8

// The states of a file: it existed; it was made; it was made again because the files that it follows from have changed.
const (
	Kept State = iota
	Made
	Renewed
)

// String returns the word for people.
func (s State) String() string { return [...]string{"kept", "made", "renewed"}[s] }

// File is one file of the folder.
type File struct {
	Name  string
	State State
}

// folder reads and writes the files of a folder of keys, and records what it did.
type folder struct {
	path     string
	readable bool   // containers of another user may read the secrets
	files    []File // in the order in which they were looked at
}

// join is the path of a file.
func (f *folder) join(name string) string { return filepath.Join(f.path, name) }

// mode is the permissions of a file. Only the machine that makes certificates needs the authority's key.
func (f *folder) mode(name string) fs.FileMode {
	if !secret(name) || f.readable && name != CAKey {
		return 0o644
	}
	return 0o600
}

// secret reports whether other users must not read a file.
func secret(name string) bool {
	extension := filepath.Ext(name)
	return extension == ".nk" || extension == ".key" || name == PageToken
}

// keep returns the content of a file, and makes the file with create if it is missing. If two processes make it at
// the same time, one of them wins, and both use the winner's file.
func (f *folder) keep(name string, create func() ([]byte, error)) ([]byte, error) {
	data, err := f.kept(name)
	if errors.Is(err, fs.ErrNotExist) {
		return f.make(name, create)
	}
	return data, err
}

// kept returns the content of a file that is there.
func (f *folder) kept(name string) ([]byte, error) {
	data, err := os.ReadFile(f.join(name))
	if err != nil {
		return nil, fmt.Errorf("read key: %w", err)
	}
	f.files = append(f.files, File{name, Kept})
	return data, f.open(name)
}

// keepOnce is keep for a file that may have been kept before.
func (f *folder) keepOnce(name string, create func() ([]byte, error)) ([]byte, error) {
	if slices.ContainsFunc(f.files, func(known File) bool { return known.Name == name }) {
		return os.ReadFile(f.join(name))
	}
	return f.keep(name, create)
}

// make makes a file that is missing. It is written whole or not at all.
func (f *folder) make(name string, create func() ([]byte, error)) ([]byte, error) {
	data, err := create()
	if err != nil {
		return nil, err
	}
	temp, err := f.temporary(name, data)
	if err != nil {
		return nil, err
	}
	defer os.Remove(temp)
	err = os.Link(temp, f.join(name)) // unlike a rename, a link never replaces a file
	switch {
	case errors.Is(err, fs.ErrExist): // it is that of another process, or a link that leads nowhere
		return f.kept(name)
	case err != nil: // the file system has no links
		err = os.Rename(temp, f.join(name))
	}
	if err != nil {
		return nil, fmt.Errorf("write key: %w", err)
	}
	f.files = append(f.files, File{name, Made})
	return data, nil
}

// derive writes a file that follows from others, unless it has the right content. A reader finds the old content or
// the new one.
func (f *folder) derive(name string, data []byte) error {
	old, err := os.ReadFile(f.join(name))
	if err == nil && bytes.Equal(old, data) {
		f.files = append(f.files, File{name, Kept})
		return f.open(name)
	}
	state := Renewed
	if errors.Is(err, fs.ErrNotExist) {
		state = Made
	} else if err != nil {
		return fmt.Errorf("read: %w", err)
	}
	temp, err := f.temporary(name, data)
	if err != nil {
		return err
	}
	if err := os.Rename(temp, f.join(name)); err != nil {
		return errors.Join(fmt.Errorf("write %s: %w", name, err), os.Remove(temp))
	}
	f.files = append(f.files, File{name, state})
	return nil
}

// temporary writes data to a new file beside name. It is synced, and has the permissions that name is to have: no fewer
// than a file that it replaces, which the user may have given. The caller renames or removes it.
func (f *folder) temporary(name string, data []byte) (path string, err error) {
	file, err := os.CreateTemp(f.path, "."+name+".*") // with mode 0600
	if err != nil {
		return "", fmt.Errorf("write %s: %w", name, err)
	}
	mode := f.mode(name)
	if old, err := os.Stat(f.join(name)); err == nil {
		mode |= old.Mode().Perm()
	}
	_, err = file.Write(data)
	err = errors.Join(err, file.Chmod(mode), file.Sync(), file.Close())
	if err != nil {
		return "", errors.Join(fmt.Errorf("write %s: %w", name, err), os.Remove(file.Name()))
	}
	return file.Name(), nil
}

// open makes a file readable for all users if the configuration asks for it. It never takes permissions away: the user
// may have set them.
func (f *folder) open(name string) error {
	if !f.readable || f.mode(name) != 0o644 {
		return nil
	}
	info, err := os.Stat(f.join(name))
	if err == nil && info.Mode().Perm()&0o044 != 0o044 {
		err = os.Chmod(f.join(name), info.Mode().Perm()|0o044)
	}
	if err != nil {
		return fmt.Errorf("make %s readable: %w", name, err)
	}
	return nil
}
