package trained

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/switchyard-ml/switchyard/envs/files"
	"github.com/switchyard-ml/switchyard/eval"
	"github.com/switchyard-ml/switchyard/internal/terminal"
	"github.com/switchyard-ml/switchyard/model"
	"github.com/switchyard-ml/switchyard/rng"
)

// Query asks for a forecast of the steps after a series.
type Query struct {
	Horizon  int         // time steps
	Controls [][]float64 // a row for each of these steps; nil: zeros
	Samples  int         // number of paths; 0: as in the run's configuration
	Seed     uint64      // of the random paths; the same seed gives the same forecast

	Context context.Context // ends the computation early, with its error; nil: nothing does
}

// together is how many paths are computed between two looks at the context. Their number is part of what a seed means:
// each portion has its own stream of noise.
const together = 256

// Forecast is a prediction in the units of the data. Where training transformed the observations (env.transform), each
// path stands there eight times, with other noise of the observations within it, and its deviation is zero; once if it
// has no such noise.
type Forecast struct {
	Mean  [][]float64   // [Horizon][channel], averaged over the paths
	Paths [][][]float64 // [path][Horizon][channel]: the mean of the observations along one path of latent states
	SD    [][][]float64 // [path][Horizon][channel]: the deviation of an observation from that mean; nil or zeros: none
	Draw  [][]float64   // [Horizon][channel]: observations drawn along the first path
}

// At is the predictive distribution of a channel at a step: a Gaussian for each path.
func (f Forecast) At(step, channel int) eval.Mixture {
	m := eval.Mixture{Means: make([]float64, len(f.Paths)), Deviations: make([]float64, len(f.Paths))}
	for i, path := range f.Paths {
		m.Means[i] = path[step][channel]
		if f.SD != nil {
			m.Deviations[i] = f.SD[i][step][channel]
		}
	}
	return m
}

// Quantile is the level's quantile of what will be observed, for each step and channel: of the mixture of a Gaussian
// for each path. Where the paths have no deviation it is the smallest of their values such that at least this share of
// the paths does not exceed it. A single path without deviations has no quantiles: they are NaN.
func (f Forecast) Quantile(level float64) [][]float64 {
	q := make([][]float64, len(f.Mean))
	for t := range q {
		q[t] = make([]float64, len(f.Mean[t]))
		for c := range q[t] {
			q[t][c] = f.quantile(t, c, level)
		}
	}
	return q
}

// quantile is Quantile for one step and channel.
func (f Forecast) quantile(step, channel int, level float64) float64 {
	if len(f.Paths) == 1 && f.SD == nil {
		return math.NaN()
	}
	return f.At(step, channel).Quantile(level)
}

// farAway is how many ranges of what was observed a forecast may lie outside of it before that is said.
const farAway = 20

// far says where the mean of a forecast leaves what was observed before it by many times its range; empty: nowhere.
func (f Forecast) far(past Recording, c Columns) string {
	for channel, name := range c.Observations {
		low, high := math.Inf(1), math.Inf(-1)
		for _, v := range column(past.Observations, channel) {
			if !math.IsNaN(v) {
				low, high = min(low, v), max(high, v)
			}
		}
		for h, row := range f.Mean {
			if off := max(low-row[channel], row[channel]-high) / (high - low); high > low && off > farAway {
				return fmt.Sprintf("%s: %s after %s is off what was observed by %.0f times its range: the model is "+
					"unstable, or trained too little", past.Name, name, terminal.Count(h+1, "step"), off)
			}
		}
	}
	return ""
}

