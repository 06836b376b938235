package array

import (
	"encoding/binary"
	"fmt"
	"io"
	"math"
	"strings"
	"unicode/utf8"
)

// A Type is an element type with numpy's name, little-endian. Types that have one byte have no byte order, which |
// says.
type Type string

// The supported types.
const (
	Float32   Type = "<f4"
	Float64   Type = "<f8"
	Int64     Type = "<i8"
	Uint8     Type = "|u1"
	BoolArray Type = "|b1"
)

// TextArray is the type of strings of up to n characters. An element takes 4·n bytes, in UTF-32.
func TextArray(n int) Type { return Type(fmt.Sprintf("<U%d", n)) }

// WriteHeader writes everything before the data of a row-major array, padded to a multiple of 64 bytes as in numpy.
// The caller writes the data in the order of the shape. It is a header of version 1.0, which holds up to 64 KiB.
// Without a shape the array is a scalar.
func WriteHeader(w io.Writer, t Type, shape []int) error {
	var dims strings.Builder
	for _, d := range shape {
		fmt.Fprintf(&dims, "%d, ", d)
	}
	list := strings.TrimSuffix(dims.String(), " ")
	if len(shape) != 1 {
		list = strings.TrimSuffix(list, ",") // Python needs it only in a tuple with one element
	}
	text := fmt.Sprintf("{'descr': '%s', 'fortran_order': False, 'shape': (%s), }", t, list)
	padding := 63 - (len(magic)+4+len(text))%64
	text += strings.Repeat(" ", padding) + "\n"
	header := append([]byte(magic), 1, 0)
	header = binary.LittleEndian.AppendUint16(header, uint16(len(text)))
	_, err := w.Write(append(header, text...))
	return err
}

// WriteFloat32s writes data of the type Float32. It may be called several times for the parts of an array, and holds
// 16 KiB of bytes at a time.
func WriteFloat32s(w io.Writer, data []float32) error {
	buffer := make([]byte, 0, 4*min(len(data), 1<<12))
	for len(data) > 0 {
		n := min(len(data), 1<<12)
		buffer = buffer[:0]
		for _, v := range data[:n] {
			buffer = binary.LittleEndian.AppendUint32(buffer, math.Float32bits(v))
		}
		if _, err := w.Write(buffer); err != nil {
			return err
		}
		data = data[n:]
	}
	return nil
}

// WriteFloat64s writes data of the type Float64. It holds all bytes of data at once; so do WriteInts and
// WriteStrings.
func WriteFloat64s(w io.Writer, data []float64) error {
	buffer := make([]byte, 0, 8*len(data))
	for _, v := range data {
		buffer = binary.LittleEndian.AppendUint64(buffer, math.Float64bits(v))
	}
	_, err := w.Write(buffer)
	return err
}

// WriteInts writes data of the type Int64.
func WriteInts(w io.Writer, data []int64) error {
	buffer := make([]byte, 0, 8*len(data))
	for _, v := range data {
		buffer = binary.LittleEndian.AppendUint64(buffer, uint64(v))
	}
	_, err := w.Write(buffer)
	return err
}

// WriteStrings writes a whole array: header and data. Without a shape it has one dimension. The type is as wide as
// the longest text.
func WriteStrings(w io.Writer, data []string, shape ...int) error {
	if len(shape) == 0 {
		shape = []int{len(data)}
	}
	a, err := Texts(data, math.MaxInt64)
	if err == nil {
		err = WriteHeader(w, TextArray(a.Size/4), shape)
	}
	if err == nil {
		_, err = w.Write(a.Raw)
	}
	return err
}

// Texts is an array of one dimension of the given texts. All are as wide as the longest; if they take more than limit
// bytes so, it returns ErrLimit.
func Texts(data []string, limit int64) (*Array, error) {
	width := 1
	for _, s := range data {
		width = max(width, utf8.RuneCountInString(s))
	}
	if size := 4 * int64(width) * int64(len(data)); size > limit {
		return nil, fmt.Errorf("%w: %d bytes of text, %d allowed", ErrLimit, size, limit)
	}
	buffer := make([]byte, 0, 4*width*len(data))
	for _, s := range data {
		n := 0
		for _, r := range s {
			buffer = binary.LittleEndian.AppendUint32(buffer, uint32(r))
			n++
		}
		buffer = append(buffer, make([]byte, 4*(width-n))...)
	}
	return &Array{Shape: []int{len(data)}, Kind: Text, Size: 4 * width, Raw: buffer}, nil
}

// WriteFloat64 writes a whole array without dimensions: one number.
func WriteFloat64(w io.Writer, v float64) error {
	if err := WriteHeader(w, Float64, nil); err != nil {
		return err
	}
	_, err := w.Write(binary.LittleEndian.AppendUint64(nil, math.Float64bits(v)))
	return err
}
