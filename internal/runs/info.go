package runs

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/switchyard-ml/switchyard/internal/disk"
)

// State is where a run stands.
type State string

// The states of a run. A run that is Running but held by no process was killed;
// Load reports it as Lost.
const (
	Running     State = "running"
	Finished    State = "finished"
	Interrupted State = "interrupted" // stopped on request, with a checkpoint
	Failed      State = "failed"
	Lost        State = "lost"
)

// Info is the content of run.json.
type Info struct {
	Name             string            `json:"name"`
	State            State             `json:"state"`
	Step             uint64            `json:"step"`  // updates done
	Steps            uint64            `json:"steps"` // updates asked for
	Checkpoint       uint64            `json:"checkpoint_step"`
	ParametersSHA256 string            `json:"params_sha256,omitempty"` // of the checkpoint
	Preset           string            `json:"preset"`
	Seed             uint64            `json:"seed"`
	ConfigSHA256     string            `json:"config_sha256"`
	Parameters       int               `json:"parameters,omitempty"`
	Terms            []Term            `json:"terms,omitempty"`   // of the loss, the loss first
	Metrics          Values            `json:"metrics,omitempty"` // the latest of each, e.g. best_validation
	Versions         map[string]string `json:"versions,omitempty"`
	GitRevision      string            `json:"git_revision,omitempty"`
	Command          []string          `json:"command,omitempty"`
	PID              int               `json:"pid"`
	Started          time.Time         `json:"started"`
	Updated          time.Time         `json:"updated"`
	ExitReason       string            `json:"exit_reason,omitempty"`
	Host             bool              `json:"host,omitempty"`    // a coordinator leads it, and goes on with it when it starts
	Stopped          bool              `json:"stopped,omitempty"` // stopped on request: it does not, until it is asked to
}

// Term says what one of the values of a loss is.
type Term struct {
	Name   string  `json:"name"` // in metrics.jsonl
	Label  string  `json:"label"`
	Unit   string  `json:"unit,omitempty"`
	Weight float64 `json:"weight"` // with which it enters the loss; 0 for the loss itself
}

// Peek reads run.json of the named run as it is. It takes no lock, not even to see whether a process holds the run, so
// it is in nobody's way who is about to.
func Peek(dir, name string) (Info, error) { return readInfo(filepath.Join(dir, name)) }

// Load reads run.json of the named run without holding it.
func Load(dir, name string) (Info, error) {
	folder, err := find(dir, name)
	if err != nil {
		return Info{}, err
	}
	info, err := readInfo(folder)
	if err != nil {
		return Info{}, err
	}
	if info.State == Running && !held(folder) {
		info.State = Lost
	}
	return info, nil
}

func readInfo(folder string) (Info, error) {
	path := filepath.Join(folder, infoFile)
	data, err := os.ReadFile(path)
	if err != nil {
		return Info{}, fmt.Errorf("read the state of the run: %w", err)
	}
	var info Info
	if err := json.Unmarshal(data, &info); err != nil {
		return Info{}, fmt.Errorf("%w: %s: %w", ErrDamaged, path, err)
	}
	return info, nil
}

func writeInfo(d disk.Disk, folder string, info Info) error {
	data, err := json.MarshalIndent(info, "", "  ")
	if err != nil {
		return fmt.Errorf("encode the state of the run: %w", err)
	}
	path := filepath.Join(folder, infoFile)
	err = disk.Replace(d, path, func(w io.Writer) error {
		_, err := w.Write(append(data, '\n'))
		return err
	})
	if err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	return nil
}

// List returns the runs in dir, the latest started first. A folder without a
// readable run.json is left out; a missing dir holds no runs.
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
		if info, err := Load(dir, e.Name()); err == nil {
			info.Name = e.Name()
			list = append(list, info)
		}
	}
	sortByStart(list)
	return list, nil
}
