package files

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Parts of the forms of dates, the usual ones first. time.Parse also takes fractions of seconds.
//
// A date is a day, which an hour may follow, which a zone may follow; or a month, which counts from its first day;
// or digits alone. Days and months that may change places between slashes or hyphens are not among them: see
// reordered.
var (
	dayLayouts = []string{
		"2006-01-02", "2006/01/02", "2006.01.02", "20060102", "02.01.2006", "2.1.2006", "2 Jan 2006", "2 January 2006",
		"2-Jan-2006", "2-Jan-06", "02Jan2006", "Jan 2, 2006", "January 2, 2006", "Mon, 2 Jan 2006",
		"2006-1-2", "2006/1/2", "2006.1.2", "02.01.06", "2.1.06", "2006-Jan-2", "2006-January-2", "2006-002",
		"Jan-2-2006", "Jan 2 2006", "January 2 2006", "January-2-2006", "Jan/2/2006", "2/Jan/2006", "2-January-2006",
	}
	hourLayouts = []string{
		"", " 15:04:05", "T15:04:05", " 15:04", "T15:04", " 3:04:05 PM", " 3:04 PM", " 3:04:05PM", " 3:04PM", "T150405",
	}
	zoneLayouts  = []string{"", "Z07:00", "-0700", " -0700", " Z07:00", "-07"}
	monthLayouts = []string{
		"2006-01", "2006/01", "2006M01", "2006M1", "Jan 2006", "January 2006", "Jan-2006", "Jan-06", "Jan 06", "2006-1",
		"2006/1", "2006-Jan", "2006-January", "01/2006", "01-2006", "1/2006", "1-2006",
	}
	secondLayouts = []string{"20060102150405", "200601021504"} // digits alone, down to minutes or seconds
)

// errAmbiguous is returned for dates such as 01/02/2006, which mean one day in America and another one elsewhere, where
// no other date of the column decides.
var errAmbiguous = errors.New("the order of day and month is not known")

// Orders of day and month in dates such as 13/01/2021.
const (
	DayFirst   = "day-first"
	MonthFirst = "month-first"
)

// date reads a date in the form of the last one, or in another one. If day and month may change places, other is the
// date with the month first, and the first result that with the day first; a zero one is no date. Accepted are the
// layouts above, with am, pm and UTC in other spellings, quarters and halves of years, ISO weeks, and a leap second.
// Names of zones other than UTC and GMT are not known.
func (c *clock) date(text string) (at, other time.Time, err error) {
	written := text
	text = plainZone(text)
	// Dates of a column have one form as a rule: it is tried before the search.
	if c.layout != "" {
		if t, err := time.Parse(c.layout, text); err == nil {
			if c.ofDay {
				t = t.AddDate(1970, 0, 0)
			}
			c.own = ownOffset(c.layout)
			c.forms[0].learn(written, c.layout, t)
			return t, t, nil
		}
	}
	// Both orders are read. An impossible one stays zero, which rules the order out for the column.
	if day, rest, ok := orderedDate(text); ok && !c.ofDay {
		at, _ = c.searchDay(day+rest, dayLayouts[:1])
		if month, rest, ok := swapped(text); ok {
			other, _ = c.searchDay(month+rest, dayLayouts[:1])
		}
		for i, t := range []time.Time{at, other} {
			c.forms[i].learn(written, orderedLayout(written, strings.TrimPrefix(c.layout, dayLayouts[0]), i == 1), t)
		}
		c.own, c.layout = ownOffset(c.layout), ""
		if at.IsZero() && other.IsZero() {
			return at, other, fmt.Errorf("%q is no date", text)
		}
		return at, other, nil
	}
	// Package time knows no second 60: it is the second after the 59th.
	if t, leap := leapSecond(text); leap {
		at, err = c.search(t)
		at = at.Add(time.Second)
		c.own, c.layout = ownOffset(c.layout), ""
		return at, at, err
	}
	c.layout = ""
	if at, err = c.search(text); err == nil {
		c.forms[0].learn(written, c.layout, at)
	}
	c.own = ownOffset(c.layout)
	return at, at, err
}

// ownOffset reports whether dates of a layout have an offset from UTC.
func ownOffset(layout string) bool { return strings.Contains(layout, "07") }

