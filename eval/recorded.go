package eval

import (
	"fmt"
	"math"
	"slices"

	"github.com/switchyard-ml/switchyard/model"
	"github.com/switchyard-ml/switchyard/rng"
)

// RecordedOptions say how a model of recordings is measured.
type RecordedOptions struct {
	Question       // Horizon: less where all test recordings are too short for it
	Seed           uint64
	Training, Test []Recording

	Calendar int      // steps of a season of the calendar, which is preferred where the data have it; 0: unknown
	Samples  int      // latent rollouts whose average is the predictive mean
	Names    []string // of the channels
	Each     bool     // each recording has a scale of its own
	DT       float64  // time between two steps; 0: unknown
	TimeUnit string   // of DT; empty: unknown

	// Untransformed is what predictions are scored in, where the model sees transforms of it; nil: it sees what is
	// scored.
	Untransformed *Untransformed

	Fits // nil: the memory is not bounded
}

// Untransformed are recordings in units of their own, with the way from the model's values to them.
type Untransformed struct {
	Training, Test []Recording // in place of those that the model sees, step by step
	// Back returns values of the model for a channel of a test recording, from step at on, in these units.
	Back func(recording, at, channel int, path []float64) []float64
}

// scored are the recordings in which predictions are scored.
func (o RecordedOptions) scored() (training, test []Recording) {
	if o.Untransformed == nil {
		return o.Training, o.Test
	}
	return o.Untransformed.Training, o.Untransformed.Test
}

// RecordedReport is the result of the protocol Recorded: squared error, averaged over all values that were measured,
// in units of the variance of the training data where they are scaled so. Element k−1 of a list belongs
// to horizon k. NaN stands where nothing was measured.
type RecordedReport struct {
	Options                    RecordedOptions
	Horizon                    int
	Season                     int // of the seasonal baseline; 0: the data have none
	Order                      int // of the autoregression
	Starts, Episodes           int
	Model, Persistence, Linear []Estimate
	OverPersistence            []Estimate   // the model's error over that of persistence
	RMSE                       [][]float64  // of the model at each horizon, by channel, in the data's own units
	Scores                     []Score      // of the model, then of each baseline
	Fan                        *Fan         // one prediction beside the truth; nil: observations are images
	Against                    []Comparison // with each baseline, in the order of the scores
	Errors                     []StartError // of the model, start by start
	Each                       []EachScore  // of each test recording; nil: there is one
}

// Levels are the shares of the central intervals whose coverage is measured.
var Levels = []float64{0.5, 0.8, 0.95}

// Score is how good a predictor is, by horizon, averaged over channels in the units of the model; each channel counts
// the same, whatever was measured of it, but for the squared error. MASE has no unit: the absolute error over mean
// |x_t − x_{t−m}| of the training recordings, m the season or 1; 1 too where they are no longer than a season.
type Score struct {
	Name            string
	Squared         []Estimate // over all values that were measured: a channel counts by how many it has
	MAE, RMSE, MASE []float64
	CRPS            []float64   // NaN of images
	Coverage        [][]float64 // [level][horizon] share of what was observed in the central interval; NaN of images
	MAEByChannel    [][]float64 // [horizon][channel] in the data's own units
}

// Fan is one prediction of a test recording, in the units of the model.
type Fan struct {
	Name         string
	Offset, SD   []float64   // of each channel, which lead back to the data's own units; nil: these are they
	First, Start int         // the steps First … Start−1 are shown as seen, and those from Start on predicted
	Truth        [][]float64 // by step from First on to the end of the prediction; NaN: missing
	Mean         [][]float64
	Lower, Upper [][]float64 // of the central interval of 80 %
	Regimes      []int       // of the shown steps, inferred from all of them, as the family counts; nil: it has none
	Others       [][]int     // the same of further bodies; nil: there is one
	M            int         // how many regimes there are
}

// StartError is how far the model was off from one start: at each horizon, the absolute error over all channels, each
// in the unit of MASE. Left are the steps from the first predicted one to the end of the recording.
type StartError struct {
	Recording, Left int
	Absolute        []float64
}

// mostDistributed is the largest number of channels whose predictive distributions are scored.
const mostDistributed = 64

// The sums of a tally, for each horizon and channel: what was measured, then for each predictor its squared, absolute
// and ranked errors and how often the intervals held the value.
const (
	recordedCount = iota
	recordedFirst
)

const (
	sumSquare = iota
	sumAbsolute
	sumRanked
	sumCovered // of each level
)

var recordedSums = sumCovered + len(Levels)

