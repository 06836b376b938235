package worker

import (
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/switchyard-ml/switchyard/autodiff/kernel"
	"github.com/switchyard-ml/switchyard/internal/vector"
	"github.com/switchyard-ml/switchyard/wire"
)

// peerCredit is how many bytes of other workers' gradients may be on their way to this one at a time.
const peerCredit = 1 << 20

// reduction is the work of a reduce lease: some sections of the gradient, summed over the blocks of all workers. The
// goroutine of the worker forms it; no slot has a part in it.
type reduction struct {
	number   int // of the sums of this pass
	sections wire.Sections
	sources  []*source
	missing  int // sources that are not added yet
}

// source is a block of a sum, whose sections come from its holder.
type source struct {
	wire.Source
	sum     vector.Partial // nil before the first chunk is asked for, and once it is added
	asked   wire.Sequence
	movedAt time.Time // when chunks were last asked for, or came
}

// takeReduce accepts a reduce lease. A known one was sent again because a message was lost. One whose sources do not
// fit together is dropped: nothing is allocated for it.
func (w *Worker) takeReduce(msg *wire.Reduce) {
	sections := wire.Sections{Chunks: w.sums, Count: msg.Sections}
	if !sections.Valid(msg.First, msg.Count) || !w.turn(msg.Step, msg.Pass) {
		return
	}
	// The blocks have to make up a whole tree; whether they overlap shows when they are added.
	shards := 0
	for _, s := range msg.Sources {
		if b := (vector.Block{First: s.First, Count: s.Count}); !b.Valid(wire.MaxCount) ||
			len(s.Digests) != wire.DigestLength(msg.Count) {
			return
		}
		shards += s.Count
	}
	if !vector.PowerOfTwo(shards) {
		return
	}
	w.meet()
	// A greater number ends the sums before: their holders are not the right ones any more.
	w.endReductions(msg.Number)
	now := time.Now()
	if w.given(now, msg.ID) {
		return
	}
	// The sum has the length of its sections, and its chunks are theirs.
	cut := sections.Cut(msg.First, msg.Count)
	l := &lease{
		Lease: wire.Lease{
			ID: msg.ID, Step: msg.Step, Pass: msg.Pass, Attempt: msg.Attempt, Work: wire.Sum, First: msg.First, Count: msg.Count,
			Audit: msg.Audit,
		},
		block: vector.Block{First: msg.First, Count: msg.Count}, memory: w.partsOf(cut.Size), chunks: cut,
		tree: vector.NewTree(vector.Block{Count: shards}), began: now,
		reduction: &reduction{number: msg.Number, sections: sections, missing: len(msg.Sources)},
	}
	if w.rounder.Grid != nil {
		l.tree.Peaks = sections.Peaks(msg.First, msg.Count, w.rounder.Grid.Blocks())
	}
	w.leases = append(w.leases, l)
	begin := msg.First / msg.Count // not all begin with the same holder
	for i := range msg.Sources {
		s := msg.Sources[(begin+i)%len(msg.Sources)]
		from := &source{Source: s, movedAt: now}
		from.asked.Begin(cut)
		l.reduction.sources = append(l.reduction.sources, from)
	}
	// What this worker keeps itself takes no network.
	w.takeOwn(l)
	w.pullPeers(now)
}

// partsOf is the memory for sums of sections of a size. Sections of a gradient have few sizes.
func (w *Worker) partsOf(size int) *vectors {
	if w.parts[size] == nil {
		w.parts[size] = &vectors{size: size}
	}
	return w.parts[size]
}

// endReductions gives up the sums that were begun before the one of that number.
func (w *Worker) endReductions(number int) {
	kept := w.leases[:0]
	for _, l := range w.leases {
		if l.reduction != nil && l.reduction.number < number {
			l.dropped = true
			w.reclaim(l)
			continue
		}
		kept = append(kept, l)
	}
	w.leases = kept
	w.sending = slices.DeleteFunc(w.sending, func(c chunkOf) bool { return c.lease.dropped })
}

// giveUp gives the memory of a reduce lease back. What comes of its sources then is dropped.
func (l *lease) giveUp() {
	for _, s := range l.reduction.sources {
		l.memory.putPartial(s.sum)
		s.sum = vector.Partial{}
	}
	l.reduction.sources = nil
}

// takeOwn adds the blocks that this worker keeps itself.
func (w *Worker) takeOwn(l *lease) {
	self, first := w.name(), l.reduction.sections.First(l.First)
	for _, s := range l.reduction.sources {
		own := w.keeps(s.Lease)
		if s.Holder != self || own == nil || l.finished() { // a wrong one has ended the sum
			continue
		}
		s.sum = l.memory.partial(true)
		s.asked.Ask(0, math.MaxInt)
		for i := range l.chunks.Count() {
			l.chunks.Decode(s.sum.Values, i, own.chunk(first+i))
			s.asked.Take(i)
		}
		w.add(l, s)
	}
}