// search tries all forms. A column has dates, or times of the day alone. It remembers the layout for the texts that
// follow.
func (c *clock) search(text string) (time.Time, error) {
	if !c.ofDay {
		if t, err := c.searchDate(text); err == nil {
			return t, nil
		}
	}
	for _, layout := range clockLayouts {
		if t, err := time.Parse(layout, strings.ToUpper(text)); err == nil && (c.ofDay || !c.forms[0].begun) {
			c.layout, c.ofDay = layout, true
			return t.AddDate(1970, 0, 0), nil // from year 0
		}
	}
	return time.Time{}, fmt.Errorf("%q is neither a number nor a date", text)
}

// searchDate is search without times of the day. It tries days, then months and digits alone, then quarters and
// halves, then weeks of ISO 8601.
func (c *clock) searchDate(text string) (time.Time, error) {
	if t, ok := c.searchDay(text, dayLayouts); ok {
		return t, nil
	}
	for _, layout := range slices.Concat(monthLayouts, secondLayouts) {
		if t, err := time.Parse(layout, text); err == nil {
			c.layout = layout
			return t, nil
		}
	}
	if t, _, ok := yearPart(text); ok {
		return t, nil
	}
	if t, ok := isoWeek(text); ok {
		return t, nil
	}
	return time.Time{}, fmt.Errorf("%q is no date", text)
}

// searchDay tries days in some forms, alone or with a time of the day.
func (c *clock) searchDay(text string, days []string) (time.Time, bool) {
	for _, zone := range zoneLayouts {
		for _, hour := range hourLayouts {
			if hour == "" && zone != "" {
				continue
			}
			for _, day := range days {
				if t, err := time.Parse(day+hour+zone, text); err == nil {
					c.layout = day + hour + zone
					return t, true
				}
			}
		}
	}
	return time.Time{}, false
}

// plainZone writes the words for the zone of Greenwich, and am and pm, as the layouts do.
func plainZone(text string) string {
	for _, zone := range []string{" UTC", " GMT", " utc", " Z"} {
		if day, ok := strings.CutSuffix(text, zone); ok {
			return day + "Z"
		}
	}
	for _, half := range []string{"am", "pm", "a.m.", "p.m."} {
		if hour, ok := strings.CutSuffix(text, half); ok && strings.Contains(hour, ":") {
			return hour + strings.ToUpper(strings.ReplaceAll(half, ".", ""))
		}
	}
	return text
}

// orderedDate writes a date such as 13/01/2021 or 13-01-21, with whatever follows, as 2021-01-13: the day first. A part
// above its range gives no date when it is parsed.
func orderedDate(text string) (day, rest string, ok bool) { return reordered(text, false) }

// swapped is orderedDate with the month first.
func swapped(text string) (day, rest string, ok bool) { return reordered(text, true) }

// reordered writes a date of three numbers between slashes or hyphens, of which the year is the last, with the year
// first. ok is unset for any other text.
func reordered(text string, monthFirst bool) (day, rest string, ok bool) {
	end := strings.IndexAny(text, " T")
	if end < 0 {
		end = len(text)
	}
	head, rest := text[:end], text[end:]
	parts := strings.FieldsFunc(head, func(r rune) bool { return r == '/' || r == '-' })
	if len(parts) != 3 || len(head) != len(parts[0])+len(parts[1])+len(parts[2])+2 || len(parts[0]) > 2 {
		return "", "", false
	}
	var n [3]int
	for i, p := range parts {
		v, err := strconv.Atoi(p)
		if err != nil || len(p) > 2 && (i < 2 || len(p) != 4) {
			return "", "", false
		}
		n[i] = v
	}
	if len(parts[2]) == 2 { // as time.Parse: 69 to 99 are of the last century
		n[2] += 2000
		if n[2] >= 2069 {
			n[2] -= 100
		}
	}
	if monthFirst {
		n[0], n[1] = n[1], n[0]
	}
	return fmt.Sprintf("%04d-%02d-%02d", n[2], n[1], n[0]), rest, true
}

// leapSecond writes a second 60 as 59.
func leapSecond(text string) (string, bool) {
	i := strings.Index(text, ":60")
	if i < 0 || strings.Count(text[:i], ":") == 0 {
		return "", false
	}
	return text[:i] + ":59" + text[i+3:], true
}

// yearParts are quarters and halves of years: 1959Q1, 1959-q1, 1959 1Q, or Q1 1959, and the same with H.
var yearParts = regexp.MustCompile(`^(?:(?P<year>\d{4})(?P<sign>[ :-]?))?(?P<letter>[QqHh])?(?P<part>[1-4])(?P<behind>[QqHh])?(?:(?P<before>[ :/-]?)(?P<last>\d{4}))?$`)