// Forecast filters a series and predicts what follows it. The errors are ErrUnable, ErrSeries, ErrDiverged and
// that of the context.
func (r *Run) Forecast(s Series, q Query) (Forecast, error) {
	f, err := r.Forecaster()
	if err != nil {
		return Forecast{}, err
	}
	if r, err = r.as(s); err != nil {
		return Forecast{}, err
	}
	if q.Horizon < 1 || q.Samples < 0 {
		return Forecast{}, fmt.Errorf("%w: a horizon of %d steps with %d samples; at least one step is needed", ErrSeries,
			q.Horizon, q.Samples)
	}
	if q.Samples == 0 {
		q.Samples = r.config.Eval.Samples
	}
	prefix, err := r.batch(f.Dims(), s)
	if err != nil {
		return Forecast{}, err
	}
	controls, err := r.controls(f.Dims(), q.Controls, q.Horizon)
	if err != nil {
		return Forecast{}, err
	}
	var out Forecast
	var filled []model.Batch // of each portion of the paths
	// Portions of the paths, each with a stream of noise of its own. A sampler has other parameters in each.
	for done := 0; done < q.Samples; done += together {
		if q.Context != nil && q.Context.Err() != nil {
			return Forecast{}, fmt.Errorf("forecast: %w", q.Context.Err())
		}
		var answer model.Forecast
		ask := model.Query{
			Prefix: prefix, Controls: controls, Horizon: q.Horizon, Samples: min(together, q.Samples-done),
			First: done, Of: q.Samples, Drawn: q.Samples > 1,
			Noise: rng.New(q.Seed, rng.Evaluation).At(uint64(done/together), 0, 0),
		}
		if r.transforms() {
			filled = append(filled, model.AheadOfAll(f, &answer, ask))
		} else {
			model.Ahead(f, &answer, ask)
		}
		out.join(r.forecast(&answer), done)
	}
	if err := out.check(r); err != nil || !r.transforms() {
		return out, err
	}
	out.undo(r, func(path int) [][]float64 {
		return r.ends(s.Observations, filled[path/together])(path % together)
	}, q.Seed)
	return out, nil
}

// join adds paths to those of a forecast, of which there are so many. The mean is that of all paths; the draw
// stays that of the first portion.
func (f *Forecast) join(g Forecast, paths int) {
	if paths == 0 {
		*f = g
		return
	}
	// A running mean: each portion counts by its paths.
	share := float64(len(g.Paths)) / float64(paths+len(g.Paths))
	for t, row := range f.Mean {
		for c := range row {
			row[c] += share * (g.Mean[t][c] - row[c])
		}
	}
	f.Paths = append(f.Paths, g.Paths...)
	f.SD = append(f.SD, g.SD...)
}

// forecast is the answer for a single series in the units of the data, or of their transforms.
func (r *Run) forecast(a *model.Forecast) Forecast {
	path := a.Horizon * a.NX
	out := Forecast{Mean: r.scaled(a.Mean, a.NX), Draw: r.scaled(a.Draw, a.NX)}
	noisy := slices.ContainsFunc(a.SD, func(sd float32) bool { return sd > 0 })
	for i := range a.Samples {
		out.Paths = append(out.Paths, r.scaled(a.Paths[i*path:(i+1)*path], a.NX))
		if noisy {
			out.SD = append(out.SD, r.deviations(a.SD[i*path:(i+1)*path], a.NX))
		}
	}
	return out
}

// ErrDiverged is returned for a forecast that leaves all bounds: it says nothing of what will be observed.
var ErrDiverged = errors.New("the forecast diverges")

// farthest is how many standard deviations of the training data a mean, or an observation that is given, may lie from
// their mean. Nothing that was measured lies there.
const farthest = 1e6

// The same of logarithms, in standard deviations and as a factor: the logarithm of the largest number is 710.
const (
	logFarthest = 30
	logFactor   = 1e9
)

// farthestUnscaled is the same where nothing was scaled, so that the size of the data is not known.
const farthestUnscaled = 1e15

// farthestOf is farthest for channel i. One that was constant in training has no deviation to compare with.
func farthestOf(scale files.Scale, i int) float64 {
	if scale.SD[i] == files.ConstantSD {
		return farthestUnscaled
	}
	return farthest
}

// check returns ErrDiverged for a forecast, before transforms are undone, that is not finite or far from all data.
// Channels without a scale are held to the range of float32.
func (f *Forecast) check(r *Run) error {
	scale := r.scale.Observations
	for h, row := range f.Mean {
		for c, v := range row {
			off := v
			if len(scale.Mean) > 0 {
				off = scale.Scaled(c, v) / farthestOf(scale, c)
			} else {
				off /= math.MaxFloat32
			}
			if !(math.Abs(off) <= 1) {
				return fmt.Errorf("%w: after %d of %d steps channel %d is at %.3g", ErrDiverged, h+1, len(f.Mean), c+1, v)
			}
		}
	}
	return nil
}
