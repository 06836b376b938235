package trained

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/switchyard-ml/switchyard/config"
	"github.com/switchyard-ml/switchyard/envs"
	"github.com/switchyard-ml/switchyard/envs/files"
	"github.com/switchyard-ml/switchyard/internal/vector"
	"github.com/switchyard-ml/switchyard/store/checkpoint"

	"github.com/switchyard-ml/switchyard/model"
	"github.com/switchyard-ml/switchyard/store"
)

// Opened is a run with the parameters of one of its checkpoints.
type Opened struct {
	Folder     string
	Config     config.Config
	Checkpoint *checkpoint.Checkpoint
	Skipped    []error // why newer checkpoints were skipped
	Model      model.Model
	Env        envs.Env            // nil: the data are recorded
	Scale      files.Normalisation // from the units of recorded data to those of the model; zero: the units are the same
}

// OpenFolder opens a run with one of its checkpoints: checkpoint.Last, checkpoint.Best, or the number of a step.
func OpenFolder(kinds *config.Kinds, folder, which string) (*Opened, error) {
	dir, name := filepath.Split(filepath.Clean(folder))
	data, path, err := store.Config(dir, name)
	if err != nil {
		return nil, err
	}
	r := &Opened{Folder: folder}
	if r.Config, err = kinds.Parse(path, data); err != nil {
		return nil, fmt.Errorf("%w: %s", store.ErrDamaged, err)
	}
	return r, r.open(which)
}

// Of is Open for a run whose configuration the caller has read.
func Of(c config.Config, folder, which string) (*Opened, error) {
	r := &Opened{Folder: folder, Config: c}
	return r, r.open(which)
}

func (r *Opened) open(which string) error {
	var err error
	if r.Checkpoint, r.Skipped, err = checkpoint.Open(filepath.Join(r.Folder, store.Checkpoints), which); err != nil {
		return err
	}
	var data model.Data
	if data, r.Env, err = config.Data(r.Config); err != nil {
		return err
	}
	if r.Model, err = config.NewModel(r.Config, data); err != nil {
		return err
	}
	if err := r.install(); err != nil {
		return fmt.Errorf("install the parameters of %s: %w", r.Checkpoint.Path, err)
	}
	return r.readScale(data)
}

// install gives the model its parameters, averaged over updates if the run does so, or the states of its chains.
func (r *Opened) install() error {
	s, ok := config.Sweeps(r.Config)
	if !ok {
		return r.Model.Params().Load(r.Checkpoint.Evaluated())
	}
	fitter, err := config.Fitter(r.Config, r.Model)
	if err != nil {
		return err
	}
	layout, ok := vector.Of(len(r.Checkpoint.Theta), s.Chains)
	if !ok {
		return fmt.Errorf("%w: %d parameters are not the states of %d chains", store.ErrDamaged, len(r.Checkpoint.Theta),
			s.Chains)
	}
	states := make([][]float64, s.Chains)
	for i := range states {
		state := make([]float64, layout.State)
		begun, ok := vector.Get(state, layout.Of(r.Checkpoint.Theta, i))
		if !ok {
			return fmt.Errorf("%w: the parameters of chain %d are no state", store.ErrDamaged, i)
		}
		if begun {
			states[i] = state
		}
	}
	return fitter.Install(states)
}

func (r *Opened) readScale(d model.Data) error {
	if r.Env != nil {
		return nil
	}
	text, err := os.ReadFile(filepath.Join(r.Folder, store.NormalisationFile))
	if errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("%w: %s is missing", store.ErrDamaged, store.NormalisationFile)
	}
	if err != nil {
		return fmt.Errorf("read the scaling of the data: %w", err)
	}
	set := files.Dataset{Spec: envs.Spec{Observation: d.NX, Control: d.NU}}
	r.Scale, err = set.ParseNormalisation(store.NormalisationFile, text)
	return err
}

// ErrUnable is returned when a family of models cannot answer a question.
var ErrUnable = errors.New("this family of models cannot do it")

// Forecaster returns what answers questions about sequences, in the units of the model.
func (r *Opened) Forecaster() (model.Forecaster, error) {
	m, ok := r.Model.(model.Forecasting)
	if !ok {
		return nil, fmt.Errorf("%w: model.kind=%s does not forecast", ErrUnable, r.Config.Model.Kind)
	}
	return m.NewForecaster(), nil
}
