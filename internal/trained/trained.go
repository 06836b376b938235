// Package trained opens the result of a run: its configuration, a checkpoint, the model with the parameters of the
// checkpoint, and the scaling of its data. It evaluates the model by a protocol and writes table and figure into the
// folder of the run. It knows families of models by their interfaces only; it neither trains nor prints.
package trained

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/switchyard-ml/switchyard/envs"
	"github.com/switchyard-ml/switchyard/envs/files"
	"github.com/switchyard-ml/switchyard/internal/checkpoint"
	"github.com/switchyard-ml/switchyard/internal/config"
	"github.com/switchyard-ml/switchyard/internal/registry"
	"github.com/switchyard-ml/switchyard/internal/runs"
	"github.com/switchyard-ml/switchyard/model"
)

// Run is a run with the parameters of one of its checkpoints.
type Run struct {
	Folder     string
	Config     config.Config
	Checkpoint *checkpoint.Checkpoint
	Skipped    []error // why newer checkpoints were skipped
	Model      model.Model
	Env        envs.Env            // nil: the data are recorded
	Scale      files.Normalisation // from the units of recorded data to those of the model; zero: the units are the same
}

// Open opens a run with one of its checkpoints: checkpoint.Last, checkpoint.Best, or the number of a step.
func Open(kinds *config.Kinds, folder, which string) (*Run, error) {
	dir, name := filepath.Split(filepath.Clean(folder))
	data, path, err := runs.Config(dir, name)
	if err != nil {
		return nil, err
	}
	r := &Run{Folder: folder}
	if r.Config, err = kinds.Parse(path, data); err != nil {
		return nil, fmt.Errorf("%w: %s", runs.ErrDamaged, err)
	}
	return r, r.open(which)
}

// Of is Open for a run whose configuration the caller has read.
func Of(c config.Config, folder, which string) (*Run, error) {
	r := &Run{Folder: folder, Config: c}
	return r, r.open(which)
}

func (r *Run) open(which string) error {
	var err error
	if r.Checkpoint, r.Skipped, err = checkpoint.Open(filepath.Join(r.Folder, runs.Checkpoints), which); err != nil {
		return err
	}
	var data model.Data
	if data, r.Env, err = registry.Data(r.Config); err != nil {
		return err
	}
	if r.Model, err = registry.Model(r.Config, data); err != nil {
		return err
	}
	if err := r.Model.Params().Load(r.Checkpoint.Theta); err != nil {
		return fmt.Errorf("install the parameters of %s: %w", r.Checkpoint.Path, err)
	}
	return r.readScale(data)
}

// NormalisationFile is the file, in the folder of a run on recorded data, with the scaling of the data.
const NormalisationFile = "normalisation.json"

func (r *Run) readScale(d model.Data) error {
	if r.Env != nil {
		return nil
	}
	text, err := os.ReadFile(filepath.Join(r.Folder, NormalisationFile))
	if errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("%w: %s is missing", runs.ErrDamaged, NormalisationFile)
	}
	if err != nil {
		return fmt.Errorf("read the scaling of the data: %w", err)
	}
	set := files.Dataset{Spec: envs.Spec{Observation: d.NX, Control: d.NU}}
	r.Scale, err = set.ParseNormalisation(NormalisationFile, text)
	return err
}

// ErrUnable is returned when a family of models cannot answer a question.
var ErrUnable = errors.New("this family of models cannot do it")

// Forecaster returns what answers questions about sequences, in the units of the model.
func (r *Run) Forecaster() (model.Forecaster, error) {
	m, ok := r.Model.(model.Forecasting)
	if !ok {
		return nil, fmt.Errorf("%w: model.kind=%s does not forecast", ErrUnable, r.Config.Model.Kind)
	}
	return m.NewForecaster(), nil
}
