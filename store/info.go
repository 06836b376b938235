package store

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/switchyard-ml/switchyard/internal/disk"
)

// State is the state of a run.
type State string

// The states of a run. If run.json says Running and no process holds the run, its process was killed: Load returns
// Lost.
const (
	Running     State = "running"
	Finished    State = "finished"
	Interrupted State = "interrupted" // stopped on request, with a checkpoint
	Failed      State = "failed"
	Lost        State = "lost"
	// Damaged: run.json cannot be read, and the exit reason says why. The run can be shown and removed.
	Damaged State = "damaged"
)

// Info is the content of run.json. It is written when the run begins and ends, at every checkpoint, and every few
// seconds in between, so Step may lag behind the metrics. Members that are younger than a run are empty in its file.
type Info struct {
	Name             string            `json:"name"`
	Was              string            `json:"was,omitempty"` // the name under which it began, if its folder was renamed
	State            State             `json:"state"`
	Step             uint64            `json:"step"`  // updates that are done
	Steps            uint64            `json:"steps"` // updates that the configuration asks for
	Checkpoint       uint64            `json:"checkpoint_step"`
	ParametersSHA256 string            `json:"params_sha256,omitempty"` // of the checkpoint
	Preset           string            `json:"preset"`
	Seed             uint64            `json:"seed"`
	ConfigSHA256     string            `json:"config_sha256"`
	Parameters       int               `json:"parameters,omitempty"`
	Terms            []Term            `json:"terms,omitempty"`   // of the loss, the loss first
	Metrics          Values            `json:"metrics,omitempty"` // the last value of each, e.g. best_validation
	Versions         map[string]string `json:"versions,omitempty"`
	GitRevision      string            `json:"git_revision,omitempty"`
	Command          []string          `json:"command,omitempty"`
	PID              int               `json:"pid"`
	Started          time.Time         `json:"started"`
	Updated          time.Time         `json:"updated"`
	ExitReason       string            `json:"exit_reason,omitempty"`
	Host             bool              `json:"host,omitempty"`    // a host leads it, and continues it after a restart of the host
	Sweep            string            `json:"sweep,omitempty"`   // the sweep whose trial it is, which alone continues it
	Stopped          bool              `json:"stopped,omitempty"` // stopped on request: a host continues it only when asked to
	Request          string            `json:"request,omitempty"` // the submission that opened it, which may be sent again
}

// Early says why a run ended before its last step, though nobody stopped it and nothing failed; empty if it did not.
func (i *Info) Early() string {
	if i.Step >= i.Steps {
		return ""
	}
	return fmt.Sprintf("stopped early: no validation was better than that of step %d (train.patience)",
		uint64(i.Metrics["best_step"]))
}

// Term describes one of the values of a loss, so that metrics can be shown without the model.
type Term struct {
	Name   string  `json:"name"` // in metrics.jsonl
	Label  string  `json:"label"`
	Unit   string  `json:"unit,omitempty"`
	Weight float64 `json:"weight"`         // its weight in the loss; 0 for the loss itself
	Note   string  `json:"note,omitempty"` // what one must know to read it
}

// Peek reads run.json of the named run as it is. Peek takes no lock, not even to see whether a process holds the run,
// so it cannot disturb a process that is about to take it. A run whose process was killed has the state Running
// there.
func Peek(dir, name string) (Info, error) { return readInfo(filepath.Join(dir, name)) }

// Load reads run.json of the named run without holding it. It returns ErrNotFound if there is no such run, ErrName
// for what cannot be a name, and ErrDamaged if the file cannot be read or is not one of a run.
func Load(dir, name string) (Info, error) {
	folder, err := find(dir, name)
	if err != nil {
		return Info{}, err
	}
	return load(folder, held)
}

// load is Load of a folder. held reports whether a process has the run there.
func load(folder string, held func(folder string) bool) (Info, error) {
	info, err := readInfo(folder)
	for err == nil && info.State == Running && !held(folder) {
		before := info
		// A process writes how the run ends before it lets go: what was read before may be older than that.
		if info, err = readInfo(folder); err == nil && info.State == Running && info.Updated.Equal(before.Updated) {
			info.State = Lost
		}
	}
	return info, err
}

