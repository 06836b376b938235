package serving

import (
	"context"
	"fmt"

	"github.com/switchyard-ml/switchyard/internal/number"
	"github.com/switchyard-ml/switchyard/trained"
)

// Number is a number of a message; null stands for a missing one.
type Number = number.Number

func missing(x [][]Number) [][]float64 {
	y := make([][]float64, len(x))
	for i, row := range x {
		y[i] = make([]float64, len(row))
		for j, v := range row {
			y[i][j] = float64(v)
		}
	}
	return y
}

// FilterRequest sends the next observations of a client, in the units of the data.
type FilterRequest struct {
	Client       string      `json:"client"`             // whose state goes on
	Observations [][]Number  `json:"observations"`       // [steps, channels]; null: missing
	Controls     [][]float64 `json:"controls,omitempty"` // [steps, controls]: each acts since the observation before
	Restart      bool        `json:"restart,omitempty"`  // forget what the client sent before
}

// at is observation i.
func (r *FilterRequest) at(i int) trained.Observation {
	o := trained.Observation{Values: make([]float64, len(r.Observations[i]))}
	for c, v := range r.Observations[i] {
		o.Values[c] = float64(v)
	}
	if r.Controls != nil {
		o.Controls = r.Controls[i]
	}
	return o
}

// FilterAnswer is the latent state after each observation.
type FilterAnswer struct {
	Client   string     `json:"client"`
	Steps    int        `json:"steps"` // observations of the client so far
	Mean     [][]Number `json:"mean"`
	SD       [][]Number `json:"sd"`
	Weights  [][]Number `json:"weights"`
	Expected [][]Number `json:"expected,omitempty"` // what the state shows, in the units of the data
	Noise    [][]Number `json:"noise,omitempty"`    // the deviation of an observation from it
}

// ForecastRequest asks what follows the observations of a client, or those of the request.
type ForecastRequest struct {
	Client       string      `json:"client,omitempty"`
	Observations [][]Number  `json:"observations,omitempty"`
	PastControls [][]float64 `json:"past_controls,omitempty"` // of these observations
	Horizon      int         `json:"horizon"`
	Controls     [][]float64 `json:"controls,omitempty"` // of the coming steps; left out: zeros
	Quantiles    []float64   `json:"quantiles,omitempty"`
	Samples      int         `json:"samples,omitempty"`
	Seed         uint64      `json:"seed,omitempty"`
}

// ForecastAnswer is in the units of the data.
type ForecastAnswer struct {
	Mean      [][]Number   `json:"mean"`                // [horizon, channels]
	Quantiles [][][]Number `json:"quantiles,omitempty"` // [levels, horizon, channels]
	Levels    []float64    `json:"levels,omitempty"`
}

// maxClient is the longest name of a client.
const maxClient = 200

// wrong makes an error of a request.
func wrong(format string, args ...any) error {
	return fmt.Errorf("%w: %w", ErrRequest, fmt.Errorf(format, args...))
}

// rows checks the sizes of a list.
func rows[T any](what string, list [][]T, width int) error {
	for i, row := range list {
		if len(row) != width {
			return wrong("%s: row %d has %d values, want %d", what, i, len(row), width)
		}
	}
	return nil
}

// Filter filters the next observations of a client.
func (s *Service) Filter(ctx context.Context, r FilterRequest) (FilterAnswer, error) {
	switch {
	case r.Client == "" || len(r.Client) > maxClient:
		return FilterAnswer{}, wrong("client: a name of 1 to %d characters is needed", maxClient)
	case len(r.Observations) == 0 || len(r.Observations) > s.limits.Observations:
		return FilterAnswer{}, wrong("observations: %d rows, want 1 to %d", len(r.Observations), s.limits.Observations)
	case r.Controls != nil && len(r.Controls) != len(r.Observations):
		return FilterAnswer{}, wrong("controls: %d rows for %d observations", len(r.Controls), len(r.Observations))
	}
	if err := rows("observations", r.Observations, s.nx); err != nil {
		return FilterAnswer{}, err
	}
	if err := rows("controls", r.Controls, s.nu); err != nil {
		return FilterAnswer{}, err
	}
	j := &job{filter: &r}
	if err := s.do(ctx, j); err != nil {
		return FilterAnswer{}, err
	}
	return j.answer, nil
}

// Forecast predicts.
func (s *Service) Forecast(ctx context.Context, r ForecastRequest) (ForecastAnswer, error) {
	const maxSamples, maxQuantiles = 4096, 64
	switch {
	case (r.Client == "") == (len(r.Observations) == 0):
		return ForecastAnswer{}, wrong("give either client or observations")
	case r.Horizon < 1 || r.Horizon > s.limits.Horizon:
		return ForecastAnswer{}, wrong("horizon: %d, want 1 to %d", r.Horizon, s.limits.Horizon)
	case len(r.Observations) > s.limits.Observations:
		return ForecastAnswer{}, wrong("observations: %d rows, want at most %d", len(r.Observations), s.limits.Observations)
	case r.Controls != nil && len(r.Controls) != r.Horizon:
		return ForecastAnswer{}, wrong("controls: %d rows for a horizon of %d", len(r.Controls), r.Horizon)
	case r.PastControls != nil && len(r.PastControls) != len(r.Observations):
		return ForecastAnswer{}, wrong("past_controls: %d rows for %d observations", len(r.PastControls), len(r.Observations))
	case r.Samples < 0 || r.Samples > maxSamples || len(r.Quantiles) > maxQuantiles:
		return ForecastAnswer{}, wrong("samples: %d, want at most %d; quantiles: %d, want at most %d", r.Samples, maxSamples,
			len(r.Quantiles), maxQuantiles)
	}
	for _, q := range r.Quantiles {
		if !(q > 0 && q < 1) {
			return ForecastAnswer{}, wrong("quantiles: %v does not lie between 0 and 1", q)
		}
	}
	for _, check := range []error{
		rows("observations", r.Observations, s.nx), rows("controls", r.Controls, s.nu),
		rows("past_controls", r.PastControls, s.nu),
	} {
		if check != nil {
			return ForecastAnswer{}, check
		}
	}
	j := &job{forecast: &r}
	if err := s.do(ctx, j); err != nil {
		return ForecastAnswer{}, err
	}
	return j.future, nil
}

// Forget drops the state of a client.
func (s *Service) Forget(ctx context.Context, client string) error {
	return s.do(ctx, &job{forget: client})
}
