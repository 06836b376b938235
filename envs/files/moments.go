package files

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"time"
)

// Times are those of the steps of a recording. They go on behind its end. They are immutable, and may be read by
// several goroutines.
type Times struct {
	// Columns are the names in the file: one, those of days and of times of the day, or those of the parts of a date.
	Columns []string

	first float64 // of step 0
	skip  int     // steps of the recording before step 0 of this part
	grid  calendar
	ends  bool // of months: their last days
	after bool // the control of a row acts behind it
	clock *clock
	ofDay *dayClock // of two columns
	style partStyle // of a date in parts

	offset float64 // of all dates from UTC
	zones  zones   // of offsets that change; nil: they do not
	wall   bool    // the grid is one of the recording's own clock, not of UTC
}

// From are the times of a part that begins at a step. nil stays nil. It copies t, and shares what does not change.
func (t *Times) From(step int) *Times {
	if t == nil || step == 0 {
		return t
	}
	part := *t
	part.skip += step
	return &part
}

// Text is the time of a step as the file writes it, but for decimal commas: one text for each of Columns. nil has
// none. A negative step lies before the recording, one from its length on behind it.
func (t *Times) Text(step int) []string {
	if t == nil {
		return nil
	}
	at := t.moment(step)
	if t.grid.unit == "" {
		at = t.clock.near(at, t.grid.step)
	}
	switch {
	case t.ofDay == nil && len(t.Columns) > 1:
		return t.style.split(t.clock.write(at), len(t.Columns))
	case t.ofDay == nil:
		return []string{t.clock.writeIn(t.zoneAt(at))}
	}
	days, ofDay := t.ofDay.split(at)
	return []string{t.clock.write(days), t.ofDay.write(ofDay)}
}

// moment is the time of a step. Of months it is at the same day as the first, or the last day of a shorter month; of
// recordings at the ends of months always the last.
func (t *Times) moment(step int) float64 {
	n := float64(step + t.skip)
	switch t.grid.unit {
	case "":
		return t.first + float64(n*t.grid.step)
	case "month":
	default:
		return math.Round(t.grid.moment(t.grid.position(t.first)+float64(n*t.grid.step))*1e6) / 1e6
	}
	first := time.Unix(int64(math.Floor(t.first)), 0).UTC()
	begin := time.Unix(int64(t.grid.moment(float64(month(t.first))+float64(n*t.grid.step))), 0).UTC()
	length := begin.AddDate(0, 1, -1).Day()
	to := min(first.Day(), length)
	if t.ends {
		to = length
	}
	return float64(begin.AddDate(0, 0, to-1).Unix()) + t.first - day*math.Floor(t.first/day)
}

// Steps are those at which times lie that are written as in the file; an error, with its row, if one is no time, or
// lies between two steps. rows have a text for each of Columns. A time may miss its step by 5 % of one. Of times of the
// day alone, each row goes on from the one before it: one that is more than twelve hours earlier is of the next day.
// The first with the time of step from is that step; an error if horizon steps could begin on a later day as well.
func (t *Times) Steps(rows [][]string, from, horizon int) (steps []int, row int, err error) {
	at := make([]float64, len(rows))
	for i, texts := range rows {
		if at[i], err = t.read(texts); err != nil {
			return nil, i, err
		}
	}
	if t.clock.ofDay || t.clock.hoursMinutes {
		throughMidnight(at)
		if row, err = t.onDays(at, from, horizon); err != nil {
			return nil, row, err
		}
	}
	for i, v := range at {
		n := (t.grid.position(v) - t.grid.position(t.first)) / t.grid.step
		if t.grid.unit == "month" {
			n = float64(month(v)-month(t.first)) / t.grid.step
		}
		step := math.Round(n)
		if math.Abs(n-step) > jitter || math.Abs(step) > 1<<40 {
			return nil, i, fmt.Errorf("%s lies between two steps of the data", strings.Join(rows[i], " "))
		}
		steps = append(steps, int(step)-t.skip)
	}
	return steps, 0, nil
}

