package exchange

import (
	"errors"
	"fmt"
	"io"
	"sync"
	"sync/atomic"

	"github.com/switchyard-ml/switchyard/autodiff/kernel"
	"github.com/switchyard-ml/switchyard/internal/vector"
	"github.com/switchyard-ml/switchyard/wire"
)

// Receiver stores the chunks of gradients. The goroutines that bring them verify and store them, several at a time,
// while the machine does something else; it counts them afterwards. The receiver decides nothing: it stores what the
// machine expects. The machine refuses the rest, and says why.
type Receiver struct {
	mu      sync.RWMutex       // held while a chunk is stored, so that nobody writes into a buffer that is closed
	buffers map[uint64]*buffer // by lease
}

// Expectation lets the chunks [First, End) of a lease in, from the worker named. They are stored in Values, which
// belong to the receiver until Close. Opening is the number of the delivery: a lease may be pulled anew, and what was
// stored before does not count then.
type Expectation struct {
	Lease, Opening uint64
	From           string
	Token          uint64
	Step           uint64
	First, End     int
	Chunks         wire.Chunking
	Values         []float32
}

// Stored says that a chunk was expected, is sound, and is stored in the delivery of that number. The chunk has no data.
type Stored struct {
	*wire.Chunk
	Opening uint64
	Finite  bool // there is neither a NaN nor an infinity among its values
}

// buffer is the place of a lease's gradient.
type buffer struct {
	opening uint64
	from    wire.Header // of the chunks that belong here
	step    uint64
	chunks  wire.Chunking
	values  []float32
	// states are those of the chunks.
	// Invariant: only the goroutine that has moved a chunk from wanted to storing writes its values, and none is stored
	// twice.
	states []atomic.Uint32
}

// The states of a chunk in its buffer.
const (
	unwanted uint32 = iota // not asked for yet
	wanted                 // asked for, and not here
	storing                // a goroutine is writing it
	kept                   // here; what comes again is not stored
)

// NewReceiver returns a receiver that expects nothing.
func NewReceiver() *Receiver { return &Receiver{buffers: make(map[uint64]*buffer)} }

// Expect lets in the chunks that a command names, from who sends them in this run and term. It opens the buffer of a
// lease at the first of its commands. It is called by the goroutine of the machine alone, as Close is.
func (in *Receiver) Expect(run string, term uint64, c Expectation) {
	b := in.buffers[c.Lease]
	if b == nil {
		b = &buffer{
			opening: c.Opening, from: wire.Header{Run: run, From: c.From, Term: term, Token: c.Token}, step: c.Step,
			chunks: c.Chunks, values: c.Values,
		}
		in.open(c.Lease, b)
	}
	b.want(c.First, c.End)
}

// open makes a buffer.
func (in *Receiver) open(lease uint64, b *buffer) {
	b.states = make([]atomic.Uint32, b.chunks.Count())
	in.mu.Lock()
	in.buffers[lease] = b
	in.mu.Unlock()
}

// want lets the chunks [first, end) in.
func (b *buffer) want(first, end int) {
	for i := first; i < end; i++ {
		b.states[i].Store(wanted)
	}
}

// Close takes a buffer away. From then on nothing is written into its values. It waits for chunks that are being
// stored.
func (in *Receiver) Close(lease uint64) {
	in.mu.Lock()
	delete(in.buffers, lease)
	in.mu.Unlock()
}

// Store puts a chunk where it belongs, and reports whether it was expected and sound, and what it says for the
// machine. A chunk of another worker, term, step or length is not stored, and changes nothing.
func (in *Receiver) Store(msg *wire.Chunk) (Stored, bool) {
	in.mu.RLock()
	defer in.mu.RUnlock()
	b := in.buffers[msg.Lease]
	if b == nil || msg.Header != b.from || msg.Step != b.step || msg.Index >= len(b.states) ||
		len(msg.Data) != b.chunks.Bytes(msg.Index) {
		return Stored{}, false
	}
	state := &b.states[msg.Index]
	if !state.CompareAndSwap(wanted, storing) {
		return Stored{}, false
	}
	// The checksum is formed once the chunk is this goroutine's: a flood of copies costs no more than the comparison.
	if wire.Checksum(msg.Data) != msg.CRC {
		state.Store(wanted)
		return Stored{}, false
	}
	from, to := b.chunks.Span(msg.Index)
	b.chunks.Decode(b.values, msg.Index, msg.Data)
	state.Store(kept)
	// The data belong to whoever lent them, and end with this call.
	chunk := *msg
	chunk.Data = nil
	return Stored{&chunk, b.opening, kernel.Finite(b.values[from:to])}, true
}

// Read stores the chunks that lie in memory, all of them or none. It returns what they say for the machine; nothing
// if they were not all expected, and an error if what lies there is not what the message says. The other process can
// change its memory at any time, so what counts is the checksum of what was copied. After an error the chunks are
// wanted as before.
func (in *Receiver) Read(msg *wire.ChunksAt, memory io.ReaderAt) ([]Stored, error) {
	in.mu.RLock()
	defer in.mu.RUnlock()
	b := in.buffers[msg.Lease]
	if b == nil || msg.Header != b.from || msg.Step != b.step || msg.Count == 0 || msg.First > len(b.states) ||
		msg.Count > len(b.states)-msg.First {
		return nil, nil
	}
	first, end := msg.First, msg.First+msg.Count
	for i := first; i < end; i++ {
		// All or none: those that were taken are given back.
		if !b.states[i].CompareAndSwap(wanted, storing) {
			b.want(first, i)
			return nil, nil
		}
	}
	list, err := b.read(msg, memory)
	if err != nil {
		b.want(first, end)
		return nil, err
	}
	for i := first; i < end; i++ {
		b.states[i].Store(kept)
	}
	return list, nil
}

// read reads chunks of a buffer from memory, on all cores. The places that the message names are bounded by the
// memory itself.
func (b *buffer) read(msg *wire.ChunksAt, memory io.ReaderAt) ([]Stored, error) {
	list, crcs, errs := make([]Stored, msg.Count), make([]uint32, msg.Count), make([]error, msg.Count)
	origin, _ := b.chunks.Span(msg.First)
	vector.Ranges(msg.Count, max(1, vector.Elements/b.chunks.Elements), func(begin, end int) {
		var room []byte
		for at := begin; at < end; at++ {
			i := msg.First + at
			from, to := b.chunks.Span(i)
			place := int64(msg.At) + int64(b.chunks.Coding.Width())*int64(from-origin)
			crcs[at], room, errs[at] = b.chunks.ReadAt(memory, place, b.values, i, room)
			if errs[at] != nil {
				return
			}
			list[at] = Stored{
				&wire.Chunk{Header: msg.Header, Lease: msg.Lease, Step: msg.Step, Index: i, CRC: crcs[at]}, b.opening,
				kernel.Finite(b.values[from:to]),
			}
		}
	})
	if err := errors.Join(errs...); err != nil {
		return nil, fmt.Errorf("shared memory of %s: %w", msg.From, err)
	}
	if wire.Combine(crcs) != msg.Sum {
		return nil, fmt.Errorf("shared memory of %s: chunks %d+%d of its lease %d do not have the checksum that it says",
			msg.From, msg.First, msg.Count, msg.Lease)
	}
	return list, nil
}

// Take stores what is a chunk, and returns what the machine is to be given: the message, or what is left of it.
func (in *Receiver) Take(msg wire.Message) wire.Message {
	if chunk, ok := msg.(*wire.Chunk); ok {
		if s, ok := in.Store(chunk); ok {
			return s
		}
	}
	return msg
}
