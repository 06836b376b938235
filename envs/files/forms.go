package files

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"
)

// forms are the ways in which the dates of a column may be written. Each date that is read rules out those that
// would write it otherwise; the first one that is left writes the dates that follow. A form is a layout of package
// time that may also hold {Q} (quarter), {half} (of a year), {G}, {V} and {u} (year, week and day of ISO 8601) and
// {h} (an hour of one digit). begun is set once a date was read, dates counts them, and list holds the forms that
// are left, the usual ones first.
type forms struct {
	begun bool
	dates int
	list  []string
}

// learned is how many dates of a column decide its form.
const learned = 4096

// learn rules out forms by a date and its text. layout is that of the reader; empty: the text has none. A date that
// none of the forms writes leaves none: then dates are written as ISO 8601 has them.
func (f *forms) learn(text, layout string, at time.Time) {
	if !f.begun {
		f.begun = true
		f.list = variants(text, layout)
	}
	other := func(form string) bool { return written(form, at) != text }
	if f.dates++; f.dates < learned && slices.ContainsFunc(f.list, other) {
		f.list = slices.DeleteFunc(slices.Clone(f.list), other)
	}
}

// variants are the forms that a text of a layout may have. A text that is ambiguous, as one without a day below 10,
// has several. The first in the list is the usual one: with zeros in front, all numbers alike.
func variants(text, layout string) []string {
	list := []string{layout}
	also := func(old, new string) {
		for _, form := range slices.Clone(list) {
			if other := strings.ReplaceAll(form, old, new); other != form {
				list = append(list, other)
			}
		}
	}
	for _, bare := range []string{"2", "1", "3"} { // days, months and hours: with a zero in front, rather than without
		for _, form := range slices.Clone(list) {
			if other, ok := padded(form, bare); ok && len(other) > len(form) {
				list = append([]string{other}, list...)
			} else if ok {
				list = append(list, other)
			}
		}
	}
	slices.SortStableFunc(list, func(a, b string) int { return mixed(a) - mixed(b) })
	// The layout Z07:00 reads +00:00 as well, but writes Z; words for it are those of the text.
	also("Z07:00", "-07:00")
	for _, word := range []string{" UTC", " GMT", " utc", " Z"} {
		if strings.HasSuffix(text, word) {
			also("Z07:00", word)
		}
	}
	also("PM", "pm")
	// Package time has no layout for an hour of 24 without a zero in front.
	also("15:04", "{h}:04")
	_, minutes, _ := strings.Cut(text, ":") // points in front of it are those of the day
	if _, after, ok := strings.Cut(minutes, "."); ok && strings.Contains(layout, "05") {
		also("05", "05."+strings.Repeat("0", len(after[:digits(after)])))
	}
	also("05", "05.999999999")
	if layout != "" {
		return list
	}
	// No layout: the text is a quarter, a half of a year, or a week.
	if _, form, ok := yearPart(text); ok {
		list = append(list, form)
	}
	if form := weekForm(text); form != "" {
		list = append(list, form)
	}
	return list
}

// padded writes a lone digit of a layout with a zero in front, or without the zero if it has one. bare is the digit:
// 2 for days, 1 for months, 3 for hours. It reports whether the layout has it.
func padded(layout, bare string) (string, bool) {
	for _, change := range [][2]string{{"0" + bare, bare}, {bare, "0" + bare}} {
		if i := alone(layout, change[0]); i >= 0 {
			return layout[:i] + change[1] + layout[i+len(change[0]):], true
		}
	}
	return "", false
}

// alone is where digits stand in a layout with no digit beside them; −1: nowhere.
func alone(layout, digits string) int {
	for i := 0; i+len(digits) <= len(layout); i++ {
		if end := i + len(digits); layout[i:end] == digits && !digitAt(layout, i-1) && !digitAt(layout, end) {
			return i
		}
	}
	return -1
}

// mixed is 1 for a layout with some numbers padded and others bare, as no file is meant: else 0.
func mixed(layout string) int {
	has := func(zero string) bool {
		return slices.ContainsFunc([]string{"1", "2", "3"}, func(bare string) bool { return alone(layout, zero+bare) >= 0 })
	}
	if has("0") && has("") {
		return 1
	}
	return 0
}

// digitAt reports whether s has a digit at i, which may lie beyond either end.
func digitAt(s string, i int) bool { return i >= 0 && i < len(s) && s[i] >= '0' && s[i] <= '9' }

// orderedLayout is the layout of a date such as 13/01/2021, of which rest is the layout that follows the day. The
// signs between its parts, and the digits of the year, are those of the text.
func orderedLayout(text, rest string, monthFirst bool) string {
	end := strings.IndexFunc(text, func(r rune) bool { return r == ' ' || r == 'T' })
	if end < 0 {
		end = len(text)
	}
	parts := [2]string{"02", "01"}
	if monthFirst {
		parts = [2]string{"01", "02"}
	}
	signs := strings.Trim(text[:end], "0123456789")
	first := text[digits(text)]
	year := "2006"
	if tail := text[strings.LastIndexByte(text[:end], signs[len(signs)-1])+1 : end]; len(tail) == 2 {
		year = "06"
	}
	return parts[0] + string(first) + parts[1] + string(signs[len(signs)-1]) + year + rest
}

