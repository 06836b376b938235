package store

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"path/filepath"
	"slices"
	"strconv"
	"time"

	"github.com/switchyard-ml/switchyard/internal/disk"
)

// Record is one row of metrics.jsonl. Steps never decrease from row to row. The file keeps times to the millisecond.
type Record struct {
	Step    uint64    `json:"step"`
	Split   string    `json:"split"` // train, validation or evaluation
	Time    time.Time `json:"time"`
	Seconds float64   `json:"seconds"` // since this process began the run
	Values  Values    `json:"values"`
}

// upgrade gives the values of an older release, which called minus the loss "elbo" at every step, their present names.
func (r *Record) upgrade() {
	if v, found := r.Values["elbo"]; found {
		if _, present := r.Values["objective"]; !present {
			r.Values["objective"] = v
			delete(r.Values, "elbo")
		}
	}
}

// Values are named numbers. JSON has them in the order of their names. JSON has no infinities and NaNs, so these are
// strings: "NaN", "+Inf", "-Inf".
type Values map[string]float64

// MarshalJSON implements json.Marshaler.
func (v Values) MarshalJSON() ([]byte, error) {
	names := make([]string, 0, len(v))
	for name := range v {
		names = append(names, name)
	}
	slices.Sort(names)
	b := []byte{'{'}
	for i, name := range names {
		if i > 0 {
			b = append(b, ',')
		}
		key, err := json.Marshal(name)
		if err != nil {
			return nil, fmt.Errorf("encode the name of a metric: %w", err)
		}
		b = append(append(b, key...), ':')
		if x := v[name]; math.IsNaN(x) || math.IsInf(x, 0) {
			b = strconv.AppendQuote(b, strconv.FormatFloat(x, 'g', -1, 64))
		} else {
			b = strconv.AppendFloat(b, x, 'g', -1, 64)
		}
	}
	return append(b, '}'), nil
}

// UnmarshalJSON implements json.Unmarshaler.
func (v *Values) UnmarshalJSON(data []byte) error {
	var raw map[string]json.RawMessage
	if err := json.Unmarshal(data, &raw); err != nil {
		return err
	}
	*v = make(Values, len(raw))
	for name, text := range raw {
		x, err := strconv.ParseFloat(string(bytes.Trim(text, `"`)), 64)
		if err != nil {
			return fmt.Errorf("metric %s: %w", name, err)
		}
		(*v)[name] = x
	}
	return nil
}

// metricsLog appends records to a file. Records that cannot be written stay in memory, in order, and are written
// before the next one. After a failed write the file is cut to the end of the last complete write.
//
// Invariant: the first size bytes of the file, and pending behind them, are whole lines, and the next key of rows is
// above those of all headers in them.
type metricsLog struct {
	path    string
	disk    disk.Disk
	file    disk.File // nil: not opened yet
	size    int64     // of the file, without the pending lines
	pending []byte
	rows    *rowWriter
}

// openMetrics opens the file at path to append to its records. The file is opened for writing with the first record;
// it may be missing.
func openMetrics(d disk.Disk, path string) (*metricsLog, error) {
	l := &metricsLog{path: path, disk: d}
	return l, l.measure()
}

// measure reads the size of the file, and the headers that it and the pending lines have.
func (l *metricsLog) measure() error {
	f, info, err := disk.Open(l.path)
	l.size = 0
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, disk.ErrIrregular) { // the size of a device means nothing
		l.rows = newRowWriter(headersOf(bytes.NewReader(l.pending)))
		return nil
	}
	if err != nil {
		return fmt.Errorf("open the metrics: %w", err)
	}
	l.size = info.Size()
	l.rows = newRowWriter(append(headersOf(f), headersOf(bytes.NewReader(l.pending))...))
	return f.Close()
}

// append adds a record as one line and writes the pending lines. If that fails, the record stays pending.
func (l *metricsLog) append(m Record) error {
	var err error
	if l.pending, err = l.rows.append(l.pending, m); err != nil {
		return err
	}
	return l.write()
}

// write writes all pending lines in one write: a crash can tear only the last line.
func (l *metricsLog) write() error {
	if len(l.pending) == 0 {
		return nil
	}
	if l.file == nil {
		// What a failed write has left behind size is cut off.
		file, err := l.disk.Append(l.path, l.size)
		if err != nil {
			return fmt.Errorf("open the metrics: %w", err)
		}
		l.file = file
	}
	if _, err := l.file.Write(l.pending); err != nil {
		err = errors.Join(err, l.file.Close())
		l.file = nil
		return fmt.Errorf("write %s: %w", l.path, err)
	}
	l.size += int64(len(l.pending))
	l.pending = l.pending[:0]
	return nil
}

