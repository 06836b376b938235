package coordinator

import (
	"time"

	"github.com/switchyard-ml/switchyard/internal/wire"
)

// A straggler holds the step back. When nothing is left to be given out, what takes much longer than the rest is given to
// an idle worker as well, and whoever is first wins: with the same bits, so nothing is lost but the slower one's work.

const (
	// tardiness is how many times the expected time a lease may take.
	tardiness = 1.5
	// copies is how many workers may compute the same block at the same time.
	copies = 2
)

// expected is the time that a shard should take: the median of this round's leases, or of the last round like it, or what
// those promise that have told of their progress.
func (m *machine) expected(r *round) (time.Duration, bool) {
	if each, ok := r.median(); ok {
		return each, true
	}
	if each := m.typical[r.work]; each > 0 {
		return each, true
	}
	return m.promised(r)
}

// promised is the middle of the times that the replicas of a round will take, at their pace until now.
func (m *machine) promised(r *round) (time.Duration, bool) {
	if m.partsOf(r) == 1 {
		return 0, false
	}
	var times []time.Duration
	for _, l := range m.leases {
		if l.round == r && l.done > 0 {
			whole := float64(l.grewAt-l.givenAt) * float64(m.parts(l)) / float64(l.done)
			times = append(times, time.Duration(whole)/time.Duration(l.batches()))
		}
	}
	return median(times)
}

// limit is the age at which a lease is overdue. It doubles with each worker that the block was given to, so that a block
// that takes long for everybody is done in the end.
func (m *machine) limit(l *lease) time.Duration {
	limit := m.cfg.FailureDetection
	if each, ok := m.expected(l.round); ok {
		limit = max(m.patience(), time.Duration(tardiness*float64(each))*time.Duration(l.batches()))
	}
	return limit << min(l.task.reissued, 16)
}

// patienceFor is how long a block may wait for a worker of a certain kind.
func (m *machine) patienceFor(r *round) time.Duration {
	each, _ := m.expected(r)
	return max(m.cfg.FailureDetection, 4*each)
}

// overdue reports whether another worker is better asked, too. A block that is on its way is not late.
func (m *machine) overdue(now time.Duration, l *lease) bool {
	moving := l.state == pulling && (l.next == 0 || now-max(l.movedAt, m.arrivedAt) < m.patience())
	return l.out() && !moving && !(l.audit && l.state == announced) && now-l.givenAt > m.limit(l)
}

// speculate gives overdue blocks to idle workers.
func (m *machine) speculate(now time.Duration) {
	for _, r := range m.rounds {
		if r.done || len(r.free) > 0 || len(r.retry) > 0 {
			continue
		}
		for i := 0; i < len(m.leases); i++ { // grows meanwhile
			if l := m.leases[i]; l.round == r && !l.task.merged && l.task.judge == 0 && m.overdue(now, l) {
				m.copy(now, l)
			}
		}
	}
}

// copy gives an overdue lease's block to the fastest idle worker. If as many have it as may, the first of them gives it up.
func (m *machine) copy(now time.Duration, l *lease) {
	t, n := l.task, 0
	if !l.audit && t.held != nil {
		return
	}
	for _, o := range t.leases {
		if o.audit == l.audit && o.out() {
			if n++; !m.overdue(now, o) {
				return
			}
		}
	}
	w := m.idle(l)
	if w == nil {
		return
	}
	if n >= copies {
		m.revoke(now, l)
	}
	t.reissued++
	l.owner.doubtedAt = now
	m.figures.Speculated++
	m.issue(now, w, t, l.audit)
}

// idle is the fastest worker that has nothing to do and may take a block that somebody else has.
func (m *machine) idle(l *lease) *member {
	f := m.field()
	var best *member
	for _, w := range m.members {
		if !f.takes(w) || w.busy > 0 && w.busy+l.block.Count > w.slots || !m.mayCopy(w, l) {
			continue
		}
		if best == nil || f.speed(w) > f.speed(best) {
			best = w
		}
	}
	return best
}

func (m *machine) mayCopy(w *member, l *lease) bool {
	t := l.task
	if l.audit {
		return t.mayAudit(w)
	}
	if t.disputed && !t.neutral(w) || t.hasFailed(w) {
		return false
	}
	for _, o := range t.leases {
		if o.owner.account == w.account && !o.audit {
			return false
		}
	}
	return true
}

// closeTimes keeps the median of a round that is done, for the next one like it.
func (m *machine) closeTimes(r *round) {
	if each, ok := r.median(); ok {
		m.typical[r.work] = each
	}
}

// typical times by kind of work.
type typicalTimes [wire.Validate + 1]time.Duration
