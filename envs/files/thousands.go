package files

import (
	"math"
	"strings"
)

// commaSigns are what the numbers of a column say about its commas, of a file in which commas are decimal signs. Those
// of 1,250 may be signs for thousands.
type commaSigns struct {
	place string // of the first number with a comma
	text  string // of that number
	// padded is set if such a number ends in 0, as 1,250: then all have three decimals, or the commas are no decimal
	// signs. whole counts the different whole numbers without a comma from 100 to 999: one may be a mark.
	padded bool
	whole  int
	first  float64 // of the whole numbers
	above  bool    // a number from 1000 on has no comma
}

// learn takes note of a number of a column, which is read as v. place is called for the first one with a comma.
func (s *commaSigns) learn(text string, v float64, place func() string) {
	size := math.Abs(v)
	switch {
	case strings.Contains(text, ","):
		if s.text == "" {
			s.place, s.text = place(), text
		}
		s.padded = s.padded || strings.HasSuffix(text, "0")
	case size >= 1000:
		s.above = true
	case size >= 100 && (s.whole == 0 || s.whole == 1 && size != s.first):
		s.first = size
		s.whole++
	}
}

// forThousands reports whether the commas are no decimal signs: whole numbers below 1000 have none, and those with a
// comma have three digits behind it, zeros among them.
func (s *commaSigns) forThousands() bool { return s.padded && s.whole > 1 && !s.above }

// grouped reports whether a number may have a comma for thousands, as 1,250 and -12,500 do, and 0,125 does not.
func grouped(text string) bool {
	text = strings.TrimLeft(text, "+-")
	return thousands(text, ',', '.') && text[0] != '0'
}

// commas refuses a file whose commas are all signs for thousands, as a column of it says. If they only may be, it is
// noted how they are read.
func (t *table) commas() error {
	if !t.comma || t.decimal {
		return nil
	}
	text := ""
	for i := range t.signs {
		s := &t.signs[i]
		if s.forThousands() {
			return faultf(s.place, "leave out the signs for thousands",
				"the comma of %s seems to be one for thousands: numbers below 1000 have none", s.text)
		}
		if text == "" {
			text = s.text
		}
	}
	t.data.Notes = append(t.data.Notes, "commas are read as decimal signs, as in "+text+
		"; leave them out if they are for thousands")
	return nil
}
