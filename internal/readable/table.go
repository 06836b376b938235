package readable

import (
	"fmt"
	"io"
	"strings"
	"unicode/utf8"
)

// Table is a table of text. Its first column is aligned to the left, the others to the right.
type Table struct {
	rows [][]string // nil: a rule
	left map[int]bool
	sign string // the character of rules
}

// NewTable returns a table with the given header.
func NewTable(header ...string) *Table {
	t := &Table{left: map[int]bool{0: true}, sign: "-"}
	t.Row(header...)
	t.Rule()
	return t
}

// Ruled replaces the hyphen by another character for rules, and returns the table.
func (t *Table) Ruled(sign string) *Table {
	t.sign = sign
	return t
}

// Left aligns columns to the left and returns the table.
func (t *Table) Left(columns ...int) *Table {
	for _, c := range columns {
		t.left[c] = true
	}
	return t
}

// Row appends a row.
func (t *Table) Row(cells ...string) { t.rows = append(t.rows, cells) }

// Rule appends a horizontal rule, which separates groups of rows.
func (t *Table) Rule() { t.rows = append(t.rows, nil) }

// WriteTo writes the table with a rule below the header.
func (t *Table) WriteTo(w io.Writer) (int64, error) {
	var widths []int
	for _, row := range t.rows {
		for i, cell := range row {
			if i == len(widths) {
				widths = append(widths, 0)
			}
			widths[i] = max(widths[i], utf8.RuneCountInString(cell))
		}
	}
	total := 2 * (len(widths) - 1)
	for _, w := range widths {
		total += w
	}
	var b strings.Builder
	for _, row := range t.rows {
		if row == nil {
			b.WriteString(strings.Repeat(t.sign, total) + "\n")
		} else {
			b.WriteString(t.line(row, widths))
		}
	}
	n, err := io.WriteString(w, b.String())
	if err != nil {
		return int64(n), fmt.Errorf("write a table: %w", err)
	}
	return int64(n), nil
}

func (t *Table) line(row []string, widths []int) string {
	var b strings.Builder
	for i, cell := range row {
		pad := strings.Repeat(" ", widths[i]-utf8.RuneCountInString(cell))
		if t.left[i] {
			cell += pad
		} else {
			cell = pad + cell
		}
		if i > 0 {
			b.WriteString("  ")
		}
		b.WriteString(cell)
	}
	return strings.TrimRight(b.String(), " ") + "\n"
}
