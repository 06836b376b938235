package coordinator

import (
	"fmt"
	"time"

	"github.com/switchyard-ml/switchyard/coordinator/exchange"
	"github.com/switchyard-ml/switchyard/internal/vector"
	"github.com/switchyard-ml/switchyard/wire"
)

// transfer moves gradients to the coordinator and the data set to the workers, within one credit of bytes.
//
// Invariant: inFlight is the bytes of the chunks that were asked for, of leases that are being pulled, and are not
// here.
// Invariant: inFlight and the data set's bytes in flight together are at most credit, or one chunk; a piece of the data
// set that waited long may come on top.
type transfer struct {
	credit    int
	chunks    wire.Chunking // of the gradient of a block
	inFlight  int           // bytes of gradients
	arrivedAt time.Duration // when the last chunk of anybody arrived
	opened    uint64        // number of the last delivery that was begun
	// pool has vectors of a gradient's size that are not in use.
	// Invariant: nobody writes into them: all chunks of their delivery are here, or its closeCommand is given.
	// Invariant: there are never more of them than were in use at one time.
	pool   [][]float32
	lent   int // vectors that were taken, and have not come back
	data   dataset
	timing *timing
	out    *outbox
}

// delivery is a block's gradient on its way from a worker. The bytes are verified and stored outside the machine, which
// counts what has arrived: see receiver.
//
// Invariant: while the lease is pulled, asked says what is on its way.
type delivery struct {
	chunks  wire.Chunking
	opening uint64        // its number; 0: nothing was asked for yet
	values  []float32     // where the gradient is stored; nil: nowhere
	crcs    []uint32      // of the chunks that are here
	asked   wire.Sequence // for its chunks, and what of them is here
	special bool          // there is a NaN or an infinity
	movedAt time.Duration // last arrival, or when it was first asked for more
	againAt time.Duration // when chunks were last asked for again
}

// start makes a lease the one that its block is pulled from. Nothing is asked for yet: that is for pull.
func (x *transfer) start(now time.Duration, l *lease) {
	l.state, l.movedAt = pulling, now
	l.asked.Begin(l.chunks)
}

// prefer pulls a block from this lease, unless another one delivers it already and its chunks arrive. What was pulled
// of the other one is dropped.
func (x *transfer) prefer(now time.Duration, l *lease) {
	if other := l.task.source(); other != nil {
		// One that delivers is not given up, unless only the other is known to deliver.
		if now-other.movedAt < x.timing.patience() && (other.owner.Sound(now) || !l.owner.Sound(now)) {
			return
		}
		x.forget(other)
		other.state = announced
	}
	x.start(now, l)
}

// resume pulls a task from another worker that has it, if there is one.
func (x *transfer) resume(now time.Duration, t *task) {
	if !t.wanted() || t.source() != nil || !t.round.pulls() {
		return
	}
	for _, l := range t.leases {
		if l.state == announced && !l.audit {
			x.start(now, l)
			return
		}
	}
}

// pull asks for chunks of announced blocks, oldest lease first, as far as the credit goes. It leads to Pull messages.
func (x *transfer) pull(now time.Duration, step uint64, leases []*lease) {
	for _, l := range leases {
		n := l.chunks.Count()
		if l.state != pulling || l.asked.Next() == n {
			continue
		}
		r, bytes := l.asked.Ask(x.inFlight+x.data.inFlight, x.credit)
		if r.Count == 0 {
			return
		}
		x.inFlight += bytes
		// Memory is taken when the first chunk is asked for, and not when a worker says that it has something.
		if l.values == nil {
			x.opened++
			l.opening, l.values = x.opened, x.place(l)
			l.crcs, l.special = make([]uint32, n), false
		}
		// The receiver is told before the worker is asked.
		x.out.add(expectCommand{exchange.Expectation{
			Lease: l.id, Opening: l.opening, From: l.owner.id, Token: l.owner.Token, Step: step,
			First: r.First, End: l.asked.Next(), Chunks: l.chunks, Values: l.values,
		}})
		l.movedAt = now
		x.ask(l, r)
	}
}

// ask asks for chunks of a lease. Each of them may come to be refused, which its account allows for.
func (x *transfer) ask(l *lease, r wire.Range) {
	l.owner.Account.Allow(r.Count)
	x.out.send(l.owner, &wire.Pull{Lease: l.id, First: r.First, Count: r.Count})
}

