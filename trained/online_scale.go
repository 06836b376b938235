package trained

import (
	"fmt"

	"github.com/switchyard-ml/switchyard/envs/files"
	"github.com/switchyard-ml/switchyard/internal/terminal"
)

// as is the run with the scale of a series, which comes one observation at a time: it is one of training, or Measure
// has measured it. The copy of the run shares its model.
func (o *Online) as(s *State) (*Run, error) {
	if s.measured != nil {
		own := *o.run
		own.scale = *s.measured
		return &own, nil
	}
	if _, known := o.run.scale.Of(s.Of); !known {
		return nil, fmt.Errorf("%w: the series (the client) has to bear the id of one, or to begin with several "+
			"observations by which it is scaled", unscaled(s.Of))
	}
	return o.run.as(Series{Of: s.Of})
}

// Known reports whether a series of that name has a scale: all have the same one, or training saw a recording of that
// name.
func (o *Online) Known(of string) bool {
	_, known := o.run.scale.Of(of)
	return known
}

// Measure gives a series that training did not see a scale by how it begins, where each recording has a scale of its
// own. It filters nothing. It returns ErrSeries if a channel does not yet have two different values. A series that
// has begun, or has a scale, keeps what it has.
func (o *Online) Measure(s *State, begin []Observation) error {
	if s.Steps > 0 || s.measured != nil || o.Known(s.Of) {
		return nil
	}
	var rows, controls [][]float64
	for _, n := range begin {
		if len(n.Values) != o.dims.NX {
			return flatten(nil, [][]float64{n.Values}, o.dims.NX, files.Scale{}, "observations")
		}
		rows, controls = append(rows, n.Values), append(controls, n.Controls)
	}
	changed, err := o.run.transformed(rows)
	if err != nil {
		return err
	}
	if c := files.Unsteady(changed, o.dims.NX); c >= 0 {
		return fmt.Errorf("%w: each recording has a scale of its own, and the %s that the series begins with do not give "+
			"one: %s has no two different values; begin with more of them, or name a recording of training", ErrSeries,
			terminal.Count(len(rows), "observation"),
			o.run.scale.Observations.Name(c, "y"))
	}
	own := o.run.scale.OfRows(changed, controls)
	s.measured = &own
	return nil
}
