package checkpoint

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"slices"
)

var (
	// ErrFormat is returned for bytes that are not a complete file of this format, or that contain an unsupported type.
	ErrFormat = errors.New("not a readable tensor file")
	// ErrTensor is returned for a tensor that is missing, has another type or size than expected, or is described
	// wrongly.
	ErrTensor = errors.New("unusable tensor")
)

// Type is the type of a tensor's elements, with its name in the format.
type Type string

// The supported types.
const (
	F32 Type = "F32"
	F64 Type = "F64"
	I64 Type = "I64"
	U8  Type = "U8"
)

// width is the number of bytes of an element; 0 for an unknown type.
func (t Type) width() int {
	switch t {
	case F32:
		return 4
	case F64, I64:
		return 8
	case U8:
		return 1
	}
	return 0
}

// Element is the type of elements in memory: float32 for F32, float64 for F64, int64 for I64, uint8 for U8.
type Element interface {
	float32 | float64 | int64 | uint8
}

// typeOf is the file's type of elements that are T in memory.
func typeOf[T Element]() Type {
	switch any(*new(T)).(type) {
	case float32:
		return F32
	case float64:
		return F64
	case int64:
		return I64
	}
	return U8
}

// Array is a named array. Its elements are in row-major order. A scalar has no dimensions and one element. It refers
// to the memory of whoever made it: to values that are to be written, or to the bytes of a file that was read.
type Array struct {
	Name  string
	Type  Type
	Shape []int

	values any    // set by New: []float32, []float64, []int64 or []uint8
	bytes  []byte // set by Decode: as in the file
}

// New returns a tensor of the given values. It does not copy them: they must not change before the tensor is written.
func New[T Element](name string, shape []int, values []T) Array {
	return Array{Name: name, Type: typeOf[T](), Shape: shape, values: values}
}

// Count is the number of elements.
func (t Array) Count() int {
	switch x := t.values.(type) {
	case []float32:
		return len(x)
	case []float64:
		return len(x)
	case []int64:
		return len(x)
	case []uint8:
		return len(x)
	}
	return len(t.bytes) / max(t.Type.width(), 1)
}

// Values returns a copy of a tensor's elements. It returns ErrTensor if they have another type. Elements are not
// converted to another type.
func Values[T Element](t Array) ([]T, error) {
	x := make([]T, t.Count())
	return x, Copy(x, t)
}

// Copy copies a tensor's elements to dst. It returns ErrTensor if they have another type or number. Bits are kept,
// those of NaNs, too.
func Copy[T Element](dst []T, t Array) error {
	if want := typeOf[T](); t.Type != want {
		return fmt.Errorf("%w: tensor %q has elements of type %s, want %s", ErrTensor, t.Name, t.Type, want)
	}
	if t.Count() != len(dst) {
		return fmt.Errorf("%w: tensor %q has %d elements, want %d", ErrTensor, t.Name, t.Count(), len(dst))
	}
	if x, ok := t.values.([]T); ok {
		copy(dst, x)
		return nil
	}
	decode(dst, t.bytes)
	return nil
}

// decode reads len(dst) elements. src has at least as many bytes as that takes; they need not be aligned.
func decode[T Element](dst []T, src []byte) {
	le := binary.LittleEndian
	switch dst := any(dst).(type) {
	case []float32:
		for i := range dst {
			dst[i] = math.Float32frombits(le.Uint32(src[4*i:]))
		}
	case []float64:
		for i := range dst {
			dst[i] = math.Float64frombits(le.Uint64(src[8*i:]))
		}
	case []int64:
		for i := range dst {
			dst[i] = int64(le.Uint64(src[8*i:]))
		}
	case []uint8:
		copy(dst, src)
	}
}

// encode appends the elements [from, to). They are little-endian; elements of a tensor that was read are copied as
// they are.
func (t Array) encode(dst []byte, from, to int) []byte {
	le := binary.LittleEndian
	switch x := t.values.(type) {
	case []float32:
		for _, v := range x[from:to] {
			dst = le.AppendUint32(dst, math.Float32bits(v))
		}
	case []float64:
		for _, v := range x[from:to] {
			dst = le.AppendUint64(dst, math.Float64bits(v))
		}
	case []int64:
		for _, v := range x[from:to] {
			dst = le.AppendUint64(dst, uint64(v))
		}
	case []uint8:
		dst = append(dst, x[from:to]...)
	default:
		w := t.Type.width()
		dst = append(dst, t.bytes[w*from:w*to]...)
	}
	return dst
}

// countOf is the number of elements of a shape. It returns an error if the number exceeds limit or a dimension is
// negative. A shape without dimensions has one element. The product is never formed beyond limit, so it cannot
// overflow.
func countOf(shape []int, limit int) (int, error) {
	for _, d := range shape {
		if d < 0 {
			return 0, fmt.Errorf("shape %v has a negative dimension", shape)
		}
	}
	if slices.Contains(shape, 0) {
		return 0, nil
	}
	n := 1
	for _, d := range shape {
		if n > limit/d {
			return 0, fmt.Errorf("shape %v has more elements than the %d that there can be", shape, limit)
		}
		n *= d
	}
	return n, nil
}
