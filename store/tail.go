package store

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/switchyard-ml/switchyard/internal/disk"
)

// Position is a place among the records of a run: after the first Count records of Step. The zero Position is the
// beginning. Clients can keep it: unlike an offset, it stays the same if steps are recorded again.
type Position struct {
	Step  uint64
	Count int
}

// String formats the position as STEP.COUNT.
func (p Position) String() string { return fmt.Sprintf("%d.%d", p.Step, p.Count) }

// ParsePosition is the inverse of String.
func ParsePosition(text string) (Position, error) {
	step, count, _ := strings.Cut(text, ".")
	s, err := strconv.ParseUint(step, 10, 64)
	if err == nil {
		var n uint64
		n, err = strconv.ParseUint(count, 10, 31)
		return Position{s, int(n)}, err
	}
	return Position{}, fmt.Errorf("position %q: want STEP.COUNT: %w", text, err)
}

// behind is the position after one more record.
func (p Position) behind(step uint64) Position {
	if step == p.Step {
		return Position{p.Step, p.Count + 1}
	}
	return Position{step, 1}
}

// Tail reads the records of a run while another process appends them. It holds no file open between two calls, and
// takes no lock. It is not safe for concurrent use.
//
// If placed, the records before offset end at the position at, unless the file was cut since.
type Tail struct {
	path   string
	at     Position
	offset int64 // the offset of at in the file
	placed bool  // offset is known
	lines  decoder
}

// Follow returns a tail of the named run that begins at a position. The file of metrics need not exist yet. A
// position with Count 0 that the run has not reached waits for records to come.
func Follow(dir, name string, from Position) (*Tail, error) {
	folder, err := find(dir, name)
	if err != nil {
		return nil, err
	}
	return &Tail{path: filepath.Join(folder, metricsFile), at: from}, nil
}

// Position is the position of the next record.
func (t *Tail) Position() Position { return t.at }

// Next returns the records that follow, at most limit; none if there are no more yet. If the run has returned to a
// checkpoint before the position, Next returns back and no records. Position is then the end of the records that were
// kept.
func (t *Tail) Next(limit int) (records []Record, back bool, err error) {
	_, back, err = t.Rows(limit, func(r *Row) { records = append(records, r.record()) })
	if err != nil {
		records = nil
	}
	return records, back, err
}

// Rows calls each with the rows that follow, at most limit, and returns how many there were. Otherwise it is like
// Next. The row is overwritten after each returns.
func (t *Tail) Rows(limit int, each func(*Row)) (n int, back bool, err error) {
	f, _, err := disk.Open(t.path)
	if errors.Is(err, fs.ErrNotExist) {
		return 0, false, nil
	}
	if err != nil {
		return 0, false, fmt.Errorf("%w: open the metrics: %w", ErrDamaged, err)
	}
	n, back, err = t.read(f, limit, each)
	if err := errors.Join(err, f.Close()); err != nil {
		return 0, false, fmt.Errorf("read %s: %w", t.path, err)
	}
	return n, back, nil
}

// read reads rows from an open file. A last line that is not complete is left to the next call.
func (t *Tail) read(f *os.File, limit int, each func(*Row)) (n int, back bool, err error) {
	if !t.placed || !startsLine(f, t.offset) {
		back, err = t.place(f)
		if back || err != nil {
			return 0, back, err
		}
	}
	info, err := f.Stat()
	if err != nil {
		return 0, false, err
	}
	left := info.Size() - t.offset
	if left <= 0 {
		return 0, false, nil // most runs have ended: nothing is read, and no buffer made
	}
	lines := bufio.NewReaderSize(io.NewSectionReader(f, t.offset, left), int(min(nearby, left+1)))
	for n < limit {
		line, err := lines.ReadSlice('\n')
		if err == io.EOF {
			break // a torn line is read later
		}
		if err == bufio.ErrBufferFull {
			err = fmt.Errorf("%w: after record %v: %w", ErrDamaged, t.at, errLongLine)
		}
		var r *Row
		if err == nil {
			if r, err = t.decode(f, line); err != nil {
				err = fmt.Errorf("%w: after record %v: %w", ErrDamaged, t.at, err)
			}
		}
		if err != nil {
			return n, false, err
		}
		t.offset += int64(len(line))
		if r == nil {
			continue // a header
		}
		t.at = t.at.behind(r.Step)
		each(r)
		n++
	}
	return n, false, nil
}

