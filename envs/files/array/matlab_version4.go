package array

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"strings"
)

// Version 4 has no header of the file. Each variable begins with five numbers of 32 bits: a type MOPT in decimal digits
// (M the byte order, O zero, P the storage, T full, text or sparse), rows, columns, whether it is complex, and the
// length of the name, which follows with a zero at its end. Then come the values, column by column.

// storage4 are the storages of digit P.
var storage4 = []struct {
	kind Kind
	size int
}{{Float, 8}, {Float, 4}, {Int, 4}, {Int, 2}, {Uint, 2}, {Uint, 1}}

// isVersion4 reports whether a file that begins with these bytes is of version 4: one of the first four is zero, as
// none is in the text that begins a file of version 5, and they are a type.
func isVersion4(begin []byte) bool {
	if len(begin) < 20 || begin[0] != 0 && begin[1] != 0 && begin[2] != 0 && begin[3] != 0 {
		return false
	}
	_, _, err := order4(begin)
	return err == nil
}

// order4 finds the byte order in which a type makes sense. There is at most one: the order is a digit of the type.
func order4(begin []byte) (binary.ByteOrder, uint32, error) {
	for m, order := range []binary.ByteOrder{binary.LittleEndian, binary.BigEndian} {
		if t := order.Uint32(begin); t/1000 == uint32(m) && t/100%10 == 0 && int(t/10%10) < len(storage4) && t%10 <= 2 {
			return order, t, nil
		}
	}
	return nil, 0, fmt.Errorf("%w: a variable begins with %q", ErrMATLAB, begin[:4])
}

// version4 reads the variables of a file of version 4. Variables follow each other to the end of the file.
func (m *reader) version4(in *bufio.Reader) ([]Variable, error) {
	var list []Variable
	for len(list) < maxElements {
		if _, err := in.Peek(1); errors.Is(err, io.EOF) {
			return list, nil
		}
		v, err := m.variable4(in)
		if err != nil {
			return nil, fmt.Errorf("variable %d: %w", len(list)+1, err)
		}
		list = append(list, *v)
	}
	return nil, fmt.Errorf("%w: more than %d variables", ErrMATLAB, maxElements)
}

// variable4 reads the next variable. Texts, sparse and complex ones, and those that nobody asked for, are passed
// over and say why in Unread.
func (m *reader) variable4(in io.Reader) (*Variable, error) {
	var begin [20]byte
	if _, err := io.ReadFull(in, begin[:]); err != nil {
		return nil, streamFault(err)
	}
	order, kind, err := order4(begin[:])
	if err != nil {
		return nil, err
	}
	// Word 0 is the type.
	word := func(i int) int { return int(int32(order.Uint32(begin[4*i:]))) }
	rows, columns, imaginary, length := word(1), word(2), word(3), word(4)
	if length < 1 || length > maxName {
		return nil, fmt.Errorf("%w: a name of %d bytes", ErrMATLAB, length)
	}
	name := make([]byte, length)
	if _, err := io.ReadFull(in, name); err != nil {
		return nil, streamFault(err)
	}
	how := storage4[kind/10%10]
	v := &Variable{
		Name: strings.ToValidUTF8(strings.TrimRight(string(name), "\x00"), "?"), Class: "double",
		Shape: []int{rows, columns},
	}
	size, err := Bytes(v.Shape, how.size)
	if err != nil {
		return nil, v.fault(fmt.Errorf("%w: %w", ErrMATLAB, err))
	}
	// Imaginary parts follow the real ones, in an array of the same size.
	parts := int64(1)
	if imaginary != 0 {
		parts, v.Unread = 2, "it is complex"
	}
	switch {
	case kind%10 == 1:
		v.Class, v.Unread = "char", "it is of the class char"
	case kind%10 == 2:
		v.Class, v.Unread = "sparse", "it is of the class sparse"
	case !m.wanted(v.Name) && v.Unread == "":
		v.Unread = "it was not asked for"
	}
	if v.Unread != "" {
		if n, err := io.CopyN(io.Discard, in, parts*size); err != nil {
			return nil, v.fault(streamFault(fmt.Errorf("%d of %d bytes: %w", n, parts*size, io.ErrUnexpectedEOF)))
		}
		return v, nil
	}
	s := &section{in: in, left: size, order: order}
	raw, err := s.data(tag{size: size}, m.budget)
	if err != nil {
		return nil, v.fault(err)
	}
	m.budget -= size
	v.Array = &Array{
		Shape: v.Shape, Kind: how.kind, Size: how.size, Raw: raw, BigEndian: order == binary.ByteOrder(binary.BigEndian),
		ColumnMajor: true,
	}
	return v, nil
}