// Look is Load for those who only show a run: for a run whose run.json cannot be read it returns the state Damaged.
// Its times are those of the folder, and the exit reason is the error.
func Look(dir, name string) (Info, error) {
	info, err := Load(dir, name)
	if !errors.Is(err, ErrDamaged) {
		return info, err
	}
	info = Info{Name: name, State: Damaged, ExitReason: err.Error()}
	if f, err := os.Lstat(filepath.Join(dir, name)); err == nil {
		info.Started, info.Updated = f.ModTime().UTC(), f.ModTime().UTC()
	}
	return info, nil
}

// renamed gives the run the name of its folder, and keeps the name under which it began. A sweep knows its trials by
// name: one of another name is a run of its own, which goes on when it is asked to.
func (i *Info) renamed(folder string) {
	if i.Name != folder && i.Name != "" {
		i.Was = cmp.Or(i.Was, i.Name)
		if i.Sweep != "" {
			i.Sweep, i.Stopped = "", i.State != Finished
		}
	}
	i.Name = folder
	if i.Was == folder {
		i.Was = "" // it has its name again
	}
}

// readInfo reads run.json of a folder, with the names of values in this release and the name that the folder has.
// The state is as written.
func readInfo(folder string) (Info, error) {
	path := filepath.Join(folder, infoFile)
	info, err := parseInfo(path)
	if _, gone := os.Stat(folder); errors.Is(err, fs.ErrNotExist) && errors.Is(gone, fs.ErrNotExist) {
		return Info{}, fmt.Errorf("%w: %s: %w", ErrNotFound, folder, err) // it was removed a moment ago
	}
	if err != nil {
		return Info{}, damaged(path, err)
	}
	info.Metrics.upgrade()
	info.renamed(filepath.Base(folder))
	return info, nil
}

// parseInfo reads run.json as it is.
func parseInfo(path string) (info Info, err error) {
	data, err := disk.ReadFile(path, maxInfo)
	if err == nil {
		err = json.Unmarshal(data, &info)
	}
	if err == nil {
		err = info.check()
	}
	return info, err
}

// check returns why this cannot be what a run wrote. The states that are only concluded, Lost and Damaged, are never
// written.
func (i *Info) check() error {
	switch i.State {
	case Running, Finished, Interrupted, Failed:
		return nil
	}
	return fmt.Errorf("state %q", i.State)
}

// upgrade gives the values of an older release, which called minus the loss of a validation its "elbo", their present
// names.
func (v Values) upgrade() {
	if _, present := v["validation_objective"]; present {
		return
	}
	for old, name := range map[string]string{
		"validation_elbo":      "validation_objective",
		"best_validation_elbo": "best_validation_objective",
	} {
		if x, found := v[old]; found {
			v[name] = x
			delete(v, old)
		}
	}
}

// encodeInfo is the text of run.json.
func encodeInfo(info Info) ([]byte, error) {
	data, err := json.MarshalIndent(info, "", "  ")
	if err != nil {
		return nil, fmt.Errorf("encode the state of the run: %w", err)
	}
	return append(data, '\n'), nil
}

// writeInfo replaces run.json: a reader, and a crash, finds the old or the new content.
func writeInfo(d disk.Disk, folder string, info Info) error {
	data, err := encodeInfo(info)
	if err != nil {
		return err
	}
	path := filepath.Join(folder, infoFile)
	if err := disk.Write(d, path, data); err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	return nil
}

// List returns the runs in dir, the last started first. A run whose run.json cannot be read has the state Damaged. A
// dir that does not exist has no runs. Folders without traces of a run, and files, are left out.
func List(dir string) ([]Info, error) {
	entries, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("list the runs: %w", err)
	}
	var list []Info
	for _, e := range entries {
		if !e.IsDir() {
			continue
		}
		if info, err := Look(dir, e.Name()); err == nil {
			list = append(list, info)
		}
	}
	sortByStart(list)
	return list, nil
}
