package worker

import (
	"sync"

	"github.com/switchyard-ml/switchyard/model"
	"github.com/switchyard-ml/switchyard/rng"
)

// batch is the batch of a shard. It is filled sequence by sequence, during its step or before.
type batch struct {
	model.Batch
	step   uint64
	shard  int
	draws  rng.Stream // of the next sequence
	filled int        // number of sequences in place
	seen   []float32  // memory for the mask
}

// begin empties a batch for n sequences.
func (b *batch) begin(p *Shards, n int) {
	nx, nu := p.sequences.Dims()
	b.Resize(p.sampling.Window, n, nx, nu)
	b.filled = 0
}

// full reports whether all sequences are in place.
func (b *batch) full() bool { return b.filled == b.B }

// place copies a window to the next sequence of the batch. The control of a window's first step acted before the
// window, so it is replaced by zero.
func (b *batch) place(w *Window) {
	i := b.filled
	for t := range b.T {
		row, at := t*b.B+i, w.First+t
		copy(b.Observations[row*b.NX:(row+1)*b.NX], w.Observations[at*b.NX:])
		controls := b.Controls[row*b.NU : (row+1)*b.NU]
		if t == 0 {
			clear(controls)
			continue
		}
		copy(controls, w.Controls[at*b.NU:])
	}
	b.placeMask(w, i)
	b.filled++
}

// placeMask marks the missing values of a window. The batch has a mask as soon as one of its sequences has a missing
// value. Sequences that came before have all their values, so the mask begins with ones.
func (b *batch) placeMask(w *Window, i int) {
	if w.Seen == nil && b.Seen == nil {
		return
	}
	if b.Seen == nil {
		if n := len(b.Observations); cap(b.seen) < n {
			b.seen = make([]float32, n)
		}
		b.Seen = b.seen[:len(b.Observations)]
		for j := range b.Seen {
			b.Seen[j] = 1
		}
	}
	for t := range b.T {
		row := b.Seen[(t*b.B+i)*b.NX:][:b.NX]
		for j := range row {
			row[j] = 1
			if w.Seen != nil {
				row[j] = w.Seen[(w.First+t)*b.NX+j]
			}
		}
	}
}

// bytes is the memory of the batch, in bytes.
func (b *batch) bytes() int {
	return 4 * (cap(b.Observations) + cap(b.Controls) + cap(b.seen))
}

// batches manages the memory of batches, and holds those that were begun before their step. There are at most as many
// as slots plus the shards that are prepared for one step. All slots use it.
type batches struct {
	mu    sync.Mutex
	begun []*batch
	free  []*batch
}

// take returns the batch of a shard if it was begun, and otherwise an empty one. It gives up batches that were begun
// for other steps than this one and the next. The caller owns the batch until keep or release.
func (l *batches) take(step uint64, shard int) (b *batch, begun bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	kept := l.begun[:0]
	for _, other := range l.begun {
		switch {
		case b == nil && other.step == step && other.shard == shard:
			b = other
		// Its step has passed, or the run went back.
		case other.step < step, other.step > step+1:
			l.free = append(l.free, other)
		default:
			kept = append(kept, other)
		}
	}
	clear(l.begun[len(kept):])
	l.begun = kept
	if b != nil {
		return b, true
	}
	b = l.any()
	b.step, b.shard = step, shard
	return b, false
}

// empty returns a batch of no shard.
func (l *batches) empty() *batch {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.any()
}

// size is the memory of the largest batch, in bytes. No slot may use a batch during the call.
func (l *batches) size() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	most := 0
	for _, list := range [][]*batch{l.begun, l.free} {
		for _, b := range list {
			most = max(most, b.bytes())
		}
	}
	return most
}

// any is a batch that nobody uses, of whatever size. The lock is held.
func (l *batches) any() *batch {
	n := len(l.free)
	if n == 0 {
		return new(batch)
	}
	b := l.free[n-1]
	l.free = l.free[:n-1]
	return b
}

// keep holds a batch until its step begins.
func (l *batches) keep(b *batch) {
	l.mu.Lock()
	l.begun = append(l.begun, b)
	l.mu.Unlock()
}

// release returns a batch that is not needed any more.
func (l *batches) release(b *batch) {
	l.mu.Lock()
	l.free = append(l.free, b)
	l.mu.Unlock()
}
