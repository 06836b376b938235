package serving

import (
	"cmp"
	"fmt"
	"time"

	"github.com/switchyard-ml/switchyard/trained"
)

// Limits bound what clients can cause. What is beyond them is refused before anything is computed or stored.
type Limits struct {
	Clients      int           // states that are held; the longest unused one makes room after Idle
	Idle         time.Duration // after which an unused state may be dropped
	Observations int           // of one request
	Horizon      int           // steps of a forecast
	Paths        int           // of a forecast
	Levels       int           // quantiles of a forecast
	Work         int64         // of a forecast: horizon × paths × channels × (1 + quantiles)
	History      int           // last observations of a client that a forecast is made from
	Waiting      int           // requests that are under way
	Batch        int           // clients whose observations are filtered together
	Bytes        int64         // of the text of one request
	Memory       int64         // bytes of all states and all requests under way; a single request may take an eighth
	Deadline     time.Duration // of a request, from its arrival to its answer
}

// DefaultLimits suit a machine of a few cores.
func DefaultLimits() Limits {
	return Limits{
		Clients: 10_000, Idle: 10 * time.Minute, Observations: 10_000, Horizon: 10_000, Paths: 4096, Levels: 64,
		Work: 20_000_000, History: 256, Waiting: 512, Batch: 64, Bytes: 8 << 20, Memory: 1 << 30, Deadline: 25 * time.Second,
	}
}

// filled are the limits with the default in the place of each 0.
func (l Limits) filled() Limits {
	d := DefaultLimits()
	return Limits{
		Clients: cmp.Or(l.Clients, d.Clients), Idle: cmp.Or(l.Idle, d.Idle),
		Observations: cmp.Or(l.Observations, d.Observations), Horizon: cmp.Or(l.Horizon, d.Horizon),
		Paths: cmp.Or(l.Paths, d.Paths), Levels: cmp.Or(l.Levels, d.Levels), Work: cmp.Or(l.Work, d.Work),
		History: cmp.Or(l.History, d.History), Waiting: cmp.Or(l.Waiting, d.Waiting), Batch: cmp.Or(l.Batch, d.Batch),
		Bytes: cmp.Or(l.Bytes, d.Bytes), Memory: cmp.Or(l.Memory, d.Memory), Deadline: cmp.Or(l.Deadline, d.Deadline),
	}
}

// sizes are the numbers of a model that costs depend on.
type sizes struct {
	nx, nu, nz, m int
	paths         int // of a forecast that names no number of them
}

// Bytes of a row of numbers: its header, and eight bytes for each number and for its text.
const (
	rowBytes    = 24
	numberBytes = 16
)

// row are the bytes of a row of so many numbers, in memory and as text.
func (z sizes) row(width int) int64 { return rowBytes + numberBytes*int64(width) }

// filtered are the bytes of the answer to an observation.
func (z sizes) filtered() int64 { return 2*z.row(z.nz) + z.row(z.m) + 2*z.row(z.nx) }

// text are the most bytes of the answer to so many observations as JSON.
func (z sizes) text(observations int) int {
	const number, name = 25, 6 * maxClient // "-2.2250738585072014e-308,", and each byte of the name of a client as \u0000
	return name + 512 + observations*(number*(2*z.nz+z.m+2*z.nx)+5*len("[],"))
}

// held are the bytes of the state of a client with a history of so many observations.
func (z sizes) held(history int) int64 {
	return 512 + z.filtered() + int64(history)*(z.row(z.nx)+z.row(z.nu))
}

// work is that of a forecast: horizon × paths × channels × (1 + quantiles). A request that names no number of paths
// has that of the run.
func (z sizes) work(q *ForecastRequest) int64 {
	return int64(q.Horizon) * int64(cmp.Or(q.Samples, z.paths)) * int64(max(z.nx, 1)) * int64(1+len(q.Quantiles))
}

// forecast are the bytes that a forecast takes: its paths and their deviations in float64, and the answer.
func (z sizes) forecast(q *ForecastRequest) int64 {
	steps := int64(q.Horizon)
	path := int64(rowBytes + 8*z.nx)
	return steps * (int64(cmp.Or(q.Samples, z.paths))*2*path + int64(1+len(q.Quantiles))*z.row(z.nx) + z.row(z.nu))
}

