package coordinator

import (
	"fmt"
	"time"

	"github.com/switchyard-ml/switchyard/coordinator/exchange"
	"github.com/switchyard-ml/switchyard/wire"
)

// fetch sends a member pieces of the data set that it lacks. What it no longer lacks gives its credit back.
func (m *machine) fetch(now time.Duration, w *member, msg *wire.Fetch) {
	if reason, detail := m.transfer.data.check(msg); reason != "" {
		m.out.refuse(w, reason, true, detail)
		return
	}
	m.transfer.confirm(now, &w.fetch, msg.Ranges)
	m.leasing.spend(now)
}

// beat handles a heartbeat. A stranger is asked to introduce itself. That of a member says which leases it has in
// hand: what is missing there is sent again.
func (m *machine) beat(now time.Duration, w *member, msg *wire.Heartbeat) {
	if w == nil {
		m.out.sendMarked(msg.From, msg.Token, &wire.Introduce{})
		return
	}
	w.footprint.note(now, msg)
	if !m.ahead(w, msg.Step) {
		m.leasing.beat(now, w, msg.Running)
	}
}

// ahead reports whether a worker believes to be at a later step, and asks it to begin anew: it would drop all that is
// sent to it otherwise.
func (m *machine) ahead(w *member, step uint64) bool {
	if step <= m.run.opt.step {
		return false
	}
	m.out.send(w, &wire.Introduce{})
	return true
}

// resendTheta sends chunks that a worker misses. A request for an older step is out of date, and says who did not
// hand them on. What is sent on demand are always values, and no differences.
func (m *machine) resendTheta(w *member, msg *wire.Need) {
	if m.ahead(w, msg.Step) {
		return
	}
	if reason, detail := checkRanges("chunks", msg.Ranges, m.run.chunks.Count()); reason != "" {
		m.out.refuse(w, reason, true, detail)
		return
	}
	m.run.missed(w, msg)
	if msg.Step < m.run.opt.step {
		return
	}
	for _, r := range msg.Ranges {
		m.out.add(thetaCommand{exchange.Theta{To: w.id, First: r.First, Count: r.Count}})
	}
}

// dismiss gives up the workers that were not heard of for too long. Their leases go to others.
func (m *machine) dismiss(now time.Duration) {
	for i := len(m.members.list) - 1; i >= 0 && m.life.active(); i-- {
		if i >= len(m.members.list) {
			continue
		}
		if w := m.members.list[i]; now-w.lastSeen > m.cfg.FailureDetection {
			m.run.remove(now, w, fmt.Sprintf("not heard of for %v", m.cfg.FailureDetection))
		}
	}
}
