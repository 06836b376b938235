package wire

import (
	"bytes"
	"fmt"
	"hash/crc32"
	"math"
	"time"

	"github.com/vmihailenco/msgpack/v5"
)

// codec visits the fields of a message: it counts them, writes them (enc is set) or reads them (dec is set). The first
// error sticks.
type codec struct {
	counting bool
	n        int

	enc *msgpack.Encoder
	buf *bytes.Buffer

	dec  *msgpack.Decoder
	data []byte
	r    *bytes.Reader

	bulkAt, bulkEnd int // where in the message the chunk is
	err             error
}

// seal is the CRC32C of a message but for its chunk, which has a checksum of its own.
func (c *codec) seal(message []byte) uint32 {
	if c.err != nil {
		return 0
	}
	return crc32.Update(Checksum(message[:c.bulkAt]), castagnoli, message[c.bulkEnd:])
}

func newReader(data []byte) *codec {
	r := bytes.NewReader(data)
	return &codec{dec: msgpack.NewDecoder(r), data: data, r: r}
}

func (c *codec) fail(err error) {
	if c.err == nil && err != nil {
		c.err = fmt.Errorf("%w: %w", ErrMalformed, err)
	}
}

func (c *codec) bound(what string, got, limit uint64) bool {
	if got > limit && c.err == nil {
		c.err = fmt.Errorf("%w: %s %d above %d", ErrMalformed, what, got, limit)
	}
	return c.err == nil
}

// prefix reads the array length and the elements that every version shares.
func (c *codec) prefix() (Prefix, int, error) {
	n, err := c.dec.DecodeArrayLen()
	c.fail(err)
	if c.err == nil && n < prefix {
		c.err = fmt.Errorf("%w: array of %d elements", ErrMalformed, n)
	}
	var p Prefix
	var kind uint64
	c.number(&p.Version)
	c.number(&kind)
	c.bound("kind", kind, math.MaxUint8)
	p.Kind = Kind(kind)
	c.text(&p.Run, MaxName)
	c.text(&p.From, MaxName)
	return p, n, c.err
}

func (c *codec) number(v *uint64) {
	switch {
	case c.counting:
		c.n++
	case c.err != nil:
	case c.enc != nil:
		c.fail(c.enc.EncodeUint(*v))
	default:
		x, err := c.dec.DecodeUint64()
		c.fail(err)
		*v = x
	}
}

func (c *codec) flag(v *bool) {
	x := uint64(0)
	if *v {
		x = 1
	}
	c.number(&x)
	if !c.counting && c.bound("flag", x, 1) {
		*v = x == 1
	}
}

func (c *codec) count(v *int, limit int) {
	x := uint64(*v)
	c.number(&x)
	if !c.counting && c.bound("count", x, uint64(limit)) {
		*v = int(x)
	}
}

func (c *codec) crc(v *uint32) {
	x := uint64(*v)
	c.number(&x)
	if !c.counting && c.bound("checksum", x, math.MaxUint32) {
		*v = uint32(x)
	}
}

// place visits a place in memory, of which MaxPlace is the end.
func (c *codec) place(v *uint64) {
	x := *v
	c.number(&x)
	if !c.counting && c.bound("place", x, MaxPlace) {
		*v = x
	}
}

func (c *codec) work(v *Work) {
	x := uint64(*v)
	c.number(&x)
	if !c.counting && c.bound("work", x, uint64(Sum)) {
		*v = Work(x)
	}
}

func (c *codec) coding(v *Coding) {
	x := uint64(*v)
	c.number(&x)
	if !c.counting && c.bound("coding", x, uint64(Int8)) {
		*v = Coding(x)
	}
}

func (c *codec) duration(v *time.Duration) {
	x := uint64(*v)
	c.number(&x)
	if !c.counting && c.bound("duration", x, uint64(MaxDuration)) {
		*v = time.Duration(x)
	}
}

func (c *codec) float(v *float32) {
	switch {
	case c.counting:
		c.n++
	case c.err != nil:
	case c.enc != nil:
		c.fail(c.enc.EncodeFloat32(*v))
	default:
		x, err := c.dec.DecodeFloat32()
		c.fail(err)
		*v = x
	}
}

func (c *codec) text(v *string, limit int) {
	switch {
	case c.counting:
		c.n++
	case c.enc != nil:
		if c.bound("text length", uint64(len(*v)), uint64(limit)) {
			c.fail(c.enc.EncodeString(*v))
		}
	default:
		*v = string(c.take(limit))
	}
}

func (c *codec) blob(v *[]byte, limit int) {
	switch {
	case c.counting:
		c.n++
	case c.enc != nil:
		if c.bound("blob length", uint64(len(*v)), uint64(limit)) {
			c.fail(c.enc.EncodeBytesLen(len(*v)))
			c.buf.Write(*v)
		}
	default:
		*v = c.take(limit)
	}
}

// digests visits the digests of sections.
func (c *codec) digests(v *string) {
	b := []byte(*v)
	c.blob(&b, DigestLength(MaxSections))
	if c.dec != nil {
		*v = string(b)
	}
}

// left is the number of bytes that can still be read; when writing, any number.
func (c *codec) left() int {
	if c.r == nil {
		return math.MaxInt32
	}
	return c.r.Len()
}

// bulk visits a chunk.
func (c *codec) bulk(v *[]byte) {
	c.blob(v, MaxChunk)
	switch {
	case c.counting || c.err != nil:
		return
	case c.enc != nil:
		c.bulkEnd = c.buf.Len()
	default:
		c.bulkEnd = len(c.data) - c.r.Len()
	}
	c.bulkAt = c.bulkEnd - len(*v)
}

// take returns the next string or bin without copying it.
func (c *codec) take(limit int) []byte {
	if c.err != nil {
		return nil
	}
	n, err := c.dec.DecodeBytesLen()
	c.fail(err)
	if c.err == nil && n < 0 {
		c.err = fmt.Errorf("%w: nil for bytes", ErrMalformed)
	}
	if c.err != nil || !c.bound("length", uint64(n), uint64(min(limit, c.r.Len()))) {
		return nil
	}
	at := len(c.data) - c.r.Len()
	if _, err := c.r.Seek(int64(n), 1); err != nil {
		c.fail(err)
	}
	return c.data[at : at+n : at+n]
}

// list visits a list of items. Reading it never makes room for more items than there are bytes left.
func list[T any](c *codec, v *[]T, limit int, item func(*T)) {
	switch {
	case c.counting:
		c.n++
		return
	case c.err != nil:
		return
	case c.enc != nil:
		if c.bound("list length", uint64(len(*v)), uint64(limit)) {
			c.fail(c.enc.EncodeArrayLen(len(*v)))
		}
	default:
		n, err := c.dec.DecodeArrayLen()
		c.fail(err)
		if c.err != nil || !c.bound("list length", uint64(max(n, 0)), uint64(min(limit, c.r.Len()))) {
			return
		}
		*v = make([]T, max(n, 0))
	}
	for i := range *v {
		item(&(*v)[i])
	}
}
