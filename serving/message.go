package serving

import (
	"fmt"

	"github.com/switchyard-ml/switchyard/eval"
	"github.com/switchyard-ml/switchyard/trained"
)

// Number is a number of a message; null stands for a missing one.
type Number = eval.Number

// missing are rows to compute with, in which null is NaN; nil for no rows.
func missing(x [][]Number) [][]float64 {
	if len(x) == 0 {
		return nil
	}
	y := make([][]float64, len(x))
	for i, row := range x {
		y[i] = eval.Floats(row)
	}
	return y
}

// FilterRequest sends the next observations of a client, in the units of the data. All of them are filtered, or
// none.
type FilterRequest struct {
	Client       string     `json:"client"`             // whose state goes on
	Observations [][]Number `json:"observations"`       // [steps, channels]; null: missing
	Controls     [][]Number `json:"controls,omitempty"` // [steps, controls]: each acts since the observation before
	Restart      bool       `json:"restart,omitempty"`  // forget what the client sent before
}

// at is observation i.
func (r *FilterRequest) at(i int) trained.Observation {
	o := trained.Observation{Values: eval.Floats(r.Observations[i])}
	if r.Controls != nil {
		o.Controls = eval.Floats(r.Controls[i])
	}
	return o
}

// all are its observations.
func (r *FilterRequest) all() []trained.Observation {
	list := make([]trained.Observation, len(r.Observations))
	for i := range list {
		list[i] = r.at(i)
	}
	return list
}

// FilterAnswer is the latent state after each observation: a row for each, in the order of the request. Mean and SD
// are of z, [steps, latent dimensions]; Weights are the mixing weights of the base systems, [steps, systems]; null
// where the model says nothing.
type FilterAnswer struct {
	Client   string     `json:"client"`
	Steps    int        `json:"steps"` // observations of the client so far
	Mean     [][]Number `json:"mean"`
	SD       [][]Number `json:"sd"`
	Weights  [][]Number `json:"weights"`
	Expected [][]Number `json:"expected,omitempty"` // what the state shows, in the units of the data
	Noise    [][]Number `json:"noise,omitempty"`    // the deviation of an observation from it
}

// ForecastRequest asks what follows the observations of a client, or those of the request: one of both is given.
// Samples is the number of paths, 0 for that of the run; the same Seed, with the same past, gives the same answer.
// Quantiles are levels between 0 and 1. No control may be null, but one of the first observation, which is not read.
type ForecastRequest struct {
	Client       string     `json:"client,omitempty"`
	Observations [][]Number `json:"observations,omitempty"`
	PastControls [][]Number `json:"past_controls,omitempty"` // of these observations
	Horizon      int        `json:"horizon"`
	Controls     [][]Number `json:"controls,omitempty"` // of the coming steps; left out: zeros
	Quantiles    []float64  `json:"quantiles,omitempty"`
	Samples      int        `json:"samples,omitempty"`
	Seed         uint64     `json:"seed,omitempty"`
}

// ForecastAnswer is in the units of the data. Levels are those of the quantiles, in the order of the request.
type ForecastAnswer struct {
	Mean      [][]Number   `json:"mean"`                // [horizon, channels]
	Quantiles [][][]Number `json:"quantiles,omitempty"` // [levels, horizon, channels]
	Levels    []float64    `json:"levels,omitempty"`
}

// series are the last observations of the request.
func (r *ForecastRequest) series(history int) trained.Series {
	return last(trained.Series{Observations: missing(r.Observations), Controls: missing(r.PastControls)}, history)
}

// maxClient is the longest name of a client.
const maxClient = 200

// wrong makes an error of a request. It is ErrRequest, and what the format wraps.
func wrong(format string, args ...any) error {
	return fmt.Errorf("%w: %w", ErrRequest, fmt.Errorf(format, args...))
}
