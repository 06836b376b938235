package trained

import (
	"fmt"
	"maps"
	"math"
	"slices"

	"github.com/switchyard-ml/switchyard/envs/files"
	"github.com/switchyard-ml/switchyard/internal/terminal"
	"github.com/switchyard-ml/switchyard/model"
	"github.com/switchyard-ml/switchyard/rng"
)

// Here lies the border between the units of the data, in float64 rows, and those of the model, in flat float32
// batches: transforms first, then scaling, then rounding, and back in the opposite order.

// Series is a sequence of observations, in the units of the data, with a row for each time step. A NaN is a missing
// observation.
type Series struct {
	Observations [][]float64
	// Controls[t] acts between step t−1 and step t; the first row has no effect. Nil for a model without controls.
	Controls [][]float64
	// Of is the recording of training whose scale the series has, where each has one of its own
	// (env.normalise=recording). A series of another one is scaled by what is given of it, or as ScaledAs says.
	Of string

	measured *files.Normalisation // of ScaledAs
}

// ScaledAs is the series with the scale that Measure has given a state; the series itself if it has given it none.
func (s Series) ScaledAs(o *State) Series {
	s.measured = o.measured
	return s
}

// as is the run with the scale of a series. The copy shares the model. A run without scales of recordings is
// returned itself.
func (r *Run) as(s Series) (*Run, error) {
	if r.scale.Recordings == nil {
		return r, nil
	}
	own := *r
	if s.measured != nil {
		own.scale = r.scale.Like(*s.measured)
		return &own, nil
	}
	var known bool
	if own.scale, known = r.scale.Of(s.Of); known {
		return &own, nil
	}
	observed, err := r.transformed(s.Observations)
	if err != nil {
		return nil, err
	}
	own.scale = r.scale.OfRows(observed, s.Controls)
	return &own, nil
}

// Scaled are the recordings of training where each has a scale of its own, in order; nil: all have the same.
func (r *Run) Scaled() []string { return slices.Sorted(maps.Keys(r.scale.Recordings)) }

// unscaled is the error for a recording of which training saw none, where each has a scale of its own.
func unscaled(recording string) error {
	return fmt.Errorf("%w: each recording has a scale of its own, and training saw no recording %q", ErrSeries, recording)
}

// Recording is a series with its place in the data. Recordings of a list may share memory: nobody writes to their
// rows.
type Recording struct {
	Series
	Name string // where it was read from
	// Key are the texts by which the files name it, of the columns KeyColumns, and Times are those of its steps, in the
	// form of the files; nil: there are none.
	Key, KeyColumns []string
	Times           *files.Times
	// Coming are the controls of the steps that follow it; nil: those of the question.
	Coming [][]float64
	Part   files.Part // of the split of the run that it belongs to
	// Truth is the true regime of each step, where the data say it; nil: unknown.
	Truth []int

	continues bool      // the one before it in the list
	before    []float64 // controls that lead to the first step from there; nil: unknown
}

// Columns name the channels of a model's data, in the order of the rows of a Series. Images have no names.
type Columns struct {
	Observations, Controls []string
	DT                     float64 // time between two steps; 0: unknown
	// of DT, where the files have dates: s, min, h, day, business day, month or year; empty: unknown
	TimeUnit string
}

// timeUnits is the unit of time in the plural, as tables name it; empty: it is not known.
func (c Columns) timeUnits() string {
	switch c.TimeUnit {
	case "", "s", "min", "h":
		return c.TimeUnit
	}
	return c.TimeUnit + "s"
}

// batch is a series in the form that the model needs: scaled, with a mask if observations are missing. It is a
// batch of one sequence with memory of its own. ErrSeries is returned where rows have other widths, or values that
// cannot be.
func (r *Run) batch(d model.Dims, s Series) (model.Batch, error) {
	var b model.Batch
	T := len(s.Observations)
	if T < 1 {
		return b, fmt.Errorf("%w: it has no observations", ErrSeries)
	}
	b.Resize(T, 1, d.NX, d.NU)
	observed, err := r.transformed(s.Observations)
	if err != nil {
		return b, err
	}
	if err := flatten(b.Observations, observed, d.NX, r.scale.Observations, "observations"); err != nil {
		return b, err
	}
	hide(&b)
	controls, err := r.acted(d, s.Controls, T)
	if err != nil {
		return b, err
	}
	copy(b.Controls, controls)
	return b, nil
}

