package files

import (
	"bufio"
	"bytes"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"

	"github.com/switchyard-ml/switchyard/envs"
)

// maxColumns is the largest number of columns of a CSV file.
const maxColumns = 1 << 16

// table collects the rows of a CSV file into episodes.
type table struct {
	in      *csv.Reader
	options Options
	header  []string
	roles   []role
	data    *Dataset

	open    *rows           // the episode that is being read; nil before the first row
	closed  map[string]bool // names of the episodes before it
	hasTime bool
}

// rows are the rows of one episode.
type rows struct {
	id    string
	lines []int
	time  []float64
	part  Part
	observations, controls,
	states, labels, mask []float32
	modes []int32
}

// readCSV reads a file with one episode, or with several that a column distinguishes.
func readCSV(r io.Reader, tabs bool, options Options) (*Dataset, error) {
	in, err := newCSVReader(r, tabs)
	if err != nil {
		return nil, err
	}
	t := &table{in: in, options: options, data: &Dataset{Spec: envs.Spec{Name: "files"}}, closed: map[string]bool{}}
	if err := t.readHeader(); err != nil {
		return nil, err
	}
	for {
		record, err := t.in.Read()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, csvFault(err)
		}
		if err := t.row(record); err != nil {
			return nil, err
		}
	}
	if t.open == nil {
		return nil, faultf("", "", "there are no rows below the header")
	}
	return t.data, t.close()
}

// newCSVReader finds the separator and skips a byte order mark.
func newCSVReader(r io.Reader, tabs bool) (*csv.Reader, error) {
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
	c := csv.NewReader(in)
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
	return c, nil
}

// csvFault adds the line to an error of the CSV reader.
func csvFault(err error) error {
	var own *Error
	if errors.As(err, &own) {
		return own
	}
	var p *csv.ParseError
	if errors.As(err, &p) {
		remedy := "put it right, or leave the line out"
		if errors.Is(p.Err, csv.ErrFieldCount) {
			remedy = "give every line as many cells as the header"
		}
		return &Error{Place: fmt.Sprintf("line %d, column %d", p.Line, p.Column), Problem: p.Err.Error(), Remedy: remedy, cause: err}
	}
	return &Error{Problem: err.Error(), cause: err}
}

func (t *table) readHeader() error {
	header, err := t.in.Read()
	if errors.Is(err, io.EOF) {
		return faultf("", "begin with a line of column names, e.g. t,y1,y2,u1", "it is empty")
	}
	if err != nil {
		return csvFault(err)
	}
	if len(header) > maxColumns {
		return faultf("line 1", "", "%d columns, at most %d are read", len(header), maxColumns)
	}
	byRole := map[role][]string{}
	seen := map[string]bool{}
	for _, cell := range header {
		name := strings.TrimSpace(cell)
		column := t.options.renamed(name)
		r := roleOf(column)
		if r != unused && seen[column] {
			return faultf("line 1", "give every column its own name", "column %s is there twice", column)
		}
		seen[column] = true
		if r == unused {
			t.data.Notes = append(t.data.Notes, fmt.Sprintf("column %s is not used", name))
		}
		t.header, t.roles = append(t.header, name), append(t.roles, r)
		byRole[r] = append(byRole[r], column)
	}
	if len(byRole[observation]) == 0 {
		return faultf("line 1", headerRemedy(t.header), "no column is an observation (y, y1, y_name); the columns are %s", list(t.header))
	}
	d := t.data
	d.Spec.Observation, d.ObservationNames = len(byRole[observation]), channelNames(byRole[observation])
	d.Spec.Control, d.ControlNames = len(byRole[control]), channelNames(byRole[control])
	d.Spec.State, d.StateNames = len(byRole[state]), channelNames(byRole[state])
	for i, c := range byRole[label] {
		if names := channelNames(byRole[label]); names != nil {
			c = names[i]
		}
		d.Spec.Labels = append(d.Spec.Labels, c)
	}
	t.hasTime = len(byRole[timeOf]) > 0
	return nil
}

