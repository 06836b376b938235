package store

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"time"
)

// Row is a record as its line has it: Values[i] is the metric Names[i]. Rows of one kind share Names, and the next
// row overwrites Values. Seconds are those since the process began the run.
type Row struct {
	Step    uint64
	Split   string
	Time    time.Time
	Seconds float64
	Names   []string // must not be changed
	Values  []float64
}

// record is the row as a record of its own. It shares no memory with the row.
func (r *Row) record() Record {
	values := make(Values, len(r.Names))
	for i, name := range r.Names {
		values[name] = r.Values[i]
	}
	return Record{Step: r.Step, Split: r.Split, Time: r.Time, Seconds: r.Seconds, Values: values}
}

// header is a line that says what the rows behind it mean that begin with its key:
//
//	{"key":0,"split":"train","began":"2026-01-01T00:00:00Z","columns":["loss","objective"],"single":[0,1]}
//	[0,1,312,7.0896,-7.0896]
//
// A row is its key, the step, the milliseconds since the process began the run, and the values. A header holds to
// the end of the file; a process that goes on, or a record with other metrics, begins another one with a new key.
type header struct {
	Key     int       `json:"key"`
	Split   string    `json:"split"`
	Began   time.Time `json:"began"`
	Columns []string  `json:"columns"`
	Single  []int     `json:"single,omitempty"` // columns of float32, written with the digits that those need

	single []bool
}

// headerStart begins every header, and no record of the older form.
var headerStart = []byte(`{"key":`)

// errLine is returned for a line of none of the three forms.
var errLine = errors.New("neither a record nor a header")

// parseHeader reads a header, with or without its newline.
func parseHeader(line []byte) (*header, error) {
	h := &header{}
	if err := json.Unmarshal(line, h); err != nil {
		return nil, err
	}
	h.single = make([]bool, len(h.Columns))
	for _, i := range h.Single {
		if i < 0 || i >= len(h.Columns) {
			return nil, fmt.Errorf("%w: column %d of %d", errLine, i, len(h.Columns))
		}
		h.single[i] = true
	}
	return h, nil
}

// errLongLine is returned for a line that is longer than any that a run writes.
var errLongLine = fmt.Errorf("a line of more than %d bytes", nearby)

// headersOf are the headers among the lines that a reader gives. What cannot be read ends them.
func headersOf(r io.Reader) []*header {
	var list []*header
	lines := bufio.NewReaderSize(r, nearby)
	for {
		line, err := lines.ReadSlice('\n')
		if err != nil {
			return list
		}
		if bytes.HasPrefix(line, headerStart) {
			if h, err := parseHeader(line); err == nil {
				list = append(list, h)
			}
		}
	}
}

// decoder reads lines of metrics.jsonl. It reads the rows of files in this form and in the older one, one object for
// each record. Its zero value is ready; several goroutines may not use it at the same time.
type decoder struct {
	headers map[int]*header // by key
	row     Row
	old     []string // names of the latest record of the older form
}

// learn takes headers in. A later header replaces one with the same key.
func (d *decoder) learn(list ...*header) {
	if d.headers == nil {
		d.headers = map[int]*header{}
	}
	for _, h := range list {
		d.headers[h.Key] = h
	}
}

// decode reads a line. It returns nil for a header. The row is overwritten by the next call.
func (d *decoder) decode(line []byte) (*Row, error) {
	line = bytes.TrimSuffix(line, []byte{'\n'})
	switch {
	case len(line) > 0 && line[0] == '[':
		return d.numbers(line)
	case bytes.HasPrefix(line, headerStart):
		h, err := parseHeader(line)
		if err == nil {
			d.learn(h)
		}
		return nil, err
	}
	if d.older(line) {
		return &d.row, nil
	}
	var r Record
	if err := json.Unmarshal(line, &r); err != nil {
		return nil, err
	}
	r.upgrade()
	names := slices.Sorted(maps.Keys(r.Values))
	d.row = Row{Step: r.Step, Split: r.Split, Time: r.Time, Seconds: r.Seconds, Names: names, Values: d.row.Values[:0]}
	for _, name := range names {
		d.row.Values = append(d.row.Values, r.Values[name])
	}
	return &d.row, nil
}

// numbers reads a row behind its header. It has as many values as its header has columns, no more and no fewer.
func (d *decoder) numbers(line []byte) (*Row, error) {
	s := scanner{rest: line[1:]}
	key, step, ms := s.integer(), s.integer(), s.integer()
	if s.failed {
		return nil, errLine
	}
	h := d.headers[int(key)]
	if h == nil {
		return nil, errors.New("row of an unknown header")
	}
	d.row.Step, d.row.Split, d.row.Names = uint64(step), h.Split, h.Columns
	d.row.Time, d.row.Seconds = h.Began.Add(time.Duration(ms)*time.Millisecond), float64(ms)/1000
	d.row.Values = d.row.Values[:0]
	for i := range h.Columns {
		bits := 64
		if h.single[i] {
			bits = 32
		}
		d.row.Values = append(d.row.Values, s.float(bits))
	}
	if s.failed || !s.ended || len(s.rest) > 0 || step < 0 {
		return nil, errLine
	}
	return &d.row, nil
}

// scanner reads the elements of a list of numbers. After a fault, failed stays set, and what is returned means
// nothing.
type scanner struct {
	rest          []byte // behind the opening bracket or the last comma
	ended, failed bool
}

// next cuts the next element off. ended is set when it was the last one.
func (s *scanner) next() []byte {
	i := 0
	for i < len(s.rest) && s.rest[i] != ',' && s.rest[i] != ']' && s.rest[i] != '}' {
		i++
	}
	if i == len(s.rest) || s.ended {
		s.failed = true
		return nil
	}
	element := s.rest[:i]
	s.ended = s.rest[i] != ','
	s.rest = s.rest[i+1:]
	return element
}

// integer reads a whole number.
func (s *scanner) integer() int64 {
	v, err := strconv.ParseInt(string(s.next()), 10, 64)
	s.failed = s.failed || err != nil
	return v
}

// float reads a number, or as text what JSON has no number for. bits is 32 or 64, the precision in which it was
// written.
func (s *scanner) float(bits int) float64 {
	text := s.next()
	if n := len(text); n > 1 && text[0] == '"' && text[n-1] == '"' {
		text = text[1 : n-1]
	}
	v, err := strconv.ParseFloat(string(text), bits)
	s.failed = s.failed || err != nil
	return v
}
