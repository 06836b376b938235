package files

import (
	"fmt"
	"unicode"
	"unicode/utf8"
)

// leftOut is a column that is not used, with what its first rows say of why: they may be numbers but for signs, which a
// reader of the note would not guess.
type leftOut struct {
	note  int    // its place among the notes
	rows  int    // that were looked at
	text  string // of the first cell that is nearly a number
	why   string // it is none, and what to do
	other bool   // a cell is something else
}

// look takes the cell of the next row of column i in. Names such as A1, which begin with a letter, are no numbers.
func (t *table) look(i int, text string) {
	c := t.unused[i]
	if c.other || c.rows >= fewRows {
		return
	}
	c.rows++
	if _, err := parseNumber(text, t.in.decimalCommas()); err == nil {
		return
	}
	first, _ := utf8.DecodeRuneInString(text)
	why := t.nearlyNumber(text)
	if c.other = why == "" || unicode.IsLetter(first); c.text == "" {
		c.text, c.why = text, why
	}
}

// sayWhy completes the notes about columns that are not used.
func (t *table) sayWhy() {
	for _, c := range t.unused {
		if c != nil && c.text != "" && !c.other {
			t.data.Notes[c.note] += fmt.Sprintf("; its cells are no numbers, as %q: %s", c.text, c.why)
		}
	}
}