func headerRemedy(header []string) string {
	for _, name := range header {
		if _, err := strconv.ParseFloat(name, 64); err == nil {
			return "begin with a line of column names, e.g. t,y1,y2,u1"
		}
	}
	return "rename them: --rename NAME=y_NAME"
}

// row adds a row to its episode.
func (t *table) row(record []string) error {
	line, _ := t.in.FieldPos(0)
	id, found := "", false
	for i, r := range t.roles {
		if r == episodeID {
			id, found = strings.TrimSpace(record[i]), true
		}
	}
	if found && id == "" {
		return faultf(fmt.Sprintf("line %d", line), "number the episodes", "the episode is empty")
	}
	if t.open != nil && t.open.id != id {
		if err := t.close(); err != nil {
			return err
		}
	}
	if t.open == nil {
		if t.closed[id] {
			return faultf(fmt.Sprintf("line %d", line), "sort the rows by episode", "episode %s goes on after another one began", id)
		}
		t.open = &rows{id: id, part: Unassigned}
	}
	t.open.lines = append(t.open.lines, line)
	for i, cell := range record {
		if err := t.cell(i, strings.TrimSpace(cell)); err != nil {
			return err
		}
	}
	return nil
}

// cell adds the value of column i to the open episode.
func (t *table) cell(i int, text string) error {
	e, r := t.open, t.roles[i]
	if r == unused || r == episodeID {
		return nil
	}
	if r == partOf {
		part, ok := parsePart(text)
		if !ok {
			return t.cellFault(i, "use training, validation or test", "%q is no part of a split", text)
		}
		if len(e.lines) > 1 && part != e.part {
			return t.cellFault(i, "split by episode", "the episode began as %s", e.part)
		}
		e.part = part
		return nil
	}
	v, err := parseNumber(text)
	if err != nil {
		return t.cellFault(i, "write decimals with a point, and leave missing values empty", "%q is no number", text)
	}
	switch r {
	case timeOf:
		e.time = append(e.time, v)
	case maskOf:
		if v != 0 && v != 1 {
			return t.cellFault(i, "use 1 for observed and 0 for missing", "the value is %q", text)
		}
		e.mask = append(e.mask, float32(v))
	case modeOf:
		z, ok := wholeNumber(v, math.MinInt16, math.MaxInt16)
		if !ok {
			return t.cellFault(i, "number the modes 0, 1, 2, …", "the mode is %q", text)
		}
		e.modes = append(e.modes, int32(z))
	default:
		return t.signal(i, r, v)
	}
	return nil
}

func (t *table) signal(i int, r role, v float64) error {
	e := t.open
	if math.Abs(v) > math.MaxFloat32 {
		return t.cellFault(i, "leave it empty if it is missing, or scale the channel", "the value %v is beyond the range of float32", v)
	}
	if math.IsNaN(v) && (r == state || r == label) {
		return t.cellFault(i, "leave the column out, or fill it in", "the value is missing")
	}
	switch x := float32(v); r {
	case observation:
		e.observations = append(e.observations, x)
	case control:
		e.controls = append(e.controls, x)
	case state:
		e.states = append(e.states, x)
	case label:
		e.labels = append(e.labels, x)
	}
	return nil
}

func (t *table) cellFault(i int, remedy, format string, args ...any) error {
	line, column := t.in.FieldPos(i)
	place := fmt.Sprintf("line %d, column %d (%s)", line, column, t.header[i])
	return faultf(place, remedy, format, args...)
}

// parseNumber reads a number. The usual texts for a missing value give NaN.
func parseNumber(text string) (float64, error) {
	switch strings.ToLower(text) {
	case "", "na", "n/a", "nan", "null", "none":
		return math.NaN(), nil
	}
	v, err := strconv.ParseFloat(text, 64)
	if errors.Is(err, strconv.ErrRange) {
		err = nil // an infinity; it is refused later, with its name
	}
	return v, err
}
