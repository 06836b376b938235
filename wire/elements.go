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
//
// The same visit writes and reads a field, so that the two cannot differ. After an error nothing more is written or
// read, and what was read before is of no use.
type codec struct {
	counting bool
	n        int // fields that were counted; a list or a chunk is one

	enc *msgpack.Encoder // nil: it does not write
	buf *bytes.Buffer    // that enc writes to; chunks go there without a copy in between

	dec  *msgpack.Decoder // nil: it does not read; it has no buffer, so that r says where it is
	data []byte           // the whole message
	r    *bytes.Reader    // over data

	bulkAt, bulkEnd int // where in the message the bytes of the chunk are; both 0 if it has none
	err             error
}

// seal is the CRC32C of a message but for its chunk, which has a checksum of its own. message is all that stands
// before the seal. It finds what a network changes by accident. It is no signature: whoever changes a message on
// purpose can seal it anew.
func (c *codec) seal(message []byte) uint32 {
	if c.err != nil {
		return 0
	}
	return crc32.Update(Checksum(message[:c.bulkAt]), castagnoli, message[c.bulkEnd:])
}

// newReader returns a codec that reads a message, of which it keeps nothing but what aliases it.
func newReader(data []byte) *codec {
	r := bytes.NewReader(data)
	return &codec{dec: msgpack.NewDecoder(r), data: data, r: r}
}

// fail notes the first error, as ErrMalformed. A nil error is none.
func (c *codec) fail(err error) {
	if c.err == nil && err != nil {
		c.err = fmt.Errorf("%w: %w", ErrMalformed, err)
	}
}

// bound notes an error for what exceeds a limit, and reports whether all was well so far.
func (c *codec) bound(what string, got, limit uint64) bool {
	if got > limit && c.err == nil {
		c.err = fmt.Errorf("%w: %s %d above %d", ErrMalformed, what, got, limit)
	}
	return c.err == nil
}

// prefix reads the array length and the elements that every version shares. It also returns how many elements the
// array says that it has, which is not compared with the kind yet.
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

// number visits an integer of 64 bits, in the shortest form that msgpack has for it.
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

// flag visits a bool, as 0 or 1.
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

// count visits a number that is not negative and at most limit. A negative one to be written exceeds every limit.
func (c *codec) count(v *int, limit int) {
	x := uint64(*v)
	c.number(&x)
	if !c.counting && c.bound("count", x, uint64(limit)) {
		*v = int(x)
	}
}

// crc visits a checksum of 32 bits.
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

// work visits a Work. 0, which is none, passes: the receiver compares it with what it expects.
func (c *codec) work(v *Work) {
	x := uint64(*v)
	c.number(&x)
	if !c.counting && c.bound("work", x, uint64(Sum)) {
		*v = Work(x)
	}
}

// coding visits a Coding.
func (c *codec) coding(v *Coding) {
	x := uint64(*v)
	c.number(&x)
	if !c.counting && c.bound("coding", x, uint64(Int8)) {
		*v = Coding(x)
	}
}

// duration visits a time in nanoseconds, from 0 to MaxDuration.
func (c *codec) duration(v *time.Duration) {
	x := uint64(*v)
	c.number(&x)
	if !c.counting && c.bound("duration", x, uint64(MaxDuration)) {
		*v = time.Duration(x)
	}
}

// float visits a float32. It may be a NaN or an infinity: the receiver looks.
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

// text visits a string of at most limit bytes, which is copied out of the message.
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

// blob visits bytes, at most limit of them. What is read aliases the message.
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

// digests visits the digests of sections. Their number is bounded here; whether it fits the sections is up to the
// reader of the message.
func (c *codec) digests(v *string) {
	b := []byte(*v)
	c.blob(&b, DigestLength(MaxSections))
	if c.dec != nil {
		*v = string(b)
	}
}

// left is the number of bytes that can still be read; when writing, any number. A list whose items take several bytes
// each bounds its length by it.
func (c *codec) left() int {
	if c.r == nil {
		return math.MaxInt32
	}
	return c.r.Len()
}

// bulk visits a chunk. It notes where its bytes are, as the seal leaves them out: they are read once for their own
// checksum, and no second time. A message has one chunk at most.
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

// take returns the next string or bin without copying it. The length is compared with the limit and with the bytes
// that are left before anything is touched, and the capacity ends with it, so that an append cannot write into the
// message.
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

// list visits a list of items. Reading it never makes room for more items than there are bytes left. As every item
// takes a byte or more, a length that is not backed by bytes is refused before anything is allocated.
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
