package trained

import (
	"errors"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/switchyard-ml/switchyard/config"
	"github.com/switchyard-ml/switchyard/eval/protocol"
	"github.com/switchyard-ml/switchyard/lead/job"
	"github.com/switchyard-ml/switchyard/model"
	"github.com/switchyard-ml/switchyard/store"
	"github.com/switchyard-ml/switchyard/store/checkpoint"
)

// Run is a trained run that is open for questions. It serves one goroutine at a time; another goroutine needs another
// Open.
type Run struct {
	trained *Opened
	info    store.Info
}

// ErrSeries is returned for a series that does not fit the model.
var ErrSeries = errors.New("the series does not fit the model")

// The checkpoints that a run can be opened at.
const (
	Best = checkpoint.Best // by validation, or the last if nothing was validated
	Last = checkpoint.Last
)

// Open opens the folder of a run at its best checkpoint, or at its last if nothing was validated. A nil registry has
// only what comes with Switchyard.
func Open(folder string, r *config.Registry) (*Run, error) { return OpenAt(folder, Best, r) }

// OpenAt is Open at the given checkpoint.
func OpenAt(folder, which string, r *config.Registry) (*Run, error) {
	if r == nil {
		r = config.Builtin()
	}
	opened, err := OpenFolder(r.Kinds(), folder, which)
	if which == Best && errors.Is(err, checkpoint.ErrNotFound) {
		opened, err = OpenFolder(r.Kinds(), folder, Last)
	}
	if err != nil {
		return nil, fmt.Errorf("open %s: %w", folder, err)
	}
	info, err := store.Load(filepath.Split(filepath.Clean(folder)))
	if err != nil {
		return nil, fmt.Errorf("open %s: %w", folder, err)
	}
	return &Run{trained: opened, info: info}, nil
}

// Info is the state of the run.
func (r *Run) Info() store.Info { return r.info }

// Step is the number of updates that the parameters have had.
func (r *Run) Step() uint64 { return r.trained.Checkpoint.Step }

// Config is the resolved configuration, in YAML.
func (r *Run) Config() []byte { return r.trained.Config.YAML() }

// Model is the model with its parameters. It works in the units of training, not in those of the data.
func (r *Run) Model() model.Model { return r.trained.Model }

// Evaluate measures the run by the protocol of that name; an empty name is the usual protocol of its environment. It
// also writes table and figure into the run's folder.
func (r *Run) Evaluate(name string) (*Evaluation, error) {
	var names []string
	for _, p := range protocol.For(r.trained.Config.Env.Kind, r.trained.Env) {
		if name == "" || name == p.Name {
			data, err := job.Recordings(r.trained.Config, r.trained.Folder)
			if err != nil {
				return nil, err
			}
			return r.trained.Measure(p, MeasureOptions{Recordings: data})
		}
		names = append(names, p.Name)
	}
	return nil, fmt.Errorf("%w: no protocol %q for env.kind=%s; it has %s", ErrUnable, name, r.trained.Config.Env.Kind,
		strings.Join(names, ", "))
}

// Skipped says why newer checkpoints were skipped.
func (r *Run) Skipped() []error { return r.trained.Skipped }

// Environment is the kind of environment that the run was trained on, as fhn or files.
func (r *Run) Environment() string { return r.trained.Config.Env.Kind }

// Horizon is how many steps the evaluation of the run predicts.
func (r *Run) Horizon() int { return r.trained.Config.Eval.Horizon }

// Family is the family of the model, as slds.
func (r *Run) Family() string { return r.trained.Config.Model.Kind }