// yearPart reads a quarter or a half of a year: its first day, and its form.
func yearPart(text string) (at time.Time, form string, ok bool) {
	m := yearParts.FindStringSubmatch(text)
	if m == nil {
		return at, "", false
	}
	of := func(name string) string { return m[yearParts.SubexpIndex(name)] }
	letter := of("letter") + of("behind")
	if year := of("year") + of("last"); len(letter) == 1 && len(year) == 4 {
		months, number := 3, "{Q}"
		if strings.EqualFold(letter, "h") {
			months, number = 6, "{half}"
		}
		y, _ := strconv.Atoi(year)
		part, _ := strconv.Atoi(of("part"))
		at = time.Date(y, time.Month(months*(part-1)+1), 1, 0, 0, 0, 0, time.UTC)
		form = strings.Repeat("2006", len(of("year"))/4) + of("sign") + of("letter") + number + of("behind") + of("before") +
			strings.Repeat("2006", len(of("last"))/4)
		return at, form, y > 0 && at.Year() == y
	}
	return at, "", false
}

// isoWeek reads 2020-W02, 2020W02 and 2020-W02-3: the Monday of the week, or its day of that number.
func isoWeek(text string) (time.Time, bool) {
	year, rest, ok := strings.Cut(strings.ToUpper(text), "W")
	y, err := strconv.Atoi(strings.TrimRight(year, " -"))
	if !ok || err != nil || y < 1 || y > 9999 || len(rest) < 2 {
		return time.Time{}, false
	}
	week, err := strconv.Atoi(rest[:2])
	weekday := 1
	if tail := strings.TrimPrefix(rest[2:], "-"); tail != "" && err == nil {
		weekday, err = strconv.Atoi(tail)
	}
	if err != nil || week < 1 || week > 53 || weekday < 1 || weekday > 7 {
		return time.Time{}, false
	}
	monday, ok := mondayOf(y, week)
	if !ok {
		return time.Time{}, false
	}
	return monday.AddDate(0, 0, weekday-1), true
}

// mondayOf is the first day of a week of ISO 8601; false if the year has no such week.
func mondayOf(year, week int) (time.Time, bool) {
	fourth := time.Date(year, 1, 4, 0, 0, 0, 0, time.UTC) // always in week 1
	monday := fourth.AddDate(0, 0, -(int(fourth.Weekday())+6)%7+7*(week-1))
	_, w := monday.ISOWeek()
	return monday, w == week
}

// compact reports whether a number is a date such as 19580329 or 20210301093000, of a year that recordings have.
// Such a number decides, as the first text of a column, that all are dates.
func compact(text string) bool {
	return slices.ContainsFunc(append([]string{"20060102"}, secondLayouts...), func(layout string) bool {
		d, err := time.Parse(layout, text)
		return err == nil && d.Year() >= 1700 && d.Year() < 2200
	})
}

// evenOrder says whether dates have the month first, if they are even steps of time in one order alone: days is what
// they are with the day first, months with the month first. With fewer than six dates nothing is decided.
func evenOrder(days, months []float64) (monthFirst, decided bool) {
	if len(days) < enough {
		return false, false
	}
	day, month := evenDates(days), evenDates(months)
	return month, day != month
}

// evenDates reports whether dates are equally far from each other, as seconds or as months.
func evenDates(times []float64) bool {
	if same(gaps(times)) {
		return true
	}
	var first time.Time
	list := make([]float64, len(times))
	for i, t := range times {
		at := time.Unix(int64(t), 0).UTC()
		if i == 0 {
			first = at
		}
		if at.Day() != first.Day() || at.Hour() != first.Hour() {
			return false
		}
		list[i] = float64(month(t))
	}
	return same(gaps(list))
}

// evenOrder is that of all recordings. They have to agree.
func (t *table) evenOrder() (monthFirst, decided bool) {
	for i, e := range t.list {
		if e.other == nil {
			return false, false
		}
		first, sure := evenOrder(e.time, e.other)
		if !sure || i > 0 && first != monthFirst {
			return false, false
		}
		monthFirst = first
	}
	return monthFirst, len(t.list) > 0
}

// longDate is a date that nobody misreads.
func longDate(at float64) string { return time.Unix(int64(at), 0).UTC().Format("2 January 2006") }
