package coordinator

import (
	"slices"
	"time"
)

// What was lost is looked for many times in each tick, so that a lost message costs a small part of the failure
// detection. Nothing is asked for again because of the time alone but what is small, so that a coordinator, a worker or
// a link that is merely slow does not carry a gradient twice:
//
//   - A worker says soon after it was told something what it has in hand. A lease that is not in the list is sent once
//     more: the Lease was lost, or the Result. Either is a few hundred bytes.
//   - A worker sends chunks in the order in which they were asked for. Those that did not come before one that was asked
//     for later are lost.
//   - If nothing comes for longer than usual on that link, the chunk that was asked for last is asked for once more. When
//     it comes, from the first or the second request, all others that are missing are known to be lost.

// maxResends bounds, in multiples of the chunks of a block, how many are asked for again because others came first: on a
// network that changes the order they may just be late.
const maxResends = 2

// remind looks after what cannot wait for a tick. It is called much more often, and does little. since is from when on
// messages were read as soon as they came.
func (m *machine) remind(now, since time.Duration) {
	if !m.life.active() {
		return
	}
	m.leasing.remind(now, since)
	m.leasing.cover(now)
	m.conclude(now)
}

// remind sends again, or asks for, what was lost.
func (s *leasing) remind(now, since time.Duration) {
	for _, l := range s.leases {
		sent := max(l.sentAt, l.nudgedAt)
		switch {
		case l.state == leased && l.lackedAt > sent && now-max(since, sent) >= max(s.timing.prompt(), l.owner.lag.limit())<<min(l.reminded, maxDoublings):
			l.nudgedAt = now
			l.reminded++
			l.owner.echoes++
			s.send(l)
		case l.state == pulling && l.next > 0:
			s.transfer.remind(now, since, l)
		}
	}
}

// remind asks for chunks of a lease that were lost, or tries whether some were.
func (x *transfer) remind(now, since time.Duration, l *lease) {
	if lost := l.overtaken(); len(lost) > 0 && l.resent < maxResends*l.chunks.Count() {
		l.resent += len(lost)
		l.owner.echoes += len(lost)
		slices.Sort(lost)
		for i := 0; i < len(lost); {
			n := 1
			for i+n < len(lost) && lost[i+n] == lost[i]+n {
				n++
			}
			l.asks(lost[i], lost[i]+n)
			x.ask(l, lost[i], lost[i]+n)
			i += n
		}
		l.nudgedAt = now
		return
	}
	wait := max(x.timing.prompt()/2, l.owner.lag.limit()) << min(l.probes, maxDoublings)
	if now-max(since, l.movedAt, l.againAt, l.nudgedAt, x.arrivedAt) < wait {
		return
	}
	for at := len(l.order) - 1; at >= 0; at-- {
		if i := l.order[at]; !l.got[i] {
			l.nudgedAt = now
			l.probes++
			l.owner.echoes++
			x.ask(l, i, i+1)
			return
		}
	}
}

// sequence is the order in which chunks of a gradient were asked for.
type sequence struct {
	order  []int // chunks; one that was lost stands there again
	place  []int // by chunk: the last place in order
	sure   int   // places up to here were looked at
	seen   int   // the last place of which the chunk has come, plus 1
	resent int   // chunks that were asked for again because others came first
	probes int   // times that the last chunk was asked for once more since anything came
}

// begin forgets everything, for n chunks.
func (q *sequence) begin(n int) {
	q.order, q.place = q.order[:0], slices.Grow(q.place[:0], n)[:n]
	q.sure, q.seen, q.resent, q.probes = 0, 0, 0, 0
}

// asks notes that the chunks [first, end) were asked for.
func (q *sequence) asks(first, end int) {
	for i := first; i < end; i++ {
		q.place[i] = len(q.order)
		q.order = append(q.order, i)
	}
}

// comes notes that a chunk has come.
func (q *sequence) comes(chunk int) {
	q.seen, q.probes = max(q.seen, q.place[chunk]+1), 0
}

// overtaken returns the chunks that have not come although one has that was asked for later.
func (l *lease) overtaken() (lost []int) {
	for ; l.sure < l.seen; l.sure++ {
		if i := l.order[l.sure]; !l.got[i] && l.place[i] == l.sure {
			lost = append(lost, i)
		}
	}
	return lost
}

// lag is how long a member's link lets wait, as TCP estimates it: a mean and a mean deviation in which older waits
// count less.
type lag struct {
	mean, deviation time.Duration
	known           bool
}

// add notes a wait.
func (g *lag) add(wait time.Duration) {
	if !g.known {
		g.mean, g.deviation, g.known = wait, wait/2, true
		return
	}
	g.deviation += (max(wait-g.mean, g.mean-wait) - g.deviation) / 4
	g.mean += (wait - g.mean) / 8
}

// limit is a wait that is hardly ever exceeded.
func (g *lag) limit() time.Duration { return g.mean + 4*g.deviation }

// refuse refuses a message of a member, unless it can be the second answer to what was asked twice.
func (m *machine) refuse(w *member, reason Reason, offence bool, detail string) {
	if w.echoes > 0 && !offence && (reason == ReasonDuplicate || reason == ReasonStep || reason == ReasonLease || reason == ReasonUnrequested) {
		w.echoes--
		return
	}
	m.out.refuse(w, reason, offence, detail)
}
