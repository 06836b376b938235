package files

import (
	"bufio"
	"bytes"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"
	"unicode/utf8"
)

// Limits of a line of a CSV file: more than any table of signals needs, and little memory.
const (
	maxColumns = 1 << 16
	maxLine    = 1 << 22 // bytes
)

// csvRows are the rows of a CSV file. They are those of RFC 4180, with what programs write beside it: a byte order
// mark, a first line sep=;, tabs, semicolons or bars in place of commas, lines that begin with # as comments, and
// lines that end in a carriage return. Empty lines are skipped.
type csvRows struct {
	in    *csv.Reader
	comma bool // cells may be numbers with a decimal comma

	headless []string // the first line, if it holds no names: it is the first row
	lines    *commentFilter
	begun    bool
	above    int      // comments above the first line
	single   bool     // the first line has one cell
	said     []string // what was done to the text
	text     *decoded
}

// newCSVRows finds the separator and skips a byte order mark. What it finds, it finds in the first 64 KiB; letters that
// are not UTF-8 may come later. The separator is that of a line sep=; or the first of tab, semicolon and, where there
// is no comma, bar that stands in the first line outside of quotes; or else the comma. tabs says that the name of the
// file ends in .tsv. A file with zero bytes, as UTF-16 has them, is refused.
func newCSVRows(r io.Reader, tabs bool) (*csvRows, error) {
	in := bufio.NewReaderSize(r, 1<<16)
	start, err := in.Peek(1 << 16)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, csvFault(err)
	}
	if err == nil { // the text may go on behind a part of a character
		start = wholeCharacters(start)
	}
	text := &decoded{}
	if bytes.HasPrefix(start, []byte("\xef\xbb\xbf")) {
		if _, err := in.Discard(3); err != nil {
			return nil, csvFault(err)
		}
		start, text.unicode = start[3:], true
	}
	if bytes.IndexByte(start, 0) >= 0 {
		return nil, faultf("", "save it as text in UTF-8", "it is no CSV file: it holds zero bytes")
	}
	// A line sep=; is none of names.
	out := &csvRows{text: text}
	given := separator(start)
	if given != 0 {
		_, start, _ = bytes.Cut(start, []byte("\n"))
	}
	text.r, text.western = in, !utf8.Valid(start)
	if bytes.IndexByte(start, '\n') < 0 && bytes.IndexByte(start, '\r') >= 0 {
		text.r, start = returns{in}, bytes.ReplaceAll(start, []byte("\r"), []byte("\n"))
	}
	guard := &lineGuard{r: text, comma: ','}
	out.lines = newCommentFilter(guard, given != 0)
	c := csv.NewReader(out.lines)
	c.ReuseRecord, c.TrimLeadingSpace = true, true
	// The line of names is the first one that is no comment.
	for bytes.HasPrefix(start, []byte("#")) {
		_, start, _ = bytes.Cut(start, []byte("\n"))
	}
	first, _, _ := bytes.Cut(start, []byte("\n"))
	first = unquoted(first)
	switch {
	case given == '\t', given == 0 && (tabs || bytes.IndexByte(first, '\t') >= 0):
		c.Comma, c.TrimLeadingSpace = '\t', false // a leading tab is an empty cell
	case given != 0:
		c.Comma = rune(given)
	case bytes.IndexByte(first, ';') >= 0:
		c.Comma = ';'
	case bytes.IndexByte(first, '|') >= 0 && bytes.IndexByte(first, ',') < 0:
		c.Comma = '|'
	}
	guard.comma, out.lines.comma = byte(c.Comma), byte(c.Comma)
	out.in, out.comma = c, c.Comma != ','
	return out, nil
}

// separator is what a first line such as sep=; says; 0 if it says nothing.
func separator(start []byte) byte {
	line, _, _ := bytes.Cut(start, []byte("\n"))
	word := strings.Trim(strings.Trim(string(line), "\r "), `"`)
	sign, ok := strings.CutPrefix(strings.ToLower(word), "sep=")
	if ok && len(sign) == 1 && (sign[0] > ' ' || sign == "\t") {
		return sign[0]
	}
	return 0
}

// unquoted is a line without what stands within quotes.
func unquoted(line []byte) []byte {
	var rest []byte
	for i, part := range bytes.Split(line, []byte{'"'}) {
		if i%2 == 0 {
			rest = append(rest, part...)
		}
	}
	return rest
}

// notes say what was done to the text. Comments above the names are usual; those below may be rows of data.
func (c *csvRows) notes() []string {
	var said []string
	if c.text.western {
		said = append(said, "the text is not UTF-8: it is read as Windows-1252")
	}
	said = append(said, c.said...)
	switch n := c.comments() - c.above; {
	case n == 1:
		said = append(said, "1 line that begins with # is a comment")
	case n > 1:
		said = append(said, fmt.Sprintf("%d lines that begin with # are comments", n))
	}
	return said
}

