package files

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/switchyard-ml/switchyard/envs"
)

func itoa(n int) string { return strconv.Itoa(n) }

// close makes an episode from the rows of a recording. One of a single row, where a column tells recordings apart,
// is left out and noted.
func (t *table) close(e *rows) error {
	d := t.data
	if len(e.lines) == 1 && len(t.list) > 1 && t.hasID {
		t.dropped++
		return nil
	}
	from, to := slices.Min(e.lines), slices.Max(e.lines)
	source := fmt.Sprintf("%ss %d to %d", t.in.what(), from, to)
	if from == to {
		source = fmt.Sprintf("%s %d", t.in.what(), from)
	}
	if t.options.ControlsAfter {
		e.controls = shifted(e.controls, len(e.lines), d.Spec.Control)
	}
	if err := t.interval(e); err != nil {
		return err
	}
	T := len(e.observations) / d.Spec.Observation
	episode := Episode{
		Times: e.times,
		Episode: envs.Episode{
			T: T, Observations: converted[float32](e.observations), Controls: converted[float32](e.controls),
			States: converted[float32](e.states), Labels: converted[float32](e.labels),
		},
		Levels: e.observations, acts: e.controls, Part: e.part, Name: NameOf(e.key), Key: e.key, Source: source,
	}
	for _, z := range e.modes {
		episode.Modes = append(episode.Modes, int32(z))
	}
	if episode.Name != "" {
		episode.Source = fmt.Sprintf("episode %s (%s)", episode.Name, episode.Source)
	}
	// The one mask of a row is that of all its channels.
	if e.mask != nil {
		nx := d.Spec.Observation
		episode.Mask = make([]float32, T*nx)
		for i := range episode.Mask {
			episode.Mask[i] = float32(e.mask[i/nx])
		}
	}
	d.Episodes = append(d.Episodes, episode)
	return nil
}

// converted are values of another type; nil stays nil.
func converted[To, From float32 | float64](values []From) []To {
	if values == nil {
		return nil
	}
	list := make([]To, len(values))
	for i, v := range values {
		list[i] = To(v)
	}
	return list
}

// grids puts the rows of all recordings in the order of their times, and finds the finest grid that one of them
// needs: the grid of all. Before, it settles what the times mean. A recording that is too short to show a grid of its
// own may lie on that of the others.
func (t *table) grids() error {
	if !t.hasTime {
		return nil
	}
	if err := t.dates(); err != nil {
		return err
	}
	if t.twoFold {
		t.join()
	} else {
		t.hours()
		t.codes()
	}
	var uneven error
	for _, e := range t.list {
		if err := t.order(e); err != nil {
			return err
		}
		t.changing(e)
		if len(e.time) < 2 || t.options.Resample != "" {
			continue
		}
		if grid, _, err := t.grid(e, calendar{}); err == nil {
			t.common = t.common.with(grid)
		} else if uneven == nil {
			uneven = err
		}
	}
	if t.common.step == 0 {
		return uneven
	}
	// Days of one recording from Monday to Friday are whole days, too, if another one has weekends.
	if t.common.unit == "business day" && slices.ContainsFunc(t.list, func(e *rows) bool { return !weekdays(e.time) }) {
		t.common = calendar{step: 1, unit: "day"}
	}
	return nil
}

// interval brings the rows of a recording to the even grid. Steps between rows are missing observations. A grid with
// more than 200 steps for each row is refused: its column is hardly one of times.
func (t *table) interval(e *rows) error {
	if !t.hasTime || len(e.time) < 2 {
		return nil
	}
	grid, at, err := t.grid(e, t.common)
	if err != nil {
		return err
	}
	if n := at[len(at)-1] + 1; n > len(at) || t.options.Resample != "" {
		if n/sparse > len(at) {
			return faultf(t.rowPlace(e, len(at)-1), "is the column one of times?", "%d rows lie on an even grid of %d steps",
				len(at), n)
		}
		if *t.left -= int64(n-len(at)) * int64(8*len(t.roles)+16); *t.left < 0 {
			return formatFault("", errLimit)
		}
		t.added += n - len(slices.Compact(slices.Clone(at)))
		if t.options.Resample != "" {
			e.hide(t.data.Spec.Observation)
		}
		e.spread(t.data.Spec, at, n, t.options.ControlsAfter)
	}
	e.times = t.times(e, grid)
	if grid = grid.named(); t.data.Spec.DT == 0 {
		t.data.Spec.DT, t.data.TimeUnit = rounded(grid.step), grid.unit
	}
	return nil
}

