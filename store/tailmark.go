package store

import (
	"bufio"
	"bytes"
	"fmt"
	"hash/crc64"
	"io"
	"math"
)

// mark remembers a record that was read, together with the headers before it: where its lines are in the file, and a
// checksum of them. A run appends to its file, or cuts it: if a record is as it was, so is all that is before it.
type mark struct {
	from, end int64
	sum       uint64
}

// behind is an empty mark where another one ends.
func (m mark) behind() mark { return mark{from: m.end, end: m.end} }

// empty reports whether the mark has no lines.
func (m mark) empty() bool { return m.end == m.from }

// holds reports whether the lines are still there. The zero mark always holds.
func (m mark) holds(f io.ReaderAt) (bool, error) {
	sum, size := crc64.New(crc64.MakeTable(crc64.ECMA)), m.end-m.from
	n, err := io.CopyBuffer(sum, io.NewSectionReader(f, m.from, size), make([]byte, min(nearby, size+1)))
	return err == nil && n == size && sum.Sum64() == m.sum, err
}

// pass takes a line behind the last record in, which is a record or a header.
//
// The record behind a header is marked: where a run has gone back, its file goes on with a header. The header alone may
// be the same as before, at the same place; with the record it is not.
func (t *Tail) pass(line []byte, record bool) {
	headed := !t.next.empty()
	t.next.end += int64(len(line))
	t.next.sum = crc64.Update(t.next.sum, crc64.MakeTable(crc64.ECMA), line)
	if !record {
		return
	}
	if headed {
		t.marks = append(t.marks, t.next)
	}
	t.last = t.next
	t.next = t.last.behind()
}

// settle places the tail at a position behind the record that ends at the offset. It learns all from the lines before:
// headers that were read once may have been cut off.
func (t *Tail) settle(f io.ReaderAt, at Position, offset int64) error {
	fresh := Tail{path: t.path, at: at, placed: true}
	lines := bufio.NewReaderSize(io.NewSectionReader(f, 0, offset), int(min(nearby, offset+1)))
	for fresh.last.end < offset {
		line, err := nextLine(lines)
		if err == io.EOF {
			return fmt.Errorf("the file was cut while it was read: %w", io.ErrUnexpectedEOF) // see Tail.look
		}
		if err != nil {
			return fmt.Errorf("%w: at byte %d: %w", ErrDamaged, fresh.next.end, err)
		}
		header := bytes.HasPrefix(line, headerStart)
		if header {
			if h, err := parseHeader(line); err == nil { // else the rows behind it are damage
				fresh.lines.learn(h)
			}
		}
		fresh.pass(line, !header)
	}
	*t = fresh
	return nil
}

// retreat places the tail at the end of the records that are as they were read. The last one is not.
func (t *Tail) retreat(f io.ReaderAt) error {
	from := int64(0)
	for i := len(t.marks) - 1; i >= 0 && from == 0; i-- {
		same, err := t.marks[i].holds(f)
		if err != nil {
			return err
		}
		if same {
			from = t.marks[i].end
		}
	}
	end, err := parting(f, from, t.last.from)
	if err != nil {
		return err
	}
	at, err := positionAt(f, end)
	if err != nil {
		return err
	}
	return t.settle(f, at, end)
}

// parting is the end of the records behind from that a run has kept when it went back: there the lines end, or go on
// with a header that was not read. The first record that is another one begins at the offset last or before it. If
// there is no header up to there, as in the form that was written before rows, nothing says where, and it is from.
func parting(f io.ReaderAt, from, last int64) (int64, error) {
	lines := bufio.NewReaderSize(io.NewSectionReader(f, from, 1<<62), nearby)
	for offset := from; offset <= last; {
		line, err := nextLine(lines)
		if err == io.EOF || err == nil && bytes.HasPrefix(line, headerStart) {
			return offset, nil
		}
		if err != nil {
			return 0, fmt.Errorf("%w: at byte %d: %w", ErrDamaged, offset, err)
		}
		offset += int64(len(line))
	}
	return from, nil
}

// positionAt is the position behind the record that ends at an offset.
func positionAt(f io.ReaderAt, end int64) (Position, error) {
	at := Position{Step: math.MaxUint64}
	for range 2 { // first near the end, for the step; then all records of that step
		start, err := before(f, end, at.Step)
		if err != nil {
			return Position{}, err
		}
		if at, _, _, err = count(f, start, end, Position{math.MaxUint64, math.MaxInt}); err != nil {
			return Position{}, err
		}
	}
	return at, nil
}
