package coordinator

import (
	"sync"
	"sync/atomic"

	"github.com/switchyard-ml/switchyard/autodiff/kernel"
	"github.com/switchyard-ml/switchyard/internal/wire"
)

// intake holds what is pulled. Chunks are verified and stored on the goroutines that bring them, several at a time, while
// the machine does something else; it only counts them afterwards. The intake decides nothing: what it does not expect it
// leaves to the machine to refuse.
type intake struct {
	mu    sync.RWMutex // held while a chunk is stored, so that a box is nobody's when it is closed
	boxes map[uint64]*box
}

// box is the place of a lease's gradient.
type box struct {
	from   wire.Header // of the chunks that belong here
	step   uint64
	chunks wire.Chunking
	values []float32
	crcs   []uint32
	states []atomic.Uint32
	odd    atomic.Bool // there is a NaN or an infinity
}

// The states of a chunk in its box.
const (
	unwanted uint32 = iota
	wanted
	storing
	stored
)

// open makes a box.
func (in *intake) open(lease uint64, b *box) {
	n := b.chunks.Count()
	b.crcs, b.states = make([]uint32, n), make([]atomic.Uint32, n)
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

// store puts a chunk where it belongs, and reports whether it was expected and sound.
func (in *intake) store(msg *wire.Chunk) bool {
	in.mu.RLock()
	defer in.mu.RUnlock()
	b := in.boxes[msg.Lease]
	if b == nil || msg.Header != b.from || msg.Step != b.step || msg.Index >= len(b.states) || len(msg.Data) != b.chunks.Bytes(msg.Index) {
		return false
	}
	state := &b.states[msg.Index]
	if !state.CompareAndSwap(wanted, storing) {
		return false
	}
	if wire.Checksum(msg.Data) != msg.CRC {
		state.Store(wanted)
		return false
	}
	from, to := b.chunks.Span(msg.Index)
	b.chunks.Decode(b.values, msg.Index, msg.Data)
	if !kernel.Finite(b.values[from:to]) {
		b.odd.Store(true)
	}
	b.crcs[msg.Index] = msg.CRC
	state.Store(stored)
	return true
}

// has reports whether a chunk is in its box.
func (b *box) has(chunk int) bool { return b.states[chunk].Load() == stored }
