package trained

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/switchyard-ml/switchyard/config"
)

// each asks about every recording. The first error ends it, with the name of the recording if there are several and
// others might do.
func each[A any](list []Recording, ask func(s Series) (A, error)) ([]A, error) {
	var answers []A
	for _, r := range list {
		one, err := ask(r.Series)
		if err != nil {
			if len(list) > 1 && !errors.Is(err, ErrUnable) {
				err = fmt.Errorf("%s: %w", r.Name, err)
			}
			return nil, err
		}
		answers = append(answers, one)
	}
	return answers, nil
}

// ForecastAll predicts what follows each recording. levels are those of the quantiles, in ascending order.
// Controls that come with a recording go before those of the query. It is a usage error to ask for more than fits
// into memory.
func (r *Run) ForecastAll(list []Recording, c Columns, q Query, levels []float64) (*Answer, error) {
	if err := r.forecastFits(len(list), q); err != nil {
		return nil, err
	}
	i := -1
	answers, err := each(list, func(s Series) (Forecast, error) {
		one := q
		if i++; list[i].Coming != nil {
			one.Controls = list[i].Coming
		}
		return r.Forecast(s, one)
	})
	if err != nil {
		return nil, err
	}
	a := Forecasts(list, answers, c, levels)
	if held := r.calibration(); held != "" && len(levels) > 1 {
		a.Table.Notes = append(a.Table.Notes, "Of the run on held-out data: "+strings.ToLower(held[:1])+held[1:])
	}
	return a, nil
}

// FilterAll infers the latent states of recordings. The same seed gives the same answer. Each recording is drawn
// with the same seed.
func (r *Run) FilterAll(list []Recording, seed uint64) (*Answer, error) {
	answers, err := each(list, func(s Series) (Filtering, error) { return r.Filter(s, seed) })
	if err != nil {
		return nil, err
	}
	return Filterings(list, answers), nil
}

// SmoothAll infers the latent states of recordings from all of them, and fills their gaps.
func (r *Run) SmoothAll(list []Recording, c Columns) (*Answer, error) {
	answers, err := each(list, r.Smooth)
	if err != nil {
		return nil, err
	}
	return Smoothings(list, answers, c), nil
}

// SegmentAll divides recordings into regimes. The same seed gives the same answer.
func (r *Run) SegmentAll(list []Recording, c Columns, seed uint64) (*Answer, error) {
	answers, err := each(list, func(s Series) (Segmentation, error) { return r.Segment(s, seed) })
	if err != nil {
		return nil, err
	}
	systems, err := r.Systems(c.DT)
	if err != nil {
		return nil, err
	}
	return Segmentations(list, answers, systems, c), nil
}

// apart has a recording and a segmentation for each body of each recording. Regimes that hold for one body are not
// scored against labels of all. With one body the lists come back as they are.
func apart(of []Recording, list []Segmentation) ([]Recording, []Segmentation) {
	var bodies []Recording
	var regimes []Segmentation
	for i, s := range list {
		if s.Bodies == nil {
			return of, list
		}
		for k, body := range s.Bodies {
			one := of[i]
			one.Name = fmt.Sprintf("%s, body %d", one.Name, k+1)
			one.Truth = nil
			if n := len(one.Key); n > 0 {
				one.Key = slices.Clone(one.Key)
				one.Key[n-1] = fmt.Sprintf("%s, body %d", one.Key[n-1], k+1)
			}
			bodies, regimes = append(bodies, one), append(regimes, body)
		}
	}
	return bodies, regimes
}

// LinearizeAll gives the linear system at each step of recordings. The same seed gives the same answer.
func (r *Run) LinearizeAll(list []Recording, c Columns, seed uint64) (*Answer, error) {
	for _, r := range list {
		if len(r.Observations) < 2 {
			return nil, config.Usagef("%s has a single step, to which no system leads", r.Name)
		}
	}
	answers, err := each(list, func(s Series) ([]Linearization, error) { return r.Linearize(s, c.DT, seed) })
	if err != nil {
		return nil, err
	}
	return Linearizations(list, answers, c), nil
}
