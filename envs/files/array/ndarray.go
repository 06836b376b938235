package array

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"strings"
)

// Kind is the kind of the elements; their width is Array.Size.
type Kind uint8

// The kinds of elements.
const (
	Bool  Kind = iota + 1 // 1 byte, 0 or 1
	Int                   // 1, 2, 4 or 8 bytes, two's complement
	Uint                  // 1, 2, 4 or 8 bytes
	Float                 // 2, 4 or 8 bytes, IEEE 754
	Text                  // code points of 4 bytes each, padded with zeros
)

// Array is an array as it was stored. Whoever holds it owns Raw. Its methods change nothing, and return memory that
// the caller owns.
//
// Invariant, kept by the readers: len(Raw) = Size·Len().
type Array struct {
	Shape []int // nil or empty: a scalar
	Kind  Kind
	// Unit is that of whole numbers that are times since 1970, as D, s or ns; empty: they are numbers.
	Unit        string
	Size        int // bytes of an element
	BigEndian   bool
	ColumnMajor bool // the first index runs fastest, as in Fortran and MATLAB
	Raw         []byte
}

// ErrShape is returned for dimensions that no array in memory can have.
var ErrShape = errors.New("impossible shape")

// maxBytes bounds what an index can address on every platform of interest.
const maxBytes = 1 << 46

// Bytes returns the size of an array with the given shape and element size. It returns ErrShape
// for a negative dimension and for a product beyond any memory; it never overflows.
func Bytes(shape []int, size int) (int64, error) {
	n := int64(size)
	for _, d := range shape {
		if d < 0 {
			return 0, fmt.Errorf("%w: %v has a negative dimension", ErrShape, shape)
		}
		if d == 0 {
			return 0, nil
		}
	}
	for _, d := range shape {
		if int64(d) > maxBytes/n {
			return 0, fmt.Errorf("%w: %v is larger than any memory", ErrShape, shape)
		}
		n *= int64(d)
	}
	return n, nil
}

// Len is the number of elements. A scalar has one.
func (a *Array) Len() int {
	n := 1
	for _, d := range a.Shape {
		n *= d
	}
	return n
}

// Float32s returns the elements in row-major order. A value beyond the range of float32 becomes
// an infinity; the elements of a Text array are code points and of no use.
func (a *Array) Float32s() []float32 {
	dst := make([]float32, a.Len())
	if a.Kind == Float && a.Size == 4 && !a.BigEndian && !a.ColumnMajor {
		for i := range dst {
			dst[i] = math.Float32frombits(binary.LittleEndian.Uint32(a.Raw[4*i:]))
		}
		return dst
	}
	read := a.decoder()
	a.walk(func(i, at int) { dst[i] = float32(read(a.Raw[at:])) })
	return dst
}

// Float64s returns the elements in row-major order. Whole numbers of 8 bytes are rounded from 2⁵³ on. Dates are
// numbers of their Unit.
func (a *Array) Float64s() []float64 {
	dst := make([]float64, a.Len())
	read := a.decoder()
	a.walk(func(i, at int) { dst[i] = read(a.Raw[at:]) })
	return dst
}

// Int64s returns the elements of an array of whole numbers of 8 bytes in row-major order; nil for other arrays. Numbers
// without a sign are negative from 2⁶³ on.
func (a *Array) Int64s() []int64 {
	if a.Size != 8 || a.Kind != Int && a.Kind != Uint {
		return nil
	}
	dst := make([]int64, a.Len())
	order := a.order()
	a.walk(func(i, at int) { dst[i] = int64(order.Uint64(a.Raw[at:])) })
	return dst
}

// Strings returns the elements of a Text array in row-major order, without the padding; nil for other kinds.
func (a *Array) Strings() []string {
	if a.Kind != Text {
		return nil
	}
	dst := make([]string, a.Len())
	order := a.order()
	a.walk(func(i, at int) {
		var b strings.Builder
		for j := 0; j < a.Size; j += 4 {
			if r := order.Uint32(a.Raw[at+j:]); r != 0 {
				b.WriteRune(rune(r))
			}
		}
		dst[i] = b.String()
	})
	return dst
}

// walk calls visit with the row-major index of each element and its place in Raw. In row-major arrays the place is
// i·Size; in column-major ones it is stepped along by the strides.
func (a *Array) walk(visit func(i, at int)) {
	n := a.Len()
	if !a.ColumnMajor || len(a.Shape) < 2 {
		for i := range n {
			visit(i, i*a.Size)
		}
		return
	}
	strides := make([]int, len(a.Shape)) // bytes between neighbours of each dimension
	stride := a.Size
	for k, d := range a.Shape {
		strides[k] = stride
		stride *= d
	}
	index := make([]int, len(a.Shape))
	at := 0
	for i := range n {
		visit(i, at)
		for k := len(index) - 1; k >= 0; k-- {
			index[k]++
			at += strides[k]
			if index[k] < a.Shape[k] {
				break
			}
			at -= index[k] * strides[k]
			index[k] = 0
		}
	}
}

// order is the byte order of the elements.
func (a *Array) order() binary.ByteOrder {
	if a.BigEndian {
		return binary.BigEndian
	}
	return binary.LittleEndian
}

// decoder returns the function that reads the first element of a slice of bytes. A Bool, and a number of one byte
// without a sign, is the byte itself.
func (a *Array) decoder() func([]byte) float64 {
	order := a.order()
	switch a.Size {
	case 1:
		if a.Kind == Int {
			return func(b []byte) float64 { return float64(int8(b[0])) }
		}
		return func(b []byte) float64 { return float64(b[0]) }
	case 2:
		switch a.Kind {
		case Int:
			return func(b []byte) float64 { return float64(int16(order.Uint16(b))) }
		case Float:
			return func(b []byte) float64 { return half(order.Uint16(b)) }
		}
		return func(b []byte) float64 { return float64(order.Uint16(b)) }
	case 8:
		switch a.Kind {
		case Int:
			return func(b []byte) float64 { return float64(int64(order.Uint64(b))) }
		case Float:
			return func(b []byte) float64 { return math.Float64frombits(order.Uint64(b)) }
		}
		return func(b []byte) float64 { return float64(order.Uint64(b)) }
	}
	// Four bytes are left: no reader makes other sizes of numbers.
	switch a.Kind {
	case Int:
		return func(b []byte) float64 { return float64(int32(order.Uint32(b))) }
	case Float:
		return func(b []byte) float64 { return float64(math.Float32frombits(order.Uint32(b))) }
	}
	return func(b []byte) float64 { return float64(order.Uint32(b)) }
}

// half returns the value of an IEEE 754 binary16 number: 1 sign, 5 exponent and 10 fraction bits.
func half(h uint16) float64 {
	sign, exponent, fraction := uint64(h>>15), uint64(h>>10&31), uint64(h&1023)
	switch exponent {
	case 0: // subnormal: fraction·2⁻²⁴, exact in float64
		v := float64(fraction) / (1 << 24)
		if sign == 1 {
			v = -v
		}
		return v
	case 31:
		exponent = 2047
	default:
		exponent += 1023 - 15
	}
	return math.Float64frombits(sign<<63 | exponent<<52 | fraction<<42)
}
