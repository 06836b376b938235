package array

import (
	"encoding/binary"
	"fmt"
	"strings"
	"unicode/utf16"
)

// classes names the classes of variables by their number.
var classes = []string{
	"", "cell", "struct", "object", "char", "sparse", "double", "single",
	"int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64", "function", "opaque",
}

const (
	classCell   = 1
	classChar   = 4
	classSparse = 5
	classDouble = 6
	classUint64 = 15

	flagComplex = 0x08
	flagLogical = 0x02

	maxName = 1 << 12
)

// matrix reads a variable, or a cell of one at depth 1, from the section that holds it. Its parts are flags,
// dimensions, name, and data by class. What is not read stays in the section.
func (m *reader) matrix(s *section, depth int) (*Variable, error) {
	// MATLAB writes a cell that was never set as an element without parts: it is the empty array [].
	if s.left == 0 && depth > 0 {
		return &Variable{Class: "double", Shape: []int{0, 0}, Array: &Array{
			Shape: []int{0, 0}, Kind: Float,
			Size: 8,
		}}, nil
	}
	class, flags, err := s.flags()
	if err != nil {
		return nil, err
	}
	v := &Variable{Class: fmt.Sprintf("class %d", class)}
	if class > 0 && class < len(classes) {
		v.Class = classes[class]
	}
	if flags&flagLogical != 0 && class != classSparse {
		v.Class = "logical"
	}
	if class > classUint64 { // function handles and objects have parts of their own
		v.Unread = "it is of the class " + v.Class
		return v, nil
	}
	if v.Shape, err = s.shape(); err != nil {
		return nil, err
	}
	if v.Name, err = s.name(); err != nil {
		return nil, err
	}
	if depth == 0 && !m.wanted(v.Name) {
		v.Unread = "it was not asked for"
		return v, nil
	}
	switch {
	case class == classCell && depth == 0:
		return v, m.cells(s, v)
	case class == classChar:
		return v, m.text(s, v)
	case flags&flagComplex != 0:
		v.Unread = "it is complex"
	case class >= classDouble:
		return v, m.numbers(s, v)
	default:
		v.Unread = "it is of the class " + v.Class
	}
	return v, nil
}

// flags reads the part that says what a variable is. Its first word holds the class in the lowest byte and the flags
// in the next.
func (s *section) flags() (class int, flags byte, err error) {
	t, err := s.tag()
	if err != nil {
		return 0, 0, err
	}
	if t.kind != miUint32 || t.size != 8 {
		return 0, 0, fmt.Errorf("%w: a variable begins with type %d of %d bytes", ErrMATLAB, t.kind, t.size)
	}
	b, err := s.data(t, 8)
	if err != nil {
		return 0, 0, err
	}
	word := s.order.Uint32(b)
	return int(word & 0xff), byte(word >> 8), nil
}

// shape reads the dimensions, two to 32 whole numbers of 32 bits with a sign. Bytes refuses negative ones.
func (s *section) shape() ([]int, error) {
	t, err := s.tag()
	if err != nil {
		return nil, err
	}
	if t.kind != miInt32 || t.size < 8 || t.size > 4*matlabDims || t.size%4 != 0 {
		return nil, fmt.Errorf("%w: dimensions of type %d in %d bytes", ErrMATLAB, t.kind, t.size)
	}
	b, err := s.data(t, 4*matlabDims)
	if err != nil {
		return nil, err
	}
	var shape []int
	for i := 0; i < len(b); i += 4 {
		shape = append(shape, int(int32(s.order.Uint32(b[i:]))))
	}
	return shape, nil
}

// name reads the name of a variable, up to 4 KiB; empty within a cell array. Bytes that are no UTF-8 become question
// marks.
func (s *section) name() (string, error) {
	t, err := s.tag()
	if err != nil {
		return "", err
	}
	if t.kind != miInt8 && t.kind != miUTF8 || t.size > maxName {
		return "", fmt.Errorf("%w: a name of type %d in %d bytes", ErrMATLAB, t.kind, t.size)
	}
	b, err := s.data(t, maxName)
	return strings.ToValidUTF8(string(b), "?"), err
}

