package eval

import (
	"errors"
	"fmt"
	"math"
	"strconv"

	"github.com/switchyard-ml/switchyard/model"
	"github.com/switchyard-ml/switchyard/rng"
)

// Recording is one sequence that was recorded, in the units of the model: T steps of observations and controls, row by
// row.
type Recording struct {
	T                      int
	Observations, Controls []float32
	Seen                   []float32 // 1 where an observation was measured, 0 where it is missing and holds 0; nil: none is missing
}

// RecordedOptions say how a model of recordings is measured.
type RecordedOptions struct {
	Seed           uint64
	Training, Test []Recording
	Prefix         int       // steps filtered before a prediction
	Horizon        int       // steps predicted, unless all test recordings are too short for it
	Samples        int       // latent rollouts whose average is the predictive mean
	Names          []string  // of the channels
	Deviations     []float64 // unit of each channel in the data's own; nil: 1
	Threads        int       // never changes a result
}

// RecordedReport is the result of the protocol Recorded: squared error per channel, averaged over what was measured, in
// units of the variance of the training data where they are scaled so. Element k−1 of a list belongs to horizon k.
type RecordedReport struct {
	Options                    RecordedOptions
	Horizon                    int
	Starts, Episodes           int
	Model, Persistence, Linear []Estimate
	OverPersistence            []Estimate  // the model's error over that of persistence
	RMSE                       [][]float64 // of the model at each horizon, by channel, in the data's own units
}

// predictors of recordings, by their place in a row of the tally: for each horizon and channel, what was measured, and
// the squared errors of the three.
const (
	recordedCount = iota
	recordedModel
	recordedPersistence
	recordedLinear
	recordedWidth
)

// Recorded measures predictions of recordings that training never saw: from starts all along them, one horizon apart,
// the model filters the steps before and predicts those after under the controls that were applied. Missing
// observations are neither shown nor scored. It returns ErrOptions where no test recording is long enough for a
// prediction.
func Recorded(f model.Forecaster, o RecordedOptions) (RecordedReport, error) {
	d := f.Dims()
	longest := 0
	for _, e := range o.Test {
		longest = max(longest, e.T)
	}
	r := RecordedReport{Options: o, Horizon: min(o.Horizon, longest-o.Prefix)}
	if o.Prefix < 1 || o.Samples < 1 || r.Horizon < 1 {
		return r, fmt.Errorf("%w: %d steps seen and %d predicted, and the longest of %d test recordings has %d", ErrOptions, o.Prefix, o.Horizon, len(o.Test), longest)
	}
	linear, err := fitRecorded(o.Training, d.NX, d.NU)
	if err != nil {
		return r, fmt.Errorf("fit the linear baseline: %w", err)
	}
	var starts []recordedStart
	for i, e := range o.Test {
		before := len(starts)
		for at := o.Prefix; at+r.Horizon <= e.T; at += r.Horizon {
			starts = append(starts, recordedStart{i, at})
		}
		if len(starts) > before {
			r.Episodes++
		}
	}
	r.Starts = len(starts)
	sums := newTally(len(o.Test), r.Horizon*d.NX*recordedWidth)
	means := make([][]float32, (len(starts)+trialsPerQuery-1)/trialsPerQuery)
	forEach(f, o.Threads, len(means), func(f model.Forecaster, i int) {
		var answer model.Forecast
		f.Forecast(&answer, o.query(starts[i*trialsPerQuery:min((i+1)*trialsPerQuery, len(starts))], r.Horizon, d, i))
		means[i] = answer.Mean
	})
	for i, s := range starts {
		mean := means[i/trialsPerQuery]
		n := len(mean) / (r.Horizon * d.NX) // in this query
		r.score(sums.row(s.recording), s, linear, d, func(k int) []float32 {
			return mean[((k-1)*n+i%trialsPerQuery)*d.NX:][:d.NX]
		})
	}
	r.summarise(sums, d.NX)
	return r, nil
}

// recordedStart is a prediction of the steps from at on.
type recordedStart struct{ recording, at int }

