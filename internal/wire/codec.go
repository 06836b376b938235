package wire

import (
	"bytes"
	"errors"
	"fmt"
	"hash/crc32"
	"math"
	"time"

	"github.com/vmihailenco/msgpack/v5"
)

var (
	// ErrMalformed is returned for bytes that are no message, or one that breaks a bound.
	ErrMalformed = errors.New("wire: malformed message")
	// ErrVersion is returned for a message of another protocol version.
	ErrVersion = errors.New("wire: other protocol version")
	// ErrTooLarge is returned when a message does not fit the carrier's payload limit.
	ErrTooLarge = errors.New("wire: message exceeds the payload limit")
)

const (
	// prefix is the number of array elements before the fields: version, kind, run, from, term.
	prefix = 5
)

// around is the number of elements around the fields of a kind: the prefix, the token but for a Refusal, whose form is
// for ever, and the seal.
func around(k Kind) int {
	if k == KindRefusal {
		return prefix + 1
	}
	return prefix + 2
}

// Prefix is the part of a message that every version can read. Together with the seal it never changes.
type Prefix struct {
	Version uint64
	Kind    Kind
	Run     string
	From    string
	Token   uint64 // 0 from a version before FirstKeyed, and in a Refusal
}

// Encoder writes messages into a buffer that it reuses. One goroutine at a time may use it.
type Encoder struct {
	buf     bytes.Buffer
	c       codec
	version uint64
}

// NewEncoder returns an Encoder.
func NewEncoder() *Encoder {
	e := &Encoder{version: Version}
	e.c.enc = msgpack.NewEncoder(&e.buf)
	e.c.enc.UseCompactInts(true)
	e.c.buf = &e.buf
	return e
}

// Encode returns the bytes of m, valid until the next call. A message that breaks a bound is a programmer's error and
// comes back as ErrMalformed.
func (e *Encoder) Encode(m Message) ([]byte, error) {
	e.buf.Reset()
	count := codec{counting: true}
	m.fields(&count)
	c := &e.c
	c.err, c.bulkAt, c.bulkEnd = nil, 0, 0
	c.fail(c.enc.EncodeArrayLen(around(m.Kind()) + count.n))
	kind, h := uint64(m.Kind()), m.Head()
	c.number(&e.version)
	c.number(&kind)
	c.text(&h.Run, MaxName)
	c.text(&h.From, MaxName)
	if m.Kind() == KindRefusal { // its form is for ever, and has one number here
		c.number(&h.Token)
	} else {
		c.number(&h.Term)
		c.number(&h.Token)
	}
	m.fields(c)
	seal := uint64(c.seal(e.buf.Bytes()))
	c.number(&seal)
	if c.err != nil {
		return nil, fmt.Errorf("encode message of kind %d: %w", kind, c.err)
	}
	return e.buf.Bytes(), nil
}

// Peek reads the part that is the same in all versions from a message without a chunk, once its seal is verified.
func Peek(data []byte) (Prefix, error) {
	if !sealed(data) {
		return Prefix{}, fmt.Errorf("%w: it was changed on its way", ErrMalformed)
	}
	c := newReader(data)
	p, n, err := c.prefix()
	if err == nil && p.Version >= FirstKeyed && p.Kind != KindRefusal && n >= prefix+1 {
		var term uint64
		c.number(&term)
		c.number(&p.Token)
		err = c.err
	}
	return p, err
}

// sealed verifies the seal of a message of whatever version, in any of the forms of a msgpack number.
func sealed(data []byte) bool {
	for _, n := range []int{1, 2, 3, 5} {
		at := len(data) - n
		if at < 0 {
			break
		}
		c, got := newReader(data[at:]), uint64(0)
		c.number(&got)
		if c.err == nil && c.r.Len() == 0 && got == uint64(Checksum(data[:at])) {
			return true
		}
	}
	return false
}

// Decode reads one message. Byte fields of the result alias data. It allocates no more than a small multiple of what
// data really holds, whatever lengths data claims; an error wraps ErrMalformed or ErrVersion.
func Decode(data []byte) (Message, error) {
	c := newReader(data)
	p, n, err := c.prefix()
	if err != nil {
		return nil, err
	}
	if (p.Version < Oldest || p.Version > Version) && p.Kind != KindRefusal {
		return nil, fmt.Errorf("%w: message has %d, this program reads %d to %d", ErrVersion, p.Version, Oldest, Version)
	}
	m := newMessage(p.Kind)
	if m == nil {
		return nil, fmt.Errorf("%w: kind %d", ErrMalformed, p.Kind)
	}
	count := codec{counting: true}
	m.fields(&count)
	if n != around(p.Kind)+count.n {
		return nil, fmt.Errorf("%w: %d elements for kind %d", ErrMalformed, n, p.Kind)
	}
	h := m.Head()
	h.Run, h.From = p.Run, p.From
	if p.Kind == KindRefusal {
		c.number(&h.Token)
	} else {
		c.number(&h.Term)
		c.number(&h.Token)
	}
	m.fields(c)
	want, got := c.seal(data[:len(data)-c.r.Len()]), uint64(0)
	c.number(&got)
	if c.err != nil {
		return nil, c.err
	}
	if got != uint64(want) {
		return nil, fmt.Errorf("%w: it was changed on its way", ErrMalformed)
	}
	if c.r.Len() != 0 {
		return nil, fmt.Errorf("%w: %d bytes after the message", ErrMalformed, c.r.Len())
	}
	return m, nil
}

// DecodeFrom is Decode for a message of a worker with that key. The header names the worker by its Name.
func DecodeFrom(key string, data []byte) (Message, error) {
	m, err := Decode(data)
	if err == nil {
		m.Head().From = Name(m.Head().From, key)
	}
	return m, err
}

func newMessage(k Kind) Message {
	switch k {
	case KindIntroduce:
		return new(Introduce)
	case KindHello:
		return new(Hello)
	case KindWelcome:
		return new(Welcome)
	case KindRefusal:
		return new(Refusal)
	case KindFetch:
		return new(Fetch)
	case KindPiece:
		return new(Piece)
	case KindReady:
		return new(Ready)
	case KindTheta:
		return new(Theta)
	case KindNeed:
		return new(Need)
	case KindLease:
		return new(Lease)
	case KindResult:
		return new(Result)
	case KindPull:
		return new(Pull)
	case KindChunk:
		return new(Chunk)
	case KindHeartbeat:
		return new(Heartbeat)
	case KindBye:
		return new(Bye)
	case KindEnd:
		return new(End)
	case KindSeek:
		return new(Seek)
	case KindAssign:
		return new(Assign)
	}
	return nil
}

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

func (c *codec) work(v *Work) {
	x := uint64(*v)
	c.number(&x)
	if !c.counting && c.bound("work", x, uint64(Validate)) {
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
