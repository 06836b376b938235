package files

import (
	"cmp"
	"fmt"
	"math"
	"strconv"
	"strings"
)

// cell adds the value of column i to the recording of the row. A cell without text is NaN where observations and
// controls are missing, and a fault elsewhere.
func (t *table) cell(i int, text string) error {
	e, r := t.last, t.roles[i]
	switch r {
	case unused:
		t.look(i, text)
		return nil
	case episodeID, dateOf:
		return nil
	case partOf:
		part, ok := parsePart(text)
		if !ok {
			return t.cellFault(i, "use training, validation or test", "%q is no part of a split", text)
		}
		if len(e.lines) > 1 && part != e.part {
			return t.cellFault(i, "split by episode", "the episode began as %s", e.part)
		}
		e.part = part
		return nil
	case clockOf:
		of, err := t.dayClock.read(text)
		if err != nil {
			return t.cellFault(i, "write times of the day as 14:30 or 1430, or as hours", "%v", err)
		}
		e.ofDay = append(e.ofDay, of)
		return nil
	case timeOf:
		at, err := t.clock.read(text)
		if err != nil || math.IsNaN(at) || math.IsInf(at, 0) {
			return t.cellFault(i, t.timeRemedy(text)+"; or say that rows are evenly spaced: --time none (env.time)",
				"%q is no time", text)
		}
		if t.twoFold && !t.clock.wholeDay(at) {
			return t.cellFault(i, "write days as whole numbers or dates, or name this column alone as the time", "%q is no day",
				text)
		}
		// From the first date with two readings on both are kept; before it they are the same.
		if t.clock.other != at && e.other == nil {
			e.other = append([]float64{}, e.time...)
		}
		if t.clock.zoned {
			e.zone(t.clock.offset)
		}
		if e.time = append(e.time, at); e.other != nil {
			e.other = append(e.other, t.clock.other)
		}
		return nil
	}
	v, err := t.number(text)
	if err != nil {
		return t.cellFault(i, t.numberRemedy(text), "%q is no number", text)
	}
	if t.in.decimalCommas() {
		t.signs[i].learn(text, v, func() string { return t.cellPlace(i) })
	}
	return t.value(i, text, v)
}

// number reads a number. All numbers of a file have the same decimal sign. A mark for a missing value is NaN, and
// counted for the notes.
func (t *table) number(text string) (float64, error) {
	if missingMark(text) {
		t.marked[text]++
		return math.NaN(), nil
	}
	if strings.Contains(text, ",") {
		if !t.in.decimalCommas() || t.point {
			return 0, strconv.ErrSyntax
		}
		t.comma, t.decimal = true, t.decimal || !grouped(text)
	} else if strings.Contains(text, ".") {
		if t.comma {
			return 0, strconv.ErrSyntax
		}
		t.point = true
	}
	return parseNumber(text, t.in.decimalCommas())
}

// value adds a number to the recording of the row. Refused are observations from 2⁵³ on that are written as whole
// numbers, numbers beyond float32, states and labels that are missing, labels and masks other than 0 and 1, and
// modes that are no whole numbers of 16 bits.
func (t *table) value(i int, text string, v float64) error {
	e, r := t.last, t.roles[i]
	if math.Abs(v) >= exactly && !math.IsInf(v, 0) && r == observation && !floating(text) {
		return t.cellFault(i, "subtract an offset from the column, or leave it out: --observe "+t.others(i),
			"the whole number %s has more digits than float64 holds", text)
	}
	if math.IsInf(float64(float32(v)), 0) {
		return t.cellFault(i, "leave it empty if it is missing, or scale the channel",
			"the value %v is beyond the range of float32", v)
	}
	if math.IsNaN(v) && (r == state || r == label) {
		return t.cellFault(i, "leave the column out, or fill it in", "the value is missing")
	}
	switch r {
	case observation:
		e.observations = append(e.observations, v)
	case control:
		e.controls = append(e.controls, v)
	case state:
		e.states = append(e.states, v)
	case label:
		if v != 0 && v != 1 {
			return t.cellFault(i, "use 0 and 1", "the label is %q", text)
		}
		e.labels = append(e.labels, v)
	case maskOf:
		if v != 0 && v != 1 {
			return t.cellFault(i, "use 1 for observed and 0 for missing", "the value is %q", text)
		}
		e.mask = append(e.mask, v)
	case modeOf:
		if _, ok := wholeNumber(v, math.MinInt16, math.MaxInt16); !ok {
			return t.cellFault(i, "number the modes 0, 1, 2, …; if the column was measured, name what is: --observe y,"+
				t.header[i], "the mode is %q", text)
		}
		e.modes = append(e.modes, v)
	}
	return nil
}

// others are the observed columns beside column i, as they are asked for.
func (t *table) others(i int) string {
	var names []string
	for j, r := range t.roles {
		if r == observation && j != i {
			names = append(names, t.header[j])
		}
	}
	return cmp.Or(strings.Join(names, ","), "NAME")
}

// cellFault is a fault of column i of the last row, with its line and name as the place.
func (t *table) cellFault(i int, remedy, format string, args ...any) error {
	return faultf(t.cellPlace(i), remedy, format, args...)
}

// cellPlace is where column i of the last row stands.
func (t *table) cellPlace(i int) string {
	return fmt.Sprintf("%s, column %d (%s)", t.place(), i+1, t.header[i])
}
