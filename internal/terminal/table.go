package terminal

import (
	"fmt"
	"io"
	"strings"
	"unicode/utf8"
)

// Table is a table of text. Its first column is aligned to the left, the others to the right. Rows may have fewer
// cells than the header, and more.
type Table struct {
	rows [][]string // nil: a rule
	left map[int]bool
	sign string // the character of rules
}

// NewTable returns a table with the given header and a rule below it.
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

// Row appends a row. Its cells may come from files.
func (t *Table) Row(cells ...string) {
	row := make([]string, len(cells)) // not nil, which is a rule
	for i, cell := range cells {
		row[i] = Plain(cell)
	}
	t.rows = append(t.rows, row)
}

// Rule appends a horizontal rule, which separates groups of rows.
func (t *Table) Rule() { t.rows = append(t.rows, nil) }

// WriteTo writes the table with a rule below the header. On an output that has a width (a method Width, 0: no limit), a
// table that is wider has its texts folded; if its columns are still too many, it is written in parts, which all begin
// with the first column.
func (t *Table) WriteTo(w io.Writer) (int64, error) {
	width := 0
	if limited, ok := w.(interface{ Width() int }); ok {
		width = limited.Width()
	}
	n, err := io.WriteString(w, t.text(width))
	if err != nil {
		return int64(n), fmt.Errorf("write a table: %w", err)
	}
	return int64(n), nil
}

// text is the table in lines of at most width columns; 0: no limit. Columns of texts are narrowed first; if the
// table is still too wide, its columns are divided into parts, which are written below each other with an empty
// line between them.
func (t *Table) text(width int) string {
	widths := t.fit(t.widths(), width)
	var b strings.Builder
	for i, part := range parts(widths, width) {
		if i > 0 {
			b.WriteString("\n")
		}
		t.write(&b, part, widths)
	}
	return b.String()
}

// widths are those of the widest cells, in runes, one for each column that any row has.
func (t *Table) widths() []int {
	var widths []int
	for _, row := range t.rows {
		for i, cell := range row {
			if i == len(widths) {
				widths = append(widths, 0)
			}
			widths[i] = max(widths[i], utf8.RuneCountInString(cell))
		}
	}
	return widths
}

// leastText is the width below which a column of texts is not folded.
const leastText = 12

// fit narrows columns of texts, the widest first, until the table fits or none can be narrower. Columns of numbers,
// which are aligned to the right, keep their width. It changes widths and returns it.
func (t *Table) fit(widths []int, width int) []int {
	for excess := total(widths) - width; width > 0 && excess > 0; excess = total(widths) - width {
		// The widest column is narrowed at most to the width of the next one, so that in the end several are
		// equally wide.
		widest, next := -1, leastText
		for i, w := range widths {
			if !t.left[i] {
				continue
			}
			if widest < 0 || w > widths[widest] {
				if widest >= 0 {
					next = max(next, widths[widest])
				}
				widest = i
			} else {
				next = max(next, w)
			}
		}
		if widest < 0 || widths[widest] <= leastText {
			break
		}
		if widths[widest] <= next { // several are the widest
			next = widths[widest] - 1
		}
		widths[widest] = max(next, widths[widest]-excess)
	}
	return widths
}

// total is the width of a table whose columns have these widths, with two spaces between them.
func total(widths []int) int {
	sum := 2 * (len(widths) - 1)
	for _, w := range widths {
		sum += w
	}
	return sum
}

// parts divides columns so that each part fits; all begin with the first column. A part has at least two columns,
// if the table has, even where these are wider.
func parts(widths []int, width int) [][]int {
	var list [][]int
	var part []int
	used := 0
	for i, w := range widths {
		if width > 0 && len(part) > 1 && used+2+w > width {
			list, part, used = append(list, part), []int{0}, widths[0]
		}
		part = append(part, i)
		used += w
		if len(part) > 1 {
			used += 2
		}
	}
	return append(list, part)
}

// write writes some columns, all rows of them, with rules as wide as these columns.
func (t *Table) write(b *strings.Builder, columns, widths []int) {
	long := 2 * (len(columns) - 1)
	for _, c := range columns {
		long += widths[c]
	}
	for _, row := range t.rows {
		if row == nil {
			b.WriteString(strings.Repeat(t.sign, long) + "\n")
			continue
		}
		cells := make([][]string, len(row))
		// A row is as high as the highest of its cells.
		lines := 1
		for _, c := range columns {
			if c < len(row) {
				cells[c] = broken(row[c], widths[c])
				lines = max(lines, len(cells[c]))
			}
		}
		for n := range lines {
			b.WriteString(t.line(cells, columns, widths, n))
		}
	}
}

// line is line n of a row. Spaces at its end are dropped.
func (t *Table) line(cells [][]string, columns, widths []int, n int) string {
	var b strings.Builder
	for i, c := range columns {
		if c >= len(cells) {
			break
		}
		cell := ""
		if n < len(cells[c]) {
			cell = cells[c][n]
		}
		pad := strings.Repeat(" ", max(0, widths[c]-utf8.RuneCountInString(cell)))
		if t.left[c] {
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

// broken is a cell in lines of at most width columns, broken at spaces, and within a word that is longer.
func broken(cell string, width int) []string {
	var lines []string
	for line := range strings.SplitSeq(fold(cell, width, "", ""), "\n") {
		for r := []rune(line); ; r = r[width:] {
			if len(r) <= width {
				lines = append(lines, string(r))
				break
			}
			lines = append(lines, string(r[:width]))
		}
	}
	return lines
}
