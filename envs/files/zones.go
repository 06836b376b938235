package files

import (
	"fmt"
	"math"
	"slices"
	"time"
)

// A zone is an offset from UTC that holds from a moment on, both in seconds.
type zone struct{ from, offset float64 }

// zones are those of a recording whose dates have several offsets, as where summer time begins, in order. What comes
// before the first has its offset, and what follows the last one's. It has at least one.
type zones []zone

// at is the offset at a moment in UTC.
func (z zones) at(moment float64) float64 {
	for _, v := range slices.Backward(z) {
		if v.from <= moment {
			return v.offset
		}
	}
	return z[0].offset
}

// byClock is the offset at a time of the recording's own clock. A time that the clock shows twice, in autumn, is
// that after the change.
func (z zones) byClock(at float64) float64 {
	for _, v := range slices.Backward(z) {
		if v.from+v.offset <= at {
			return v.offset
		}
	}
	return z[0].offset
}

// zone takes note of the offset of the date that was read last. It is called before the date joins e.time. Offsets
// are kept for each row only from the first that differs on.
func (e *rows) zone(offset float64) {
	if len(e.time) == 0 {
		e.offset = offset
	}
	if e.offsets == nil && offset != e.offset {
		e.offsets = slices.Repeat([]float64{e.offset}, len(e.time))
	}
	if e.offsets != nil {
		e.offsets = append(e.offsets, offset)
	}
}

// ownClock takes times as those of the recording's own clock, if all of its dates have one offset.
func (t *table) ownClock() {
	for _, e := range t.list {
		if e.offsets == nil && e.offset != 0 {
			for i := range e.time {
				e.time[i] += e.offset
			}
		}
	}
}

// changing decides what steps are counted by where the offset changes: by the recording's own clock if they are days or
// longer, as a day may then have 23 hours or 25, and else by UTC. Times are in order.
func (t *table) changing(e *rows) {
	if e.offsets == nil {
		return
	}
	clock := make([]float64, len(e.time))
	for i, at := range e.time {
		clock[i] = at + e.offsets[i]
		if i == 0 || e.offsets[i] != e.offsets[i-1] {
			e.zones = append(e.zones, zone{at, e.offsets[i]})
		}
	}
	if e.wall = t.byClock(e.time, clock); e.wall {
		e.time = clock
	}
	counted := map[bool]string{true: "by the clock of the file", false: "in UTC"}[e.wall]
	t.zoneNote = fmt.Sprintf("the offset from UTC changes, from %s to %s: steps are counted %s, and dates that follow "+
		"keep the last offset, %s", offsetText(e.zones[0].offset), offsetText(e.zones[1].offset), counted,
		offsetText(e.zones[len(e.zones)-1].offset))
}

// byClock reports whether steps are counted by the clock of the file. Steps that were asked for decide by their
// unit. Else they are counted by the clock if all rows have one time of the day, or if they are even by the clock
// alone.
func (t *table) byClock(utc, clock []float64) bool {
	if t.options.Resample != "" {
		grid, err := parseStep(t.options.Resample, true)
		return err == nil && slices.Contains([]string{"day", "week", "month", "business day"}, grid.unit)
	}
	sameHour := !slices.ContainsFunc(clock, func(at float64) bool {
		return math.Mod(at-clock[0], day) != 0
	})
	if sameHour {
		return true
	}
	if _, _, err := t.clock.even(utc, calendar{}); err == nil || !slices.IsSorted(clock) {
		return false
	}
	_, _, err := t.clock.even(clock, calendar{})
	return err == nil
}

// offsetText is an offset as ISO 8601 writes it.
func offsetText(seconds float64) string {
	return time.Unix(0, 0).In(time.FixedZone("", int(seconds))).Format("-07:00")
}

// zoneAt is the offset of a time of the grid, and that time by the clock that has it.
func (t *Times) zoneAt(at float64) (local, offset float64) {
	switch {
	case t.zones == nil:
		return at, t.offset
	case t.wall:
		return at, t.zones.byClock(at)
	}
	offset = t.zones.at(at)
	return at + offset, offset
}

// onGrid is the time that the grid has for a date in UTC that was read with an offset of its own, or without any.
func (t *Times) onGrid(at, offset float64, has bool) float64 {
	switch {
	case t.zones == nil && has:
		return at + t.offset
	case t.zones == nil:
		return at // by the file's own clock
	case t.wall:
		return at + offset
	case has:
		return at
	}
	return at - t.zones.byClock(at)
}
