package files

import (
	"slices"
	"strings"
	"unicode"
)

// The parts of a date that stand in columns of their own, with the names that such columns usually have. They are
// joined to a text that a clock reads, as 2010-1-2 5:00 or 2010-Q1, and what it writes is split into the same columns.
var datePart = map[string]string{
	"year": "year", "yr": "year", "yyyy": "year", "jahr": "year",
	"quarter": "quarter", "qtr": "quarter",
	"month": "month", "mon": "month", "mo": "month", "monat": "month",
	"day": "day", "mday": "day", "day_of_month": "day", "dayofmonth": "day", "tag": "day",
	"hour": "hour", "hr": "hour", "stunde": "hour",
}

// dateForms are the parts that make a date, the longest first.
var dateForms = [][]string{
	{"year", "month", "day", "hour"}, {"year", "month", "day"}, {"year", "month"}, {"year", "quarter"},
}

// inParts reports whether columns are the parts of a date, in the order of one of the forms.
func inParts(columns []string) bool {
	parts := make([]string, len(columns))
	for i, c := range columns {
		parts[i] = datePart[strings.ToLower(c)]
	}
	return slices.ContainsFunc(dateForms, func(form []string) bool { return slices.Equal(form, parts) })
}

// joinParts is the date of parts, of which the columns say what they are. A zero in front, and a Q in front of a
// quarter, may be there or not.
func joinParts(columns, parts []string) string {
	var b strings.Builder
	for i, c := range columns {
		part := strings.TrimSpace(parts[i])
		switch datePart[strings.ToLower(c)] {
		case "quarter":
			b.WriteString("-Q")
			part = strings.TrimLeft(part, "Qq")
		case "hour":
			b.WriteString(" ")
		case "month", "day":
			b.WriteString("-")
		}
		b.WriteString(part)
	}
	if datePart[strings.ToLower(columns[len(columns)-1])] == "hour" {
		b.WriteString(":00")
	}
	return b.String()
}

// partStyle is how a file writes the parts of dates. It is learned from what is read, and used for what is written.
type partStyle struct {
	padded bool   // with zeros in front
	letter string // in front of quarters
}

// learn takes note of how a part is written.
func (s *partStyle) learn(part string) {
	s.padded = s.padded || len(part) > 1 && part[0] == '0'
	if len(part) > 1 && strings.ContainsAny(part[:1], "Qq") {
		s.letter = part[:1]
	}
}

// yearAmong reports whether columns are parts of a date, one of them the year.
func yearAmong(columns []string) bool {
	year := false
	for _, c := range columns {
		part := datePart[strings.ToLower(c)]
		if part == "" {
			return false
		}
		year = year || part == "year"
	}
	return year
}

// split are the parts of a date that joinParts has joined, for so many columns. text is what a clock writes in the
// form of the joined date.
func (s partStyle) split(text string, columns int) []string {
	parts := strings.FieldsFunc(text, func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) })
	parts = parts[:min(columns, len(parts))]
	for i, p := range parts {
		if number, quarter := strings.CutPrefix(p, "Q"); quarter {
			p = s.letter + number
		} else if !s.padded && len(p) == 2 {
			p = strings.TrimPrefix(p, "0")
		}
		parts[i] = p
	}
	return parts
}

// guessParts finds columns that are the parts of a date together: growing, or within the recordings that a further
// column tells apart. The form with most parts that a table has names for is tried first. of is the column that
// tells recordings apart: id, where it is given.
func guessParts(columns []*sampled, taken map[string]bool, id *sampled) (date, of *sampled) {
	for _, form := range dateForms {
		var parts []*sampled
		for _, part := range form {
			i := slices.IndexFunc(columns, func(c *sampled) bool {
				return !taken[c.name] && datePart[strings.ToLower(c.name)] == part
			})
			if i < 0 {
				break
			}
			parts = append(parts, columns[i])
		}
		if len(parts) < len(form) {
			continue
		}
		if date = joined(parts); date == nil {
			continue
		}
		if date.grows(id) {
			return date, id
		}
		// The dates begin again: a column beside the parts has to tell recordings apart.
		apart := map[string]bool{}
		for _, c := range columns {
			apart[c.name] = taken[c.name] || slices.Contains(parts, c)
		}
		if of = guessID(columns, apart, date); id == nil && of != nil {
			return date, of
		}
	}
	return nil, id
}

// joined is the column of the dates of parts; nil if they are none. Its name is that of its parts, separated by
// commas, as Options.Time takes it.
func joined(parts []*sampled) *sampled {
	names := make([]string, len(parts))
	for i, p := range parts {
		names[i] = p.name
	}
	date := &sampled{name: strings.Join(names, ","), dates: true, texts: parts[len(parts)-1].texts}
	var c clock
	for row := range date.texts {
		texts := make([]string, len(parts))
		for i, p := range parts {
			texts[i] = p.texts[row]
		}
		at, err := c.read(joinParts(names, texts))
		if err != nil || !c.dates {
			return nil
		}
		date.times = append(date.times, at)
	}
	return date
}