// weekForm is the form of 2020-W02, 2020W02 or 2020-W02-3. It is empty for any other text.
func weekForm(text string) string {
	i := strings.IndexAny(text, "Ww")
	if i < 4 || len(text) < i+3 {
		return ""
	}
	form := "{G}" + text[4:i+1] + "{V}"
	if rest := text[i+3:]; rest != "" {
		form += rest[:len(rest)-1] + "{u}"
	}
	return form
}

// written is a time in a form.
func written(form string, at time.Time) string {
	text := at.Format(form)
	if !strings.Contains(text, "{") {
		return text
	}
	year, week := at.ISOWeek()
	weekday := (int(at.Weekday())+6)%7 + 1
	return strings.NewReplacer(
		"{Q}", itoa(int(at.Month()+2)/3), "{half}", itoa(int(at.Month()+5)/6), "{G}", fmt.Sprintf("%04d", year),
		"{V}", fmt.Sprintf("%02d", week), "{u}", itoa(weekday), "{h}", itoa(at.Hour()),
	).Replace(text)
}

// write is a time of the grid as the column has it. It undoes read, up to what the forms leave open.
func (c *clock) write(t float64) string {
	if c.mixed {
		return c.writeIn(t, 0)
	}
	return c.writeIn(t, c.offset)
}

// writeIn is a time of a clock that is ahead of UTC by an offset, as the column has it.
func (c *clock) writeIn(t, offset float64) string {
	switch {
	case c.based:
		return strconv.FormatInt(c.base+int64(math.Round(t)), 10)
	case c.hoursMinutes:
		minutes := int(math.Round((t - day*math.Floor(t/day)) / 60))
		return strconv.Itoa(minutes/60%24*100 + minutes%60)
	case !c.dates:
		return c.writeNumber(t)
	case c.numbered:
		return strconv.FormatFloat(math.Floor(t/day), 'f', -1, 64)
	}
	// t is by the clock of the zone: the moment is earlier by its offset, and shown with it.
	whole := math.Floor(t)
	list := c.forms[0].list
	if c.swapped {
		list = c.forms[1].list
	}
	at := time.Unix(int64(whole), int64(math.Round((t-whole)*1e9))).UTC().Round(finest(list))
	if offset != 0 {
		at = at.Add(-time.Duration(offset) * time.Second).In(time.FixedZone("", int(offset)))
	}
	switch {
	case len(list) > 0:
		return written(list[0], at)
	case at.Truncate(24 * time.Hour).Equal(at):
		return at.Format(time.DateOnly)
	}
	return at.Format("2006-01-02 15:04:05.999999999")
}

// finest is what the first of some forms can tell apart of seconds; microseconds, which float64 holds, at the least.
// Forms without seconds cut off what they do not write.
func finest(list []string) time.Duration {
	if len(list) == 0 {
		return time.Microsecond
	}
	_, behind, seconds := strings.Cut(list[0], "05")
	fraction := strings.TrimPrefix(behind, ".")
	if !seconds || strings.HasPrefix(fraction, "9") {
		return time.Microsecond
	}
	unit := time.Second
	if fraction != behind {
		for range min(len(fraction)-len(strings.TrimLeft(fraction, "0")), 6) {
			unit /= 10
		}
	}
	return unit
}

// mostDecimals is up to how many decimals of a file are taken for those that were meant, of numbers around one.
const mostDecimals = 12

// meant is up to how many decimals count in a column: of small numbers more.
func (c *clock) meant() int {
	if c.largest > 0 && c.largest < 1 {
		return mostDecimals - int(math.Ceil(math.Log10(c.largest)))
	}
	return mostDecimals
}

// near is a time between whole numbers, where the file has no others, rounded to six digits. Where these do not keep
// its steps apart, it has the decimals that its step needs: none from a step of 10 on.
func (c *clock) near(t, step float64) float64 {
	if c.dates || c.based || c.digits > 0 || t == math.Trunc(t) {
		return t
	}
	need := math.Ceil(1 - math.Log10(step))
	if need > 0 {
		need += 2
	}
	if need = max(0, need); 5-math.Floor(math.Log10(math.Abs(t))) >= need {
		return rounded(t)
	}
	return writtenAs(t, 'f', int(need))
}

// writeNumber is a number with the decimals of the column. Zeros at the end are left out if the column leaves them
// out.
func (c *clock) writeNumber(t float64) string {
	if c.digits == 0 && t != math.Trunc(t) {
		return strconv.FormatFloat(t, 'f', -1, 64)
	}
	if c.digits > c.meant() || c.bare {
		text := strconv.FormatFloat(t, 'f', min(c.digits, c.meant()), 64)
		if !strings.Contains(text, ".") {
			return text
		}
		if text = strings.TrimRight(text, "0"); c.bare || !strings.HasSuffix(text, ".") {
			return strings.TrimSuffix(text, ".")
		}
		return text + "0"
	}
	return strconv.FormatFloat(t, 'f', c.digits, 64)
}
