package files

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
)

// A clock reads the texts of a column of times. All of a column are numbers, or all are dates. The first text
// decides which. A clock that has read all texts of a column also writes times in their form.
//
// Times are float64: numbers as they are, dates in seconds since 1970.
type clock struct {
	known   bool // a text was read
	dates   bool
	commas  bool    // numbers may have a decimal comma
	layout  string  // of the last date
	digits  int     // the most decimals of a number
	largest float64 // the magnitude of a number
	base    int64   // of whole numbers beyond the digits of float64: times count from it
	based   bool
	// other is the last date with the month first, if day and month may change places, else the same as was read.
	other float64
	// wrongDay and wrongMonth are set if a date is none with the day first, or with the month first.
	wrongDay, wrongMonth bool
	order                string // of day and month, if it was given
	// forms write dates as the column does: those with the day first, or of one order alone, and those with the month
	// first, which are meant if swapped is set.
	forms   [2]forms
	swapped bool
	bare    bool // numbers with decimals stand beside some without
	// zoned is set if dates have an offset from UTC; offset is that of all of them, in seconds, unless zones differ.
	zoned, mixed bool
	offset       float64
	own          bool // the last date had an offset
	// numbered is set if times are seconds since day 0, not since 1970.
	numbered bool
	// ofDay is set if times are those of the day, as 14:30: they count from the begin of day 0.
	ofDay bool
	// hoursMinutes is set if times are numbers such as 1430, and code if they are numbers such as 201012.
	hoursMinutes bool
	code         *dateCode
}

// read returns a time: a number as it is, a date in seconds since 1970 in UTC. Of a date whose day and month may
// change places it is that with the day first: c.other is the other one, until a date of the column decides. An
// error says why the text is none, without its place.
func (c *clock) read(text string) (float64, error) {
	if !c.known {
		_, err := strconv.ParseFloat(pointed(text, c.commas), 64)
		c.known, c.dates = true, err != nil || compact(text)
	}
	if !c.dates {
		return c.number(text)
	}
	day, month, err := c.date(text)
	if err != nil {
		return 0, err
	}
	c.wrongDay, c.wrongMonth = c.wrongDay || day.IsZero(), c.wrongMonth || month.IsZero()
	at := c.seconds(day)
	if c.other = c.seconds(month); day.IsZero() {
		at = c.other
	} else if month.IsZero() {
		c.other = at
	}
	return at, nil
}

// seconds since 1970 of a date. It takes note of its zone. A zero date, which stands for none, is 0.
func (c *clock) seconds(t time.Time) float64 {
	if t.IsZero() {
		return 0
	}
	_, offset := t.Zone()
	if c.zoned && float64(offset) != c.offset {
		c.mixed = true
	}
	c.zoned, c.offset = true, float64(offset)
	return float64(t.Unix()) + float64(t.Nanosecond())/1e9
}

// number reads a time that is a number. Whole ones beyond the digits of float64, as nanoseconds, count from the first.
func (c *clock) number(text string) (float64, error) {
	text = pointed(text, c.commas)
	v, err := strconv.ParseFloat(text, 64)
	if err != nil {
		return 0, fmt.Errorf("%q is no number, as the times before it are", text)
	}
	// Beyond 2⁵³ neighbours are the same float64; their difference to the first is not.
	if whole, err := strconv.ParseInt(text, 10, 64); err == nil && (c.based || math.Abs(v) >= exactly) {
		if !c.based {
			c.base, c.based = whole, true
		}
		v = float64(whole - c.base)
	}
	if n := decimals(text); n > 0 {
		c.digits = max(c.digits, n)
	} else {
		c.bare = true
	}
	c.largest = max(c.largest, math.Abs(v))
	c.other = v
	return v, nil
}

// decimals is how many digits a number has behind its point without an exponent: 1.5e-05 has six.
func decimals(text string) int {
	mantissa, exponent := text, 0
	if i := strings.IndexAny(text, "eE"); i >= 0 {
		mantissa = text[:i]
		exponent, _ = strconv.Atoi(text[i+1:]) // of a text that is a number
	}
	_, behind, _ := strings.Cut(mantissa, ".")
	return max(0, len(behind)-exponent)
}

// exactly is the largest whole number up to which float64 holds every one.
const exactly = 1 << 53

// monthFirst says whether the dates of a column have the month first; an error if nothing decides.
func (c *clock) monthFirst() (bool, error) {
	switch {
	case c.wrongDay && c.wrongMonth:
		return false, errors.New("some dates have the day first, and some the month")
	case c.order == MonthFirst && c.wrongMonth, c.order == DayFirst && c.wrongDay:
		return false, fmt.Errorf("the dates are not %s", c.order)
	case c.order != "":
		return c.order == MonthFirst, nil
	case c.wrongDay:
		return true, nil
	case c.wrongMonth:
		return false, nil
	}
	return false, errAmbiguous
}

