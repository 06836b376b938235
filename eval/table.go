package eval

import (
	"encoding/csv"
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"
	"unicode/utf8"
)

// Table is a rectangle of numbers with named rows and columns. It prints for people with
// WriteText and for programs with WriteCSV.
type Table struct {
	Title    string   // one line above the table; may be empty
	Corner   string   // heading of the row names
	Columns  []string // headings
	Rows     []Row
	Decimals int      // digits after the point in WriteText
	Notes    []string // lines below the table
}

// Row is one line of a table. A NaN is a missing value. A Row without values is a rule
// that separates groups of rows.
type Row struct {
	Name   string
	Values []float64
}

// WriteText prints the table in aligned columns with fixed decimals, missing values as a dash.
func (t Table) WriteText(w io.Writer) error {
	cells := make([][]string, len(t.Rows))
	first := utf8.RuneCountInString(t.Corner)
	widths := make([]int, len(t.Columns))
	for j, c := range t.Columns {
		widths[j] = utf8.RuneCountInString(c)
	}
	for i, r := range t.Rows {
		first = max(first, utf8.RuneCountInString(r.Name))
		for j, v := range r.Values {
			s := t.cell(v)
			cells[i] = append(cells[i], s)
			widths[j] = max(widths[j], utf8.RuneCountInString(s))
		}
	}
	var b strings.Builder
	if t.Title != "" {
		fmt.Fprintln(&b, t.Title)
	}
	writeLine(&b, first, widths, t.Corner, t.Columns)
	rule := strings.Repeat("─", first+sum(widths)+2*len(widths))
	fmt.Fprintln(&b, rule)
	for i, r := range t.Rows {
		if len(r.Values) == 0 {
			fmt.Fprintln(&b, rule)
			continue
		}
		writeLine(&b, first, widths, r.Name, cells[i])
	}
	for _, n := range t.Notes {
		fmt.Fprintln(&b, n)
	}
	if _, err := io.WriteString(w, b.String()); err != nil {
		return fmt.Errorf("write table: %w", err)
	}
	return nil
}

func writeLine(b *strings.Builder, first int, widths []int, name string, cells []string) {
	fmt.Fprintf(b, "%-*s", first, name)
	for j, c := range cells {
		fmt.Fprintf(b, "  %*s", widths[j], c)
	}
	b.WriteByte('\n')
}

func (t Table) cell(v float64) string {
	if math.IsNaN(v) {
		return "–"
	}
	return strconv.FormatFloat(v, 'f', t.Decimals, 64)
}

// WriteCSV writes a header and one line per row, numbers in the shortest form that reads back to
// the same value and missing values empty. Title, notes and rules are left out.
func (t Table) WriteCSV(w io.Writer) error {
	out := csv.NewWriter(w)
	out.Write(append([]string{t.Corner}, t.Columns...)) // csv keeps the first error for Error
	for _, r := range t.Rows {
		if len(r.Values) == 0 {
			continue
		}
		line := []string{r.Name}
		for _, v := range r.Values {
			s := ""
			if !math.IsNaN(v) {
				s = strconv.FormatFloat(v, 'g', -1, 64)
			}
			line = append(line, s)
		}
		out.Write(line)
	}
	out.Flush()
	if err := out.Error(); err != nil {
		return fmt.Errorf("write CSV: %w", err)
	}
	return nil
}

func sum(x []int) int {
	n := 0
	for _, v := range x {
		n += v
	}
	return n
}
