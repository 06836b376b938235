package coordinator

import "time"

// A message that is lost is asked for again long before its worker is doubted: asking costs a few bytes, a copy of the
// block costs a worker's time. What is asked for twice is harmless.

// nudge asks again for what may have been lost: a Lease that was not answered in the time that it should take, and chunks
// of which none has arrived from anybody for a while, so that no slow link is made slower.
func (m *machine) nudge(now time.Duration) {
	soon := m.cfg.FailureDetection / 20
	for _, l := range m.leases {
		switch {
		case l.state == leased && now-max(l.sentAt, l.nudgedAt) >= max(soon, m.due(l))<<min(l.nudges, 16):
			l.nudgedAt = now
			l.nudges++ // less and less often: it may just take long
			m.sendLease(l)
		case l.state == pulling && l.next > 0 && now-max(l.movedAt, l.againAt, l.nudgedAt, m.arrivedAt) >= soon:
			l.nudgedAt = now
			m.pullMissing(l)
		}
	}
}

// due is how long a lease should take.
func (m *machine) due(l *lease) time.Duration {
	each, ok := m.expected(l.round)
	if !ok {
		return m.patience()
	}
	return time.Duration(tardiness*float64(each)) * time.Duration(l.batches())
}
