package worker

import (
	"slices"
	"time"

	"github.com/switchyard-ml/switchyard/internal/vector"
	"github.com/switchyard-ml/switchyard/wire"
)

// assembly collects the chunks of the parameters of one step.
//
// Invariant: a chunk that is there has in held the step and pass of the assembly; one that is not may have those of
// before, to which differences can be added.
type assembly struct {
	known   bool // step is set
	step    uint64
	pass    int
	values  []float32
	held    []held // by chunk: what its values are
	got     wire.Arrivals
	movedAt time.Time     // last arrival or request
	pace    time.Duration // time between the last arrivals; it is kept for the next step
	longest time.Duration // the longest wait for a chunk, of which a part is forgotten with each step
	cameAt  time.Time     // last arrival of a chunk of the step
	asks    int           // number of requests since then
	behind  bool          // a message came that was sent after all chunks: those that are missing were lost

	changes  *vector.Grid // of differences; nil: chunks come whole
	integers []float32    // memory for those of a chunk
	sum      []float32    // and for what adding them gives
}

// held says which parameters the values of a chunk belong to.
type held struct {
	known bool
	step  uint64
	pass  int
}

// forget begins anew, for another coordinator: what it calls by the same number may be something else. Values stay in
// memory, but belong to nothing that differences could be added to.
func (a *assembly) forget() {
	a.known = false
	clear(a.held)
}

// sound reports whether a chunk has the form, and values the checksum, that they are to have. Of differences the
// checksum shows when they are added. It touches nothing.
func (a *assembly) sound(msg *wire.Theta, chunks wire.Chunking) bool {
	if msg.Coding == wire.Float32 {
		return chunks.Sound(msg.Index, msg.Data, msg.CRC)
	}
	return a.changes != nil && msg.Coding == codingOf(a.changes.Width()) &&
		len(msg.Data) == msg.Coding.Width()*a.changes.Integers(chunks.Span(msg.Index))
}

// store keeps the values of a sound chunk, or adds differences to them. It reports whether it could: differences
// belong to the values of one step and pass, and to no others. If it could not, nothing is changed. msg has to be
// sound.
func (a *assembly) store(msg *wire.Theta, chunks wire.Chunking) bool {
	i := msg.Index
	if msg.Coding == wire.Float32 {
		chunks.Decode(a.values, i, msg.Data)
	} else {
		// Added to anything else, differences would give parameters that nobody has.
		if a.held[i] != (held{true, msg.BaseStep, msg.BasePass}) {
			return false
		}
		from, to := chunks.Span(i)
		n := a.changes.Integers(from, to)
		a.integers = slices.Grow(a.integers[:0], n)[:n]
		msg.Coding.Whole(n).Decode(a.integers, 0, msg.Data)
		// The sum is formed beside the values, so that a wrong one leaves them as they were.
		a.sum = append(a.sum[:0], a.values[from:to]...)
		a.changes.Add(a.sum, a.integers, from)
		if wire.Checksum(wire.FloatBytes(a.sum)) != msg.CRC {
			return false
		}
		copy(a.values[from:to], a.sum)
	}
	a.held[i] = held{true, msg.Step, msg.Pass}
	return true
}

// open begins to wait for the given number of chunks of a step and pass, none of which is there. held stays:
// differences need it.
func (a *assembly) open(step uint64, pass, chunks int) {
	if len(a.held) != chunks {
		a.held = make([]held, chunks)
	}
	a.got.Begin(chunks)
	a.known, a.step, a.pass, a.movedAt = true, step, pass, time.Now()
	a.cameAt, a.asks, a.behind = time.Time{}, 0, false
	a.longest -= a.longest / 64
}

// arrived records the arrival of a chunk.
func (a *assembly) arrived(chunk int, now time.Time) {
	a.got.Take(chunk)
	if !a.cameAt.IsZero() {
		wait := now.Sub(a.cameAt)
		a.pace, a.longest = (a.pace+wait)/2, max(a.longest, wait)
	}
	a.movedAt, a.cameAt, a.asks = now, now, 0
}

// drop forgets the values of the chunks [first, end), which have arrived.
func (a *assembly) drop(first, end int) {
	a.got.Drop(first, end)
	clear(a.held[first:end])
}

// follows records the arrival of a message that the coordinator sent after the chunks. Messages of one sender keep
// their order, so a missing chunk was lost, or is about to come.
func (a *assembly) follows(now time.Time) {
	if !a.behind {
		a.behind, a.movedAt = true, now
	}
}

// asked records a request for the missing chunks.
func (a *assembly) asked(now time.Time) {
	a.movedAt = now
	a.asks++
}

// patience is how long to wait for the next chunk before asking for it: several times the usual time between two
// chunks on this link, and longer after each request, so that a slow link does not carry the same chunks many times.
// It has a limit, because an interrupted link looks like a slow one. least is the shortest wait.
func (a *assembly) patience(least time.Duration) time.Duration {
	return min(max(least, 4*a.pace)<<min(a.asks, 4), 20*least)
}

// missingRanges lists the missing chunks; nil if the parameters are complete or no chunks are expected. At most
// wire.MaxRanges are listed.
func (a *assembly) missingRanges() []wire.Range {
	if !a.known {
		return nil
	}
	return a.got.Gaps(0, a.got.Count(), wire.MaxRanges)
}
