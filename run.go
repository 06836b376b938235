package switchyard

import (
	"errors"
	"fmt"
	"math"
	"path/filepath"
	"slices"
	"strings"

	"github.com/switchyard-ml/switchyard/eval/protocol"
	"github.com/switchyard-ml/switchyard/internal/checkpoint"
	"github.com/switchyard-ml/switchyard/internal/job"
	"github.com/switchyard-ml/switchyard/internal/registry"
	"github.com/switchyard-ml/switchyard/internal/runs"
	"github.com/switchyard-ml/switchyard/internal/trained"
	"github.com/switchyard-ml/switchyard/model"
	"github.com/switchyard-ml/switchyard/rng"
)

// Run is a trained run that is open for questions. It serves one goroutine at a time; another goroutine needs another
// Open.
type Run struct {
	trained *trained.Run
	info    Info
}

// Errors of questions to a Run.
var (
	// ErrUnable is returned when the model's family cannot answer a question.
	ErrUnable = trained.ErrUnable
	// ErrSeries is returned for a series that does not fit the model.
	ErrSeries = errors.New("switchyard: the series does not fit the model")
)

// Open opens the folder of a run at its best checkpoint, or at its last if nothing was validated. A nil registry has
// only what comes with Switchyard.
func Open(folder string, r *Registry) (*Run, error) {
	if r == nil {
		r = registry.Builtin()
	}
	opened, err := trained.Open(r.Kinds(), folder, checkpoint.Best)
	if errors.Is(err, checkpoint.ErrNotFound) {
		opened, err = trained.Open(r.Kinds(), folder, checkpoint.Last)
	}
	if err != nil {
		return nil, fmt.Errorf("open %s: %w", folder, err)
	}
	info, err := runs.Load(filepath.Split(filepath.Clean(folder)))
	if err != nil {
		return nil, fmt.Errorf("open %s: %w", folder, err)
	}
	return &Run{trained: opened, info: info}, nil
}

// Info is the state of the run.
func (r *Run) Info() Info { return r.info }

// Step is the number of updates that the parameters have had.
func (r *Run) Step() uint64 { return r.trained.Checkpoint.Step }

// Config is the resolved configuration, in YAML.
func (r *Run) Config() []byte { return r.trained.Config.YAML() }

// Model is the model with its parameters. It works in the units of training, not in those of the data.
func (r *Run) Model() model.Model { return r.trained.Model }

// Evaluation is the result of a protocol.
type Evaluation = trained.Evaluation

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
			return r.trained.Measure(p, trained.Options{Recordings: data})
		}
		names = append(names, p.Name)
	}
	return nil, fmt.Errorf("%w: no protocol %q for env.kind=%s; it has %s", ErrUnable, name, r.trained.Config.Env.Kind, strings.Join(names, ", "))
}

// Series is a sequence of observations, in the units of the data, with a row for each time step. A NaN is a missing
// observation.
type Series struct {
	Observations [][]float64
	// Controls[t] acts between step t−1 and step t; the first row has no effect. Nil for a model without controls.
	Controls [][]float64
}

// Query asks for a forecast of the steps after a series.
type Query struct {
	Horizon  int         // time steps
	Controls [][]float64 // a row for each of these steps; nil: zeros
	Samples  int         // number of paths; 0: as in the run's configuration
	Seed     uint64      // of the random paths; the same seed gives the same forecast
}

// Forecast is a prediction in the units of the data.
type Forecast struct {
	Mean  [][]float64   // [Horizon][channel], averaged over the paths
	Paths [][][]float64 // [Samples][Horizon][channel]: the mean of the observations along one path of latent states
}

// Quantile is the level's quantile over the paths, for each step and channel: the smallest value such that at least
// this share of the paths does not exceed it.
func (f Forecast) Quantile(level float64) [][]float64 {
	q := make([][]float64, len(f.Mean))
	values := make([]float64, len(f.Paths))
	for t := range q {
		q[t] = make([]float64, len(f.Mean[t]))
		for c := range q[t] {
			for i, path := range f.Paths {
				values[i] = path[t][c]
			}
			slices.Sort(values)
			at := int(math.Ceil(level*float64(len(values)))) - 1
			q[t][c] = values[min(max(at, 0), len(values)-1)]
		}
	}
	return q
}

// Forecast filters a series and predicts what follows it.
func (r *Run) Forecast(s Series, q Query) (Forecast, error) {
	f, err := r.trained.Forecaster()
	if err != nil {
		return Forecast{}, err
	}
	if q.Horizon < 1 || q.Samples < 0 {
		return Forecast{}, fmt.Errorf("%w: a horizon of %d steps with %d samples; it takes at least one step", ErrSeries, q.Horizon, q.Samples)
	}
	if q.Samples == 0 {
		q.Samples = r.trained.Config.Eval.Samples
	}
	prefix, err := r.batch(f.Dims(), s)
	if err != nil {
		return Forecast{}, err
	}
	controls, err := r.controls(f.Dims(), q.Controls, q.Horizon)
	if err != nil {
		return Forecast{}, err
	}
	var answer model.Forecast
	f.Forecast(&answer, model.Query{
		Prefix: prefix, Controls: controls, Horizon: q.Horizon, Samples: q.Samples, Noise: rng.New(q.Seed, rng.Evaluation).At(0, 0, 0),
	})
	nx := answer.NX
	out := Forecast{Mean: r.rows(answer.Mean, nx)}
	for i := range q.Samples {
		out.Paths = append(out.Paths, r.rows(answer.Paths[i*q.Horizon*nx:][:q.Horizon*nx], nx))
	}
	return out, nil
}

// Filtering is what a series tells about the latent state at each time step, along one path that is drawn from the
// posterior.
type Filtering struct {
	Mean, SD [][]float64 // of the latent state
	Weights  [][]float64 // of the base systems; zeros at the first step, because no system leads to it
}

// Filter infers the latent states of a series. The same seed gives the same path.
func (r *Run) Filter(s Series, seed uint64) (Filtering, error) {
	forecaster, err := r.trained.Forecaster()
	if err != nil {
		return Filtering{}, err
	}
	f, ok := forecaster.(model.Filterer)
	if !ok {
		return Filtering{}, fmt.Errorf("%w: model.kind=%s has no latent state to filter", ErrUnable, r.trained.Config.Model.Kind)
	}
	prefix, err := r.batch(forecaster.Dims(), s)
	if err != nil {
		return Filtering{}, err
	}
	var answer model.Filtering
	f.Filter(&answer, prefix, rng.New(seed, rng.Evaluation).At(0, 0, 0))
	return Filtering{Mean: rows(answer.Mean, answer.NZ), SD: rows(answer.SD, answer.NZ), Weights: rows(answer.Switches, answer.M)}, nil
}