// whole is batch with what the family cannot read filled in. The same series always has its gaps filled in alike.
func (r *Run) whole(f model.Forecaster, s Series) (model.Batch, error) {
	b, err := r.batch(f.Dims(), s)
	if err != nil {
		return b, err
	}
	return model.Whole(f, b, rng.New(0, rng.Evaluation).At(0, 0, noiseOfGaps)), nil
}

// noiseOfGaps is the place of the random numbers by which gaps are filled in.
const noiseOfGaps = 9

// controls are rows of controls in the form that the model needs; zeros of the data if there are no rows. The
// result is [T,nu].
func (r *Run) controls(d model.Dims, u [][]float64, T int) ([]float32, error) {
	if u == nil {
		u = make([][]float64, T)
		for t := range u {
			u[t] = make([]float64, d.NU)
		}
	}
	if len(u) != T {
		return nil, fmt.Errorf("%w: %d rows of controls for %d time steps", ErrSeries, len(u), T)
	}
	flat := make([]float32, T*d.NU)
	return flat, flatten(flat, u, d.NU, r.scale.Controls, "controls")
}

// acted is controls for a series that begins with the first row. That row acted before it: it is not read, and zero
// in the result.
func (r *Run) acted(d model.Dims, u [][]float64, T int) ([]float32, error) {
	// What stands for it has the mean of the model, or zeros of the data.
	if len(u) > 0 && len(u[0]) == d.NU {
		u = slices.Clone(u)
		u[0] = r.scale.Controls.Mean
		if len(u[0]) == 0 {
			u[0] = make([]float64, d.NU)
		}
	}
	flat, err := r.controls(d, u, T)
	if err == nil {
		clear(flat[:min(d.NU, len(flat))])
	}
	return flat, err
}

// flatten scales rows in float64 and rounds once. dst is [len(rows),width]. A NaN is kept as a missing
// observation; among the controls it is ErrSeries, as an infinity is anywhere.
func flatten(dst []float32, rows [][]float64, width int, scale files.Scale, what string) error {
	for t, row := range rows {
		if len(row) != width {
			return fmt.Errorf("%w: row %d of the %s has %s, the model takes %d", ErrSeries, t, what,
				terminal.Count(len(row), "value"), width)
		}
		for i, v := range row {
			if math.IsNaN(v) && what == "controls" {
				return fmt.Errorf("%w: row %d of the controls holds NaN: a control cannot be missing", ErrSeries, t)
			}
			if math.IsInf(v, 0) {
				return fmt.Errorf("%w: row %d of the %s holds %v", ErrSeries, t, what, v)
			}
			// A value is compared in the units of the model, and reported in those of the data.
			of, bound := v, farthestUnscaled
			if len(scale.Mean) > 0 {
				v, bound = scale.Scaled(i, v), bounds(scale, i)
			}
			if math.Abs(v) > bound {
				return fmt.Errorf("%w: row %d of the %s holds %v, which is %.1g standard deviations of the training data from "+
					"their mean: leave it empty if it was not measured", ErrSeries, t, what, of, math.Abs(v))
			}
			dst[t*width+i] = float32(v)
		}
	}
	return nil
}

// bounds is how many standard deviations of the training data a value of channel i may lie from their mean. The
// logarithm of no number is farthest of them away: there, it is both logFarthest of them and a factor of logFactor.
func bounds(scale files.Scale, i int) float64 {
	if !scale.Transform(i).Log {
		return farthestOf(scale, i)
	}
	return max(logFarthest, math.Log(logFactor)/scale.SD[i])
}

// scaled undoes the scaling alone: rows in the units of the data, or of their transforms. x is [steps,width] in
// the units of the model.
func (r *Run) scaled(x []float32, width int) [][]float64 {
	list := rows(x, width)
	for _, row := range list {
		for i, v := range row {
			row[i] = r.scale.Observations.Unscaled(i, v)
		}
	}
	return list
}

// deviations are rows of standard deviations in the units of the data.
func (r *Run) deviations(x []float32, width int) [][]float64 {
	list, scale := rows(x, width), r.scale.Observations
	if len(scale.SD) > 0 {
		for _, row := range list {
			for i := range row {
				row[i] *= scale.SD[i]
			}
		}
	}
	return list
}

// rows are numbers in rows of the given width, as float64 of their own; nil for a width of zero.
func rows(x []float32, width int) [][]float64 {
	if width == 0 {
		return nil
	}
	all := make([][]float64, len(x)/width)
	for t := range all {
		all[t] = make([]float64, width)
		for i := range all[t] {
			all[t][i] = float64(x[t*width+i])
		}
	}
	return all
}