// query asks for predictions from several starts.
func (o RecordedOptions) query(starts []recordedStart, horizon int, d model.Dims, index int) model.Query {
	n := len(starts)
	q := model.Query{
		Horizon: horizon, Samples: o.Samples, Controls: make([]float32, horizon*n*d.NU),
		Noise: rng.New(o.Seed, rng.Evaluation).At(0, uint32(index), noiseOfForecast),
	}
	q.Prefix.Resize(o.Prefix, n, d.NX, d.NU)
	clear(q.Prefix.Controls)
	for i, s := range starts {
		e := &o.Test[s.recording]
		for t := range o.Prefix {
			from, row := s.at-o.Prefix+t, t*n+i
			copy(q.Prefix.Observations[row*d.NX:(row+1)*d.NX], e.Observations[from*d.NX:])
			if t > 0 && d.NU > 0 {
				copy(q.Prefix.Controls[row*d.NU:(row+1)*d.NU], e.Controls[from*d.NU:])
			}
			if e.Seen != nil {
				if q.Prefix.Seen == nil {
					q.Prefix.Seen = ones(o.Prefix * n * d.NX)
				}
				copy(q.Prefix.Seen[row*d.NX:(row+1)*d.NX], e.Seen[from*d.NX:])
			}
		}
		for k := range horizon {
			if d.NU > 0 {
				copy(q.Controls[(k*n+i)*d.NU:(k*n+i+1)*d.NU], e.Controls[(s.at+k)*d.NU:])
			}
		}
	}
	return q
}

func ones(n int) []float32 {
	v := make([]float32, n)
	for i := range v {
		v[i] = 1
	}
	return v
}

// seen reports whether channel c was measured at step t.
func (e *Recording) seen(i int) bool { return e.Seen == nil || e.Seen[i] != 0 }

// fitRecorded fits the next observation to the one before it and the control between them, where both were measured
// whole.
func fitRecorded(training []Recording, nx, nu int) (affine, error) {
	var x, y []float64
	for i := range training {
		e := &training[i]
		whole := func(t int) bool {
			for c := range nx {
				if !e.seen(t*nx + c) {
					return false
				}
			}
			return true
		}
		for t := 1; t < e.T; t++ {
			if whole(t-1) && whole(t) {
				x = append(append(x, widen(e.Observations[(t-1)*nx:t*nx])...), widen(e.Controls[t*nu:(t+1)*nu])...)
				y = append(y, widen(e.Observations[t*nx:(t+1)*nx])...)
			}
		}
	}
	if len(y) == 0 {
		return affine{}, errors.New("no two steps of the training recordings were measured whole")
	}
	return leastSquares(x, y, nx+nu, nx)
}

// score enters the squared errors of one prediction.
func (r *RecordedReport) score(row []float64, s recordedStart, linear affine, d model.Dims, mean func(k int) []float32) {
	e := &r.Options.Test[s.recording]
	last := make([]float64, d.NX) // measured in the prefix; else the mean of the training data, 0
	for c := range d.NX {
		for t := s.at - 1; t >= s.at-r.Options.Prefix; t-- {
			if e.seen(t*d.NX + c) {
				last[c] = float64(e.Observations[t*d.NX+c])
				break
			}
		}
	}
	state, next := append([]float64{}, last...), make([]float64, d.NX)
	for k := 1; k <= r.Horizon; k++ {
		t := s.at + k - 1
		linear.apply(next, append(append([]float64{}, state...), widen(e.Controls[t*d.NU:(t+1)*d.NU])...))
		copy(state, next)
		for c, v := range mean(k) {
			if !e.seen(t*d.NX + c) {
				continue
			}
			truth := float64(e.Observations[t*d.NX+c])
			at := row[((k-1)*d.NX+c)*recordedWidth:]
			at[recordedCount]++
			at[recordedModel] += (float64(v) - truth) * (float64(v) - truth)
			at[recordedPersistence] += (last[c] - truth) * (last[c] - truth)
			at[recordedLinear] += (state[c] - truth) * (state[c] - truth)
		}
	}
}