// decode reads a line, and all headers of the file if it is behind one that was not read.
func (t *Tail) decode(f io.ReaderAt, line []byte) (*Row, error) {
	r, err := t.lines.decode(line)
	if !errors.Is(err, errUnknownKey) {
		return r, err
	}
	t.lines.learn(headersOf(io.NewSectionReader(f, 0, 1<<62))...)
	return t.lines.decode(line)
}

// startsLine reports whether offset is the beginning of a line. If not, the file was cut.
func startsLine(f *os.File, offset int64) bool {
	if offset == 0 {
		return true
	}
	var before [1]byte
	_, err := f.ReadAt(before[:], offset-1)
	return err == nil && before[0] == '\n'
}

// place finds the offset of the position. If the records end before it, place moves the position to their end and
// returns back. It searches for the step, and then counts records.
func (t *Tail) place(f *os.File) (back bool, err error) {
	info, err := f.Stat()
	if err != nil {
		return false, err
	}
	start, err := before(f, info.Size(), t.at.Step)
	if err != nil {
		return false, err
	}
	at, offset := Position{}, start
	lines := bufio.NewReaderSize(io.NewSectionReader(f, start, info.Size()-start), nearby)
	for {
		line, err := lines.ReadSlice('\n')
		if err == io.EOF {
			back = at != t.at && t.at.Count > 0
			break
		}
		if err == bufio.ErrBufferFull {
			err = errLongLine
		}
		var step uint64
		var record bool
		if err == nil {
			step, record, err = stepOf(line)
		}
		if err != nil {
			return false, fmt.Errorf("%w: behind record %v: %w", ErrDamaged, at, err)
		}
		if !record {
			offset += int64(len(line))
			continue
		}
		next := at.behind(step)
		if next.Step > t.at.Step || next.Step == t.at.Step && next.Count > t.at.Count {
			break
		}
		at, offset = next, offset+int64(len(line))
	}
	if back {
		t.at = at
	}
	t.offset, t.placed = offset, true
	return back, nil
}

// nearby is the number of bytes that are searched line by line. No line of a run is longer.
const nearby = 64 << 10

// before returns the offset of a line near and before the first record of the step, or of a later step. Steps never
// decrease, so a binary search replaces reading the file from its beginning. It reads in the order of log₂(size)
// blocks of nearby bytes.
func before(f io.ReaderAt, size int64, wanted uint64) (int64, error) {
	low, high := int64(0), size
	for high-low > nearby {
		middle := low + (high-low)/2
		lines := bufio.NewReaderSize(io.NewSectionReader(f, middle, high-middle), nearby)
		rest, err := lines.ReadSlice('\n')
		if err == io.EOF {
			high = middle
			continue
		}
		// The middle falls into a line: what is left of it is skipped.
		start := middle + int64(len(rest))
		step, found, err := nextStep(lines, err)
		if err == io.EOF || err == nil && !found {
			high = middle
			continue
		}
		if err != nil {
			return 0, fmt.Errorf("%w: at byte %d: %w", ErrDamaged, middle, err)
		}
		if step < wanted {
			low = start
		} else {
			high = start
		}
	}
	return low, nil
}

// nextStep is the step of the next record. err is the error of the reads before, after which nothing is found.
func nextStep(lines *bufio.Reader, err error) (step uint64, found bool, _ error) {
	for err == nil {
		var line []byte
		if line, err = lines.ReadSlice('\n'); err == nil {
			if step, found, err = stepOf(line); found {
				return step, true, err
			}
		}
	}
	if err == bufio.ErrBufferFull {
		err = errLongLine
	}
	return 0, false, err
}
