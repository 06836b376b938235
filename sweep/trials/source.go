package trials

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"
	"slices"

	"github.com/switchyard-ml/switchyard/config"
	"github.com/switchyard-ml/switchyard/store"
	"github.com/switchyard-ml/switchyard/sweep"
)

// source is what a spec needs besides its text, so that a sweep can go on from its folder alone. It lies in
// source.json. A sweep of a file on this machine has the folder of the file; one that was submitted has the files
// themselves.
type source struct {
	Folder      string            `json:"folder,omitempty"` // that paths of the spec are relative to
	Environment []string          `json:"environment,omitempty"`
	Files       map[string]string `json:"files,omitempty"`
	Leader      string            `json:"leader,omitempty"` // which alone continues it; empty: an older release does not say
}

// What leads sweeps: a command has their runs in their folders, a coordinator among its other runs.
const (
	byCommand     = "command"
	byCoordinator = "coordinator"
)

const sourceFile = "source.json"

// read reads a file that was submitted. Files are known by their names alone: the paths are those of another machine.
func (s source) read(path string) ([]byte, error) {
	text, ok := s.Files[filepath.Base(path)]
	if !ok {
		return nil, fmt.Errorf("%w: %s did not come with the sweep", fs.ErrNotExist, path)
	}
	return []byte(text), nil
}

// errLed is returned for a sweep that a command leads to a coordinator, and the other way round.
var errLed = errors.New("its runs are elsewhere")

// begin keeps what the spec needs and what leads the sweep, and forgets an order that was given before. What led it
// first still does: the other gets errLed. The lock of the folder is held.
func (j *Job) begin() error {
	mine := byCoordinator
	if j.local {
		mine = byCommand
	}
	j.source.Leader = mine
	if old, err := j.Folder.remembered(); err == nil {
		j.source.Leader = old.Leader
	}
	if other := j.source.Leader; other != "" && other != mine {
		hint := "the command that started it continues it"
		if j.local {
			hint = "sweep resume and sweep extend with --nats continue it"
		}
		return config.Hint(config.Usage(fmt.Errorf("a %s leads sweep %s: %w", other, j.Folder.Name, errLed)),
			"%s; a new sweep needs another --name", hint)
	}
	if !j.obeys {
		if err := j.Folder.SetOrder(sweep.Proceed); err != nil {
			return err
		}
	}
	slices.Sort(j.source.Environment)
	return j.Folder.write(sourceFile, func(w io.Writer) error { return encode(w, j.source) })
}

// remembered is what begin has kept.
func (f Folder) remembered() (s source, err error) {
	err = decodeFile(f.Path(sourceFile), &s)
	return s, err
}

// Again is Prepare for a sweep from its folder: with the spec, the environment and the files that it began with.
// r needs Folder and Kinds alone. A file that is missing or cannot be read is store.ErrDamaged.
func Again(r Request) (j *Job, err error) {
	text, err := store.ReadFile(r.Folder.Path(SpecFile))
	if err != nil {
		return nil, fmt.Errorf("%w: read the spec of the sweep: %w", store.ErrDamaged, err)
	}
	s, err := r.Folder.remembered()
	if err != nil {
		return nil, fmt.Errorf("%w: %w", store.ErrDamaged, err)
	}
	r.Text, r.Environment = text, s.Environment
	r.Path = filepath.Join(s.Folder, SpecFile)
	defer func() {
		if j != nil {
			j.source = s
		}
	}()
	if s.Files != nil {
		r.Read = s.read
	}
	return Prepare(r)
}