// rowPlace is the line or row of row i of a recording, for messages.
func (t *table) rowPlace(e *rows, i int) string {
	return fmt.Sprintf("%s %d", t.in.what(), e.lines[min(i, len(e.lines)-1)])
}

// order puts the rows in the order of their times. Without a column that tells recordings apart, times that go back are
// a fault, unless they go back from the first row to the last.
func (t *table) order(e *rows) error {
	n := len(e.time)
	if t.clock.ofDay {
		throughMidnight(e.time)
	}
	ascending, descending := slices.IsSorted(e.time), true
	for i := 1; i < n; i++ {
		descending = descending && e.time[i] < e.time[i-1]
	}
	if !ascending {
		if !t.hasID && !descending {
			i := 1
			for e.time[i] > e.time[i-1] {
				i++
			}
			return orderFault(t.rowPlace(e, i), "sort the rows by time, or name the column that tells recordings apart: --id "+
				"NAME (env.id)",
				"t goes from %s to %s", t.clock.text(e.time[i-1]), t.clock.text(e.time[i]))
		}
		t.sorted++
		e.sort(t.data.Spec)
	}
	// Rows of one time are averaged on a grid that was asked for; without one, nothing tells which is right.
	for i := 1; i < n; i++ {
		if e.time[i] == e.time[i-1] && t.options.Resample == "" {
			apart := "name the column that tells recordings apart with --id NAME (env.id)"
			if t.hasID {
				apart = "name a further column that tells recordings apart with --id " + strings.Join(t.data.Key, ",") +
					",NAME (env.id)"
			}
			return orderFault(t.rowPlace(e, i), "leave one of them out, "+apart+
				", or say that rows are evenly spaced: --time none (env.time)",
				"the time %s is there twice", t.clock.text(e.time[i]))
		}
	}
	return nil
}

// errOrder is the cause of a fault of rows that belong to other recordings, if the options are wrong.
var errOrder = errors.New("times are not in order")

func orderFault(place, remedy, format string, args ...any) error {
	fault := faultf(place, remedy, format, args...)
	fault.cause = errOrder
	return fault
}

// grid finds the even grid of a recording, or the one that was asked for, and the step of each row. A common grid is
// that of all recordings.
func (t *table) grid(e *rows, common calendar) (calendar, []int, error) {
	if t.options.Resample == "" {
		grid, at, err := t.clock.even(e.time, common)
		var uneven *unevenError
		if errors.As(err, &uneven) {
			uneven.step = t.clock.suggestedStep(e.time)
			return grid, nil, &Error{
				Place: t.rowPlace(e, uneven.row), Problem: uneven.Error() + ": steps have to be equally long", cause: uneven,
				Remedy: fmt.Sprintf("bring them to a grid with --resample (env.resample), e.g. --resample %s, or leave the "+
					"times out", uneven.step),
			}
		}
		return grid, at, err
	}
	grid, err := t.clock.step(t.options.Resample, e.time[0])
	if err != nil {
		return grid, nil, faultf("--resample", "", "%v", err)
	}
	at, err := bins(grid, t.clock.begin(grid, e), e.time)
	return grid, at, err
}

