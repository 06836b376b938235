package trained

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"sync"

	"github.com/switchyard-ml/switchyard/config"
	"github.com/switchyard-ml/switchyard/envs"
	"github.com/switchyard-ml/switchyard/envs/files"
	"github.com/switchyard-ml/switchyard/eval"
	"github.com/switchyard-ml/switchyard/internal/vector"
	"github.com/switchyard-ml/switchyard/lead/job"
	"github.com/switchyard-ml/switchyard/model"
	"github.com/switchyard-ml/switchyard/store"
	"github.com/switchyard-ml/switchyard/store/checkpoint"
)

// Run is a trained run that is open for questions: the model with the parameters of a checkpoint. It serves one
// goroutine at a time; another goroutine needs another Open.
type Run struct {
	// What Open read is never changed afterwards, but for own, which is read when it is first asked for.
	folder     string
	which      string // checkpoint was asked for: Best, Last, or the number of a step
	config     config.Config
	info       store.Info
	checkpoint *checkpoint.Checkpoint
	skipped    []error // why newer checkpoints were skipped
	model      model.Model
	env        envs.Env            // nil: the data are recorded
	scale      files.Normalisation // from the units of recorded data to those of the model; zero: the units are the same
	own        *eval.Recordings    // the data of a run on recordings; nil until they are read
	numbering  func() []int        // of the regimes, computed once; see numbers
}

// ErrSeries is returned for a series that does not fit the model.
var ErrSeries = errors.New("the series does not fit the model")

// ErrUnable is returned when the family or the environment of a run cannot answer a question.
var ErrUnable = errors.New("the run cannot do this")

// The checkpoints that a run can be opened at.
const (
	Best = checkpoint.Best // by validation, or the last if nothing was validated
	Last = checkpoint.Last
)

// Open opens the folder of a run at its best checkpoint, or at its last if nothing was validated. A nil registry has
// only what comes with Switchyard.
func Open(folder string, r *config.Registry) (*Run, error) { return OpenAt(folder, Best, r) }

// OpenAt is Open at the given checkpoint: Best, Last, or the number of a step.
func OpenAt(folder, which string, r *config.Registry) (*Run, error) {
	if r == nil {
		r = config.Builtin()
	}
	dir, name := filepath.Split(filepath.Clean(folder))
	c, err := job.ReadConfig(r.Kinds(), dir, name)
	if err != nil {
		return nil, fmt.Errorf("open %s: %w", folder, err)
	}
	return Of(c, folder, which)
}

// Of is OpenAt for a run whose configuration the caller has read. Every question to a run begins here.
func Of(c config.Config, folder, which string) (*Run, error) {
	r := &Run{folder: folder, which: which, config: c}
	r.numbering = sync.OnceValue(r.numbers)
	if err := r.open(which); err != nil {
		return nil, fmt.Errorf("open %s: %w", folder, err)
	}
	return r, nil
}

// open reads the state, the checkpoint and the scale, in this order. A damaged checkpoint is skipped for one
// before it, and skipped says why.
func (r *Run) open(which string) error {
	var err error
	if r.info, err = store.Load(filepath.Split(filepath.Clean(r.folder))); err != nil {
		return err
	}
	dir := filepath.Join(r.folder, store.Checkpoints)
	r.checkpoint, r.skipped, err = checkpoint.Open(dir, which)
	if which == Best && errors.Is(err, checkpoint.ErrNotFound) { // nothing was validated
		r.checkpoint, r.skipped, err = checkpoint.Open(dir, Last)
	}
	if err != nil {
		return err
	}
	data, err := r.build()
	if err != nil {
		return err
	}
	if err := r.install(); err != nil {
		return fmt.Errorf("install the parameters of %s: %w", r.checkpoint.Path, err)
	}
	return r.readScale(data)
}

// build makes the environment and the model, without parameters.
func (r *Run) build() (data model.Data, err error) {
	if data, r.env, err = config.Data(r.config); err != nil {
		return data, err
	}
	r.model, err = config.NewModel(r.config, data)
	return data, err
}

// recordings are the data of a run on recordings, as its model saw them, read again from its files; nil where data are
// simulated.
func (r *Run) recordings() (*eval.Recordings, error) {
	if r.own != nil {
		return r.own, nil
	}
	var err error
	r.own, err = job.Recordings(r.config, r.folder)
	return r.own, err
}

// Info is the state of the run.
func (r *Run) Info() store.Info { return r.info }

// Step is the number of updates that the parameters have had.
func (r *Run) Step() uint64 { return r.checkpoint.Step }

// SHA256 is the hash of the parameters after these updates, never of their average. That in Info is of the newest
// checkpoint, which may be another one.
func (r *Run) SHA256() string { return r.checkpoint.ParamsSHA256 }

// Config is the resolved configuration, in YAML.
func (r *Run) Config() []byte { return r.config.YAML() }

// Model is the model with its parameters. It works in the units of training, not in those of the data.
func (r *Run) Model() model.Model { return r.model }

// Skipped says why newer checkpoints were skipped.
func (r *Run) Skipped() []error { return r.skipped }

// Environment is the kind of environment that the run was trained on, as fhn or files.
func (r *Run) Environment() string { return r.config.Env.Kind }

// Horizon is how many steps the evaluation of the run predicts.
func (r *Run) Horizon() int { return r.config.Eval.Horizon }

// Family is the family of the model, as slds.
func (r *Run) Family() string { return r.config.Model.Kind }

// install gives the model its parameters, averaged over updates if the run does so, or the states of its chains.
func (r *Run) install() error {
	s, ok := config.Sweeps(r.config)
	if !ok {
		return r.model.Params().Load(r.checkpoint.Evaluated())
	}
	fitter, err := config.Fitter(r.config, r.model)
	if err != nil {
		return err
	}
	// A run that sweeps keeps the states of its chains where others keep parameters.
	layout, ok := vector.Of(len(r.checkpoint.Theta), s.Chains)
	if !ok {
		return fmt.Errorf("%w: %d parameters are not the states of %d chains", store.ErrDamaged, len(r.checkpoint.Theta),
			s.Chains)
	}
	states := make([][]float64, s.Chains)
	for i := range states {
		state := make([]float64, layout.State)
		begun, ok := vector.Get(state, layout.Of(r.checkpoint.Theta, i))
		if !ok {
			return fmt.Errorf("%w: the parameters of chain %d are no state", store.ErrDamaged, i)
		}
		if begun {
			states[i] = state
		}
	}
	return fitter.Install(states)
}

// readScale reads how the run scaled its recordings; a simulator's data are not scaled.
func (r *Run) readScale(d model.Data) error {
	if r.env != nil {
		return nil
	}
	text, err := store.ReadFile(filepath.Join(r.folder, store.NormalisationFile))
	if errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("%w: %s is missing", store.ErrDamaged, store.NormalisationFile)
	}
	if err != nil {
		return fmt.Errorf("read the scaling of the data: %w", err)
	}
	set := files.Dataset{Spec: envs.Spec{Observation: d.NX, Control: d.NU}}
	r.scale, err = set.ParseNormalisation(store.NormalisationFile, text)
	return err
}

// Forecaster returns what answers questions about sequences, in the units of the model. Each call makes a new one,
// which serves one goroutine.
func (r *Run) Forecaster() (model.Forecaster, error) {
	m, ok := r.model.(model.Forecasting)
	if !ok {
		return nil, fmt.Errorf("%w: model.kind=%s does not forecast", ErrUnable, r.config.Model.Kind)
	}
	return m.NewForecaster(), nil
}
