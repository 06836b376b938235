package coordinator

import "time"

// remind looks after messages that were lost, many times in each tick, so that a loss costs a small part of the failure
// detection and not the time that a block takes. What a worker lacks it says itself, in a heartbeat soon after it was
// last told something. since is from when on messages were read as soon as they arrived.
func (m *machine) remind(now, since time.Duration) {
	if m.life.active() {
		m.leasing.remind(now, since)
	}
}

// fewBytes is how much may be in flight for chunks to be asked for again because of the time alone: little is lost if it
// was for nothing. More waits until it is certain that the link, or this process, is not just slow.
const fewBytes = 1 << 20

// remind sends a lease again whose worker has said that it does not have it: the Lease was lost, or the Result. It asks
// for chunks again behind which others have come, since a worker sends them in order, and for few that do not come, as
// long as no others do.
func (s *leasing) remind(now, since time.Duration) {
	prompt := s.timing.prompt()
	for _, l := range s.leases {
		switch {
		case l.state == leased && l.lackedAt > max(l.sentAt, l.nudgedAt) && now-max(l.sentAt, l.nudgedAt) >= prompt<<min(l.reminded, maxDoublings):
			l.nudgedAt = now
			l.reminded++
			s.send(l)
		case l.state == pulling && l.sure < l.seen:
			s.transfer.askMissing(l, l.sure, l.seen)
			l.sure = l.seen
		case l.state == pulling && l.next > 0 && s.transfer.inFlight <= fewBytes && now-max(since, l.movedAt, l.againAt, l.nudgedAt, s.transfer.arrivedAt) >= s.timing.overdue(l.owner):
			l.nudgedAt = now
			s.transfer.askAgain(l)
		}
	}
}
