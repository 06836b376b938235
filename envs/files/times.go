package files

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
)

// A clock reads the texts of a column of times. All of a column are numbers, or all are dates.
type clock struct {
	known  bool // a text was read
	dates  bool
	layout string // of the last date
	digits int    // the most decimals of a number
	// numbered is set if times are seconds since day 0, not since 1970.
	numbered bool
}

// layouts are the forms of dates, the usual ones first. time.Parse also takes fractions of seconds.
var layouts = []string{
	"2006-01-02", "20060102", "2006-01-02 15:04:05", "2006-01-02T15:04:05", "2006-01-02T15:04:05Z07:00",
	"2006-01-02 15:04:05Z07:00",
	"2006-01-02 15:04", "2006-01-02T15:04", "2006-01-02T15:04Z07:00", "2006/01/02", "2006/01/02 15:04:05",
	"2006/01/02 15:04",
	"02.01.2006", "02.01.2006 15:04:05", "02.01.2006 15:04", "2006-01", "2006/01", "2006M01", "2006m1", "Jan 2006",
	"January 2006",
	"Jan-2006", "2 Jan 2006", "2 January 2006", "2-Jan-2006", "Jan 2, 2006", "January 2, 2006",
}

// errAmbiguous is returned for dates such as 01/02/2006, which mean one day in America and another one elsewhere.
var errAmbiguous = errors.New("the order of day and month is not known")

// read returns a time: a number as it is, a date in seconds since 1970.
func (c *clock) read(text string) (float64, error) {
	if !c.known {
		_, err := strconv.ParseFloat(text, 64)
		c.known, c.dates = true, err != nil || compact(text)
	}
	if !c.dates {
		v, err := strconv.ParseFloat(text, 64)
		if err != nil {
			return 0, fmt.Errorf("%q is no number, as the times before it are", text)
		}
		if _, after, ok := strings.Cut(text, "."); ok {
			c.digits = max(c.digits, len(after))
		}
		return v, nil
	}
	t, err := c.date(text)
	if err != nil {
		return 0, err
	}
	return float64(t.Unix()) + float64(t.Nanosecond())/1e9, nil
}

// compact reports whether a number is a date such as 19580329, of a year that recordings have.
func compact(text string) bool {
	d, err := time.Parse("20060102", text)
	return err == nil && d.Year() >= 1700 && d.Year() < 2200
}

// date reads a date in the form of the last one, or in another one.
func (c *clock) date(text string) (time.Time, error) {
	if c.layout != "" {
		if t, err := time.Parse(c.layout, text); err == nil {
			return t, nil
		}
	}
	for _, layout := range layouts {
		if t, err := time.Parse(layout, text); err == nil {
			c.layout = layout
			return t, nil
		}
	}
	if t, ok := quarter(text); ok {
		return t, nil
	}
	for _, layout := range []string{"01/02/2006", "02/01/2006", "1/2/2006", "2/1/2006", "1/2/06", "2/1/06"} {
		if len(text) < 6 {
			break
		}
		if _, err := time.Parse(layout, strings.Fields(text)[0]); err == nil {
			return time.Time{}, fmt.Errorf("%q: %w", text, errAmbiguous)
		}
	}
	return time.Time{}, fmt.Errorf("%q is neither a number nor a date", text)
}

// quarter reads 1959Q1, 1959-Q1 and 1959 q1: the first day of the quarter.
func quarter(text string) (time.Time, bool) {
	year, rest, ok := strings.Cut(strings.ToUpper(text), "Q")
	y, err := strconv.Atoi(strings.TrimRight(year, " -:"))
	if !ok || err != nil || len(rest) != 1 || rest[0] < '1' || rest[0] > '4' || y < 1 || y > 9999 {
		return time.Time{}, false
	}
	return time.Date(y, time.Month(3*int(rest[0]-'1')+1), 1, 0, 0, 0, 0, time.UTC), true
}

// A calendar says how many steps lie between two times of an even grid.
type calendar struct {
	step float64 // of numbers, in their unit; of dates, in the unit
	unit string  // empty: numbers; s, min, h, day, business day, week or month; to the user also year
}

// secondsOf are the units of equal length.
var secondsOf = map[string]float64{"s": 1, "min": 60, "h": 3600, "day": 86400, "week": 7 * 86400}

const day = 86400

// position is the time of a grid's axis in units: months since year 0, days since 1970 and so on. Business days count
// from Monday to Friday; a time of the day is part of the position.
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
		return 5*week + min(weekday, 5) + (t-day*math.Floor(t/day))/day
	}
	return t / secondsOf[c.unit]
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
		return calendar{c.step / 12, "year"}
	}
	return c
}

// parseStep reads the step of a grid: a number for numbers; a number and a unit for dates, e.g. 15min, d or 3mo.
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
