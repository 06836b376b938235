package files

import (
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"

	"github.com/switchyard-ml/switchyard/internal/terminal"
)

// fewRows are those that say which columns hold numbers.
const fewRows = 100

// unobserved is the fault of a table without a column of observations. It reads the first rows, which tell what could
// be observed.
func (t *table) unobserved() error {
	numbers, texts := make([]int, len(t.header)), make([]int, len(t.header))
	nearly := ""
	for row := range fewRows {
		record, err := t.in.next()
		if row == 0 && errors.Is(err, io.EOF) {
			return noRows()
		}
		if row == 0 && err != nil { // it says more, as where the first line is a title
			return err
		}
		if err != nil {
			break
		}
		for i, cell := range record {
			switch v, err := parseNumber(strings.TrimSpace(cell), t.in.decimalCommas()); {
			case err != nil:
				texts[i]++
				if remedy := t.nearlyNumber(cell); remedy != "" && nearly == "" {
					nearly = fmt.Sprintf(" (%q: %s)", cell, remedy)
				}
			case !math.IsNaN(v):
				numbers[i]++
			}
		}
	}
	numeric := func(i int) bool { return numbers[i] > texts[i] }
	remedy := headerRemedy(t.header, numeric)
	if remedy == "" {
		remedy = "no column holds numbers: give one that does" + nearly
	}
	return faultf("line 1", remedy, "no column is an observation (y, y1, y_name); the columns are %s", list(t.header))
}

func noRows() error { return faultf("", "", "there are no rows below the header") }

// headerRemedy says what to do about a table without a column of observations. Usual causes are columns separated by
// spaces, and a table without a line of names. A column that holds numbers, but for one of times, could be observed; it
// is empty if there is none.
func headerRemedy(header []string, numeric func(i int) bool) string {
	if len(header) == 1 && len(strings.Fields(header[0])) > 1 && !numeric(0) {
		return "its columns seem to be separated by spaces: separate them by commas"
	}
	for _, name := range header {
		if _, err := parseNumber(name, false); err == nil && name != "" {
			return "begin with a line of column names, e.g. t,y1,y2,u1"
		}
	}
	at := -1
	for i, name := range header {
		usual := slices.Contains(timeNames, strings.ToLower(name))
		if numeric(i) && (at < 0 || !usual && slices.Contains(timeNames, strings.ToLower(header[at]))) {
			at = i
		}
	}
	if at < 0 {
		return ""
	}
	return "say which are, e.g. --observe " + terminal.Quoted(header[at]) + " (env.observe), and see switchyard data info"
}

// timeRemedy says what to do about a text that is no time. It recognises dates with the name of a zone, and a line
// of units below the header.
func (t *table) timeRemedy(text string) string {
	if i := strings.LastIndexAny(text, " ["); i > 0 && strings.ContainsAny(text[i:], "ABCDEFGHIJKLMNOPQRSTUVWXYZ") {
		var c clock
		if at, month, err := c.date(strings.TrimSpace(text[:i])); err == nil && !(at.IsZero() && month.IsZero()) {
			return "the names of zones are not known: write the offset from UTC in their place, e.g. 2024-12-31 23:59:59+01:00"
		}
	}
	if t.rowsRead == 1 && text != "" && !strings.ContainsAny(text, "0123456789") {
		return "if the first line below the names holds units, leave it out"
	}
	return "write times as numbers, or as dates such as 2024-12-31 or 2024-12-31 23:59:59"
}

// numberRemedy says what to do about a text that is no number. The first cause that fits counts.
func (t *table) numberRemedy(text string) string {
	remedy := t.nearlyNumber(text)
	switch {
	case remedy != "":
		return remedy
	case t.rowsRead == 1:
		return "if the first line below the names holds units, leave it out; leave missing values empty"
	case strings.Contains(text, ","):
		return "write decimals with a point, or separate the columns by semicolons"
	}
	return "leave missing values empty"
}

// thousands reports whether a text is a number with a sign between groups of three digits, such as 50,346.00.
func thousands(text string, group, decimal byte) bool {
	whole, part, _ := strings.Cut(strings.TrimPrefix(text, "-"), string(decimal))
	groups := strings.Split(whole, string(group))
	for i, g := range groups {
		if digits(g) != len(g) || len(g) != 3 && (i > 0 || len(g) < 1 || len(g) > 3) {
			return false
		}
	}
	return len(groups) > 1 && digits(part) == len(part)
}

// nearlyNumber says what stands between or beside the digits of a number that is none: signs for thousands, or one of a
// currency or a unit; empty: something else, such as a time.
func (t *table) nearlyNumber(text string) string {
	switch {
	case thousands(text, ',', '.'):
		return "it has commas for thousands: leave them out"
	case thousands(text, '.', ','):
		return "it has points for thousands: leave them out"
	}
	var c clock
	if _, err := c.read(text); err == nil {
		return ""
	}
	bare := strings.TrimFunc(text, func(r rune) bool { return !strings.ContainsRune("+-.0123456789", r) })
	if _, err := parseNumber(bare, t.in.decimalCommas()); err == nil && bare != "" && bare != text {
		// Without them, what accounts have as less than nothing would be more.
		if strings.HasPrefix(text, "(") && strings.HasSuffix(text, ")") {
			return "if brackets stand for a number below zero, write a minus in their place"
		}
		return "leave out what stands beside the number"
	}
	tight := strings.Map(func(r rune) rune {
		if strings.ContainsRune(" '’\u00a0\u202f", r) {
			return -1
		}
		return r
	}, text)
	if _, err := parseNumber(tight, t.in.decimalCommas()); err == nil && tight != text {
		return "it has signs for thousands: leave them out"
	}
	return ""
}
