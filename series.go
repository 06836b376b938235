package switchyard

import (
	"fmt"
	"math"

	"github.com/switchyard-ml/switchyard/model"
)

// batch is a series in the form that the model needs: scaled, with a mask if observations are missing.
func (r *Run) batch(d model.Dims, s Series) (model.Batch, error) {
	var b model.Batch
	T := len(s.Observations)
	if T < 1 {
		return b, fmt.Errorf("%w: it has no observations", ErrSeries)
	}
	b.Resize(T, 1, d.NX, d.NU)
	if err := flatten(b.Observations, s.Observations, d.NX, "observations"); err != nil {
		return b, err
	}
	for i, v := range b.Observations {
		if !math.IsNaN(float64(v)) {
			continue
		}
		if b.Seen == nil {
			b.Seen = make([]float32, len(b.Observations))
			for j := range b.Seen {
				b.Seen[j] = 1
			}
		}
		b.Seen[i], b.Observations[i] = 0, 0
	}
	r.trained.Scale.Observations.Apply(b.Observations)
	for i, seen := range b.Seen {
		if seen == 0 {
			b.Observations[i] = 0
		}
	}
	controls, err := r.controls(d, s.Controls, T)
	if err != nil {
		return b, err
	}
	copy(b.Controls, controls)
	clear(b.Controls[:d.NU]) // it acted before the series
	return b, nil
}

// controls are rows of controls in the form that the model needs; zeros if there are no rows.
func (r *Run) controls(d model.Dims, u [][]float64, T int) ([]float32, error) {
	flat := make([]float32, T*d.NU)
	if u != nil {
		if len(u) != T {
			return nil, fmt.Errorf("%w: %d rows of controls for %d time steps", ErrSeries, len(u), T)
		}
		if err := flatten(flat, u, d.NU, "controls"); err != nil {
			return nil, err
		}
	}
	r.trained.Scale.Controls.Apply(flat)
	return flat, nil
}

func flatten(dst []float32, rows [][]float64, width int, what string) error {
	for t, row := range rows {
		if len(row) != width {
			return fmt.Errorf("%w: row %d of the %s has %d values, the model takes %d", ErrSeries, t, what, len(row), width)
		}
		for i, v := range row {
			if math.IsInf(v, 0) || math.IsNaN(v) && what == "controls" {
				return fmt.Errorf("%w: row %d of the %s holds %v", ErrSeries, t, what, v)
			}
			dst[t*width+i] = float32(v)
		}
	}
	return nil
}

// rows are observations in the units of the data.
func (r *Run) rows(x []float32, width int) [][]float64 {
	x = append([]float32(nil), x...)
	r.trained.Scale.Observations.Invert(x)
	return rows(x, width)
}

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
