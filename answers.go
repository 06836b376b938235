package switchyard

import (
	"github.com/switchyard-ml/switchyard/eval"
	"github.com/switchyard-ml/switchyard/trained"
)

// Answer is what a Run has answered about some recordings, ready to be kept or shown: WriteFile writes it as npz,
// CSV, JSON, PNG or SVG, by the ending of a name, and WriteText prints it. The files are those that the commands
// write. Where a function below takes recordings, list has an answer for each, in their order, and c names their
// channels.
type Answer = trained.Answer

// Forecasts are the answer of the forecasts of what follows each recording. levels are those of the quantiles, in
// ascending order.
func Forecasts(past []Recording, list []Forecast, c Columns, levels []float64) *Answer {
	return trained.Forecasts(past, list, c, levels)
}

// Filterings are the answer of what recordings tell about the latent state as they go on.
func Filterings(of []Recording, list []Filtering) *Answer { return trained.Filterings(of, list) }

// Smoothings are the answer of what whole recordings tell about each step.
func Smoothings(of []Recording, list []Smoothing, c Columns) *Answer {
	return trained.Smoothings(of, list, c)
}

// Segmentations are the answer of the regimes of recordings. systems are those of Run.Systems, or none.
func Segmentations(of []Recording, list []Segmentation, systems []System, c Columns) *Answer {
	return trained.Segmentations(of, list, systems, c)
}

// Simulations are the answer of series that a model made up. c names the columns of the data that the model was
// trained on.
func Simulations(list []Simulation, c Columns) *Answer { return trained.Simulations(list, c) }

// Linearizations are the answer of the linear systems along recordings.
func Linearizations(of []Recording, list [][]Linearization, c Columns) *Answer {
	return trained.Linearizations(of, list, c)
}

// Backtest is the answer of Run.Backtest.
func Backtest(r eval.RecordedReport) (*Answer, error) { return trained.Backtest(r) }
