package array

import (
	"bufio"
	"bytes"
	"cmp"
	"compress/zlib"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
)

// Variable is one variable of a file. At most one of Array, Cells and Texts has a value.
type Variable struct {
	Name  string
	Class string // as MATLAB names it: double, cell, struct, …
	Shape []int

	Array *Array   // of a numeric or logical class
	Cells []*Array // of a cell array, in column-major order
	Texts []string // of the class char, one for each row, or of a cell array of such rows

	// Unread is why the variable has no value; "" if it has one.
	Unread string
}

const (
	headerSize  = 128
	matlabDims  = 32
	maxElements = 1 << 20 // variables of a file, cells of a variable
)

// reader is the state of reading one file.
type reader struct {
	order  binary.ByteOrder
	want   func(name string) bool
	budget int64 // bytes of data that may still be held
}

// ReadMATLAB reads the variables that want accepts (nil: all), in the order of the file; the others come without a
// value, and with Unread saying so. The data of all variables together may take limit bytes. The first fault ends
// the reading: it is ErrMATLAB, ErrVersion, ErrTruncated or ErrLimit.
func ReadMATLAB(r io.Reader, limit int64, want func(name string) bool) ([]Variable, error) {
	in := bufio.NewReaderSize(r, 1<<16)
	m := &reader{want: want, budget: limit}
	if begin, err := in.Peek(20); err == nil && isVersion4(begin) {
		return m.version4(in)
	}
	if err := m.header(in); err != nil {
		return nil, err
	}
	var list []Variable
	for len(list) < maxElements {
		if _, err := in.Peek(1); errors.Is(err, io.EOF) {
			return list, nil
		}
		v, err := m.element(in)
		if err != nil {
			return nil, fmt.Errorf("variable %d: %w", len(list)+1, err)
		}
		if v != nil {
			list = append(list, *v)
		}
	}
	return nil, fmt.Errorf("%w: more than %d variables", ErrMATLAB, maxElements)
}

// header reads what every file begins with: 116 bytes of text, an offset, version and byte order. The byte order is
// that in which the last two bytes, written as a number, are "MI". Version 7.3 is ErrVersion.
func (m *reader) header(in io.Reader) error {
	var h [headerSize]byte
	if n, err := io.ReadFull(in, h[:]); err != nil {
		if n >= 4 && bytes.HasPrefix(h[:], []byte("MATLAB")) {
			return fmt.Errorf("%w: within the header", ErrTruncated)
		}
		return fmt.Errorf("%w: %d bytes", ErrMATLAB, n)
	}
	switch string(h[126:]) {
	case "IM":
		m.order = binary.LittleEndian
	case "MI":
		m.order = binary.BigEndian
	default:
		return fmt.Errorf("%w: it begins with %q", ErrMATLAB, h[:10])
	}
	if v := m.order.Uint16(h[124:]); v != 0x0100 {
		if v == 0x0200 {
			return fmt.Errorf("%w: version 7.3, which is HDF5", ErrVersion)
		}
		return fmt.Errorf("%w: version %#04x", ErrVersion, v)
	}
	return nil
}

// element reads a top-level element; nil for one that is no variable. Whatever of it was not read is passed over, so
// that the next element begins where it should.
func (m *reader) element(in io.Reader) (*Variable, error) {
	s := &section{in: in, left: -1, order: m.order}
	t, err := s.tag()
	if err != nil {
		return nil, err
	}
	limited := &io.LimitedReader{R: in, N: t.size}
	body := &section{in: limited, left: t.size, order: m.order}
	switch t.kind {
	case miMatrix:
		v, err := m.matrix(body, 0)
		if err == nil {
			err = body.drain()
		}
		return v, err
	case miCompressed:
		v, err := m.compressed(body)
		if err != nil {
			return nil, err
		}
		if _, err := io.Copy(io.Discard, limited); err != nil || limited.N > 0 {
			return nil, streamFault(cmp.Or(err, io.ErrUnexpectedEOF))
		}
		return v, nil
	}
	return nil, body.drain()
}

// compressed reads the one variable in a zlib stream. A variable that is not wanted is inflated no further than its
// name.
func (m *reader) compressed(body *section) (*Variable, error) {
	z, err := zlib.NewReader(body.in)
	if err != nil {
		return nil, streamFault(err)
	}
	inner := &section{in: z, left: -1, order: m.order}
	t, err := inner.tag()
	if err != nil {
		return nil, err
	}
	if t.kind != miMatrix {
		return nil, fmt.Errorf("%w: a compressed element of type %d", ErrMATLAB, t.kind)
	}
	v, err := m.matrix(&section{in: z, left: t.size, order: m.order}, 0)
	if err != nil {
		return nil, err
	}
	if m.wanted(v.Name) && v.Unread == "" {
		// Reading to the end compares the checksum; a bomb ends the budget.
		n, err := io.Copy(io.Discard, io.LimitReader(z, 8))
		if err != nil {
			return nil, streamFault(err)
		}
		if n > 7 {
			return nil, fmt.Errorf("%w: data follow a compressed variable", ErrMATLAB)
		}
	}
	return v, nil
}

// wanted reports whether the caller asked for a variable.
func (m *reader) wanted(name string) bool { return m.want == nil || m.want(name) }

// streamFault tells the end of the file from damage. The first is ErrTruncated, the second ErrMATLAB.
func streamFault(err error) error {
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return fmt.Errorf("%w: within a variable", ErrTruncated)
	}
	return fmt.Errorf("%w: %w", ErrMATLAB, err)
}
