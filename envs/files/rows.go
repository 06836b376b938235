package files

import (
	"math"
	"slices"

	"github.com/switchyard-ml/switchyard/envs"
)

// rows are the rows of one recording.
type rows struct {
	key   []string // the texts that name it
	lines []int
	time  []float64 // of two columns the days, until they are joined
	other []float64 // the dates with the month first; nil: they are the same
	ofDay []float64 // as dayClock.read returns them
	times *Times    // of the steps of the even grid
	// offset is that of the first date from UTC, and offsets are those of all dates; nil: they are the same. zones are
	// where they change, and wall says that times are those of the recording's own clock all the same.
	offset  float64
	offsets []float64
	zones   zones
	wall    bool
	part    Part
	observations, controls,
	states, labels, mask, modes []float64
}

// columns are the values of the rows, each with its width; mean says that the values of a step are averaged. All are
// row-major, a row for each step; values that a table has not are nil.
func (e *rows) columns(s envs.Spec) []struct {
	values *[]float64
	width  int
	mean   bool
} {
	type column = struct {
		values *[]float64
		width  int
		mean   bool
	}
	return []column{
		{&e.observations, s.Observation, true},
		{&e.controls, s.Control, true},
		{&e.states, s.State, true},
		{&e.labels, len(s.Labels), false},
		{&e.mask, 1, false},
		{&e.modes, 1, false},
	}
}

// sort puts the rows in the order of their times.
func (e *rows) sort(s envs.Spec) {
	order := make([]int, len(e.time))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int {
		switch {
		case e.time[a] < e.time[b]:
			return -1
		case e.time[a] > e.time[b]:
			return 1
		}
		return 0
	})
	for _, c := range e.columns(s) {
		if old := *c.values; old != nil {
			list := make([]float64, 0, len(old))
			for _, i := range order {
				list = append(list, old[i*c.width:(i+1)*c.width]...)
			}
			*c.values = list
		}
	}
	time, lines := make([]float64, len(order)), make([]int, len(order))
	for to, from := range order {
		time[to], lines[to] = e.time[from], e.lines[from]
	}
	e.time, e.lines = time, lines
	if old := e.offsets; old != nil {
		e.offsets = make([]float64, len(order))
		for to, from := range order {
			e.offsets[to] = old[from]
		}
	}
}

// hide makes NaN of the observations that the mask of their row calls missing, so that no mean takes them. There is no
// mask then.
func (e *rows) hide(channels int) {
	for i, observed := range e.mask {
		if observed == 0 {
			for j := range channels {
				e.observations[i*channels+j] = math.NaN()
			}
		}
	}
	e.mask = nil
}

// spread puts row i at step at[i] of n steps. Several rows of a step are averaged, the last one counts for labels,
// masks and modes. Steps without a row have no observations; everything else is as in the step before. after says that
// the controls of row i act from row i−1 on: so they do at the steps between the two.
func (e *rows) spread(s envs.Spec, at []int, n int, after bool) {
	for k, c := range e.columns(s) {
		old := *c.values
		if old == nil {
			continue
		}
		list, count := make([]float64, n*c.width), make([]float64, n*c.width)
		for i, step := range at {
			from := step
			if after && c.values == &e.controls && i > 0 {
				from = min(step, at[i-1]+1)
			}
			for j := range c.width {
				v := old[i*c.width+j]
				if math.IsNaN(v) {
					continue
				}
				for to := from*c.width + j; to < step*c.width; to += c.width {
					list[to], count[to] = v, 1
				}
				to := step*c.width + j
				if count[to]++; c.mean {
					list[to] += (v - list[to]) / count[to]
				} else {
					list[to] = v
				}
			}
		}
		for to := range list {
			switch {
			case count[to] > 0:
			// Observations, and whatever comes before the first value.
			case k == 0 || to < c.width:
				list[to] = math.NaN()
			default:
				list[to] = list[to-c.width]
			}
		}
		*c.values = list
	}
}
