package wire

import (
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"io"
	"math"
	"unsafe"

	"github.com/switchyard-ml/switchyard/autodiff/kernel"
)

// Coding is the form of a vector's elements on the wire.
type Coding uint8

// Float32 are four bytes, little-endian; Int16 are two, Int8 one, of whole numbers.
const (
	Float32 Coding = iota
	Int16
	Int8
)

// Width is the number of bytes of an element. It is that of Float32 for an unknown coding, which no decoder lets in.
func (c Coding) Width() int {
	switch c {
	case Int16:
		return 2
	case Int8:
		return 1
	}
	return 4
}

// Chunking says how a vector of Size elements is cut: chunk i holds the elements [i*Elements, (i+1)*Elements), the
// last one what is left. Size counts elements, whatever their coding; a chunk of the same elements has fewer bytes as
// integers.
type Chunking struct {
	Size, Elements int
	Coding         Coding
}

// NewChunking cuts a vector of size float32 into chunks of at most the given number of bytes (at least 4).
func NewChunking(size, bytes int) Chunking { return Float32.Chunking(size, bytes) }

// Chunking cuts a vector of size elements into chunks of at most the given number of bytes, or of one element.
func (c Coding) Chunking(size, bytes int) Chunking {
	return Chunking{Size: size, Elements: max(bytes/c.Width(), 1), Coding: c}
}

// Whole takes a vector of size elements as one chunk.
func (c Coding) Whole(size int) Chunking {
	return Chunking{Size: size, Elements: max(size, 1), Coding: c}
}

// Count is the number of chunks; 0 for an empty vector.
func (c Chunking) Count() int { return (c.Size + c.Elements - 1) / c.Elements }

// Span returns the elements [from, to) of chunk i.
func (c Chunking) Span(i int) (from, to int) {
	return i * c.Elements, min((i+1)*c.Elements, c.Size)
}

// Bytes is the length of chunk i on the wire.
func (c Chunking) Bytes(i int) int {
	from, to := c.Span(i)
	return c.Coding.Width() * (to - from)
}

// Sound reports whether data have the length of chunk i and the checksum that is said.
func (c Chunking) Sound(i int, data []byte, crc uint32) bool {
	return len(data) == c.Bytes(i) && Checksum(data) == crc
}

// Encode returns the bytes of chunk i of x. It writes them to room, if that has the capacity; those of float32 may be
// x itself, and are to be read soon. x holds whole numbers within the range of the coding, unless that is Float32.
func (c Chunking) Encode(room []byte, x []float32, i int) []byte {
	from, to := c.Span(i)
	if c.Coding == Float32 {
		return FloatBytes(x[from:to])
	}
	n := c.Bytes(i)
	if cap(room) < n {
		room = make([]byte, n)
	}
	if room = room[:n]; c.Coding == Int8 {
		putInt8(room, x[from:to])
	} else {
		kernel.PutInt16(room, x[from:to])
	}
	return room
}

// ReadAt reads chunk i of x from bytes that lie elsewhere, from a place on, and returns their checksum. It uses the
// room if it has the capacity, and returns it. Others may change those bytes meanwhile: the checksum is that of what
// is in x. If less can be read than the chunk has, the error says so, and x may hold a part of it.
func (c Chunking) ReadAt(from io.ReaderAt, place int64, x []float32, i int, room []byte) (sum uint32, used []byte,
	err error,
) {
	begin, end := c.Span(i)
	n, direct := c.Bytes(i), c.Coding == Float32 && littleEndian()
	// Float32 is read into x itself where the byte order fits, so that nothing is copied twice.
	data := room
	switch {
	case direct:
		data = alias(x[begin:end])
	case cap(room) < n:
		data = make([]byte, n)
	}
	data = data[:n]
	if got, err := from.ReadAt(data, place); got < n {
		return 0, room, fmt.Errorf("read chunk %d: %w", i, err)
	}
	sum = Checksum(data)
	if direct {
		return sum, room, nil
	}
	c.Decode(x, i, data)
	return sum, data, nil
}

// Decode reads chunk i of x from its bytes, of which there must be Bytes(i). It keeps nothing of data. The caller has
// checked the length.
func (c Chunking) Decode(x []float32, i int, data []byte) {
	from, to := c.Span(i)
	switch c.Coding {
	case Int16:
		kernel.GetInt16(x[from:to], data)
	case Int8:
		getInt8(x[from:to], data)
	default:
		GetFloats(x[from:to], data)
	}
}

// putInt8 writes whole numbers within int8. The compiler's code is fast enough: a sum is packed once a step.
func putInt8(dst []byte, src []float32) {
	for i, v := range src {
		dst[i] = byte(int32(v))
	}
}

// getInt8 reads as many int8 as dst is long.
func getInt8(dst []float32, src []byte) {
	for i := range dst {
		dst[i] = float32(int8(src[i]))
	}
}

// ChecksumOf is the checksum of a vector that is sent in chunks: see Combine. It is 0 for an empty vector.
func (c Chunking) ChecksumOf(x []float32) uint32 {
	if len(x) == 0 {
		return 0
	}
	var room []byte
	crcs := make([]uint32, c.Count())
	for i := range crcs {
		data := c.Encode(room, x, i)
		if crcs[i] = Checksum(data); c.Coding != Float32 {
			room = data
		}
	}
	return Combine(crcs)
}

// littleEndian is known when compiling.
func littleEndian() bool { return binary.NativeEndian.Uint16([]byte{1, 0}) == 1 }

// FloatBytes returns the little-endian bytes of x. They are x itself where the machine is little-endian, and a copy
// elsewhere: they are to be read, and soon.
func FloatBytes(x []float32) []byte {
	if littleEndian() {
		return alias(x)
	}
	return appendFloats(make([]byte, 0, 4*len(x)), x)
}

// GetFloats reads little-endian float32 from src into dst; len(src) must be 4*len(dst).
func GetFloats(dst []float32, src []byte) {
	if littleEndian() {
		copy(alias(dst), src[:4*len(dst)])
		return
	}
	getFloats(dst, src)
}

// alias is the memory of x as bytes, which stay those of x: whoever writes either writes both.
func alias(x []float32) []byte {
	return unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(x))), 4*len(x))
}

// appendFloats appends x to dst, four little-endian bytes each, on a machine of whatever byte order.
func appendFloats(dst []byte, x []float32) []byte {
	for _, v := range x {
		dst = binary.LittleEndian.AppendUint32(dst, math.Float32bits(v))
	}
	return dst
}

// getFloats is GetFloats for a machine of whatever byte order.
func getFloats(dst []float32, src []byte) {
	for i := range dst {
		dst[i] = math.Float32frombits(binary.LittleEndian.Uint32(src[4*i:]))
	}
}

// castagnoli is the polynomial that CPUs compute in hardware.
var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// Checksum is the CRC32C of a chunk. It finds what a network changes by accident, and nothing that somebody made to
// fit.
func Checksum(data []byte) uint32 { return crc32.Checksum(data, castagnoli) }

// Combine is the checksum of a vector: the CRC32C of its chunks' checksums in order, each as four little-endian bytes.
func Combine(chunks []uint32) uint32 {
	var sum uint32
	var b [4]byte
	for _, c := range chunks {
		binary.LittleEndian.PutUint32(b[:], c)
		sum = crc32.Update(sum, castagnoli, b[:])
	}
	return sum
}
