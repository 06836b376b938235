package coordinator

import (
	"sync"
	"sync/atomic"

	"github.com/switchyard-ml/switchyard/autodiff/kernel"
	"github.com/switchyard-ml/switchyard/internal/wire"
)

// intake stores the chunks of gradients. The goroutines that bring them verify and store them, several at a time, while
// the machine does something else; it counts them afterwards. The intake decides nothing: it stores what the machine
// expects. The machine refuses the rest, and says why.
type intake struct {
	mu    sync.RWMutex    // held while a chunk is stored, so that nobody writes into a box that is closed
	boxes map[uint64]*box // by lease
}

// box is the place of a lease's gradient.
type box struct {
	opening uint64
	from    wire.Header // of the chunks that belong here
	step    uint64
	chunks  wire.Chunking
	values  []float32
	states  []atomic.Uint32 // by chunk
}

// The states of a chunk in its box.
const (
	unwanted uint32 = iota
	wanted
	storing
	kept
)

func newIntake() *intake { return &intake{boxes: make(map[uint64]*box)} }

// expect lets in the chunks that a command names, from who sends them in this run and term. It opens the box of a lease
// at the first of its commands.
func (in *intake) expect(run string, term uint64, c expectCommand) {
	b := in.boxes[c.lease]
	if b == nil {
		b = &box{
			opening: c.opening, from: wire.Header{Run: run, From: c.from, Term: term, Token: c.token}, step: c.step,
			chunks: c.chunks, values: c.values,
		}
		in.open(c.lease, b)
	}
	b.want(c.first, c.end)
}

// open makes a box.
func (in *intake) open(lease uint64, b *box) {
	b.states = make([]atomic.Uint32, b.chunks.Count())
	in.mu.Lock()
	in.boxes[lease] = b
	in.mu.Unlock()
}

// want lets the chunks [first, end) in.
func (b *box) want(first, end int) {
	for i := first; i < end; i++ {
		b.states[i].Store(wanted)
	}
}

// close takes a box away. From then on nothing is written into its values.
func (in *intake) close(lease uint64) {
	in.mu.Lock()
	delete(in.boxes, lease)
	in.mu.Unlock()
}

// store puts a chunk where it belongs, and reports whether it was expected and sound, and what it says for the machine.
func (in *intake) store(msg *wire.Chunk) (stored, bool) {
	in.mu.RLock()
	defer in.mu.RUnlock()
	b := in.boxes[msg.Lease]
	if b == nil || msg.Header != b.from || msg.Step != b.step || msg.Index >= len(b.states) || len(msg.Data) != b.chunks.Bytes(msg.Index) {
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

// take stores what is a chunk, and returns what the machine is to be given: the message, or what is left of it.
func (in *intake) take(msg wire.Message) wire.Message {
	if chunk, ok := msg.(*wire.Chunk); ok {
		if s, ok := in.store(chunk); ok {
			return s
		}
	}
	return msg
}
