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
// A run that returns to a checkpoint cuts its file, and may have passed the position of a tail again when that next
// looks: what was read is compared with what is there. If placed, the headers in lines, the marks and the last one are
// those of the file up to the position at, unless it was cut since.
type Tail struct {
	path   string
	at     Position
	placed bool   // the fields below are known
	last   mark   // of the record before at; it ends where the next line begins
	next   mark   // of the lines behind it that were passed, while records are read
	marks  []mark // of the records behind headers
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
// kept, or before it if the file has no headers.
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

// read reads rows from an open file. A last line that is not complete is left to the next call, and so is a header
// without a record.
func (t *Tail) read(f *os.File, limit int, each func(*Row)) (n int, back bool, err error) {
	size, back, err := t.look(f)
	if back || err != nil {
		return 0, back, err
	}
	left := size - t.last.end
	if left <= 0 {
		return 0, false, nil // most runs have ended: nothing is read, and no buffer made
	}
	lines := bufio.NewReaderSize(io.NewSectionReader(f, t.last.end, left), int(min(nearby, left+1)))
	t.next = t.last.behind()
	for n < limit {
		line, err := nextLine(lines)
		if err == io.EOF {
			break // a torn line is read later
		}
		var r *Row
		if err == nil {
			r, err = t.lines.decode(line)
		}
		if err != nil {
			return n, false, fmt.Errorf("%w: after record %v: %w", ErrDamaged, t.at, err)
		}
		t.pass(line, r != nil)
		if r == nil {
			continue // a header
		}
		t.at = t.at.behind(r.Step)
		each(r)
		n++
	}
	return n, false, nil
}

// looks is how often a file is looked at that a run cuts meanwhile. A run cuts it once, when it goes back.
const looks = 3

// look finds the place of the tail in a file of that size. One that was cut meanwhile is looked at again: nothing was
// read of it yet.
func (t *Tail) look(f *os.File) (size int64, back bool, err error) {
	for range looks {
		info, err := f.Stat()
		if err != nil {
			return 0, false, err
		}
		size = info.Size()
		if back, err = t.find(f, size); !errors.Is(err, io.ErrUnexpectedEOF) {
			return size, back, err
		}
	}
	return size, false, fmt.Errorf("the file was cut while it was read, %d times: %w", looks, io.ErrUnexpectedEOF)
}

// find makes sure that the tail is placed, and that what was read is still there. Otherwise it returns back, at the
// end of the records that are.
func (t *Tail) find(f *os.File, size int64) (back bool, err error) {
	if !t.placed {
		return t.place(f, size)
	}
	same, err := t.last.holds(f)
	if same || err != nil {
		return false, err
	}
	return true, t.retreat(f)
}

// nextLine reads a line. It returns io.EOF at the end, also behind a line that is torn.
func nextLine(lines *bufio.Reader) ([]byte, error) {
	line, err := lines.ReadSlice('\n')
	if err == bufio.ErrBufferFull {
		err = errLongLine
	}
	return line, err
}

// place finds the offset of the position. If the records end before it, place moves the position to their end and
// returns back. It searches for the step, and then counts records.
func (t *Tail) place(f *os.File, size int64) (back bool, err error) {
	start, err := before(f, size, t.at.Step)
	if err != nil {
		return false, err
	}
	at, offset, ended, err := count(f, start, size, t.at)
	if err != nil {
		return false, err
	}
	back = ended && at != t.at && t.at.Count > 0
	if !back {
		at = t.at
	}
	return back, t.settle(f, at, offset)
}

// count counts the records of lines from start to end, up to a position. at and offset are the end of the last of
// them, and ended is set if the lines end there. Records of the first step are counted from start on.
func count(f io.ReaderAt, start, end int64, upTo Position) (at Position, offset int64, ended bool, err error) {
	lines := bufio.NewReaderSize(io.NewSectionReader(f, start, end-start), nearby)
	offset = start
	for behind := start; ; {
		line, err := nextLine(lines)
		if err == io.EOF {
			return at, offset, true, nil
		}
		var step uint64
		var record bool
		if err == nil {
			step, record, err = stepOf(line)
		}
		if err != nil {
			return at, offset, false, fmt.Errorf("%w: behind record %v: %w", ErrDamaged, at, err)
		}
		behind += int64(len(line))
		if !record {
			continue
		}
		next := at.behind(step)
		if next.Step > upTo.Step || next.Step == upTo.Step && next.Count > upTo.Count {
			return at, offset, false, nil
		}
		at, offset = next, behind
	}
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
		if line, err = nextLine(lines); err == nil {
			if step, found, err = stepOf(line); found {
				return step, true, err
			}
		}
	}
	return 0, false, err
}