// Recorded measures predictions of recordings that training never saw: from starts all along them the model
// filters the steps before and predicts those after under the controls that were applied, beside persistence, the
// last season, linear least squares and an autoregression with controls, all fitted to the training recordings.
// Missing observations are neither shown nor scored. It returns ErrOptions where no test recording is long enough
// for a prediction. The result is the same for any number of threads.
func Recorded(f model.Forecaster, o RecordedOptions) (RecordedReport, error) {
	d := f.Dims()
	r, b, err := o.begin(d)
	if err != nil {
		return r, err
	}
	starts := o.starts(r.Horizon)
	r.Starts, r.Episodes = len(starts), episodesOf(starts)
	width := b.width()
	// A row of the tally is a recording, so that standard errors are over recordings: starts within one overlap.
	sums := newTally(len(o.Test), r.Horizon*d.NX*width)
	queries := (len(starts) + trialsPerQuery - 1) / trialsPerQuery
	parts := make([][][]float64, queries) // by query and start
	forEach(f, o.Threads, queries, func(f model.Forecaster, i int) {
		some := starts[i*trialsPerQuery : min((i+1)*trialsPerQuery, len(starts))]
		var answer model.Forecast
		model.Ahead(f, &answer, o.query(some, r.Horizon, d, i))
		for n, s := range some {
			row := make([]float64, r.Horizon*d.NX*width)
			r.score(row, width, s, d, o.predictions(&answer, n, s), b)
			parts[i] = append(parts[i], row)
		}
	})
	for i, s := range starts {
		row := sums.row(s.recording)
		for j, v := range parts[i/trialsPerQuery][i%trialsPerQuery] {
			row[j] += v
		}
	}
	r.summarise(sums, d.NX, width, b)
	r.each(sums, starts, d.NX, width, b)
	r.compare(starts, func(i int) []float64 { return parts[i/trialsPerQuery][i%trialsPerQuery] }, d.NX, width, b.scale)
	if len(o.Names) > 0 && d.NX <= mostDistributed {
		r.Fan = o.fan(f, starts, r.Horizon, d)
	}
	return r, nil
}

// begin fits what predicts beside the model. It is all that Metrics needs: names of baselines, season and horizon.
func (o RecordedOptions) begin(d model.Dims) (RecordedReport, *baselines, error) {
	horizon, longest := o.horizon()
	r := RecordedReport{Options: o, Horizon: horizon}
	if o.Prefix < 1 || o.Samples < 1 || r.Horizon < 1 || o.Stride < 0 {
		return r, nil, fmt.Errorf("%w: %d steps seen and %d predicted, and the longest of %d test recordings has %d: hold "+
			"out longer ones (env.test), let less be seen (--prefix), or take a model of fewer lags",
			ErrOptions, o.Prefix, o.Horizon, len(o.Test), longest)
	}
	if err := o.fits(r.Horizon, d.NX); err != nil {
		return r, nil, err
	}
	b, err := fitBaselines(o, r.Horizon, d)
	if err != nil {
		return r, nil, err
	}
	r.Season, r.Order = b.season, b.order
	return r, b, nil
}

// horizon is how many steps are predicted: fewer than asked for where no test recording is long enough. longest is the
// length of the longest.
func (o RecordedOptions) horizon() (horizon, longest int) {
	for _, e := range o.Test {
		longest = max(longest, e.T)
	}
	return min(o.Horizon, longest-o.Prefix), longest
}

// width is how many sums there are for each horizon and channel.
func (b *baselines) width() int { return recordedFirst + (1+len(b.list))*recordedSums }

// Metrics is what Recorded reports, before it is measured, for a model of such dimensions.
func (o RecordedOptions) Metrics(d model.Dims) ([]Metric, error) {
	r, b, err := o.begin(d)
	if err != nil {
		return nil, err
	}
	r.summarise(newTally(0, r.Horizon*d.NX*b.width()), d.NX, b.width(), b)
	r.compare(nil, nil, d.NX, b.width(), b.scale)
	return r.Report().Metrics, nil
}

// recordedStart is a prediction of the steps from at on.
type recordedStart struct{ recording, at int }

// fewStarts are as many as are wanted where the recordings are long enough for them.
const fewStarts = 20

// starts are all places from which so many steps can be predicted. They are in the order of recordings and time;
// compare and episodesOf rely on that.
func (o RecordedOptions) starts(horizon int) []recordedStart {
	stride := o.stride(horizon)
	var list []recordedStart
	for i, e := range o.Test {
		for at := o.Prefix; at+horizon <= e.T; at += stride {
			list = append(list, recordedStart{i, at})
		}
	}
	return list
}

// stride is the number of steps from one start to the next. Unless it is chosen it is a horizon, or less so that
// there are about fewStarts starts.
func (o RecordedOptions) stride(horizon int) int {
	if o.Stride > 0 {
		return o.Stride
	}
	places := 0
	for _, e := range o.Test {
		places += max(0, e.T-o.Prefix-horizon+1)
	}
	return min(horizon, max(1, places/fewStarts))
}

// episodesOf is the number of recordings with a start.
func episodesOf(starts []recordedStart) int {
	n := 0
	for i, s := range starts {
		if i == 0 || starts[i-1].recording != s.recording {
			n++
		}
	}
	return n
}