// names makes names for the columns of a first line that is numbers or dates. A single column is called y, more are
// column1, column2, …; the line is kept as the first row.
func (c *csvRows) names(first []string) []string {
	c.headless = slices.Clone(first)
	names := make([]string, len(first))
	for i := range names {
		names[i] = columnName("", i)
	}
	if len(names) == 1 {
		names[0] = "y"
	}
	c.said = append(c.said, "the first line holds numbers, not names: it is read as a row, and the columns are called "+
		list(names))
	return names
}

// isRow reports whether a first line holds numbers, or numbers and dates, but no count of columns such as 0, 1, 2;
// counted says that it is such a count. Only the first cell may be a date.
func isRow(cells []string, commas bool) (row, counted bool) {
	counts, numbers := true, 0
	for i, cell := range cells {
		text := strings.TrimSpace(cell)
		v, err := parseNumber(text, commas)
		if err == nil && text != "" {
			numbers++
			counts = counts && v == float64(i)+math.Trunc(first(cells, commas))
			continue
		}
		var c clock
		if _, err := c.read(text); err != nil || text == "" || i > 0 {
			return false, false
		}
		counts = false
	}
	return numbers > 0 && !counts, numbers > 0 && counts
}

// first is the number in the first cell.
func first(cells []string, commas bool) float64 {
	v, _ := parseNumber(strings.TrimSpace(cells[0]), commas)
	return v
}

// next returns the cells of the next row, which are valid until the call after it; io.EOF after the last one.
func (c *csvRows) next() ([]string, error) {
	if c.headless != nil && c.begun {
		record := c.headless
		c.headless = nil
		return record, nil
	}
	record, err := c.in.Read()
	// The first line decides whether there are names.
	if err == nil && !c.begun {
		c.begun, c.above = true, c.comments()
		row, counted := isRow(record, c.comma)
		if row {
			return c.names(record), nil
		}
		if counted { // it may have been meant as a row
			c.said = append(c.said, fmt.Sprintf("the first line (%s) is taken for column numbers", list(record)))
		}
		c.single = len(record) == 1
	}
	// A title above the names is a line of one cell.
	if err != nil && c.single && errors.Is(err, csv.ErrFieldCount) {
		return nil, &Error{
			Place: "line 1", Problem: "it is no line of column names: those below have more columns",
			Remedy: "leave out the lines before the names, or begin them with #", cause: err,
		}
	}
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, csvFault(err)
	}
	return record, err
}

// row is the number of the line on which the last row begins.
func (c *csvRows) row() int {
	line, _ := c.in.FieldPos(0)
	return line
}

// comments is how many lines up to the last row were comments.
func (c *csvRows) comments() int { return c.lines.comments }

func (c *csvRows) what() string        { return "line" }
func (c *csvRows) decimalCommas() bool { return c.comma }

// csvFault adds the line to an error of the CSV reader. An error of this package stays as it is.
func csvFault(err error) error {
	var own *Error
	if errors.As(err, &own) {
		return own
	}
	var p *csv.ParseError
	if errors.As(err, &p) {
		if errors.Is(p.Err, csv.ErrFieldCount) {
			return &Error{
				Place: fmt.Sprintf("line %d", p.Line), Problem: "its number of cells differs from that of the header",
				Remedy: "give every line as many cells as the header", cause: err,
			}
		}
		return &Error{
			Place: fmt.Sprintf("line %d, byte %d", p.Line, p.Column), Problem: p.Err.Error(),
			Remedy: "put it right, or leave the line out", cause: err,
		}
	}
	return &Error{Problem: err.Error(), cause: err}
}

// lineGuard refuses lines that are too long for a table before they are held in memory.
type lineGuard struct {
	r       io.Reader
	comma   byte
	length  int // of the line so far
	columns int
}

// Read passes on what it reads, and counts bytes and separators up to the end of each line. Separators within quotes
// count too.
func (g *lineGuard) Read(p []byte) (int, error) {
	n, err := g.r.Read(p)
	for rest := p[:n]; len(rest) > 0; {
		line, after, ended := bytes.Cut(rest, []byte("\n"))
		g.length += len(line)
		g.columns += bytes.Count(line, []byte{g.comma})
		switch {
		case g.length > maxLine:
			return 0, faultf("", "split it into lines", "a line has more than %d bytes", maxLine)
		case g.columns >= maxColumns:
			return 0, faultf("", "", "a line has more than %d columns", maxColumns)
		}
		if ended {
			g.length, g.columns = 0, 0
		}
		rest = after
	}
	return n, err
}
