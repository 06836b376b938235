package trained

import (
	"fmt"

	"github.com/switchyard-ml/switchyard/envs/files"
	"github.com/switchyard-ml/switchyard/internal/terminal"
	"github.com/switchyard-ml/switchyard/model"
)

// as is the run with the scale of a series, which comes one observation at a time: it is one of training, or Measure
// has measured it. The copy of the run shares its model.
func (o *Online) as(s *State) (*Run, error) {
	if s.measured == nil && !o.run.Known(s.Of) {
		return nil, fmt.Errorf("%w: the series (the client) has to bear the id of one, or to begin with several "+
			"observations by which it is scaled", unscaled(s.Of))
	}
	return o.run.as(Series{Of: s.Of}.ScaledAs(s))
}

// Known reports whether a series of that name has a scale: all have the same one, or training saw a recording of that
// name.
func (r *Run) Known(of string) bool {
	_, known := r.scale.Of(of)
	return known
}

// Measure gives a series that training did not see a scale by how it begins, where each recording has a scale of its
// own. It filters nothing. It returns ErrSeries if a channel does not yet have two different values. A series that
// has begun, or has a scale, keeps what it has. Series.ScaledAs gives the scale to a whole series.
func (r *Run) Measure(s *State, begin []Observation) error {
	if s.Steps > 0 || s.measured != nil || r.Known(s.Of) {
		return nil
	}
	f, err := r.Forecaster()
	if err != nil {
		return err
	}
	nx := f.Dims().NX
	var rows, controls [][]float64
	for _, n := range begin {
		if len(n.Values) != nx {
			return flatten(nil, [][]float64{n.Values}, nx, files.Scale{}, "observations")
		}
		rows, controls = append(rows, n.Values), append(controls, n.Controls)
	}
	changed, err := r.transformed(rows)
	if err != nil {
		return err
	}
	if c := files.Unsteady(changed, nx); c >= 0 {
		return fmt.Errorf("%w: each recording has a scale of its own, and the %s that the series begins with do not give "+
			"one: %s has no two different values; begin with more of them, or name a recording of training", ErrSeries,
			terminal.Count(len(rows), "observation"), r.scale.Observations.Name(c, "y"))
	}
	own := r.scale.OfRows(changed, controls)
	s.measured = &own
	return nil
}

// CheckState returns ErrSeries if a state that was read from elsewhere holds more than those of the model do, or a
// scale that is not one of it. What is not read of the scale is dropped: whoever holds the state does not weigh it.
func (r *Run) CheckState(s *State) error {
	f, err := r.Forecaster()
	if err != nil {
		return err
	}
	if !s.bounded(f, r.lag()) {
		return errState
	}
	if s.measured == nil {
		return nil
	}
	if d := f.Dims(); !s.measured.Fits(d.NX, d.NU) {
		return errState
	}
	own := r.scale.Like(*s.measured)
	s.measured = &own
	return nil
}

// bounded reports whether the lists of a state are no longer than those that a filter keeps, which reaches so many
// observations back. Only one of single steps keeps the first and the last observations.
func (s *State) bounded(f model.Forecaster, lag int) bool {
	d, first, past := f.Dims(), 0, 0
	if o, ok := f.(model.Stepper); ok {
		first, past = max(o.Warmup(), 1), lag+1
	}
	for _, row := range s.past {
		if len(row) > d.NX {
			return false
		}
	}
	return len(s.past) <= past && s.first.T <= first &&
		len(s.first.Observations) <= first*d.NX && len(s.first.Controls) <= first*d.NU &&
		max(len(s.Mean), len(s.SD), len(s.z)) <= d.NZ && len(s.Weights) <= d.M && len(s.switched) <= d.Carried() &&
		max(len(s.Expected), len(s.Noise), len(s.held)) <= d.NX
}

// errState is the error for a state that was read and does not fit.
var errState = fmt.Errorf("%w: the state is that of another model, or damaged", ErrSeries)
