package coordinator

import (
	"slices"
	"time"

	"github.com/switchyard-ml/switchyard/coordinator/trust"
	"github.com/switchyard-ml/switchyard/wire"
)

// Copies for members on trial. A member that takes leases and does not deliver, see trust.Standing, is given copies of
// blocks that those in good standing compute anyway, which cost the run nothing. One of which nothing is known shares
// the work like all others, unless such members have let blocks wait lately: then it shows first what it can do, too.
// What they have cost is paid for, so that it stays a small part of the time, however many of them come.
// None of this changes a bit: it only decides who computes what.

// field is what all workers that are given leases can do together.
func (s *leasing) field(now time.Duration) field { return s.members.field(now, now >= s.calmAt) }

// missed notes that a block is given to another worker because the owner of a lease took too long. The cost is the
// time since the lease was given.
func (s *leasing) missed(now time.Duration, l *lease) {
	cost := now - l.givenAt
	if l.owner.Untried() && s.field(now).sound > 0 {
		s.calmAt = max(s.calmAt, now+trust.Debt*cost) // several at a time cost as much as one
	}
	l.owner.Miss(now, cost, s.timing.patience())
	l.owner.doubtedAt = now
}

// trials are the members that are to be given copies of what others compute. They have no other work, and do not
// rest.
func (s *leasing) trials(now time.Duration, f *field) (list []*member) {
	if f.sound == 0 {
		return nil
	}
	for _, w := range s.members.list {
		if w.ready && w.busy == 0 && !f.counts(w) && !w.Rests(now) {
			list = append(list, w)
		}
	}
	return list
}

// try gives members on trial copies of the smallest block that one in good standing has just been given. The smallest
// costs the least if nothing comes of it.
func (s *leasing) try(now time.Duration, r *round, trials []*member) {
	var given *lease
	for _, l := range r.leases {
		// A block that is audited is computed twice anyway.
		fresh := l.state == leased && l.givenAt == now && !l.audit && !l.shadow && l.owner.Sound(now)
		if fresh && !l.Audited && l.Phase() == trust.Open && (given == nil || l.Block.Count < given.Block.Count) {
			given = l
		}
	}
	if given == nil {
		return
	}
	for _, w := range trials {
		if given.mayCopy(w) {
			s.issue(now, w, given.task, false)
			s.leases[len(s.leases)-1].shadow = true
		}
	}
}

// endTrials notes which members on trial had no answer by the end of a step. That costs the run nothing, so the cost
// is 0.
func (s *leasing) endTrials(now time.Duration) {
	for _, l := range s.leases {
		if l.shadow && l.state == leased {
			l.owner.Miss(now, 0, s.timing.patience())
		}
	}
}

// reliable reports whether a member in good standing is to deliver a block as well. Then another one that lags need
// not be replaced.
func (s *leasing) reliable(now time.Duration, l *lease) bool {
	return slices.ContainsFunc(l.task.leases, func(o *lease) bool {
		return o != l && o.audit == l.audit && o.out() && o.owner.Sound(now)
	})
}

// cover gives blocks that are held by nobody who is known to deliver, for longer than they should take, to others who
// have nothing to do. Where somebody is known to deliver, it does not wait for the failure detection.
func (s *leasing) cover(now time.Duration) {
	f := s.field(now)
	for _, r := range s.rounds {
		if r.done || len(r.free) > 0 || len(r.queue) > 0 {
			continue
		}
		for i := range len(s.leases) { // it grows meanwhile
			l := s.leases[i]
			if l.round != r || !l.out() || l.InTree() || l.Judged() || !s.lags(now, l, &f) {
				continue
			}
			// Each further copy counts as a miss of the lease that lags.
			for range s.wanted(l, &f) {
				w := s.substitute(now, l, &f)
				if w == nil {
					break
				}
				s.missed(now, l)
				l.task.reissued++
				s.figures.Speculated++
				s.issue(now, w, l.task, l.audit)
			}
		}
	}
}

// lags reports whether a lease needs another worker: nobody who is known to deliver computes its block, and it takes
// longer than it should. As long as nobody is known to deliver, nobody knows either how long that is.
func (s *leasing) lags(now time.Duration, l *lease, f *field) bool {
	tried := !l.owner.Untried() || l.shadow
	switch {
	// Its owner delivers, or there is nothing to wait for.
	case l.owner.Sound(now), l.audit && l.state == announced, !l.audit && l.task.copy != nil:
		return false
	case l.state == pulling && now-max(l.movedAt, s.transfer.arrivedAt) < s.timing.soon():
		return false
	// Others have shown how long a block takes.
	case f.sound > 0:
		return tried && now-l.givenAt > s.timing.due(l) && !s.reliable(now, l)
	}
	// Nobody has delivered yet. The first copy is given the failure detection; each further round of copies only a
	// little, as they double.
	wait := s.timing.soon()
	if l.task.attempts == 1 {
		wait = max(s.timing.detection, s.timing.due(l)) // replicas say how far they are
	}
	return !slices.ContainsFunc(l.task.leases, func(o *lease) bool { return o.audit == l.audit && now-o.givenAt < wait })
}

// wanted is how many workers more are given the block of a lease that lags: as long as nobody is known to deliver, as
// many as have it already.
func (s *leasing) wanted(l *lease, f *field) int {
	if f.sound > 0 {
		return 1
	}
	return max(1, len(l.task.leases))
}

// substitute is the fastest member in good standing that has nothing to do and may take a block that somebody else has.
// As long as there is none in good standing, it is the first that was given nothing in this step.
func (s *leasing) substitute(now time.Duration, l *lease, f *field) *member {
	var best *member
	for _, w := range s.members.list {
		// One that has slots left for the whole block counts as idle.
		if !f.takes(w) || w.busy > 0 && w.busy+l.Block.Count > w.slots || !l.mayCopy(w) || f.sound > 0 && !w.Sound(now) ||
			f.sound == 0 && w.asked {
			continue
		}
		if best == nil || f.speed(w) > f.speed(best) {
			best = w
		}
	}
	return best
}

// spare reports whether an announced block is not to be pulled from its worker, because one that is better known to
// deliver is about to have it, too.
func (s *leasing) spare(now time.Duration, l *lease) bool {
	return l.round.work == wire.Gradient && !l.owner.Sound(now) && s.reliable(now, l)
}
