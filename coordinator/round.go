package coordinator

import (
	"math/bits"
	"slices"
	"time"

	"github.com/switchyard-ml/switchyard/internal/reduce"
	"github.com/switchyard-ml/switchyard/internal/wire"
)

// round is one sum over shards at the current parameters: the gradient of a step, or a validation.
//
// Invariant: every shard is in exactly one of free, retry, a lease that is out or being pulled, and the tree.
type round struct {
	work  wire.Work
	tree  *reduce.Tree
	total reduce.Partial // the sum, once done
	done  bool
	free  []reduce.Block // not leased, by first shard
	retry []retry

	attempts map[reduce.Block]int     // how often a block was leased
	faults   map[reduce.Block]*member // blocks that failed once, with the worker

	// A wave is one lease for each slot of all workers. Blocks are sized when a wave begins, so that equal
	// workers get equal shares and what does not divide comes last, in small blocks.
	waveShards, waveSlots int
}

// retry is a block to be computed again, whole, by another worker if there is one.
type retry struct {
	block reduce.Block
	not   *member
}

func newRound(work wire.Work, shards int) *round {
	root := reduce.Block{Count: shards}
	return &round{
		work: work, tree: reduce.NewTree(root), free: []reduce.Block{root},
		attempts: make(map[reduce.Block]int), faults: make(map[reduce.Block]*member),
	}
}

// take chooses the next block for a worker, given the slots of all workers and whether it is the only one.
func (r *round) take(w *member, slots int, alone bool) (reduce.Block, bool) {
	for i, t := range r.retry {
		if t.not != w || alone {
			r.retry = slices.Delete(r.retry, i, i+1)
			return t.block, true
		}
	}
	if len(r.free) == 0 {
		return reduce.Block{}, false
	}
	if r.waveSlots <= 0 {
		r.waveSlots, r.waveShards = slots, 0
		for _, b := range r.free {
			r.waveShards += b.Count
		}
	}
	r.waveSlots -= w.slots
	return r.cut(max(1, r.waveShards*w.slots/slots)), true
}

// cut removes a block of the largest power of two up to target from the free ones: the smallest that is big enough,
// halved until it fits, or else the largest.
func (r *round) cut(target int) reduce.Block {
	size := 1 << (bits.Len(uint(target)) - 1)
	best := 0
	for i, b := range r.free {
		c := r.free[best].Count
		if b.Count >= size && (c < size || b.Count < c) || b.Count < size && c < size && b.Count > c {
			best = i
		}
	}
	b := r.free[best]
	r.free = slices.Delete(r.free, best, best+1)
	for b.Count > size {
		left, right := b.Halves()
		r.free = slices.Insert(r.free, best, right)
		b = left
	}
	return b
}

// release returns a block that was leased and not delivered. A block that failed before stays whole.
func (r *round) release(b reduce.Block) {
	if w, failed := r.faults[b]; failed {
		r.retry = append(r.retry, retry{b, w})
		return
	}
	at, _ := slices.BinarySearchFunc(r.free, b, func(x, y reduce.Block) int { return x.First - y.First })
	r.free = slices.Insert(r.free, at, b)
}

// leaseState is where a lease stands.
type leaseState uint8

const (
	leased  leaseState = iota // the worker computes
	pulling                   // announced, chunks are being pulled
	settled                   // in the tree
	revoked                   // taken back; its messages are refused
)

// lease is a block in the hands of a worker.
type lease struct {
	id      uint64
	owner   *member
	round   *round
	block   reduce.Block
	attempt int
	state   leaseState
	sentAt  time.Duration
	strikes int           // times that it had to be asked for again
	done    int           // shards that the worker has computed, as its heartbeats tell
	grewAt  time.Duration // when that last grew, or the lease was given

	// from the announcement on
	terms    []float32
	checksum uint32
	values   []float32 // nil until the first chunk is asked for
	crcs     []uint32
	got      []bool
	next     int           // first chunk never asked for
	missing  int           // chunks not yet there
	movedAt  time.Duration // last request or arrival
}