// A calendar says how many steps lie between two times of an even grid. The zero calendar is not known yet.
type calendar struct {
	step float64 // of numbers, in their unit; of dates, in the unit
	unit string  // empty: numbers; s, min, h, day, business day, week or month; to the user also year
	// epoch is how many numbers are a second, where they count from 1970 and the step was given with a unit; else 0.
	// weeks says that it is one of weeks.
	epoch float64
	weeks bool
}

// secondsOf are the units of equal length.
var secondsOf = map[string]float64{"s": 1, "min": 60, "h": 3600, "day": 86400, "week": 7 * 86400}

const day = 86400

// position is the time of a grid's axis in units: months since year 0, days since 1970 and so on. Business days
// count from Monday to Friday; a time of the day is part of the position. A weekend belongs to the Friday before. Of
// weeks they count from the Monday before 1970.
func (c calendar) position(t float64) float64 {
	switch c.unit {
	case "":
		return t
	case "month":
		d := time.Unix(int64(math.Floor(t)), 0).UTC()
		begin := time.Date(d.Year(), d.Month(), 1, 0, 0, 0, 0, time.UTC)
		return float64(month(t)) + (t-float64(begin.Unix()))/float64(begin.AddDate(0, 1, 0).Unix()-begin.Unix())
	case "business day":
		days := math.Floor(t/day) + 3 // 1970 began on a Thursday
		week, weekday := math.Floor(days/7), math.Mod(math.Mod(days, 7)+7, 7)
		if weekday > 4 { // within the Friday before, as in pandas
			return 5*week + 4.5
		}
		return 5*week + weekday + (t-day*math.Floor(t/day))/day
	}
	if c.unit == "week" { // from Monday to Sunday
		t += 3 * day // 1970 began on a Thursday
	}
	return t / secondsOf[c.unit]
}

// moment is the time at a position; of months, the begin of one. It undoes position, but for times within a month or
// on a weekend.
func (c calendar) moment(position float64) float64 {
	switch c.unit {
	case "":
		return position
	case "month":
		return float64(time.Date(0, 1+time.Month(int(math.Floor(position+1e-9))), 1, 0, 0, 0, 0, time.UTC).Unix())
	case "business day":
		week := math.Floor(position / 5)
		return day * (7*week + position - 5*week - 3)
	case "week":
		return float64(7*day*position) - 3*day
	}
	return position * secondsOf[c.unit]
}

// length is about how long a step is, to compare steps: of dates in seconds, of numbers in their unit.
func (c calendar) length() float64 {
	switch c.unit {
	case "":
		return c.step
	case "month":
		return 30 * day * c.step
	case "business day":
		return day * c.step
	}
	return secondsOf[c.unit] * c.step
}

// month counts the months since year 0.
func month(t float64) int {
	d := time.Unix(int64(math.Floor(t)), 0).UTC()
	return 12*d.Year() + int(d.Month()) - 1
}

// named is the calendar with twelve months as a year.
func (c calendar) named() calendar {
	if c.unit == "month" && math.Mod(c.step, 12) == 0 {
		return calendar{step: c.step / 12, unit: "year"}
	}
	return c
}

// parseStep reads the step of a grid: a number for numbers; a number and a unit for dates, e.g. 15min, d or 3mo. A
// unit alone is one of it. Quarters and years are months.
func parseStep(text string, dates bool) (calendar, error) {
	digits := len(text) - len(strings.TrimLeft(text, "0123456789."))
	n := 1.0
	if digits > 0 {
		v, err := strconv.ParseFloat(text[:digits], 64)
		if err != nil || !(v > 0) || math.IsInf(v, 0) {
			return calendar{}, fmt.Errorf("%q is no step", text)
		}
		n = v
	}
	if !dates {
		v, err := strconv.ParseFloat(text, 64)
		if err != nil || !(v > 0) || math.IsInf(v, 0) {
			return calendar{}, fmt.Errorf("%q is no step of times that are numbers: write a number above 0", text)
		}
		return calendar{step: v}, nil
	}
	units := map[string]struct {
		unit string
		n    float64
	}{
		"s": {"s", 1}, "sec": {"s", 1}, "ms": {"s", 1e-3}, "m": {"min", 1}, "min": {"min", 1}, "h": {"h", 1}, "d": {"day", 1},
		"day": {"day", 1},
		"b":   {"business day", 1}, "w": {"week", 1}, "mo": {"month", 1}, "month": {"month", 1}, "q": {"month", 3},
		"y": {"month", 12}, "year": {"month", 12},
	}
	u, ok := units[strings.ToLower(strings.TrimSpace(text[digits:]))]
	if !ok {
		return calendar{}, fmt.Errorf("%q is no step of dates: write a number with s, min, h, d, b (business day), w, mo, "+
			"q or y", text)
	}
	return calendar{step: n * u.n, unit: u.unit}, nil
}
