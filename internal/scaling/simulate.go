package scaling

import (
	"container/heap"
	"math"
	"slices"

	"github.com/switchyard-ml/switchyard/rng"
)

// Speculation configures when the coordinator gives a block to a second worker: when its lease has taken
// Tardiness times the median of the finished ones, and at least Patience. See package coordinator.
type Speculation struct {
	Tardiness float64 // in medians of the finished leases; 0: never
	Patience  float64 // at least this many seconds
}

// Simulate returns the mean time of an update over simulated updates with stragglers, and its parts. Compute is
// the time until the last block is announced, Up that from then until the last block has arrived; the other parts
// are those of Predict. The same seed gives the same result. The arguments have to pass Check; updates is at
// least 1.
func Simulate(l Load, c Cluster, w Wire, s Stragglers, spec Speculation, seed uint64, updates int) Prediction {
	p := Predict(l, c, w)
	key := rng.New(seed, rng.Fault)
	h := float64(max(1, w.LocalSteps))
	compute, up := 0.0, 0.0
	for i := range updates {
		r := newRace(l.local(w), c, w, s, spec, key.At(uint64(i), 0, 0), p.Down*h)
		r.run()
		compute += r.announced
		if up += r.arrived - r.announced; w.Sharded { // nothing is pulled before all blocks are announced
			up += p.Up * h
		}
	}
	scale := 1 / (float64(updates) * h)
	p.bySource[Cores] += h * (compute*scale - p.Compute)
	p.Seconds += compute*scale - p.Compute + up*scale - p.Up
	p.Compute, p.Up = compute*scale, up*scale
	p.bottleneck()
	return p
}

// event is the end of a lease at its worker, at a time in seconds since the workers have the parameters.
type event struct {
	at    float64
	lease *lease
}

// events is a heap of events (container/heap), the first one on top.
type events []event

func (e events) Len() int           { return len(e) }
func (e events) Less(i, j int) bool { return e[i].at < e[j].at }
func (e events) Swap(i, j int)      { e[i], e[j] = e[j], e[i] }
func (e *events) Push(x any)        { *e = append(*e, x.(event)) }
func (e *events) Pop() any {
	old := *e
	last := old[len(old)-1]
	*e = old[:len(old)-1]
	return last
}

// lease is a block that a worker computes, given at a time.
type lease struct {
	block *block
	given float64
}

// block is a number of shards that are computed together. copies is how many workers have been given it; the
// first result counts.
type block struct {
	shards, copies int
	done           bool
	last           float64 // time at which it was last leased
}

// race is one simulated step. It begins when the workers have the parameters; it records which worker has which
// block, and when the results have arrived. Times are in seconds.
//
// Invariant: each worker is idle or has one event, and open is the number of blocks that are not done.
type race struct {
	load    Load
	cluster Cluster
	wire    Wire
	factors Stragglers
	spec    Speculation
	stream  rng.Stream
	given   float64 // time for the parameters, which is part of a lease's age

	free   []int // shards of the leases that are still to be given
	blocks []*block
	idle   int // workers without a lease
	events events
	times  []float64 // times of finished leases, divided by their shards, in ascending order
	crowd  float64   // factor by which cores are shared in the first wave; it holds for all

	open               int // number of blocks that are not announced
	announced, arrived float64
	link               float64 // time at which the link to the coordinator is free
	each, latency      float64 // of a block on that way
}

// newRace prepares a step: all workers are idle, and the leases of all waves wait in their order.
func newRace(l Load, c Cluster, w Wire, s Stragglers, spec Speculation, stream rng.Stream, given float64) *race {
	r := &race{load: l, cluster: c, wire: w, factors: s, spec: spec, stream: stream, given: given, idle: c.Workers}
	for _, wave := range waves(l.Shards, c.Workers) {
		for range wave.leases {
			r.free = append(r.free, wave.shards)
		}
	}
	r.open = len(r.free)
	r.crowd = c.crowd(min(c.Workers, len(r.free)) * min(c.Slots, r.free[0]))
	t := c.up(l, w, 1)
	if !w.Sharded {
		r.each, r.latency = t.seconds, t.latency
	}
	return r
}

// run computes all blocks. Time jumps from event to event: each is the end of a lease, or the moment at which a
// block is overdue and a worker is idle.
func (r *race) run() {
	for now := 0.0; r.open > 0; {
		// Who is idle gets the next lease, as from the coordinator.
		for len(r.free) > 0 && r.idle > 0 {
			r.give(now, &block{shards: r.free[0]})
			r.free = r.free[1:]
		}
		next, late := math.Inf(1), (*block)(nil)
		if len(r.events) > 0 {
			next = r.events[0].at
		}
		if r.idle > 0 && len(r.free) == 0 {
			next, late = r.overdue(now, next)
		}
		now = next
		if late != nil {
			r.give(now, late)
			continue
		}
		r.finish(now, heap.Pop(&r.events).(event).lease)
	}
}

// give starts a lease of a block at an idle worker, with a factor of its own: a second worker is as likely to be
// slow as the first.
func (r *race) give(now float64, b *block) {
	if b.copies == 0 {
		r.blocks = append(r.blocks, b)
	}
	b.copies++
	b.last = now
	r.idle--
	took := r.batches(b) * r.load.Shard * r.crowd * r.factors.quantile(r.stream.Float64())
	heap.Push(&r.events, event{now + took, &lease{b, now}})
}

// batches is how many shards a worker computes one after the other for a block.
func (r *race) batches(b *block) float64 {
	return float64((b.shards + r.cluster.Slots - 1) / r.cluster.Slots)
}

// finish makes a worker idle. If it is the first with its block, finish starts the transfer of the block.
func (r *race) finish(now float64, l *lease) {
	r.idle++
	if l.block.done {
		return
	}
	l.block.done = true
	r.open--
	took := (now - l.given + r.given) / r.batches(l.block)
	at, _ := slices.BinarySearch(r.times, took)
	r.times = slices.Insert(r.times, at, took)
	r.announced = now
	// Blocks come over the link of the coordinator one after the other.
	r.link = max(r.link, now) + r.each
	r.arrived = r.link + r.latency
}

// overdue finds the first block that a second worker gets before the next event, and the time. A block has at most two
// workers; the third and later copies of the real coordinator, which come after ever longer times, are left out.
func (r *race) overdue(now, next float64) (at float64, late *block) {
	if r.spec.Tardiness == 0 || len(r.times) == 0 {
		return next, nil
	}
	median := r.times[len(r.times)/2]
	for _, b := range r.blocks {
		if b.done || b.copies > 1 {
			continue
		}
		due := max(now, b.last-r.given+max(r.spec.Patience, r.spec.Tardiness*median*r.batches(b)))
		if due < next {
			next, late = due, b
		}
	}
	return next, late
}