// numbers reads the elements of a numeric array. MATLAB stores them in the smallest type that holds all values. So
// the Array has the type of the file, which may be narrower than the class says. Its Shape is that of the variable.
func (m *reader) numbers(s *section, v *Variable) error {
	t, err := s.tag()
	if err != nil {
		return v.fault(err)
	}
	how, ok := storage[t.kind]
	if !ok {
		return v.fault(fmt.Errorf("%w: data of type %d", ErrMATLAB, t.kind))
	}
	size, err := Bytes(v.Shape, how.size)
	if err != nil {
		return v.fault(fmt.Errorf("%w: %w", ErrMATLAB, err))
	}
	// The file says the size twice: both have to agree before memory is taken.
	if size != t.size {
		return v.fault(fmt.Errorf("%w: shape %v takes %d bytes, the file has %d", ErrMATLAB, v.Shape, size, t.size))
	}
	raw, err := s.data(t, m.budget)
	if err != nil {
		return v.fault(err)
	}
	m.budget -= size
	v.Array = &Array{
		Shape: v.Shape, Kind: how.kind, Size: how.size, Raw: raw,
		BigEndian: s.order == binary.ByteOrder(binary.BigEndian), ColumnMajor: true,
	}
	return nil
}

// text reads a char array, a text for each row without the spaces that fill it up. It may take 1 MiB in the file.
func (m *reader) text(s *section, v *Variable) error {
	t, err := s.tag()
	if err != nil {
		return v.fault(err)
	}
	b, err := s.data(t, min(m.budget, 1<<20))
	if err != nil {
		return v.fault(err)
	}
	m.budget -= int64(len(b))
	var units []uint16
	switch t.kind {
	case 4, miUTF16: // MATLAB writes 16-bit code units as uint16
		for i := 0; i+1 < len(b); i += 2 {
			units = append(units, s.order.Uint16(b[i:]))
		}
	default:
		units = utf16.Encode([]rune(strings.ToValidUTF8(string(b), "?")))
	}
	// Rows lie in the file column by column. Letters of other numbers than the shape says are one row.
	rows := v.Shape[0]
	if n, err := Bytes(v.Shape, 1); err != nil || n != int64(len(units)) || n == 0 {
		rows = 1
	}
	for r := range rows {
		var row []uint16
		for i := r; i < len(units); i += rows {
			row = append(row, units[i])
		}
		v.Texts = append(v.Texts, strings.TrimRight(string(utf16.Decode(row)), " "))
	}
	return nil
}

// cells reads the cells of a cell array: all of them are arrays of numbers, or all are texts of one row. Other cells
// make the variable unread. Cells have the order of the file, column by column.
func (m *reader) cells(s *section, v *Variable) error {
	n, err := Bytes(v.Shape, 1)
	if err != nil || n > maxElements {
		return v.fault(fmt.Errorf("%w: a cell array of shape %v", ErrMATLAB, v.Shape))
	}
	for i := range int(n) {
		t, err := s.tag()
		if err != nil {
			return v.fault(err)
		}
		if t.kind != miMatrix || t.small != nil {
			return v.fault(fmt.Errorf("%w: cell %d is of type %d", ErrMATLAB, i+1, t.kind))
		}
		inner := &section{in: s.in, left: t.size, order: s.order}
		cell, err := m.matrix(inner, 1)
		if err == nil {
			err = inner.drain()
		}
		if err != nil {
			return v.fault(fmt.Errorf("cell %d: %w", i+1, err))
		}
		// inner has read from the stream of s, which counts only what it reads itself.
		s.left -= t.size
		switch {
		case len(cell.Texts) == 1 && v.Cells == nil:
			v.Texts = append(v.Texts, cell.Texts[0])
		case cell.Array != nil && v.Texts == nil:
			v.Cells = append(v.Cells, cell.Array)
		case v.Unread == "":
			v.Unread = fmt.Sprintf("its cell %d is of the class %s", i+1, cell.Class)
		}
	}
	if v.Unread != "" {
		v.Cells, v.Texts = nil, nil
	}
	return nil
}

// fault adds the name of the variable to an error.
func (v *Variable) fault(err error) error { return fmt.Errorf("%s: %w", v.Name, err) }
