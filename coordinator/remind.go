package coordinator

import "time"

// What was lost is looked for many times in each tick, so that a lost message costs a small part of the failure
// detection. A worker says soon after it was told something what it has in hand: a lease that is not in the list is
// sent once more, for the Lease was lost, or the Result, and either is a few hundred bytes. Which chunks were lost
// wire.Sequence tells; a worker sends them in the order in which they were asked for.

// remind looks after what cannot wait for a tick. It is called much more often, and does little. since is from when
// on messages were read as soon as they came. It leads to a Lease, Reduce or Pull once more, or to a copy of a block
// for another worker.
func (m *machine) remind(now, since time.Duration) {
	if !m.life.active() {
		return
	}
	m.leasing.remind(now, since)
	m.leasing.cover(now)
	m.conclude(now)
}

// remind sends again, or asks for, what was lost. Each further time it waits twice as long, as the worker may just be
// slow to say what it has.
func (s *leasing) remind(now, since time.Duration) {
	for _, l := range s.leases {
		sent := max(l.sentAt, l.nudgedAt)
		switch {
		case l.state == leased && l.lackedAt > sent && now-max(since, sent) >= max(s.timing.prompt(),
			l.owner.lag.Limit())<<min(l.reminded, maxDoublings):
			l.nudgedAt = now
			l.reminded++
			l.owner.echoes++
			s.send(l)
		case l.state == pulling && l.asked.Next() > 0:
			s.transfer.remind(now, since, l)
		}
	}
}

// remind asks for chunks of a lease that were lost, or tries whether some were. The answers may come twice, which
// echoes allow for.
func (x *transfer) remind(now, since time.Duration, l *lease) {
	// What later chunks have overtaken was lost, unless the network changes the order: then Resends falls to nothing.
	most := 0
	if l.asked.Resends() > 0 {
		most = l.chunks.Count()
	}
	// Nothing comes at all: one chunk is asked for, ever more rarely, to see whether the link still carries anything.
	wait := max(x.timing.prompt()/2, l.owner.lag.Limit()) << min(l.asked.Probes(), maxDoublings)
	again, _ := l.asked.Again(now-max(since, l.movedAt, l.againAt, l.nudgedAt, x.arrivedAt) >= wait, most)
	for _, r := range again {
		l.nudgedAt = now
		l.owner.echoes += r.Count
		x.ask(l, r)
	}
}

// refuse refuses a message of a member, unless it can be the second answer to what was asked twice. An offence is
// refused in any case.
func (m *machine) refuse(w *member, reason Reason, offence bool, detail string) {
	// An answer that comes twice because it was asked for twice is nobody's fault.
	if w.echoes > 0 && !offence && (reason == ReasonDuplicate || reason == ReasonStep || reason == ReasonLease ||
		reason == ReasonUnrequested) {
		w.echoes--
		return
	}
	m.out.refuse(w, reason, offence, detail)
}
