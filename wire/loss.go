package wire

import (
	"slices"
	"time"
)

// Sequence is the order in which parts were asked for. The zero Sequence is of no parts.
//
// A link keeps the order of what it carries. So a part that was asked for before another one that has come was lost,
// unless it is late for some other reason. That is known within one way of the link, long before a time limit could
// say so. One goroutine uses a Sequence.
type Sequence struct {
	order  []int // parts; one that was asked for again stands there again
	place  []int // by part: its last place in order
	sure   int   // places up to here were looked at
	seen   int   // the last place of which the part has come, plus 1
	probes int   // since the last part came
	resent int   // parts that were asked for again because of others
}

// MaxResends bounds, in multiples of all parts, how many may be asked for again because others came first: on a network
// that changes the order they may just be late. Whoever asks looks at Resent before.
const MaxResends = 2

// Begin forgets everything, for n parts. It keeps its memory.
func (q *Sequence) Begin(n int) {
	if cap(q.place) < n {
		q.place = make([]int, n)
	}
	q.order, q.place = q.order[:0], q.place[:n]
	q.sure, q.seen, q.probes, q.resent = 0, 0, 0, 0
}

// Asked notes that the parts [first, end) were asked for.
func (q *Sequence) Asked(first, end int) {
	for i := first; i < end; i++ {
		q.place[i] = len(q.order)
		q.order = append(q.order, i)
	}
}

// Came notes that a part has come that was asked for.
func (q *Sequence) Came(part int) { q.seen, q.probes = max(q.seen, q.place[part]+1), 0 }

// Overtaken returns, in order and once for each time that it was asked for, every part that has not come although one
// has that was asked for later. got says by part what has come.
func (q *Sequence) Overtaken(got []bool) (lost []int) {
	for ; q.sure < q.seen; q.sure++ {
		// A part that was asked for again since is judged by its later place.
		if i := q.order[q.sure]; !got[i] && q.place[i] == q.sure {
			lost = append(lost, i)
		}
	}
	slices.Sort(lost)
	return lost
}

// Again notes that parts, in order, are asked for again, and calls ask for each run [first, end) of them.
func (q *Sequence) Again(parts []int, ask func(first, end int)) {
	q.resent += len(parts)
	for i := 0; i < len(parts); {
		n := 1
		for i+n < len(parts) && parts[i+n] == parts[i]+n {
			n++
		}
		q.Asked(parts[i], parts[i]+n)
		ask(parts[i], parts[i]+n)
		i += n
	}
}

// Resent is how many parts were asked for again, each as often as it was.
func (q *Sequence) Resent() int { return q.resent }

// Probe returns the part to ask for once more when nothing comes, the one that was asked for last; -1 if all have
// come. One part shows whether anything still comes: if it does, Overtaken finds all that was lost before it.
func (q *Sequence) Probe(got []bool) int {
	for at := len(q.order) - 1; at >= 0; at-- {
		if i := q.order[at]; !got[i] {
			q.probes++
			return i
		}
	}
	return -1
}

// Probes is how often Probe has chosen a part since the last one came.
func (q *Sequence) Probes() int { return q.probes }

// Lag is how long a link lets wait, as TCP estimates it (Jacobson 1988): a mean and a mean deviation in which older
// waits count less. The zero Lag knows of no wait. The weights are those of TCP: an eighth for the mean, a quarter
// for the deviation.
type Lag struct {
	mean, deviation time.Duration
	known           bool
}

// Add notes a wait. The first one is the mean, and half of it the deviation.
func (g *Lag) Add(wait time.Duration) {
	if !g.known {
		g.mean, g.deviation, g.known = wait, wait/2, true
		return
	}
	g.deviation += (max(wait-g.mean, g.mean-wait) - g.deviation) / 4
	g.mean += (wait - g.mean) / 8
}

// Limit is a wait that is hardly ever exceeded; 0 if none is known.
func (g *Lag) Limit() time.Duration { return g.mean + 4*g.deviation }
