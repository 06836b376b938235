package switchyard

import (
	"context"

	"github.com/switchyard-ml/switchyard/envs/files"
	"github.com/switchyard-ml/switchyard/eval"
	"github.com/switchyard-ml/switchyard/serving"
	"github.com/switchyard-ml/switchyard/trained"
)

// Run is a trained run that is open for questions: Forecast, Filter, Smooth, Segment, Simulate, Systems, Linearize,
// Backtest, Evaluate and Export. It serves one goroutine at a time; another goroutine needs another Open.
type Run = trained.Run

// The questions to a Run, and its answers.
type (
	Query         = trained.Query         // asks for a Forecast
	SimulateQuery = trained.SimulateQuery // asks for a Simulation
	Question      = eval.Question         // of Run.Evaluate and Run.Backtest
	ExportOptions = trained.ExportOptions // of Run.Export

	Forecast      = trained.Forecast
	Filtering     = trained.Filtering
	Smoothing     = trained.Smoothing
	Segmentation  = trained.Segmentation
	Simulation    = trained.Simulation
	System        = trained.System
	Linearization = trained.Linearization
	Evaluation    = trained.Evaluation
)

// Series that questions are about.
type (
	Series    = trained.Series    // observations and controls
	Recording = trained.Recording // a series of a data set, with its name and part
	Columns   = trained.Columns   // what the channels and controls are called
)

// Filtering of series as they come, one observation at a time: Run.Online.
type (
	Online      = trained.Online
	State       = trained.State
	Observation = trained.Observation
)

// Errors of questions to a Run.
var (
	// ErrUnable is returned when the model's family cannot answer a question.
	ErrUnable = trained.ErrUnable
	// ErrSeries is returned for a series that does not fit the model.
	ErrSeries = trained.ErrSeries
)

// The checkpoints that a run can be opened at.
const (
	Best = trained.Best // by validation, or the last if nothing was validated
	Last = trained.Last
)

// Open opens the folder of a run at its best checkpoint, or at its last if nothing was validated. A nil registry
// has only what comes with Switchyard. The run need not be finished, but needs a checkpoint.
func Open(folder string, r *Registry) (*Run, error) { return trained.Open(folder, r) }

// OpenAt is Open at the given checkpoint.
func OpenAt(folder, which string, r *Registry) (*Run, error) { return trained.OpenAt(folder, which, r) }

// Join returns recordings with those in one piece that a split by time divided. The pieces keep no part.
func Join(list []Recording) []Recording { return trained.Join(list) }

// Divide finds which channels and controls of recordings belong together, as model.bodies wants it.
func Divide(d *files.Dataset) (eval.Division, error) { return eval.Divide(d) }

// RecordingsOf are the episodes of a data set in its own units. Missing values are NaN.
func RecordingsOf(d *files.Dataset) ([]Recording, Columns) { return trained.RecordingsOf(d) }

// ServeOptions say where a model is served, and to how many.
type ServeOptions = serving.Options

// Serve lets many clients ask a run, over HTTP, over NATS or both, until ctx ends: their observations are filtered as
// they come, with a state for each client, and continued. GET /openapi.json describes it. Nothing else may use the run
// meanwhile.
func Serve(ctx context.Context, r *Run, o ServeOptions) error { return serving.Serve(ctx, r, o) }

// Weigh finds how many regimes recordings have, and of how many dimensions their state is, from held-out recordings.
func Weigh(d *files.Dataset) (eval.Evidence, error) { return eval.Weigh(d) }
