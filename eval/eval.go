// Package eval measures trained models: protocols (what a model may see, what it must predict), metrics, baselines
// that need no model, and reports that print as a table, as CSV or as JSON beside the published figures.
//
// Each protocol is a file of its own named after its environment; what protocols share (forecasts in batches on all
// cores, R², tables, reports) knows no environment. Pictures are drawn by eval/figure, so that a program which only
// measures does not link a plotting library.
//
// Package eval sees a model only as a model.Forecaster: it does not know how models are built, trained or stored. Its
// arithmetic is float64.
package eval

import "errors"

// Reasons an evaluation is refused before it starts.
var (
	// ErrOptions is returned for options that describe no evaluation.
	ErrOptions = errors.New("eval: invalid options")
	// ErrDims is returned when the model's dimensions are not those of the environment.
	ErrDims = errors.New("eval: the model does not fit the environment")
)