// onDays moves times by whole days, in place, so that the first at the time of the day of a step is that step. It is an
// error, with its row, if another day fits as well: a plan that begins with what was observed, and has a row for each
// of horizon steps from a later day on. One that begins at the time of the step may be of several days to come, unless
// it is long enough to have all steps before it.
func (t *Times) onDays(times []float64, from, horizon int) (row int, err error) {
	moment, first := t.moment(from), -1
	for i, v := range times {
		days := day * math.Round((moment-v)/day)
		if math.Abs(moment-v-days) > jitter*t.grid.length() {
			continue
		}
		if first < 0 {
			first = i
			continue
		}
		if i+horizon <= len(times) && (first > 0 || len(times) >= from+horizon) {
			return first, fmt.Errorf("%s may be of several days: leave out the rows before the forecast, or write the days, too",
				strings.Join(t.Text(from), " "))
		}
	}
	if first >= 0 {
		days := day * math.Round((moment-times[first])/day)
		for i := range times {
			times[i] += days
		}
	}
	return 0, nil
}

// read is the time that texts say, one for each of Columns; of a time of the day alone that of day 0.
func (t *Times) read(texts []string) (float64, error) {
	if t.ofDay == nil && len(t.Columns) > 1 {
		texts = []string{joinParts(t.Columns, texts)}
	}
	// A copy reads: the clock of the recording stays as it is.
	c := *t.clock
	// Times that were numbers in the file, and became seconds, are read as numbers again.
	c.dates = c.dates && !c.numbered && c.code == nil
	at, err := c.read(strings.TrimSpace(texts[0]))
	if err != nil {
		return 0, err
	}
	if c.swapped {
		at = c.other
	}
	switch {
	case c.hoursMinutes:
		at = clockSeconds(at)
	case c.code != nil:
		at, _ = c.code.seconds(at)
	case c.numbered:
		at *= day
	case c.dates && t.clock.zoned:
		at = t.onGrid(at, c.offset, c.own)
	}
	// The second column has the time of the day.
	if t.ofDay != nil {
		of := *t.ofDay
		v, err := of.read(strings.TrimSpace(texts[1]))
		if err != nil {
			return 0, err
		}
		at += of.seconds(v)
	}
	return at, nil
}

// times are those of the rows of a recording, from the first row or the begin of its step. All recordings of a table
// share one clock. Without a grid there are none.
func (t *table) times(e *rows, grid calendar) *Times {
	if !t.hasTime || len(e.time) == 0 || !(grid.step > 0) {
		return nil
	}
	if t.kept == nil { // a copy, so that no answer holds the table
		c := t.clock
		t.kept = &c
	}
	times := &Times{first: e.time[0], grid: grid, clock: t.kept, after: t.options.ControlsAfter}
	times.offset, times.zones, times.wall = e.offset, e.zones, e.wall
	if t.twoFold {
		of := t.dayClock
		times.ofDay = &of
	}
	// The first step begins where the grid says, at its first row or before it.
	if t.options.Resample != "" {
		times.first = grid.firstBin(t.clock.begin(grid, e), e.time[0])
	} else if grid.unit == "month" {
		times.ends = monthEnds(e.time)
	}
	if t.parts != nil {
		times.Columns, times.style = words(t.options.Time), t.style
		return times
	}
	for i, r := range t.roles {
		if r == timeOf {
			times.Columns = slices.Insert(times.Columns, 0, t.header[i])
		} else if r == clockOf {
			times.Columns = append(times.Columns, t.header[i])
		}
	}
	return times
}

// monthEnds reports whether all times are on last days of months.
func monthEnds(times []float64) bool {
	return !slices.ContainsFunc(times, func(at float64) bool {
		return time.Unix(int64(at), 0).UTC().AddDate(0, 0, 1).Day() != 1
	})
}

// firstBin is when the step that holds a time begins, of steps that begin at a position.
func (c calendar) firstBin(begin, at float64) float64 {
	return c.moment(begin + c.step*math.Floor((c.position(at)-begin)/c.step+1e-9))
}
