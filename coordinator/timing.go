package coordinator

import (
	"time"

	"github.com/switchyard-ml/switchyard/wire"
)

const (
	// tardiness is how many times the expected time a lease may take.
	tardiness = 1.5
	// maxDoublings bounds how often a time limit is doubled: a shift by more could overflow a time.Duration.
	maxDoublings = 16
)

// timing says how long things take and may take. All limits follow from the failure detection that is configured and
// from what was measured.
type timing struct {
	detection time.Duration               // silence after which a worker counts as lost
	stride    int                         // updates of a replica in a round of local steps; 1 in a synchronous run
	typical   [wire.Sum + 1]time.Duration // of a shard, by kind of work, in the last round of that kind; 0: not known
}

// heartbeat is the longest silence that workers are asked for. Five are missed before a worker counts as lost.
func (g *timing) heartbeat() time.Duration { return g.detection / 5 }

// patience is how long an answer may take before it is asked for again. It is as long as a heartbeat, which says what
// a worker has.
func (g *timing) patience() time.Duration { return g.detection / 5 }

// soon is how long an answer may take before it is asked for again in passing. To ask in passing costs a message, and
// is no strike.
func (g *timing) soon() time.Duration { return g.detection / 20 }

// prompt is the least time after which it is looked whether an answer is missing.
func (g *timing) prompt() time.Duration { return g.detection / 125 }

// parts is how many steps of computation a lease has: one for each shard, one for each local step of each replica, or
// one for each block that is summed.
func (g *timing) parts(l *lease) int {
	if l.round.work == wire.Sum {
		return len(l.round.of.kept)
	}
	return l.Block.Count * g.partsOf(l.round)
}

// partsOf is how many steps of computation a shard of a round has.
func (g *timing) partsOf(r *round) int {
	if r.work != wire.Gradient {
		return 1
	}
	return g.stride
}

// expected is the time that a shard should take: the median of this round's leases; or that of the last round of this
// kind; or an estimate from the progress of the leases. false: nothing is known.
func (g *timing) expected(r *round) (time.Duration, bool) {
	if each, ok := r.median(); ok {
		return each, true
	}
	if each := g.typical[r.work]; each > 0 {
		return each, true
	}
	return g.promised(r)
}

// promised is the median of the times that the replicas of a round will take if they go on as until now. In rounds
// whose shards have one step, progress says nothing.
func (g *timing) promised(r *round) (time.Duration, bool) {
	if g.partsOf(r) == 1 {
		return 0, false
	}
	var times []time.Duration
	for _, l := range r.leases {
		if l.done > 0 {
			whole := float64(l.grewAt-l.givenAt) * float64(g.parts(l)) / float64(l.done)
			times = append(times, time.Duration(whole)/time.Duration(l.batches()))
		}
	}
	return median(times)
}

// limit is the age at which a lease is overdue. It doubles with each further worker that gets the block, so that a
// block that takes long at every worker is finished at last. It is never below patience.
func (g *timing) limit(l *lease) time.Duration {
	// As long as nothing was measured, the failure detection stands in.
	limit := g.detection
	if each, ok := g.expected(l.round); ok {
		limit = max(g.patience(), time.Duration(tardiness*float64(each))*time.Duration(l.batches()))
	}
	return limit << min(l.task.reissued, maxDoublings)
}

// due is how long a lease should take. It does not double: to ask again costs little.
func (g *timing) due(l *lease) time.Duration {
	each, ok := g.expected(l.round)
	if !ok {
		return g.patience()
	}
	return time.Duration(tardiness*float64(each)) * time.Duration(l.batches())
}

// patienceFor is how long a block may wait for a worker of a certain kind. It is at least the failure detection, and
// four times what a shard takes.
func (g *timing) patienceFor(r *round) time.Duration {
	each, _ := g.expected(r)
	return max(g.detection, 4*each)
}

// stuck is how long a worker may be busy with one part of a lease: the failure detection, or three times what it or the
// others took for one so far.
func (g *timing) stuck(l *lease) time.Duration {
	each, _ := g.expected(l.round)
	longest := 3 * each
	if rate, ok := l.owner.Pace.Rate(); ok {
		longest = max(longest, time.Duration(min(3/rate, 1e6)*float64(time.Second)))
	}
	return max(g.detection, longest/time.Duration(g.partsOf(l.round)))
}

// still is for how long nothing may come of a sum. Before that its parts are given to further workers. It is twice
// the patience, and four times what a part should take if that is known.
func (g *timing) still(r *round) time.Duration {
	if each, ok := g.expected(r); ok {
		return 2*g.patience() + 4*each
	}
	return 2 * g.detection
}

// close keeps the median of a round that is done, for the next one like it. Without a finished lease, what was known
// stays.
func (g *timing) close(r *round) {
	if each, ok := r.median(); ok {
		g.typical[r.work] = each
	}
}
