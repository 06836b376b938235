package coordinator

import (
	"fmt"
	"time"
)

// hire is what helps a run that waits for workers.
const hire = "start one with: switchyard worker --nats URL"

// tellWaiting reports once a second what the run waits for.
func (m *machine) tellWaiting(now time.Duration) {
	waiting := m.waiting(now)
	if m.waitsFor = waiting; waiting == "" || now-m.waitTold < time.Second {
		return
	}
	m.waitTold = now
	m.emit(MembershipReport{
		Workers: m.ready(), Slots: m.slots(), Waiting: waiting, Seconds: (now - m.waitSince).Seconds(),
	})
}

// waiting says what holds the run up, if anything: which block, at which worker, for how long, and what helps.
func (m *machine) waiting(now time.Duration) string {
	if m.ready() == 0 {
		switch n := len(m.members); n {
		case 0:
			return "no worker has joined; " + hire
		case 1:
			return fmt.Sprintf("worker %s prepares: it fetches the data set and builds the model", m.members[0].id)
		default:
			return fmt.Sprintf("%d workers prepare, %s first; they fetch the data set and build the model", n, m.members[0].id)
		}
	}
	for _, l := range m.leases {
		if text := m.waitingFor(now, l); text != "" {
			return text
		}
	}
	return ""
}

// waitingFor says why a lease holds the run up, if it does.
func (m *machine) waitingFor(now time.Duration, l *lease) string {
	if !l.out() || l.task.merged {
		return ""
	}
	who := fmt.Sprintf("shards %s of step %d at worker %s for %.1f s", l.block, m.opt.step, l.owner.id, (now - l.givenAt).Seconds())
	silent := now - l.owner.lastSeen
	switch {
	case silent > m.cfg.FailureDetection/2:
		return fmt.Sprintf("%s, silent for %.1f s; after %v others get them", who, silent.Seconds(), m.cfg.FailureDetection)
	case l.state == leased && now-l.grewAt > m.stuck(l):
		return fmt.Sprintf("%s: %d of %d done, none for %.0f s; %s", who, l.done, m.parts(l), (now - l.grewAt).Seconds(), m.helpFor(l))
	case l.state == pulling && now-l.movedAt > m.cfg.FailureDetection/2:
		return fmt.Sprintf("%s: done, but nothing arrived for %.1f s; check the network to it", who, (now - l.movedAt).Seconds())
	case l.state == delivered && now-l.task.heldAt > m.patienceFor(l.round):
		return who + ": it is to be confirmed by another worker; " + hire
	}
	return ""
}

// stuck is how long a worker may be busy with one part of a lease: the failure detection, or three times what it or the
// others took for one so far.
func (m *machine) stuck(l *lease) time.Duration {
	each, _ := m.expected(l.round)
	longest := 3 * each
	if rate, ok := l.owner.pace.rate(); ok {
		longest = max(longest, time.Duration(min(3/rate, 1e6)*float64(time.Second)))
	}
	return max(m.cfg.FailureDetection, longest/time.Duration(m.partsOf(l.round)))
}

// helpFor says what helps with a worker that gets nowhere.
func (m *machine) helpFor(l *lease) string {
	if m.ready() == 1 {
		return "another worker would be given them, too; " + hire
	}
	if l.task.reissued > 0 {
		return "another worker has been given them, too"
	}
	return "an idle worker is given them, too; or end that worker"
}
