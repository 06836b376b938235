package wire

import (
	"encoding/binary"
	"hash/crc32"
	"math"
	"unsafe"
)

// Chunking says how a vector of Size float32 is cut: chunk i holds the elements [i*Elements, (i+1)*Elements), the last
// one what is left.
type Chunking struct{ Size, Elements int }

// NewChunking cuts a vector of size elements into chunks of at most the given number of bytes (at least 4).
func NewChunking(size, bytes int) Chunking {
	return Chunking{Size: size, Elements: max(bytes/4, 1)}
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
	return 4 * (to - from)
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

func alias(x []float32) []byte {
	return unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(x))), 4*len(x))
}

func appendFloats(dst []byte, x []float32) []byte {
	for _, v := range x {
		dst = binary.LittleEndian.AppendUint32(dst, math.Float32bits(v))
	}
	return dst
}

func getFloats(dst []float32, src []byte) {
	for i := range dst {
		dst[i] = math.Float32frombits(binary.LittleEndian.Uint32(src[4*i:]))
	}
}

// castagnoli is the polynomial that CPUs compute in hardware.
var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// Checksum is the CRC32C of a chunk.
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