// askAgain asks for the chunks of a lease that were asked for before and are not here.
func (x *transfer) askAgain(l *lease) {
	for _, r := range l.asked.Gaps(0, l.asked.Next(), l.asked.Next()) {
		x.ask(l, r)
	}
}

// lost reports whether chunks of a lease seem to be lost: none of them has arrived for a while. A slow link that
// delivers something is not lost.
func (x *transfer) lost(now time.Duration, l *lease) bool {
	return l.state == pulling && l.asked.Next() > 0 && now-max(l.movedAt, l.againAt) >= x.timing.patience()
}

// moving reports whether a block is on its way: then it is not late.
func (x *transfer) moving(now time.Duration, l *lease) bool {
	return l.state == pulling && (l.asked.Next() == 0 || now-max(l.movedAt, x.arrivedAt) < x.timing.patience())
}

// arrive counts a chunk that is stored, or says why it is not wanted. Its credit comes back, and its wait counts for
// the lag of its worker.
func (x *transfer) arrive(now time.Duration, l *lease, c exchange.Stored) (Reason, string) {
	// It was stored for a delivery that has ended, or that has it.
	if l.state != pulling || c.Opening != l.opening || !l.asked.Awaits(c.Index) {
		return x.check(l, c.Chunk)
	}
	l.crcs[c.Index] = c.CRC
	l.asked.Take(c.Index)
	l.owner.lag.Add(now - l.movedAt)
	l.special = l.special || !c.Finite
	l.movedAt, l.strikes, x.arrivedAt = now, 0, now
	x.inFlight -= l.chunks.Bytes(c.Index)
	return "", ""
}

// check says why a chunk is not wanted, or was not stored.
func (x *transfer) check(l *lease, msg *wire.Chunk) (Reason, string) {
	switch {
	// Which reason it is decides whether anything is held against the worker: see results.go.
	case l.state == settled, l.state == pulling && l.asked.Has(msg.Index):
		return ReasonDuplicate, fmt.Sprintf("chunk %d of shards %s is there already", msg.Index, l.Block)
	// Without data it was stored when the lease was pulled before.
	case l.state != pulling, msg.Index >= l.asked.Next(), msg.Data == nil:
		return ReasonUnrequested, fmt.Sprintf("chunk %d of shards %s was not asked for", msg.Index, l.Block)
	case len(msg.Data) != l.chunks.Bytes(msg.Index):
		return ReasonLength, fmt.Sprintf("chunk %d has %d bytes, want %d", msg.Index, len(msg.Data),
			l.chunks.Bytes(msg.Index))
	case wire.Checksum(msg.Data) != msg.CRC:
		return ReasonChecksum, fmt.Sprintf("chunk %d of shards %s does not have its checksum", msg.Index, l.Block)
	}
	return ReasonDuplicate, fmt.Sprintf("chunk %d of shards %s was stored meanwhile", msg.Index, l.Block)
}

// forget drops what was pulled of a lease. Its memory is used again, so chunks that are still in flight are not
// stored. The part of a sum is no memory of the pool.
func (x *transfer) forget(l *lease) {
	x.inFlight -= l.asked.Flying()
	if l.opening > 0 {
		x.out.add(closeCommand{l.id})
	}
	if l.round.work != wire.Sum {
		x.keep(l.values)
	}
	l.opening, l.values = 0, nil
	l.asked.Begin(l.chunks)
}

// recycle keeps the vector of a partial for the next pull. Terms are not kept: they are few.
func (x *transfer) recycle(p vector.Partial) { x.keep(p.Values) }

// keep keeps a vector for the next pull; nil: nothing. One more comes back for each block that the referee has
// computed, as that vector was not taken from here: as many are let go.
func (x *transfer) keep(v []float32) {
	if v != nil && x.lent > 0 {
		x.lent--
		x.pool = append(x.pool, v)
	}
}

// place is memory for what a lease delivers: for a part of a sum, its place in the whole.
func (x *transfer) place(l *lease) []float32 {
	if r := l.round; r.work == wire.Sum {
		from, to := r.sections.Span(l.Block.First, l.Block.Count)
		return r.total.Values[from:to]
	}
	return x.vector()
}

// vector is memory for a gradient. Its content is that of whatever was in it.
func (x *transfer) vector() []float32 {
	x.lent++
	n := len(x.pool)
	if n == 0 {
		return make([]float32, x.chunks.Size)
	}
	v := x.pool[n-1]
	x.pool = x.pool[:n-1]
	return v
}
