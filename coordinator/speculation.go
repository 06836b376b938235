package coordinator

import (
	"time"

	"github.com/switchyard-ml/switchyard/coordinator/trust"
	"github.com/switchyard-ml/switchyard/wire"
)

// A slow worker holds the step back. When no block is left to be given out, a block that takes much longer than the
// others is given to an idle worker as well. The copy that arrives first is used. Both have the same bits, so only the
// work of the slower worker is lost.

// copies is how many workers may compute the same block at the same time.
const copies = 2

// overdue reports whether the block should be given to another worker as well. A block that is on its way is not
// late. Nor is a sum whose worker has added a block lately.
func (s *leasing) overdue(now time.Duration, l *lease) bool {
	if l.round.work == wire.Sum && now-l.grewAt < s.timing.patience() {
		return false
	}
	return l.out() && !s.transfer.moving(now, l) && !(l.audit && l.state == announced) && now-l.givenAt > s.timing.limit(l)
}

// speculate gives overdue blocks to idle workers.
func (s *leasing) speculate(now time.Duration) {
	for _, r := range s.rounds {
		// As long as there are blocks that nobody has, idle workers get those.
		if r.done || len(r.free) > 0 || len(r.queue) > 0 {
			continue
		}
		for i := 0; i < len(s.leases); i++ { // grows meanwhile
			l := s.leases[i]
			if l.round == r && !l.shadow && !l.InTree() && !l.Judged() && s.overdue(now, l) {
				s.copy(now, l)
			}
		}
	}
}

// copy gives the block of an overdue lease to the fastest idle worker. If as many workers have it as may, the first of
// them loses it.
func (s *leasing) copy(now time.Duration, l *lease) {
	t, n := l.task, 0
	if !l.audit && t.copy != nil {
		return
	}
	for _, o := range t.leases {
		if o.audit == l.audit && o.out() && !o.shadow {
			if n++; !s.overdue(now, o) {
				return
			}
		}
	}
	w := s.idle(now, l)
	if w == nil {
		return
	}
	if n >= copies {
		s.revoke(now, l)
	}
	t.reissued++
	s.missed(now, l)
	s.figures.Speculated++
	s.issue(now, w, t, l.audit)
}

// idle is the fastest worker that has nothing to do and may take a block that somebody else has. nil: there is none.
func (s *leasing) idle(now time.Duration, l *lease) *member {
	f := s.field(now)
	var best *member
	for _, w := range s.members.list {
		if !f.counts(w) || w.busy > 0 && w.busy+l.Block.Count > w.slots || !l.mayCopy(w) {
			continue
		}
		if best == nil || f.speed(w) > f.speed(best) {
			best = w
		}
	}
	return best
}

// mayCopy reports whether a worker may take a block that somebody else has. Each worker has a block once, and one
// that failed at it, or is a party to its dispute, not again.
func (l *lease) mayCopy(w *member) bool {
	t := l.task
	if l.audit {
		return t.mayAudit(w)
	}
	if t.Phase() == trust.Disputed && !t.Neutral(w.Account) || t.HasFailed(w.Account) {
		return false
	}
	for _, o := range t.leases {
		if o.owner.Account == w.Account && !o.audit {
			return false
		}
	}
	return true
}