// summarise makes estimates of the errors by horizon.
func (r *RecordedReport) summarise(sums *tally, nx int) {
	perHorizon := newTally(sums.n, r.Horizon*recordedWidth)
	for n := range sums.n {
		for i, v := range sums.row(n) {
			k := i / (nx * recordedWidth)
			perHorizon.row(n)[k*recordedWidth+i%recordedWidth] += v
		}
	}
	all := sums.total()
	for k := range r.Horizon {
		ratio := func(a, b int) Estimate {
			return perHorizon.estimate(func(s []float64) float64 { return s[k*recordedWidth+a] / s[k*recordedWidth+b] })
		}
		r.Model = append(r.Model, ratio(recordedModel, recordedCount))
		r.Persistence = append(r.Persistence, ratio(recordedPersistence, recordedCount))
		r.Linear = append(r.Linear, ratio(recordedLinear, recordedCount))
		r.OverPersistence = append(r.OverPersistence, ratio(recordedModel, recordedPersistence))
		rmse := make([]float64, nx)
		for c := range rmse {
			at := all[(k*nx+c)*recordedWidth:]
			rmse[c] = math.Sqrt(at[recordedModel] / at[recordedCount])
			if r.Options.Deviations != nil {
				rmse[c] *= r.Options.Deviations[c]
			}
		}
		r.RMSE = append(r.RMSE, rmse)
	}
}

// shownHorizons are up to ten, the first and the last among them.
func shownHorizons(horizon int) []int {
	var list []int
	for i := range min(horizon, 10) {
		k := 1 + i*(horizon-1)/max(min(horizon, 10)-1, 1)
		list = append(list, k)
	}
	return list
}

// Table shows up to ten horizons.
func (r RecordedReport) Table() Table {
	t := Table{Title: "recordings, squared error of predictions k steps ahead", Corner: "k", Digits: 3}
	rows := []struct {
		name string
		e    []Estimate
	}{{"model", r.Model}, {"persistence", r.Persistence}, {"linear least squares", r.Linear}, {"model / persistence", r.OverPersistence}}
	shown := shownHorizons(r.Horizon)
	for _, k := range shown {
		t.Columns = append(t.Columns, strconv.Itoa(k))
	}
	for _, row := range rows {
		value, se := Row{Name: row.name}, Row{Name: "  standard error"}
		for _, k := range shown {
			value.Values, se.Values = append(value.Values, row.e[k-1].Value), append(se.Values, row.e[k-1].SE)
		}
		t.Rows = append(t.Rows, value)
		if row.name == "model" || row.name == "model / persistence" {
			t.Rows = append(t.Rows, se)
		}
	}
	o := r.Options
	t.Notes = []string{
		fmt.Sprintf("%d starts in %d of %d test recordings, which training never saw; %d steps seen; mean of %d rollouts.", r.Starts, r.Episodes, len(o.Test), o.Prefix, o.Samples),
		"Per channel, in the units that the model was trained in. Persistence: nothing changes. Linear: from the last observation and the controls.",
		"Standard errors are over recordings.",
	}
	return t
}

// CurveTable holds every horizon, with the error of each channel in the data's own units.
func (r RecordedReport) CurveTable() Table {
	t := Table{Corner: "k", Columns: []string{"error", "error_se", "persistence", "persistence_se", "linear", "linear_se", "over_persistence", "over_persistence_se"}, Decimals: 6}
	for _, name := range r.Options.Names {
		t.Columns = append(t.Columns, "rmse_"+name)
	}
	for k := range r.Horizon {
		row := Row{Name: strconv.Itoa(k + 1)}
		for _, e := range []Estimate{r.Model[k], r.Persistence[k], r.Linear[k], r.OverPersistence[k]} {
			row.Values = append(row.Values, e.Value, e.SE)
		}
		row.Values = append(row.Values, r.RMSE[k]...)
		t.Rows = append(t.Rows, row)
	}
	return t
}

// Report returns the figures in the form that scripts read. Lists hold horizons 1, 2, …
func (r RecordedReport) Report() Report {
	o := r.Options
	out := Report{Protocol: "recordings", Metrics: []Metric{
		count("recordings", len(o.Test)), count("starts", r.Starts), count("prefix", o.Prefix), count("horizon", r.Horizon), count("samples", o.Samples),
	}}
	for _, m := range []struct {
		name string
		e    []Estimate
	}{{"error", r.Model}, {"error_persistence", r.Persistence}, {"error_linear", r.Linear}, {"ratio_to_persistence", r.OverPersistence}} {
		out.Metrics = append(out.Metrics, list(m.name, values(m.e)), list(m.name+"_standard_error", errorsOf(m.e)))
	}
	for c, name := range o.Names {
		channel := make([]float64, r.Horizon)
		for k := range channel {
			channel[k] = r.RMSE[k][c]
		}
		out.Metrics = append(out.Metrics, list("rmse_"+name, channel))
	}
	return out
}
