package store

import (
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strconv"
	"time"
)

// rowWriter turns records into rows, with the headers that they need. A new header is needed for the first record of
// a split, for other metrics, for another begin of the process, and for a value that does not fit into a float32
// where those before did.
type rowWriter struct {
	latest map[string]*header // by split
	keys   int                // of headers so far
}

// newRowWriter goes on behind the given headers. It begins with headers of its own, whose keys are above theirs.
func newRowWriter(have []*header) *rowWriter {
	w := &rowWriter{latest: map[string]*header{}}
	for _, h := range have {
		w.keys = max(w.keys, h.Key+1)
	}
	return w
}

// append appends the row of a record, behind a header if it needs a new one.
func (w *rowWriter) append(b []byte, m Record) ([]byte, error) {
	names := make([]string, 0, len(m.Values))
	for name := range m.Values {
		names = append(names, name)
	}
	slices.Sort(names)
	// A row has the time since began, in whole milliseconds.
	began := m.Time.Add(-time.Duration(m.Seconds * float64(time.Second))).Round(time.Millisecond)
	h := w.latest[m.Split]
	if h == nil || !slices.Equal(h.Columns, names) || h.Began.Sub(began).Abs() > time.Millisecond || !h.fits(m) {
		var err error
		if b, h, err = w.begin(b, h, m, names, began); err != nil {
			return b, err
		}
	}
	b = strconv.AppendInt(append(b, '['), int64(h.Key), 10)
	b = strconv.AppendUint(append(b, ','), m.Step, 10)
	b = strconv.AppendInt(append(b, ','), int64(math.Round(m.Seconds*1000)), 10)
	for i, name := range names {
		b = appendNumber(append(b, ','), m.Values[name], h.single[i])
	}
	return append(b, ']', '\n'), nil
}

// begin appends a header for records like m. A column that once needed more digits than a float32 has keeps them.
func (w *rowWriter) begin(b []byte, last *header, m Record, names []string, began time.Time) ([]byte, *header, error) {
	h := &header{Key: w.keys, Split: m.Split, Began: began.UTC(), Columns: names, single: make([]bool, len(names))}
	for i, name := range names {
		h.single[i] = single(m.Values[name])
		if last != nil && h.single[i] {
			at := slices.Index(last.Columns, name)
			h.single[i] = at < 0 || last.single[at]
		}
		if h.single[i] {
			h.Single = append(h.Single, i)
		}
	}
	line, err := json.Marshal(h)
	if err != nil {
		return b, nil, fmt.Errorf("encode the names of metrics: %w", err)
	}
	w.keys++
	w.latest[m.Split] = h
	return append(append(b, line...), '\n'), h, nil
}

// fits reports whether the columns of single precision hold the values of a record.
func (h *header) fits(m Record) bool {
	for i, name := range h.Columns {
		if h.single[i] && !single(m.Values[name]) {
			return false
		}
	}
	return true
}

// single reports whether a float32 holds the value.
func single(v float64) bool { return float64(float32(v)) == v || math.IsNaN(v) }

// appendNumber appends a value with the fewest digits from which it is read back. What JSON has no number for is text.
func appendNumber(b []byte, v float64, single bool) []byte {
	bits := 64
	if single {
		bits = 32
	}
	if math.IsNaN(v) || math.IsInf(v, 0) {
		return strconv.AppendQuote(b, strconv.FormatFloat(v, 'g', -1, bits))
	}
	format := byte('f')
	if a := math.Abs(v); a != 0 && (a < 1e-4 || a >= 1e15) {
		format = 'e'
	}
	return strconv.AppendFloat(b, v, format, -1, bits)
}
