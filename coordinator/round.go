package coordinator

import (
	"math/bits"
	"slices"
	"time"

	"github.com/switchyard-ml/switchyard/coordinator/trust"
	"github.com/switchyard-ml/switchyard/internal/vector"
	"github.com/switchyard-ml/switchyard/wire"
)

// round is one sum over shards at the current parameters: the gradient of a step, or a validation. Where workers sum
// the gradient there is a further round, whose shards are sections of the gradient: see sums.go.
//
// Invariant: every shard is in exactly one of these: a free block, a task that is not free, the tree.
// Invariant: open is the number of shards that are not in the tree.
type round struct {
	work     wire.Work
	sections wire.Sections // of the gradient, which blocks are announced with; none: it is not shared out
	star     bool          // it is shared out no more
	// kept are the tasks of a gradient that is shared out whose bits are known, by first shard.
	// Invariant: each is in the tree, and a member keeps its block, or its values are here.
	kept          []*task
	of            *round        // of a sum: the round whose blocks are summed,
	number        int           // and which sum of the pass it is
	openedAt      time.Duration // when it was begun
	announcedAt   time.Duration // when a block of it was last announced
	tree          *vector.Tree
	total         vector.Partial // the sum, once done
	done          bool
	broken        error // a block was to enter a phase that does not follow; nil: none was
	single        bool  // a shard takes long, as a replica does: a worker gets at most as many at a time as it has slots
	open          int
	sample        bool           // the next block is a single shard, for members on trial
	free          []vector.Block // by first shard
	tasks         map[vector.Block]*task
	leases        []*lease        // all of them, by id
	queue         []again         // open and disputed tasks that nobody computes
	audits        []*task         // to be confirmed, and not given to a worker for that yet
	times         []time.Duration // of finished leases, for one shard after the other
	contributions []Contribution  // what the tree was made of
	sums          []summed        // of a sum: by section
	shares        []Share         // of a gradient: what the workers have summed of it
	// disputes are the tasks about which workers said different things and whose bits are not known.
	// Invariant: all disputed and contested tasks are here, and none that is open or merged.
	disputes []*task

	// A wave is one lease for each slot of all workers. The size of blocks is set when a wave begins, so that workers
	// get shares by their speed, and the rest comes last, in small blocks.
	waveShards int
	waveSlots  int
}

// again is a task that is to be leased once more, as a whole. If another worker comes in time, the one of the account
// that is named does not get it.
type again struct {
	task  *task
	not   *trust.Account // nil: anyone may have it
	since time.Duration  // when it was put into the queue
}

// newRound is a sum over so many shards, none of which is given out. Additions use all cores, as the workers wait for
// them.
func newRound(work wire.Work, shards int) *round {
	root := vector.Block{Count: shards}
	tree := vector.NewTree(root)
	tree.Spread = true
	return &round{
		work: work, tree: tree, free: []vector.Block{root}, open: shards, tasks: make(map[vector.Block]*task),
	}
}

// task returns the task of a block that was cut, which may have been given out and released before. It is open then.
func (r *round) task(b vector.Block) *task {
	t := r.tasks[b]
	if t == nil {
		t = &task{Case: trust.NewCase(b, &r.broken), round: r}
		r.tasks[b] = t
	}
	t.Reopen()
	return t
}

// enqueue lets a task be leased once more. nil: anyone may have it.
func (r *round) enqueue(now time.Duration, t *task, not *trust.Account) {
	r.queue = append(r.queue, again{t, not, now})
}

// queued reports whether a task is to be leased once more.
func (r *round) queued(t *task) bool {
	return slices.ContainsFunc(r.queue, func(o again) bool { return o.task == t })
}

// dequeue takes a task off the queue.
func (r *round) dequeue(t *task) {
	r.queue = slices.DeleteFunc(r.queue, func(o again) bool { return o.task == t })
}

