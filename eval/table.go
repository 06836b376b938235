package eval

import (
	"encoding/csv"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/switchyard-ml/switchyard/internal/terminal"
)

// Table is a rectangle of numbers with named rows and columns. It prints for people with
// WriteText and for programs with WriteCSV.
type Table struct {
	Title    string   // one line above the table; may be empty
	Corner   string   // heading of the row names
	Marks    []string // headings of texts before the columns, as a date
	Columns  []string // headings
	Rows     []Row
	Marked   [][]string // the texts of each row; a row may have none
	Decimals int        // digits after the point in WriteText
	Digits   int        // significant digits in WriteText, in place of Decimals; 0: Decimals
	Whole    []string   // columns of whole numbers, which WriteText prints without decimals
	Notes    []string   // lines below the table
}

// Row is one line of a table. A NaN is a missing value, which text shows as a dash and CSV as nothing. A Row
// without values is a rule that separates groups of rows.
type Row struct {
	Name   string
	Values []float64
}

// column adds a column. The rows of a table that has none are numbered from 1, as horizons are. There are at least
// as many values as rows; more are left out.
func (t *Table) column(name string, values []float64) {
	if t.Rows == nil {
		for i := range values {
			t.Rows = append(t.Rows, Row{Name: strconv.Itoa(i + 1)})
		}
	}
	t.Columns = append(t.Columns, name)
	for i := range t.Rows {
		t.Rows[i].Values = append(t.Rows[i].Values, values[i])
	}
}

// estimates adds a column and one of its standard errors.
func (t *Table) estimates(name string, e []Estimate) {
	t.column(name, values(e))
	t.column(name+"_se", errorsOf(e))
}

// pick adds a row with the values of a curve at some horizons, NaN beyond its last. Horizons count from 1.
func (t *Table) pick(name string, curve []float64, horizons []int) {
	row := Row{Name: name}
	for _, k := range horizons {
		v := math.NaN()
		if k <= len(curve) {
			v = curve[k-1]
		}
		row.Values = append(row.Values, v)
	}
	t.Rows = append(t.Rows, row)
}

// paper adds the published rows below a rule, if there are any. Columns that a row has no value for are missing.
func (t *Table) paper(rows []Published) {
	for i, p := range rows {
		if i == 0 {
			t.Rows = append(t.Rows, Row{})
		}
		cells := append(slices.Clip(p.Values), missing(len(t.Columns))...)
		t.Rows = append(t.Rows, Row{strings.TrimSuffix("paper: "+p.Name, ": "), cells[:len(t.Columns)]})
	}
}

// marks are the texts of row i, as many as there are headings.
func (t Table) marks(i int) []string {
	list := make([]string, len(t.Marks))
	if i < len(t.Marked) {
		copy(list, t.Marked[i])
	}
	return list
}

// WriteText prints the table in aligned columns with fixed decimals, missing values as a dash. An error is that of
// w.
func (t Table) WriteText(w io.Writer) error {
	if t.Title != "" {
		if _, err := fmt.Fprintln(w, t.Title); err != nil {
			return fmt.Errorf("write table: %w", err)
		}
	}
	table := terminal.NewTable(slices.Concat([]string{t.Corner}, t.Marks, t.Columns)...).Ruled("─")
	for i, r := range t.Rows {
		if len(r.Values) == 0 {
			table.Rule()
			continue
		}
		row := append([]string{r.Name}, t.marks(i)...)
		for j, v := range r.Values {
			row = append(row, t.cell(j, v))
		}
		table.Row(row...)
	}
	if _, err := table.WriteTo(w); err != nil {
		return err
	}
	for _, n := range t.Notes {
		if _, err := fmt.Fprintln(w, n); err != nil {
			return fmt.Errorf("write table: %w", err)
		}
	}
	return nil
}

// cell prints a value of a column: without decimals in the columns of Whole, with Digits significant digits if
// they are set (nine decimals at most), else with Decimals.
func (t Table) cell(column int, v float64) string {
	if math.IsNaN(v) {
		return "–"
	}
	decimals := t.Decimals
	if column < len(t.Columns) && slices.Contains(t.Whole, t.Columns[column]) {
		decimals = 0
	} else if t.Digits > 0 && v != 0 && !math.IsInf(v, 0) {
		decimals = min(max(t.Digits-1-int(math.Floor(math.Log10(math.Abs(v)))), 0), 9)
	} else if t.Digits > 0 {
		decimals = 0
	}
	return strconv.FormatFloat(v, 'f', decimals, 64)
}

// WriteCSV writes a header and one line per row, numbers in the shortest form that reads back to
// the same value and missing values empty. Title, notes and rules are left out. An error is that of w, wrapped.
func (t Table) WriteCSV(w io.Writer) error {
	out := csv.NewWriter(w)
	out.Write(slices.Concat([]string{t.Corner}, t.Marks, t.Columns)) // csv keeps the first error for Error
	for i, r := range t.Rows {
		if len(r.Values) == 0 {
			continue
		}
		line := append([]string{r.Name}, t.marks(i)...)
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
