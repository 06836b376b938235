package wire

import (
	"bytes"
	"errors"
	"fmt"

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

// Encoder writes messages into a buffer that it reuses. One goroutine at a time may use it. A long message makes the
// buffer as large, and it stays so.
type Encoder struct {
	buf     bytes.Buffer // of the last message
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
	// The length of the array stands in front, so the fields are counted first.
	count, of := codec{counting: true}, TypeOf(m)
	m.fields(&count)
	c := &e.c
	c.err, c.bulkAt, c.bulkEnd = nil, 0, 0
	c.fail(c.enc.EncodeArrayLen(around(of) + count.n))
	kind, h := uint64(of), m.Head()
	c.number(&e.version)
	c.number(&kind)
	c.text(&h.Run, MaxName)
	c.text(&h.From, MaxName)
	if of == KindRefusal { // its form is for ever, and has one number here
		c.number(&h.Token)
	} else {
		c.number(&h.Term)
		c.number(&h.Token)
	}
	m.fields(c)
	// The seal covers the length of the array, too, which counts the seal itself.
	seal := uint64(c.seal(e.buf.Bytes()))
	c.number(&seal)
	if c.err != nil {
		return nil, fmt.Errorf("encode message of kind %d: %w", kind, c.err)
	}
	return e.buf.Bytes(), nil
}

// Peek reads the part that is the same in all versions from a message without a chunk, once its seal is verified. An
// error wraps ErrMalformed.
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

// KindOf is the kind of a message, and 0 of what is none. Nothing else is verified. A message of another version has
// its kind in the same place, so it is right for all of them.
func KindOf(data []byte) Kind {
	p, _, err := newReader(data).prefix()
	if err != nil {
		return 0
	}
	return p.Kind
}

// sealed verifies the seal of a message of whatever version, in any of the forms of a msgpack number. Where the seal
// begins cannot be told from the front without knowing the fields, so each length of a number is tried.
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
	// An unknown kind comes from a newer program: it is dropped like what is malformed.
	m := newMessage(p.Kind)
	if m == nil {
		return nil, fmt.Errorf("%w: kind %d", ErrMalformed, p.Kind)
	}
	// The number of elements is compared before a field is read: a message of a kind always has the same.
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
	// What has been read up to here is what the seal is over.
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

// DecodeFrom is Decode for a message of a worker with that key. The header names the worker by its Name. The key is
// what the subject says, and so what the broker has proved; nothing in the message can change it.
func DecodeFrom(key string, data []byte) (Message, error) {
	m, err := Decode(data)
	if err == nil {
		m.Head().From = Name(m.Head().From, key)
	}
	return m, err
}