// cost is what a request takes from the budgets of memory and of work until it ends. It is estimated from the sizes
// of the request, before anything is computed; other requests than these cost nothing.
func (z sizes) cost(r *request) (bytes, work int64) {
	switch {
	case r.filter != nil:
		return int64(len(r.filter.Observations)) * (z.filtered() + z.row(z.nx) + z.row(z.nu)), 0
	case r.forecast != nil:
		return z.forecast(r.forecast) + int64(len(r.forecast.Observations))*(z.row(z.nx)+z.row(z.nu)), z.work(r.forecast)
	}
	return 0, 0
}

// checkRows checks the sizes of a list. what names the list in the error, which is ErrRequest.
func checkRows[T any](what string, list [][]T, width int) error {
	for i, row := range list {
		if len(row) != width {
			return wrong("%s: row %d has the length %d, want %d", what, i, len(row), width)
		}
	}
	return nil
}

// checkFilter says what is wrong with a request, nil if nothing.
func (l Limits) checkFilter(z sizes, r *FilterRequest) error {
	switch {
	case r.Client == "" || len(r.Client) > maxClient:
		return wrong("client: a name of 1 to %d characters is needed", maxClient)
	case len(r.Observations) == 0 || len(r.Observations) > l.Observations:
		return wrong("observations: %d rows, want 1 to %d", len(r.Observations), l.Observations)
	case r.Controls != nil && len(r.Controls) != len(r.Observations):
		return wrong("controls: %d rows for %d observations", len(r.Controls), len(r.Observations))
	}
	if err := checkRows("observations", r.Observations, z.nx); err != nil {
		return err
	}
	return checkRows("controls", r.Controls, z.nu)
}

// checkForecast says what is wrong with a request, nil if nothing. It is ErrRequest for what no service could
// answer, and ErrTooLarge for what takes more work than this one gives.
func (l Limits) checkForecast(z sizes, r *ForecastRequest) error {
	switch {
	case (r.Client == "") == (len(r.Observations) == 0):
		return wrong("give either client or observations")
	case r.Horizon < 1 || r.Horizon > l.Horizon:
		return wrong("horizon: %d, want 1 to %d", r.Horizon, l.Horizon)
	case len(r.Observations) > l.Observations:
		return wrong("observations: %d rows, want at most %d", len(r.Observations), l.Observations)
	case r.Controls != nil && len(r.Controls) != r.Horizon:
		return wrong("controls: %d rows for a horizon of %d", len(r.Controls), r.Horizon)
	case r.PastControls != nil && len(r.PastControls) != len(r.Observations):
		return wrong("past_controls: %d rows for %d observations", len(r.PastControls), len(r.Observations))
	case r.Samples < 0 || r.Samples > l.Paths || len(r.Quantiles) > l.Levels:
		return wrong("samples: %d, want at most %d; quantiles: %d, want at most %d", r.Samples, l.Paths, len(r.Quantiles),
			l.Levels)
	}
	for _, q := range r.Quantiles {
		if !(q > 0 && q < 1) {
			return wrong("quantiles: %v does not lie between 0 and 1", q)
		}
	}
	for _, check := range []error{
		checkRows("observations", r.Observations, z.nx), checkRows("controls", r.Controls, z.nu),
		checkRows("past_controls", r.PastControls, z.nu),
	} {
		if check != nil {
			return check
		}
	}
	if work := z.work(r); work > l.Work {
		return fmt.Errorf("%w: horizon %d × %d paths × %d channels × (1 + %d quantiles) = %d, at most %d are computed; "+
			"ask for fewer paths (samples) or quantiles, or for a shorter horizon", ErrTooLarge, r.Horizon,
			cmp.Or(r.Samples, z.paths), z.nx, len(r.Quantiles), work, l.Work)
	}
	return nil
}

// last are the last n observations of a series. They share memory with it.
func last(s trained.Series, n int) trained.Series {
	if cut := len(s.Observations) - n; cut > 0 {
		s.Observations = s.Observations[cut:]
		if s.Controls != nil {
			s.Controls = s.Controls[cut:]
		}
	}
	return s
}
