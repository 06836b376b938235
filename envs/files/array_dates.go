package files

import (
	"fmt"
	"math"

	"github.com/switchyard-ml/switchyard/envs/files/array"
)

// unitSeconds are the units in which numpy counts dates from 1970, in seconds. Months and years are not among them.
var unitSeconds = map[string]float64{
	"W": 7 * day, "D": day, "h": 3600, "m": 60, "s": 1, "ms": 1e-3, "us": 1e-6, "ns": 1e-9,
}

// dates gives the episodes the times of an array of dates, of numpy's own kind or as text. The array has a date for
// each step, in any shape that divides evenly among the episodes. Where day and month may change places, a date of
// the array has to decide, or Options.Dates. NaT is refused.
func (b *builder) dates(name string, a *array.Array) error {
	stride := a.Len() / max(1, len(b.data.Episodes)) // of an episode
	c := &clock{order: b.options.Dates}
	read := b.dated(name, a, c)
	var lists, others [][]float64
	for i := range b.data.Episodes {
		e := &b.data.Episodes[i]
		if a.Len() != stride*len(b.data.Episodes) || e.T > stride {
			return faultf(name, "save a time for each step", "%d times, %s has %d steps", a.Len(), e.Source, e.T)
		}
		list, other := make([]float64, e.T), make([]float64, e.T)
		for t := range list {
			at, err := read(i*stride + t)
			if err != nil {
				return faultf(fmt.Sprintf("%s, %s, step %d", name, e.Source, t), "save a time for each step, as numbers or as "+
					"dates such as 2024-12-31", "%v", err)
			}
			list[t], other[t] = at, c.other
		}
		lists, others = append(lists, list), append(others, other)
	}
	if c.forms[1].begun {
		monthFirst, err := c.monthFirst()
		if err != nil {
			return faultf(name, "save dates with the year first, or say --dates day-first or --dates month-first (env.dates)",
				"%v", err)
		}
		if c.swapped = monthFirst; monthFirst {
			lists = others
		}
	}
	// Of several offsets none is that of the recording: steps are counted in UTC.
	if c.mixed {
		c.offset = 0
	}
	for i, list := range lists {
		for t := range list {
			list[t] += c.offset
		}
		if err := b.even(&b.data.Episodes[i], name, c, list); err != nil {
			return err
		}
	}
	return nil
}

// dated reads a date of an array. The function it returns reads element i, in row-major order, in seconds since
// 1970. Those of NumPy are rounded to microseconds, as float64 holds no more digits of them.
func (b *builder) dated(name string, a *array.Array, c *clock) func(i int) (float64, error) {
	if a.Kind == array.Text {
		texts := a.Strings()
		return func(i int) (float64, error) { return c.read(texts[i]) }
	}
	c.known, c.dates = true, true
	seconds, known := unitSeconds[a.Unit]
	values := a.Float64s()
	return func(i int) (float64, error) {
		switch {
		case !known:
			return 0, fmt.Errorf("dates in units of %s are not read", a.Unit)
		case values[i] <= math.MinInt64:
			return 0, fmt.Errorf("the time is missing")
		}
		return math.Round(values[i]*seconds*1e6) / 1e6, nil
	}
}
