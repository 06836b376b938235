package files

import (
	"math"
	"slices"
	"strings"
	"time"
)

// KeepsTimes reports whether WriteCSV, or WriteNPZ, writes the times of the episodes: if each has some, and they would
// be read as they were. Among those that would not are numbers of days, a changing offset from UTC, and whole numbers
// that float64 does not hold. Numbers from 0 on are what Spec.DT says, and are not written. Nor does an npz file have
// times where episodes are of so different lengths that most of them would be padding.
func (d *Dataset) KeepsTimes(npz bool) bool { return d.writtenTimes(npz) != nil }

// maxPadded is how many times an array may have beyond four for each step. A date takes some 40 bytes there.
const maxPadded = 1 << 20

// padsTimes reports whether an array [N,T] has room for the times.
func (d *Dataset) padsTimes() bool {
	longest, steps := 0, 0
	for i := range d.Episodes {
		longest, steps = max(longest, d.Episodes[i].T), steps+d.Episodes[i].T
	}
	return len(d.Episodes)*longest <= 4*steps+maxPadded
}

// writtenTimes are the times of the steps of all episodes, [episodes][T]; nil if a table, or an npz file, has none.
func (d *Dataset) writtenTimes(npz bool) [][]string {
	if npz && !d.padsTimes() {
		return nil
	}
	all, c, dt := make([][]string, len(d.Episodes)), &clock{}, true
	read := make([][]float64, len(d.Episodes))
	for i := range d.Episodes {
		e := &d.Episodes[i]
		if e.Times == nil || e.Times.clock.numbered || e.Times.clock.based || e.Times.zones != nil {
			return nil
		}
		if !e.Times.clock.dates { // as readTimes reads those of an array
			c.known, c.digits = true, math.MaxInt
		}
		dt = dt && !e.Times.clock.dates && e.Times.moment(0) == 0
		for step := range e.T {
			text := e.Times.written(step)
			at, err := c.read(text)
			if err != nil {
				return nil
			}
			all[i], read[i] = append(all[i], text), append(read[i], at)
		}
	}
	if dt || !d.readAlike(c, read) {
		return nil
	}
	return all
}

// readAlike reports whether episodes of these times, which a clock has read, would have the grids that they have. It
// changes the times.
func (d *Dataset) readAlike(c *clock, times [][]float64) bool {
	b := &builder{data: &Dataset{}}
	if c.mixed {
		return false
	}
	for i, list := range times {
		for t := range list {
			list[t] += c.offset
		}
		e, want := &Episode{Episode: d.Episodes[i].Episode}, d.Episodes[i].Times
		if err := b.even(e, "t", c, list); err != nil || e.Times == nil {
			return false
		}
		got := e.Times
		off := math.Abs(got.moment(e.T) - want.moment(e.T))
		if got.grid.unit != want.grid.unit || rounded(got.grid.step) != rounded(want.grid.step) ||
			off > jitter*want.grid.length() {
			return false
		}
	}
	return true
}

// written is the time of a step in a single text: as the file has it, or, where that takes several columns or does not
// say what it means by itself, as ISO 8601 has it.
func (t *Times) written(step int) string {
	if len(t.Columns) == 1 && t.clock.code == nil && !t.clock.forms[1].begun {
		return t.Text(step)[0]
	}
	at := t.moment(step)
	whole := math.Floor(at)
	text := time.Unix(int64(whole), int64((at-whole)*1e9)).UTC().Round(time.Microsecond)
	if math.Mod(t.first, day) == 0 && (t.grid.unit == "month" || math.Mod(t.grid.length(), day) == 0) {
		return text.Format(time.DateOnly)
	}
	return text.Format("2006-01-02 15:04:05.999999")
}

// csvNames are the names that a table can have in its first column: a line that begins with # is a comment there.
func (d *Dataset) csvNames() []string {
	names := d.writtenNames()
	if slices.ContainsFunc(names, func(name string) bool { return strings.HasPrefix(name, "#") }) {
		return nil
	}
	return names
}

// writtenNames are the names of the episodes; nil if one has none, or the same as another, as pieces of a recording do,
// or if they are the numbers 0, 1, 2, …
func (d *Dataset) writtenNames() []string {
	var list []string
	seen, numbers := map[string]bool{"": true}, true
	for i := range d.Episodes {
		name := d.Episodes[i].Name
		if seen[name] {
			return nil
		}
		numbers = numbers && name == itoa(i)
		seen[name], list = true, append(list, name)
	}
	if numbers {
		return nil
	}
	return list
}
