package files

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"
)

// A dayClock reads times of the day: 14:30, 14:30:05 and 2:30 PM, or whole numbers. Numbers of which one is above 24
// are hours and minutes, as 1430; else they are hours. A column has colons in all of its times, or in none.
type dayClock struct {
	known   bool // a text was read
	colons  bool
	minutes bool // numbers have minutes
	wide    bool // numbers have a zero in front, as 0930
	forms   forms
}

// clockLayouts are the forms of times of the day with colons. Texts are compared in capitals.
var clockLayouts = []string{"15:04", "15:04:05", "3:04 PM", "3:04:05 PM", "3:04PM", "3:04:05PM"}

// read returns seconds since midnight for texts with colons, else the number as it is: seconds tells what it means
// once all are read. An error says why the text is none.
func (c *dayClock) read(text string) (float64, error) {
	colons := strings.Contains(text, ":")
	if c.known && colons != c.colons {
		return 0, fmt.Errorf("%q is not written as the times of the day before it", text)
	}
	c.known, c.colons = true, colons
	if !colons {
		v, err := strconv.ParseFloat(text, 64)
		if err != nil || !hoursAndMinutes(v) {
			return 0, fmt.Errorf("%q is no time of the day", text)
		}
		c.minutes, c.wide = c.minutes || v > 24, c.wide || len(text) > 1 && text[0] == '0'
		return v, nil
	}
	for _, layout := range clockLayouts {
		if t, err := time.Parse(layout, strings.ToUpper(text)); err == nil {
			c.forms.learn(text, layout, t)
			return t.Sub(t.Truncate(24 * time.Hour)).Seconds(), nil
		}
	}
	return 0, fmt.Errorf("%q is no time of the day", text)
}

// seconds since midnight of what read has returned.
func (c *dayClock) seconds(v float64) float64 {
	switch {
	case c.colons:
		return v
	case c.minutes:
		return clockSeconds(v)
	}
	return 3600 * v
}

// split divides a time in seconds into the begin of its day and the time of the day, as the column can tell: what
// rounds up to midnight is of the next day.
func (c *dayClock) split(at float64) (days, seconds float64) {
	unit := time.Second
	if c.colons {
		unit = finest(c.forms.list)
	}
	perSecond := float64(time.Second / unit)
	at = math.Round(at*perSecond) / perSecond
	days = day * math.Floor(at/day)
	return days, at - days
}

// write is a time of the day, in seconds since midnight, as the column has it.
func (c *dayClock) write(seconds float64) string {
	at := time.UnixMicro(int64(math.Round(seconds * 1e6))).UTC()
	switch {
	case c.colons && len(c.forms.list) > 0:
		return written(c.forms.list[0], at)
	case c.colons:
		return at.Format("15:04:05.999999")
	case c.minutes && c.wide:
		return at.Format("1504")
	case c.minutes:
		return itoa(100*at.Hour() + at.Minute())
	}
	return itoa(at.Hour())
}

// hoursAndMinutes reports whether a number may be a time of the day, from 0 to 2400. Hours alone are such numbers, too.
func hoursAndMinutes(v float64) bool {
	return v >= 0 && v <= 2400 && v == math.Trunc(v) && math.Mod(v, 100) < 60
}

// clockSeconds is seconds since midnight for a number such as 1430: hours in front of two digits of minutes.
func clockSeconds(v float64) float64 { return 3600*math.Floor(v/100) + 60*math.Mod(v, 100) }

// wholeDay reports whether a time is a day: a whole number, or a date without a time of the day.
func (c *clock) wholeDay(at float64) bool {
	if c.dates {
		return math.Mod(at, day) == 0
	}
	return at == math.Trunc(at)
}

// join makes times, in seconds, of days and times of the day. Numbers of days count from day 0. From then on all
// times are in seconds.
func (t *table) join() {
	for _, e := range t.list {
		for i, of := range e.ofDay {
			if !t.clock.dates {
				e.time[i] *= day
			}
			e.time[i] += t.dayClock.seconds(of)
		}
	}
	t.clock.numbered, t.clock.dates = !t.clock.dates, true
}

// enough is how many numbers have to be even as times of the day, and uneven as numbers, to be taken for such times.
const enough = 6

