package array

import (
	"encoding/binary"
	"fmt"
	"io"
)

// Types of the elements that a file is made of.
const (
	miInt8       = 1
	miUint32     = 6
	miInt32      = 5
	miMatrix     = 14
	miCompressed = 15
	miUTF8       = 16
	miUTF16      = 17
)

// storage maps the types of numeric elements to types of arrays.
var storage = map[uint32]struct {
	kind Kind
	size int
}{
	miInt8: {Int, 1}, 2: {Uint, 1}, 3: {Int, 2}, 4: {Uint, 2},
	miInt32: {Int, 4}, miUint32: {Uint, 4}, 7: {Float, 4}, 9: {Float, 8},
	12: {Int, 8}, 13: {Uint, 8},
}

// A tag begins an element: type and size, a word of four bytes each. A small element of up to four bytes is held by
// its tag: type and size share the first word, the size in its upper half, and the data are the second.
type tag struct {
	kind  uint32
	size  int64
	small []byte // nil: the data follow
}

// section is the part of a file that an element may occupy. Reading beyond it is ErrMATLAB.
type section struct {
	in    io.Reader
	left  int64 // bytes; negative: unknown
	order binary.ByteOrder
}

// read fills dst. The end of the file is ErrTruncated.
func (s *section) read(dst []byte) error {
	if s.left >= 0 && int64(len(dst)) > s.left {
		return fmt.Errorf("%w: a part is longer than the variable", ErrMATLAB)
	}
	if _, err := io.ReadFull(s.in, dst); err != nil {
		return streamFault(err)
	}
	if s.left >= 0 {
		s.left -= int64(len(dst))
	}
	return nil
}

// tag reads the tag of the next element. An element that does not fit into the section is refused.
func (s *section) tag() (tag, error) {
	var b [8]byte
	if err := s.read(b[:]); err != nil {
		return tag{}, err
	}
	first := s.order.Uint32(b[:])
	if n := first >> 16; n != 0 {
		if n > 4 {
			return tag{}, fmt.Errorf("%w: a small part of %d bytes", ErrMATLAB, n)
		}
		return tag{kind: first & 0xffff, size: int64(n), small: append([]byte{}, b[4:4+n]...)}, nil
	}
	t := tag{kind: first, size: int64(s.order.Uint32(b[4:]))}
	if s.left >= 0 && t.size > s.left {
		return tag{}, fmt.Errorf("%w: a part is longer than the variable", ErrMATLAB)
	}
	return t, nil
}

// data reads the data of an element of at most limit bytes, and the padding to a multiple of eight; more are
// ErrLimit. Memory grows with what arrives. The caller owns the result.
func (s *section) data(t tag, limit int64) ([]byte, error) {
	if t.small != nil {
		return t.small, nil
	}
	if t.size > limit {
		return nil, fmt.Errorf("%w: %d bytes of data, %d allowed", ErrLimit, t.size, limit)
	}
	const firstRead = 1 << 20
	data := make([]byte, min(t.size, firstRead))
	for read := 0; ; {
		if err := s.read(data[read:]); err != nil {
			return nil, err
		}
		if read = len(data); int64(read) == t.size {
			break
		}
		grown := make([]byte, min(t.size, 2*int64(read)))
		copy(grown, data)
		data = grown
	}
	return data, s.skip(min((8-t.size%8)%8, s.left))
}

// skip passes over n bytes.
func (s *section) skip(n int64) error {
	if n <= 0 {
		return nil
	}
	if _, err := io.CopyN(io.Discard, s.in, n); err != nil {
		return streamFault(err)
	}
	s.left -= n
	return nil
}

// drain passes over the rest of the section. Of a section of unknown length that is nothing.
func (s *section) drain() error { return s.skip(s.left) }
