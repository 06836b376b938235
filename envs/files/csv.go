package files

import (
	"bufio"
	"bytes"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"strings"
)

// Limits of a line of a CSV file: more than any table of signals needs, and little memory.
const (
	maxColumns = 1 << 16
	maxLine    = 1 << 22 // bytes
)

// csvRows are the rows of a CSV file.
type csvRows struct {
	in    *csv.Reader
	comma bool // cells may be numbers with a decimal comma
}

// newCSVRows finds the separator and skips a byte order mark.
func newCSVRows(r io.Reader, tabs bool) (*csvRows, error) {
	in := bufio.NewReaderSize(r, 1<<16)
	start, err := in.Peek(1 << 16)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, csvFault(err)
	}
	if bytes.HasPrefix(start, []byte("\xef\xbb\xbf")) {
		if _, err := in.Discard(3); err != nil {
			return nil, csvFault(err)
		}
		start = start[3:]
	}
	if bytes.IndexByte(start, 0) >= 0 {
		return nil, faultf("", "save it as text in UTF-8", "it is no CSV file: it holds zero bytes")
	}
	guard := &lineGuard{r: in, comma: ','}
	c := csv.NewReader(guard)
	c.Comment, c.ReuseRecord, c.TrimLeadingSpace = '#', true, true
	for bytes.HasPrefix(start, []byte("#")) {
		_, start, _ = bytes.Cut(start, []byte("\n"))
	}
	first, _, _ := bytes.Cut(start, []byte("\n"))
	switch {
	case tabs || bytes.IndexByte(first, '\t') >= 0:
		c.Comma, c.TrimLeadingSpace = '\t', false // a leading tab is an empty cell
	case bytes.IndexByte(first, ';') >= 0:
		c.Comma = ';'
	}
	guard.comma = byte(c.Comma)
	return &csvRows{in: c, comma: c.Comma != ','}, nil
}

// next returns the cells of the next row, which are valid until the call after it; io.EOF after the last one.
func (c *csvRows) next() ([]string, error) {
	record, err := c.in.Read()
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, csvFault(err)
	}
	return record, err
}

func (c *csvRows) row() int {
	line, _ := c.in.FieldPos(0)
	return line
}

func (c *csvRows) what() string        { return "line" }
func (c *csvRows) decimalCommas() bool { return c.comma }

// csvFault adds the line to an error of the CSV reader.
func csvFault(err error) error {
	var own *Error
	if errors.As(err, &own) {
		return own
	}
	var p *csv.ParseError
	if errors.As(err, &p) {
		if errors.Is(p.Err, csv.ErrFieldCount) {
			return &Error{
				Place: fmt.Sprintf("line %d", p.Line), Problem: "it does not have as many cells as the header",
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

// headerRemedy says what to do about a table without a column of observations.
func headerRemedy(header []string) string {
	for _, name := range header {
		if _, err := parseNumber(name, false); err == nil && name != "" {
			return "begin with a line of column names, e.g. t,y1,y2,u1"
		}
	}
	return "say which are, e.g. --observe " + strings.Join(header[:min(1, len(header))], "") +
		" (env.observe), and see switchyard data info"
}