// hours finds times that are numbers such as 840, 850, 900, 910: no even grid of numbers, but ten minutes apart.
// They are then times of day 0. Every recording of two rows or more has to be even as times of the day, and uneven
// as numbers.
func (t *table) hours() {
	if t.clock.dates {
		return
	}
	n := 0
	for _, e := range t.list {
		if len(e.time) < 2 {
			continue
		}
		read := make([]float64, len(e.time))
		for i, v := range e.time {
			if !hoursAndMinutes(v) {
				return
			}
			read[i] = clockSeconds(v)
		}
		if same(gaps(e.time)) || !same(gaps(read)) {
			return
		}
		n += len(read)
	}
	// Nothing has changed up to here: all recordings are times of the day, or none is.
	if n < enough {
		return
	}
	for _, e := range t.list {
		for i, v := range e.time {
			e.time[i] = clockSeconds(v)
		}
	}
	t.clock.numbered, t.clock.dates, t.clock.hoursMinutes = true, true, true
	t.data.Notes = append(t.data.Notes, "times are read as hours and minutes: as these they are even, as numbers they "+
		"are not")
}

// throughMidnight adds days to times of the day that fall back by more than half a day. It changes times in place,
// so that recordings which run through midnight ascend.
func throughMidnight(times []float64) {
	for i := 1; i < len(times); i++ {
		if behind := times[i-1] - day/2; times[i] < behind {
			times[i] += float64(day * math.Ceil((behind-times[i])/day))
		}
	}
}

// same reports whether all values, of which there is at least one, are equal.
func same(values []float64) bool { return slices.Min(values) == slices.Max(values) }

// Names that days and times of the day usually have.
var (
	dayNames   = []string{"day", "date", "ds", "doy", "yday", "julian", "dteday"}
	clockNames = []string{"time", "hhmm", "clock", "hour", "hr", "timeofday", "time_of_day"}
)

// regular is the share of equal steps above which numbers are taken for times of the day.
const regular = 0.8

// guessDays finds two columns, one of days and one of times of the day, that are a time together: growing, or within
// the recordings that a third column tells apart. both has the times in seconds, and the names of the two columns,
// separated by a comma, as Options.Time takes them.
func guessDays(columns []*sampled, taken map[string]bool) (both, id *sampled) {
	for _, d := range columns {
		if taken[d.name] || d.times == nil || len(d.times) < 2 || !d.dates &&
			!slices.Contains(dayNames, strings.ToLower(d.name)) {
			continue
		}
		for _, c := range columns {
			if c == d || taken[c.name] {
				continue
			}
			if both = d.at(c); both == nil {
				continue
			}
			if both.grows(nil) {
				return both, nil
			}
			apart := map[string]bool{d.name: true, c.name: true}
			for name := range taken {
				apart[name] = true
			}
			if id = guessID(columns, apart, both); id != nil {
				return both, id
			}
		}
	}
	return nil, nil
}

// at joins days with a column of times of the day; nil if it seems to be none. Numbers are taken for times of the
// day only below a usual name, and if most steps are then equal.
func (c *sampled) at(of *sampled) *sampled {
	days := clock{dates: c.dates}
	var texts dayClock
	seconds := make([]float64, 0, len(of.texts))
	for _, text := range of.texts {
		v, err := texts.read(text)
		if err != nil {
			return nil
		}
		seconds = append(seconds, v)
	}
	// Hours up to 24 say less than 1430 does: their column has to be called hour.
	name := strings.ToLower(of.name)
	hours := name == "hour" || name == "hr"
	if !texts.colons && (!slices.Contains(clockNames, name) || !texts.minutes && !hours) {
		return nil
	}
	both := &sampled{name: c.name + "," + of.name, dates: true, texts: of.texts}
	for i, at := range c.times {
		if !days.wholeDay(at) {
			return nil
		}
		if !c.dates {
			at *= day
		}
		both.times = append(both.times, at+texts.seconds(seconds[i]))
	}
	if !texts.colons && usualShare(both.times) < regular {
		return nil
	}
	return both
}

// usualShare is the share of the steps that are as long as the median one.
func usualShare(times []float64) float64 {
	list := gaps(times)
	usual, n := median(list), 0.0
	for _, g := range list {
		if g == usual {
			n++
		}
	}
	return n / float64(len(list))
}