// next takes a task for this worker off the queue; nil if there is none. alone says that there is no other worker,
// and patience how long a task waits for another one. The worker whose word is to decide a dispute has said nothing
// of it yet.
func (r *round) next(now time.Duration, w *member, alone bool, patience time.Duration) *task {
	for i, o := range r.queue {
		if (o.task.Phase() == trust.Disputed || o.task.Phase() == trust.Contested) && !o.task.Neutral(w.Account) {
			continue
		}
		if o.not != w.Account || alone || now-o.since > patience {
			r.queue = slices.Delete(r.queue, i, i+1)
			return o.task
		}
	}
	return nil
}

// take chooses the next free block for a worker. false: there is none, or the worker is so slow that it is better
// left out.
func (r *round) take(w *member, f *field) (vector.Block, bool) {
	if len(r.free) == 0 || r.work != wire.Sum && f.holdsBack(w, r) {
		return vector.Block{}, false
	}
	if r.work == wire.Sum { // half a share at a time: while it is pulled, the worker sums the other
		return r.cut(max(1, r.sections.Count/max(1, 2*f.workers))), true
	}
	if r.sample {
		r.sample = false
		return r.cut(1), true
	}
	// A wave begins with all that is free.
	if r.waveSlots <= 0 {
		r.waveSlots, r.waveShards = f.slots, 0
		for _, b := range r.free {
			r.waveShards += b.Count
		}
	}
	// Its share is by its speed; a slower one gets a little more, see evenness.
	r.waveSlots -= w.slots
	part, even := float64(r.waveShards)*f.speed(w)/f.total, float64(r.waveShards*w.slots)/float64(f.slots)
	if part < even {
		part = min(even, evenness*part)
	}
	// A replica takes long, so none waits behind another one of the same slot.
	if r.single {
		part = min(part, float64(w.slots))
	}
	return r.cut(max(1, int(part))), true
}

// cut removes a block of the largest power of two up to target from the free ones: the smallest that is big enough,
// halved until it fits, or else the largest. There has to be a free block, and target to be at least 1.
func (r *round) cut(target int) vector.Block {
	size := 1 << (bits.Len(uint(target)) - 1)
	best := 0
	for i, b := range r.free {
		c := r.free[best].Count
		if b.Count >= size && (c < size || b.Count < c) || b.Count < size && c < size && b.Count > c {
			best = i
		}
	}
	// Halves that are left stay where the block was, so free stays in order.
	b := r.free[best]
	r.free = slices.Delete(r.free, best, best+1)
	for b.Count > size {
		left, right := b.Halves()
		r.free = slices.Insert(r.free, best, right)
		b = left
	}
	return b
}

// release returns a block that was leased and not delivered. A block that failed before stays whole. Its shards are
// free otherwise, and can be cut in another way.
func (r *round) release(now time.Duration, t *task) {
	// Who failed at it is asked again only if nobody else comes.
	if n := len(t.Failures()); n > 0 {
		r.enqueue(now, t, t.Failures()[n-1].Account)
		return
	}
	t.Release()
	at, _ := slices.BinarySearchFunc(r.free, t.Block, func(x, y vector.Block) int { return x.First - y.First })
	r.free = slices.Insert(r.free, at, t.Block)
}

// add puts the bits of a task into the tree. It calls recycle with vectors that are not needed any more.
func (r *round) add(t *task, p vector.Partial, from Contribution, recycle func(vector.Partial)) {
	if t.Audited {
		r.dropAudit(t)
	}
	r.dequeue(t)
	r.open -= t.Block.Count
	switch {
	// The bits stay with their holder; only terms are here.
	case r.shared():
		r.put(t, p, from)
		return
	case r.work == wire.Sum: // the values are in their place
		r.attest(t.Block, from.Worker, p.Values)
		r.done = r.open == 0
		return
	}
	r.contributions = append(r.contributions, from)
	r.tree.Add(t.Block, p, recycle)
	r.total, r.done = r.tree.Take()
}

// median is the middle of the times of finished leases; false if there are none.
func (r *round) median() (time.Duration, bool) { return median(r.times) }

// median is the middle one of some times, the later of two; false if there are none.
func median(times []time.Duration) (time.Duration, bool) {
	if len(times) == 0 {
		return 0, false
	}
	sorted := slices.Sorted(slices.Values(times))
	return sorted[len(sorted)/2], true
}
