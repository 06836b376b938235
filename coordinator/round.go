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
// Invariant: every shard is in exactly one of free, retry, a task that is under way, and the tree.
type round struct {
	work    wire.Work
	tree    *reduce.Tree
	total   reduce.Partial // the sum, once done
	done    bool
	apart   bool           // a shard takes long, as a replica does: nobody gets more at a time than he has slots
	open    int            // shards that are not in the tree
	free    []reduce.Block // not leased, by first shard
	retry   []retry
	audits  []*task // to be confirmed, and in nobody's hands for that
	tasks   map[reduce.Block]*task
	times   []time.Duration // of finished leases, for one shard after the other
	credits []Credit        // what the tree was made of

	// A wave is one lease for each slot of all workers. Blocks are sized when a wave begins, so that workers get
	// shares by their speed and what does not divide comes last, in small blocks.
	waveShards int
	waveSlots  int
}

// retry is a task to be done again, whole, by another worker than the one named, if there is one or comes in time.
type retry struct {
	task  *task
	not   *account
	since time.Duration
}

// task is a block that was given out, until it is in the tree: who computes it and what they say it is.
type task struct {
	round    *round
	block    reduce.Block
	attempts int      // how often it was leased
	leases   []*lease // that are out
	failures []*failure

	audited  bool     // a second worker has to confirm it
	claims   []*claim // what workers have announced
	held     *lease   // a whole copy that waits to be confirmed
	heldAt   time.Duration
	released bool       // it is no task any more: its shards are free, or in other tasks
	merged   bool       // it is in the tree
	reissued int        // times that it was given to a further worker
	disputed bool       // claims contradict each other
	parties  []*account // to the dispute
	judge    uint64     // question that the referee was asked; 0: none
}

// failure is a worker's statement that it could not compute a block.
type failure struct {
	account *account
	id      string
	detail  string
}

func newRound(work wire.Work, shards int) *round {
	root := reduce.Block{Count: shards}
	tree := reduce.NewTree(root)
	tree.Spread = true
	return &round{
		work: work, tree: tree, free: []reduce.Block{root}, open: shards, tasks: make(map[reduce.Block]*task),
	}
}

// task returns the task of a block that was cut, which may have been given out and released before.
func (r *round) task(b reduce.Block) *task {
	t := r.tasks[b]
	if t == nil {
		t = &task{round: r, block: b}
		r.tasks[b] = t
	}
	t.released = false
	return t
}

// again chooses a task that is to be done again, by this worker.
func (r *round) again(now time.Duration, w *member, alone bool, patience time.Duration) *task {
	for i, t := range r.retry {
		if t.task.disputed && !t.task.neutral(w) {
			continue
		}
		if t.not != w.account || alone || now-t.since > patience {
			r.retry = slices.Delete(r.retry, i, i+1)
			return t.task
		}
	}
	return nil
}

// take chooses the next free block for a worker.
func (r *round) take(w *member, f *field) (reduce.Block, bool) {
	if len(r.free) == 0 || f.holdsBack(w, r) {
		return reduce.Block{}, false
	}
	if r.waveSlots <= 0 {
		r.waveSlots, r.waveShards = f.slots, 0
		for _, b := range r.free {
			r.waveShards += b.Count
		}
	}
	r.waveSlots -= w.slots
	part, even := float64(r.waveShards)*f.speed(w)/f.total, float64(r.waveShards*w.slots)/float64(f.slots)
	if part < even {
		part = min(even, evenness*part)
	}
	if r.apart {
		part = min(part, float64(w.slots))
	}
	return r.cut(max(1, int(part))), true
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
func (r *round) release(now time.Duration, t *task) {
	if n := len(t.failures); n > 0 {
		r.retry = append(r.retry, retry{t, t.failures[n-1].account, now})
		return
	}
	t.released = true
	at, _ := slices.BinarySearchFunc(r.free, t.block, func(x, y reduce.Block) int { return x.First - y.First })
	r.free = slices.Insert(r.free, at, t.block)
}

// median is the middle of the times of finished leases; false if there are none.
func (r *round) median() (time.Duration, bool) { return median(r.times) }

func median(times []time.Duration) (time.Duration, bool) {
	if len(times) == 0 {
		return 0, false
	}
	sorted := slices.Sorted(slices.Values(times))
	return sorted[len(sorted)/2], true
}