// bins are the steps within which times lie, counted from that of the first. begin is the position of the grid from
// which whole steps are counted. The result ascends from 0, as times do.
func bins(grid calendar, begin float64, times []float64) ([]int, error) {
	at := make([]int, len(times))
	for i := range at {
		position := grid.position(times[i])
		// A time on the boundary belongs to the step that begins there, however its position was rounded.
		v := (position - begin + inexact*math.Abs(position)) / grid.step
		if v > 1<<40 {
			return nil, faultf("--resample", "is the column one of times? Write a longer step", "it takes too many steps")
		}
		at[i] = int(math.Floor(v + 1e-9))
	}
	if at[0] > 0 {
		for i := len(at) - 1; i >= 0; i-- {
			at[i] -= at[0]
		}
	}
	return at, nil
}

// begin is the position from which steps that were asked for are counted. They are those of the calendar: of days from
// midnight of the first day of the file's clock on, of weeks from Monday on. A row belongs to the step within which it
// lies. Steps of numbers begin with the first row, but for numbers that count from 1970.
func (c *clock) begin(grid calendar, e *rows) float64 {
	first := e.time[0]
	if slices.Contains([]string{"week", "month", "business day"}, grid.unit) {
		return grid.step * math.Floor(grid.position(first)/grid.step+1e-9)
	}
	if grid.epoch > 0 {
		return first - c.since(first, grid)
	}
	if c.dates {
		offset := 0.0
		if e.zones != nil && !e.wall {
			offset = e.zones.at(first)
		}
		first = day*math.Floor((first+offset)/day) - offset
	}
	return grid.position(first)
}

// inexact is the relative error of a position, of a few roundings.
const inexact = 0x1p-50

// dates decides the order of day and month, and takes times as those of the file's own clock, where all of a
// recording have the same offset. An order that nothing decides is a fault, with a date that may be two days as its
// example.
func (t *table) dates() error {
	c := &t.clock
	if !c.dates {
		return nil
	}
	monthFirst, err := false, error(nil)
	if c.forms[1].begun {
		if monthFirst, err = c.monthFirst(); errors.Is(err, errAmbiguous) {
			if first, decided := t.evenOrder(); decided {
				monthFirst, err = first, nil
				order := map[bool]string{false: "day", true: "month"}[first]
				t.data.Notes = append(t.data.Notes, "the dates are read with the "+order+" first: only so are they evenly spaced")
			}
		}
	}
	c.swapped = monthFirst
	for _, e := range t.list {
		const remedy = "say which comes first: --dates day-first or --dates month-first (env.dates)"
		if err != nil && !errors.Is(err, errAmbiguous) {
			return faultf(t.rowPlace(e, 0), remedy, "%v", err)
		}
		// Every date of this recording is the same in both orders.
		if e.other == nil {
			continue
		}
		if err != nil {
			row := 0
			for row < len(e.time)-1 && e.time[row] == e.other[row] {
				row++
			}
			return faultf(t.rowPlace(e, row), remedy, "%v: %s may be %s or %s", err, c.write(e.time[row]),
				longDate(e.time[row]), longDate(e.other[row]))
		}
		if monthFirst {
			e.time = e.other
		}
		e.other = nil
	}
	t.ownClock()
	return nil
}

// suggestedStep is a step to resample with: the median gap as a number, or of dates as 1y, 1mo, whole days or
// seconds.
func (c *clock) suggestedStep(times []float64) string {
	gap := median(gaps(times))
	switch {
	case !c.dates:
		return strconv.FormatFloat(rounded(gap), 'g', 3, 64)
	case gap >= 360*day:
		return "1y"
	case gap >= 27*day:
		return "1mo"
	case gap >= day:
		return strconv.Itoa(int(math.Round(gap/day))) + "d"
	}
	return strconv.FormatFloat(gap, 'f', -1, 64) + "s"
}

// rounded returns v with six significant digits: in the mean of many intervals the last digits are inexact.
func rounded(v float64) float64 { return writtenAs(v, 'g', 6) }

// writtenAs is v in a form of strconv with so many digits, read back.
func writtenAs(v float64, form byte, digits int) float64 {
	r, err := strconv.ParseFloat(strconv.FormatFloat(v, form, digits, 64), 64)
	if err != nil {
		return v
	}
	return r
}
