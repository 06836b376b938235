package coordinator

import "time"

// remind looks after messages that were lost, many times in each tick, so that a loss costs a small part of the failure
// detection and not the time that a block takes. What a worker lacks it says itself, in a heartbeat soon after it was
// last told something.
func (m *machine) remind(now time.Duration) {
	if m.life.active() {
		m.leasing.remind(now)
	}
}

// remind sends a lease again whose worker has said that it does not have it: the Lease was lost, or the Result. It asks
// for chunks again that do not come, as long as no others do.
func (s *leasing) remind(now time.Duration) {
	prompt := s.timing.prompt()
	for _, l := range s.leases {
		switch {
		case l.state == leased && l.lackedAt > max(l.sentAt, l.nudgedAt) && now-max(l.sentAt, l.nudgedAt) >= prompt<<min(l.reminded, maxDoublings):
			l.nudgedAt = now
			l.reminded++
			s.send(l)
		case l.state == pulling && l.next > 0 && now-max(l.movedAt, l.againAt, l.nudgedAt, s.transfer.arrivedAt) >= s.timing.overdue(l.owner):
			l.nudgedAt = now
			s.transfer.askAgain(l)
		}
	}
}