// keeps returns the lease of that number whose result this worker keeps for those who sum; nil if there is none. What
// an audit has computed is not kept.
func (w *Worker) keeps(id uint64) *lease {
	for _, l := range w.leases {
		if l.ID == id && l.Sections > 0 && !l.Audit && l.finished() && l.err == nil {
			return l
		}
	}
	return nil
}

// pullPeers asks other workers for chunks, within the credit. It goes through the sources in order, so that the first
// are whole soon. It leads to Pull messages to their holders.
func (w *Worker) pullPeers(now time.Time) {
	flying := 0
	for _, l := range w.leases {
		if l.reduction != nil && !l.finished() {
			for _, s := range l.reduction.sources {
				flying += s.asked.Flying()
			}
		}
	}
	for _, l := range w.leases {
		if l.reduction == nil || l.finished() {
			continue
		}
		for _, s := range l.reduction.sources {
			if r, bytes := s.asked.Ask(flying, peerCredit); r.Count > 0 {
				if s.sum.Values == nil {
					s.sum = l.memory.partial(true)
				}
				flying, s.movedAt = flying+bytes, now
				w.askPeer(l, s, r)
			}
			// The credit is used up.
			if s.asked.Next() < l.chunks.Count() {
				return
			}
		}
	}
}

// askPeer asks a holder for chunks of a part. The gate lets twice as many in, as a network may repeat them.
func (w *Worker) askPeer(l *lease, s *source, r wire.Range) {
	_, key := wire.SplitName(s.Holder)
	w.gate.Expect(key, wire.KindChunk, 2*r.Count)
	w.tell(s.Holder, &wire.Pull{Lease: s.Lease, First: l.reduction.sections.First(l.First) + r.First, Count: r.Count})
}

// askPeersAgain asks for chunks that were lost, or tries whether some were, if nothing comes.
func (w *Worker) askPeersAgain(now time.Time) {
	for _, l := range w.leases {
		if l.reduction == nil || l.finished() {
			continue
		}
		for _, s := range l.reduction.sources {
			wait := min(max(w.prompt(), w.peerLag.Limit())<<min(s.asked.Probes(), maxProbes), w.heartbeat)
			again, probe := s.asked.Again(now.Sub(latest(s.movedAt, w.peersAt)) >= wait, s.asked.Resends())
			for _, r := range again {
				w.askPeer(l, s, r)
			}
			if probe {
				s.movedAt = now
			}
		}
	}
}

// maxProbes bounds how often the time between two probes is doubled.
const maxProbes = 8

// takePeerChunk stores a chunk of another worker, if it was asked for. Whether a chunk is right shows when its source
// is whole.
func (w *Worker) takePeerChunk(msg *wire.Chunk) {
	now := time.Now()
	for at := 0; at < len(w.leases); at++ {
		l := w.leases[at]
		if l.reduction == nil || l.finished() || l.Step != msg.Step {
			continue
		}
		for _, s := range l.reduction.sources {
			i := msg.Index - l.reduction.sections.First(l.First)
			// Only what was asked for, from the one that was asked, once. A wrong source has ended the sum.
			if l.finished() || s.Lease != msg.Lease || s.Holder != msg.From || !s.asked.Awaits(i) ||
				!l.chunks.Sound(i, msg.Data, msg.CRC) {
				continue
			}
			// It is stored once, and its length was checked.
			l.chunks.Decode(s.sum.Values, i, msg.Data)
			w.peerLag.Add(now.Sub(latest(s.movedAt, w.peersAt)))
			s.asked.Take(i)
			s.movedAt, w.peersAt = now, now
			if s.asked.Missing() == 0 {
				w.add(l, s)
			}
		}
	}
	w.pullPeers(now)
}

// add adds a block's sections to a sum, once they are whole and what its holder announced. The last block completes
// the sum. A wrong one ends it: a Result with a Fault says who is to blame as far as this worker knows.
func (w *Worker) add(l *lease, s *source) {
	r := l.reduction
	switch {
	// The holder announced the digests to the coordinator before it knew who would sum.
	case r.sections.DigestsOf(l.First, l.Count, s.sum.Values) != s.Digests:
		l.err = fmt.Errorf("worker %s sends other bits of shards %d+%d than it announced", s.Holder, s.First, s.Count)
	case !kernel.Finite(s.sum.Values):
		l.err = fmt.Errorf("shards %d+%d of worker %s hold a NaN or an infinity", s.First, s.Count, s.Holder)
	default:
		l.tree.Add(vector.Block{First: s.First, Count: s.Count}, s.sum, l.memory.putPartial)
		s.sum = vector.Partial{}
		r.missing--
		l.steps.Store(int64(len(r.sources) - r.missing))
		if r.missing > 0 {
			return
		}
		whole := false
		if l.sum, whole = l.tree.Take(); !whole {
			l.err = fmt.Errorf("the blocks of the sum of sections %d+%d do not fit together", l.First, l.Count)
		}
	}
	if l.err == nil {
		l.pack()
	}
	l.handed, l.done, l.took = l.block.Count, l.block.Count, time.Since(l.began)
	l.giveUp()
	w.announce(l)
}