// query asks for predictions from several starts.
func (o RecordedOptions) query(starts []recordedStart, horizon int, d model.Dims, index int) model.Query {
	n := len(starts)
	q := model.Query{
		Horizon: horizon, Samples: o.Samples, Controls: make([]float32, horizon*n*d.NU),
		Noise: rng.New(o.Seed, rng.Evaluation).At(0, uint32(index), noiseOfForecast),
	}
	// Sequences are time-major in a query: row t·n+i is step t of start i. The mask is made for all starts once
	// one of them needs it.
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
					q.Prefix.Seen = slices.Repeat([]float32{1}, o.Prefix*n*d.NX)
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

// score enters the errors of all predictors from one start. row is [Horizon,NX,width]. A value that is missing
// counts nowhere. Where the model predicts no finite number its error is infinite.
func (r *RecordedReport) score(row []float64, width int, s recordedStart, d model.Dims, of func(k, c int) prediction,
	b *baselines,
) {
	_, test := r.Options.scored()
	e := &test[s.recording]
	held := b.held(e, d.NX)
	all := []func(k, c int) prediction{of}
	for i, base := range b.list {
		means := make([]float64, r.Horizon*d.NX)
		base.predict(means, e, held, s.at, d)
		all = append(all, func(k, c int) prediction {
			return prediction{means[k*d.NX+c], func() Mixture {
				return Mixture{[]float64{means[k*d.NX+c]}, []float64{b.deviations[i][k*d.NX+c]}}
			}}
		})
	}
	for k := range r.Horizon {
		for c := range d.NX {
			t := s.at + k
			if !e.seen(t*d.NX + c) {
				continue
			}
			truth, at := float64(e.Observations[t*d.NX+c]), row[(k*d.NX+c)*width:]
			at[recordedCount]++
			for i, of := range all {
				p := of(k, c)
				sums := at[recordedFirst+i*recordedSums:]
				if i == 0 && !Finite(p.mean) { // a model that diverged; a baseline without a number predicts nothing
					sums[sumSquare], sums[sumAbsolute], sums[sumRanked] = math.Inf(1), math.Inf(1), math.Inf(1)
					continue
				}
				sums[sumSquare] += (p.mean - truth) * (p.mean - truth)
				sums[sumAbsolute] += math.Abs(p.mean - truth)
				if d.NX > mostDistributed {
					continue
				}
				m := p.of()
				sums[sumRanked] += m.CRPS(truth)
				below, upTo := m.shares(truth)
				for l, level := range Levels {
					switch {
					case math.IsNaN(p.mean):
						sums[sumCovered+l] = p.mean
					case upTo-0.5 >= -level/2 && below-0.5 <= level/2: // the interval has its ends
						sums[sumCovered+l]++
					}
				}
			}
		}
	}
}

// fan predicts the end of the test recording that has most starts. It is the last start of that recording.
func (o RecordedOptions) fan(f model.Forecaster, starts []recordedStart, horizon int, d model.Dims) *Fan {
	count, best := map[int]int{}, starts[0].recording
	for _, s := range starts {
		if count[s.recording]++; count[s.recording] > count[best] {
			best = s.recording
		}
	}
	start := starts[0]
	for _, s := range starts {
		if s.recording == best {
			start = s
		}
	}
	_, test := o.scored()
	e := &test[start.recording]
	y := &Fan{
		Name: e.Name, Offset: e.Scale.Mean, SD: e.Scale.SD, First: max(0, start.at-max(3*horizon, o.Prefix)),
		Start: start.at,
	}
	for t := y.First; t < start.at+horizon; t++ {
		row := widen(e.Observations[t*d.NX : (t+1)*d.NX])
		for c := range row {
			if !e.seen(t*d.NX + c) {
				row[c] = math.NaN()
			}
		}
		y.Truth = append(y.Truth, row)
	}
	var answer model.Forecast
	model.Ahead(f, &answer, o.query([]recordedStart{start}, horizon, d, noiseOfFan))
	of := o.predictions(&answer, 0, start)
	for k := range horizon {
		mean, low, high := make([]float64, d.NX), make([]float64, d.NX), make([]float64, d.NX)
		for c := range d.NX {
			p := of(k, c)
			m := p.of()
			mean[c], low[c], high[c] = p.mean, m.Quantile(0.1), m.Quantile(0.9)
		}
		y.Mean, y.Lower, y.Upper = append(y.Mean, mean), append(y.Lower, low), append(y.Upper, high)
	}
	if divides(f) {
		noise := rng.New(o.Seed, rng.Evaluation).At(0, 0, noiseOfTest)
		seen := o.Test[start.recording].part(y.First, start.at+horizon)
		bodies := likeliest(f, seen, SegmentPaths, noise)
		y.Regimes, y.Others, y.M = bodies[0], bodies[1:], d.Regimes()
	}
	return y
}
