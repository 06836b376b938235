package wire

import (
	"slices"
	"time"
)

// Sequence is what has come of a vector whose chunks are asked for, and the order in which they were. The zero Sequence
// is of no chunks.
//
// A link keeps the order of what it carries. So a chunk that was asked for before another one that has come was lost,
// unless it is late for some other reason. That is known within one way of the link, long before a time limit could
// say so. One goroutine uses a Sequence.
//
// Invariant: flying is the bytes of the chunks below next that have not come.
type Sequence struct {
	Arrivals // of no chunks until the first is asked for
	chunks   Chunking
	next     int   // the first chunk that was never asked for
	flying   int   // bytes on their way
	order    []int // chunks; one that was asked for again stands there again
	place    []int // by chunk: its last place in order
	sure     int   // places up to here were looked at
	seen     int   // the last place of which the chunk has come, plus 1
	probes   int   // since the last chunk came
	resent   int   // chunks that were asked for again because of others
}

// MaxResends bounds, in multiples of all chunks, how many may be asked for again because others came first: on a
// network that changes the order they may just be late.
const MaxResends = 2

// Begin forgets everything, for the chunks of a vector. It takes no memory, and keeps what there is.
func (q *Sequence) Begin(chunks Chunking) {
	q.Arrivals.Begin(0)
	q.chunks, q.next, q.flying, q.order = chunks, 0, 0, q.order[:0]
	q.sure, q.seen, q.probes, q.resent = 0, 0, 0, 0
}

// Next is the first chunk that was never asked for.
func (q *Sequence) Next() int { return q.next }

// Flying is the number of bytes that were asked for and have not come.
func (q *Sequence) Flying() int { return q.flying }

// Affords reports whether n bytes more may be on their way, within a credit of which so many are used up. Something
// always may be: a chunk larger than the credit would never come otherwise.
func Affords(n, used, credit int) bool { return used == 0 || used+n <= credit }

// Ask notes that the next chunks are asked for, as far as the credit affords them. It returns them, and their bytes.
// Memory is taken with the first chunk.
func (q *Sequence) Ask(used, credit int) (r Range, bytes int) {
	n := q.chunks.Count()
	for r.First = q.next; q.next < n && Affords(q.chunks.Bytes(q.next), used+bytes, credit); q.next++ {
		bytes += q.chunks.Bytes(q.next)
	}
	r.Count = q.next - r.First
	if r.First == 0 && r.Count > 0 {
		q.Arrivals.Begin(n)
		if cap(q.place) < n {
			q.place = make([]int, n)
		}
		q.place = q.place[:n]
	}
	q.flying += bytes
	q.asked(r)
	return r, bytes
}

// asked notes that chunks were asked for.
func (q *Sequence) asked(r Range) {
	for i := r.First; i < r.First+r.Count; i++ {
		q.place[i] = len(q.order)
		q.order = append(q.order, i)
	}
}

// Awaits reports whether a chunk was asked for and has not come.
func (q *Sequence) Awaits(chunk int) bool { return 0 <= chunk && chunk < q.next && !q.got[chunk] }

// Take notes that a chunk has come that was awaited.
func (q *Sequence) Take(chunk int) {
	q.Arrivals.Take(chunk)
	q.flying -= q.chunks.Bytes(chunk)
	q.seen, q.probes = max(q.seen, q.place[chunk]+1), 0
}

// Again returns the chunks to ask for once more, which it notes. Those that were lost come first: they have not come
// although others have that were asked for later. If there are none, or more than most, it is one chunk to probe with,
// the one that was asked for last, if it is late: nothing has come for a while. One shows whether anything still comes:
// if it does, those that were lost before it are known.
func (q *Sequence) Again(late bool, most int) (ranges []Range, probe bool) {
	var lost []int
	for ; q.sure < q.seen; q.sure++ {
		// A chunk that was asked for again since is judged by its later place.
		if i := q.order[q.sure]; !q.got[i] && q.place[i] == q.sure {
			lost = append(lost, i)
		}
	}
	if len(lost) > 0 && len(lost) <= most {
		slices.Sort(lost)
		q.resent += len(lost)
		for i := 0; i < len(lost); {
			r := Range{First: lost[i]}
			for ; i < len(lost) && lost[i] == r.First+r.Count; i++ {
				r.Count++
			}
			q.asked(r)
			ranges = append(ranges, r)
		}
		return ranges, false
	}
	for at := len(q.order) - 1; late && q.missing > 0 && at >= 0; at-- {
		if i := q.order[at]; !q.got[i] {
			q.probes++
			return []Range{{First: i, Count: 1}}, true
		}
	}
	return nil, false
}

// Resends is how many lost chunks may still be asked for again: see MaxResends.
func (q *Sequence) Resends() int { return MaxResends*q.Count() - q.resent }

// Probes is how often Again has probed since the last chunk came.
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
