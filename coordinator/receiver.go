package coordinator

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

// receiver stores the chunks of gradients. The goroutines that bring them verify and store them, several at a time,
// while the machine does something else; it counts them afterwards. The receiver decides nothing: it stores what the
// machine expects. The machine refuses the rest, and says why.
type receiver struct {
	mu      sync.RWMutex       // held while a chunk is stored, so that nobody writes into a buffer that is closed
	buffers map[uint64]*buffer // by lease
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
	unwanted uint32 = iota
	wanted
	storing
	kept
)

func newReceiver() *receiver { return &receiver{buffers: make(map[uint64]*buffer)} }

// expect lets in the chunks that a command names, from who sends them in this run and term. It opens the buffer of a
// lease at the first of its commands.
func (in *receiver) expect(run string, term uint64, c expectCommand) {
	b := in.buffers[c.lease]
	if b == nil {
		b = &buffer{
			opening: c.opening, from: wire.Header{Run: run, From: c.from, Term: term, Token: c.token}, step: c.step,
			chunks: c.chunks, values: c.values,
		}
		in.open(c.lease, b)
	}
	b.want(c.first, c.end)
}

// open makes a buffer.
func (in *receiver) open(lease uint64, b *buffer) {
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

// close takes a buffer away. From then on nothing is written into its values.
func (in *receiver) close(lease uint64) {
	in.mu.Lock()
	delete(in.buffers, lease)
	in.mu.Unlock()
}

// store puts a chunk where it belongs, and reports whether it was expected and sound, and what it says for the machine.
func (in *receiver) store(msg *wire.Chunk) (stored, bool) {
	in.mu.RLock()
	defer in.mu.RUnlock()
	b := in.buffers[msg.Lease]
	if b == nil || msg.Header != b.from || msg.Step != b.step || msg.Index >= len(b.states) ||
		len(msg.Data) != b.chunks.Bytes(msg.Index) {
		return stored{}, false
	}
	state := &b.states[msg.Index]
	if !state.CompareAndSwap(wanted, storing) {
		return stored{}, false
	}
	if wire.Checksum(msg.Data) != msg.CRC {
		state.Store(wanted)
		return stored{}, false
	}
	from, to := b.chunks.Span(msg.Index)
	b.chunks.Decode(b.values, msg.Index, msg.Data)
	state.Store(kept)
	chunk := *msg
	chunk.Data = nil
	return stored{&chunk, b.opening, kernel.Finite(b.values[from:to])}, true
}

// read stores the chunks that lie in memory, all of them or none. It returns what they say for the machine; nothing if
// they were not all expected, and an error if what lies there is not what the message says.
func (in *receiver) read(msg *wire.ChunksAt, memory io.ReaderAt) ([]stored, error) {
	in.mu.RLock()
	defer in.mu.RUnlock()
	b := in.buffers[msg.Lease]
	if b == nil || msg.Header != b.from || msg.Step != b.step || msg.Count == 0 || msg.First > len(b.states) ||
		msg.Count > len(b.states)-msg.First {
		return nil, nil
	}
	first, end := msg.First, msg.First+msg.Count
	for i := first; i < end; i++ {
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

// read reads chunks of a buffer from memory, on all cores.
func (b *buffer) read(msg *wire.ChunksAt, memory io.ReaderAt) ([]stored, error) {
	list, crcs, errs := make([]stored, msg.Count), make([]uint32, msg.Count), make([]error, msg.Count)
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
			list[at] = stored{
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

// take stores what is a chunk, and returns what the machine is to be given: the message, or what is left of it.
func (in *receiver) take(msg wire.Message) wire.Message {
	if chunk, ok := msg.(*wire.Chunk); ok {
		if s, ok := in.store(chunk); ok {
			return s
		}
	}
	return msg
}
