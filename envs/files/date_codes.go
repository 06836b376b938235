package files

import (
	"math"
	"regexp"
	"slices"
	"time"
)

// A dateCode is a way to write dates as whole numbers that are no even grid as numbers, but for those of one year. The
// number is unit·year + rest, as 201012 is 100·2010 + 12.
type dateCode struct {
	what string // as a note says it
	form string // of package time, as forms have them
	// read returns the first moment of what a number means; false: there is none, as of a month 13.
	read func(year, rest int) (time.Time, bool)
	unit float64 // what the year is multiplied by
	// even is set if the numbers have to be mostly even as dates to be taken for them.
	even bool
	// names are those of columns whose numbers are such dates even if they are an even grid.
	names *regexp.Regexp
}

// dateCodes are the ways, the usual ones first: 201012, then 202053, then 2020366.
var dateCodes = []dateCode{
	{what: "years and months", form: "200601", unit: 100, read: func(year, month int) (time.Time, bool) {
		return time.Date(year, time.Month(month), 1, 0, 0, 0, 0, time.UTC), month >= 1 && month <= 12
	}, names: regexp.MustCompile(`(?i)month|^(mon|m|y+m+)$|(^|[_. -])(date|ds|period)$`)},
	{
		what: "years and weeks", form: "{G}{V}", unit: 100, even: true, read: mondayOf,
		names: regexp.MustCompile(`(?i)week|^(wk|w|y+w+)$`),
	},
	{what: "years and days", form: "2006002", unit: 1000, even: true, read: func(year, day int) (time.Time, bool) {
		at := time.Date(year, 1, day, 0, 0, 0, 0, time.UTC)
		return at, day >= 1 && at.Year() == year
	}, names: regexp.MustCompile(`(?i)(^|[_. -])(day|d|doy|yday|julian|date|ds)$|year_?day|day_?of_?year|^y+d+$`)},
}

// seconds since 1970 of a number; false if it is no such date of a year that recordings have.
func (d *dateCode) seconds(v float64) (float64, bool) {
	year := math.Floor(v / d.unit)
	if v != math.Trunc(v) || year < 1700 || year >= 2200 {
		return 0, false
	}
	at, ok := d.read(int(year), int(math.Mod(v, d.unit)))
	return float64(at.Unix()), ok
}

// codeOf is the way in which numbers of several recordings are dates; nil if they are no dates, or if they are even as
// they are and the name of their column says nothing. At least six numbers are needed, in all recordings together.
func codeOf(name string, lists [][]float64) *dateCode {
	n, uneven := 0, false
	for _, list := range lists {
		uneven = uneven || len(list) > 1 && !same(gaps(list))
		n += len(list)
	}
	for i := range dateCodes {
		if d := &dateCodes[i]; n >= enough && (uneven || d.names.MatchString(name)) && d.reads(lists) {
			return d
		}
	}
	return nil
}

// reads reports whether all numbers are dates of this kind, and where d.even is set, mostly even ones.
func (d *dateCode) reads(lists [][]float64) bool {
	for _, list := range lists {
		dates := make([]float64, len(list))
		for i, v := range list {
			at, ok := d.seconds(v)
			if !ok {
				return false
			}
			dates[i] = at
		}
		if d.even && len(dates) > 1 && math.Abs(usualShare(dates)) < regular {
			return false
		}
	}
	return true
}

// codes finds times that are numbers such as 201001, 201002, …, 201012, 201101: no even grid of numbers, but months.
// The times become seconds since 1970, which a note says.
func (t *table) codes() {
	if t.clock.dates {
		return
	}
	var lists [][]float64
	for _, e := range t.list {
		lists = append(lists, e.time)
	}
	d := codeOf(t.header[slices.Index(t.roles, timeOf)], lists)
	if d == nil {
		return
	}
	for _, e := range t.list {
		for i, v := range e.time {
			e.time[i], _ = d.seconds(v)
		}
	}
	t.clock.dates, t.clock.code = true, d
	t.clock.forms[0] = forms{list: []string{d.form}}
	t.data.Notes = append(t.data.Notes, "times are read as "+d.what)
}

// codes reports whether the values are numbers such as 201011, 201012, 201101.
func (c *sampled) codes() bool {
	return !c.dates && len(c.times) > 1 && codeOf(c.name, [][]float64{c.times}) != nil
}
