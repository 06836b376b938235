package trained

import (
	"fmt"

	"github.com/switchyard-ml/switchyard/envs/files"
	"github.com/switchyard-ml/switchyard/internal/terminal"
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

// CheckScale returns ErrSeries if the scale of a state that was read from elsewhere is not one of the model.
func (r *Run) CheckScale(s *State) error {
	f, err := r.Forecaster()
	if err != nil {
		return err
	}
	if d := f.Dims(); s.measured != nil && !s.measured.Fits(d.NX, d.NU) {
		return errState
	}
	return nil
}

// errState is the error for a state that was read and does not fit.
var errState = fmt.Errorf("%w: the state is that of another model, or damaged", ErrSeries)