// cut drops the records after step. Pending ones are dropped first, then those of the file.
func (l *metricsLog) cut(step uint64) error {
	keep, err := keptLength(bytes.NewReader(l.pending), step)
	if err != nil {
		return err
	}
	l.pending = l.pending[:keep]
	if l.file != nil {
		err = l.file.Close()
		l.file = nil
	}
	// Lines behind size are what a failed write has left of the pending ones.
	if err := errors.Join(err, cutMetrics(l.disk, l.path, l.size, step)); err != nil {
		return err
	}
	return l.measure()
}

// sync writes the pending lines and flushes the file to the disk.
func (l *metricsLog) sync() error {
	if err := l.write(); err != nil || l.file == nil {
		return err
	}
	if err := l.file.Sync(); err != nil {
		return fmt.Errorf("sync %s: %w", l.path, err)
	}
	return nil
}

// close writes the pending lines and closes the file, which the next write opens again. It does not sync.
func (l *metricsLog) close() error {
	err := l.write()
	if l.file != nil {
		err = errors.Join(err, l.file.Close())
		l.file = nil
	}
	return err
}

// cutMetrics shortens the file at path to its records up to step among its first size bytes. A torn last line ends the
// records, and so does a line that is no record. Nothing is written if the file ends there.
func cutMetrics(d disk.Disk, path string, size int64, step uint64) error {
	f, info, err := disk.Open(path)
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, disk.ErrIrregular) { // a device cannot be cut
		return nil
	}
	if err != nil {
		return fmt.Errorf("open the metrics: %w", err)
	}
	keep, err := keptLength(io.LimitReader(f, size), step)
	err = errors.Join(err, f.Close())
	if err == nil && keep < info.Size() {
		var cut disk.File
		if cut, err = d.Append(path, keep); err == nil {
			err = cut.Close()
		}
	}
	if err != nil {
		return fmt.Errorf("cut %s after step %d: %w", path, step, err)
	}
	return nil
}

// keptLength is the length of the lines up to the last record of a step, or before it. Headers behind that record
// are not kept.
func keptLength(r io.Reader, step uint64) (int64, error) {
	lines := bufio.NewReaderSize(r, nearby)
	var keep, at int64
	for {
		line, err := lines.ReadSlice('\n')
		if err == io.EOF || err == bufio.ErrBufferFull { // torn, or no record
			return keep, nil
		}
		if err != nil {
			return 0, err
		}
		at += int64(len(line))
		s, record, err := stepOf(line)
		if err != nil || record && s > step {
			return keep, nil
		}
		if record {
			keep = at
		}
	}
}

// stepOf is the step of a line; a header has none. Only as much of a record is read as is needed for it.
func stepOf(line []byte) (step uint64, record bool, err error) {
	if !json.Valid(line) {
		return 0, false, errLine
	}
	switch {
	case line[0] == '[':
		s := scanner{rest: line[1:]}
		s.integer()
		n := s.integer()
		if s.failed || n < 0 {
			return 0, false, errLine
		}
		return uint64(n), true, nil
	case bytes.HasPrefix(line, headerStart):
		return 0, false, nil
	}
	var r struct{ Step uint64 }
	err = json.Unmarshal(line, &r)
	return r.Step, true, err
}

// ReadMetrics calls each with the records of the named run in order. It leaves out a torn last line. A run without
// the file has no records. What is no record gives ErrDamaged with the number of the line. The error of each ends
// the reading and is returned.
func ReadMetrics(dir, name string, each func(Record) error) error {
	folder, err := find(dir, name)
	if err != nil {
		return err
	}
	f, _, err := disk.Open(filepath.Join(folder, metricsFile))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("%w: open the metrics: %w", ErrDamaged, err)
	}
	lines := bufio.NewReaderSize(f, nearby)
	var d decoder
	for n := 1; ; n++ {
		line, err := lines.ReadSlice('\n')
		if err == io.EOF {
			return f.Close()
		}
		if err == bufio.ErrBufferFull {
			err = errLongLine
		}
		var row *Row
		if err == nil {
			row, err = d.decode(line)
		}
		if err != nil {
			err = fmt.Errorf("%w: %s, line %d: %w", ErrDamaged, f.Name(), n, err)
		}
		if err == nil && row != nil {
			err = each(row.record())
		}
		if err != nil {
			return errors.Join(err, f.Close())
		}
	}
}
