package coordinator

import (
	"fmt"
	"slices"
	"time"

	"github.com/switchyard-ml/switchyard/coordinator/trust"
	"github.com/switchyard-ml/switchyard/internal/vector"
	"github.com/switchyard-ml/switchyard/wire"
)

// maxStrikes is how often a lease is asked for again before another worker gets the block.
const maxStrikes = 3

// leasing gives the blocks of the rounds under way to workers, and takes them back.
//
// Invariant: a member's busy shards are those of its leases in the state leased.
type leasing struct {
	life     *life
	opt      *optimiser
	members  *members
	timing   *timing
	transfer *transfer
	auditing *trust.Auditing
	exchange *summing
	accounts *trust.Accounts
	out      *outbox
	figures  *Stats

	pass   int      // how often the work at these parameters was begun anew; 0 with each step
	rounds []*round // under way at these parameters: validation before gradient
	// leases are those of these rounds, by id.
	// Invariant: byID holds the same, and no id above lastID was ever given.
	leases []*lease
	byID   map[uint64]*lease
	lastID uint64
	// calmAt is when members of which nothing is known are believed again. Before that, one of them let a block wait.
	calmAt time.Duration
}

// assign gives leases to workers with free slots while there is work. It goes through the rounds in order, so a
// validation comes before the gradient.
func (s *leasing) assign(now time.Duration) {
	if !s.life.active() {
		return
	}
	f := s.field(now)
	trials := s.trials(now, &f)
	for _, r := range s.rounds {
		// The first block of a step is a single shard where members on trial are to be given copies of it.
		r.sample = len(trials) > 0 && r.work == wire.Gradient && len(r.leases) == 0
		for _, w := range s.members.list {
			for f.counts(w) && (w.busy < w.slots || r.work == wire.Sum) {
				t, audit := s.choose(now, r, w, &f)
				if t == nil {
					break
				}
				s.issue(now, w, t, audit)
			}
		}
		if r.work == wire.Gradient {
			s.try(now, r, trials)
		}
	}
}

// choose finds work for a worker: what has to be done again, then what is to be confirmed, then a free block. audit
// says that the task is to be confirmed. nil: there is none for this worker now.
func (s *leasing) choose(now time.Duration, r *round, w *member, f *field) (t *task, audit bool) {
	if r.work == wire.Sum && slices.ContainsFunc(r.leases, func(l *lease) bool {
		return l.owner == w &&
			l.state == leased
	}) {
		return nil, false // one after the other, so that each has its share
	}
	if t := r.next(now, w, f.workers == 1, s.timing.patienceFor(r)); t != nil {
		return t, false
	}
	if t := r.nextAudit(w); t != nil {
		return t, true
	}
	// The draw is made when a block is cut, and not known to the worker that gets it.
	b, ok := r.take(w, f)
	if !ok {
		return nil, false
	}
	t = r.task(b)
	shared := (r.work == wire.Sum || r.shared()) && f.workers > 1
	if t.Audited = s.auditing.Draws(s.opt.step, r.work, b, shared); t.Audited && !s.auditing.Here {
		r.wantAudit(t)
	}
	return t, false
}

// issue gives a task to a worker. It is sent a Lease or a Reduce.
func (s *leasing) issue(now time.Duration, w *member, t *task, audit bool) {
	s.lastID++
	t.attempts++
	l := &lease{task: t, id: s.lastID, owner: w, audit: audit, attempt: t.attempts, givenAt: now, sentAt: now, grewAt: now}
	// The chunks of a sum are those of its sections alone.
	if l.chunks = s.transfer.chunks; t.round.work == wire.Sum {
		l.chunks = t.round.sections.Cut(t.Block.First, t.Block.Count)
	}
	s.leases = append(s.leases, l)
	s.byID[l.id] = l
	t.round.leases = append(t.round.leases, l)
	t.leases = append(t.leases, l)
	w.asked = true
	w.Account.Allow(1)
	w.load(now, l.load())
	if audit {
		s.figures.AuditedShards += uint64(l.load())
	} else {
		s.figures.Issued += uint64(l.load())
	}
	s.send(l)
}

// send sends the worker of a lease what it is to compute.
func (s *leasing) send(l *lease) {
	s.out.send(l.owner, l.message(s.opt.step, s.pass))
}

// find returns the lease that a message is about, or why there is none. A message of a worker that lost its lease is
// refused like one of a worker that never had it; see neverGave.
func (s *leasing) find(w *member, id, step uint64) (*lease, Reason, string) {
	if step != s.opt.step {
		return nil, ReasonStep, fmt.Sprintf("message of step %d, now %d", step, s.opt.step)
	}
	l := s.byID[id]
	if l == nil || l.owner != w || l.state == revoked {
		return nil, ReasonLease, fmt.Sprintf("lease %d is not held by %s", id, w.id)
	}
	return l, "", ""
}

// neverGave reports whether no worker was given a lease of that number. Then it is an offence to speak of it.
func (s *leasing) neverGave(id uint64) bool { return id > s.lastID }

// announce notes what a worker says of a block that it has computed. The Result was checked.
func (s *leasing) announce(now time.Duration, l *lease, msg *wire.Result) {
	w := l.owner
	if n := l.load(); n > 0 {
		w.Pace.Deliver(n, w.slots)
		// A worker that says it computed longer than it had the block is not believed.
		w.computed += min(msg.Took, now-l.givenAt) * time.Duration(min(n, w.slots)) / time.Duration(w.slots)
	}
	l.round.times = append(l.round.times, (now-l.sentAt)/time.Duration(l.batches()))
	l.state, l.movedAt, l.round.announcedAt = announced, now, now
	l.said = &trust.Claim{
		Account: w.Account, ID: w.id, Terms: msg.Terms, Digest: msg.Digest,
		Checksum: msg.Checksum, Summed: !l.audit && l.round.work != wire.Validate, Digests: msg.Digests,
	}
	if msg.Digests != "" {
		w.met = true
		l.said.Digest = wire.DigestSections(msg.Digests, msg.Terms)
	}
	l.task.Say(l.said)
}

// beat notes the progress that a heartbeat lists. A lease that the worker should have and does not list is sent
// again: its Lease or its Result was lost. What the worker says of a lease that is not its own is ignored.
func (s *leasing) beat(now time.Duration, w *member, running []wire.Progress) {
	for i := 0; i < len(s.leases); i++ { // a lease that is lost makes new ones
		l := s.leases[i]
		if l.owner != w || l.state != leased {
			continue
		}
		// What is not in the list was lost on its way there, or was finished and its Result lost.
		at := slices.IndexFunc(running, func(p wire.Progress) bool { return p.Lease == l.id })
		if at >= 0 {
			if done := min(running[at].Done, s.timing.parts(l)); done > l.done {
				l.done, l.grewAt = done, now
			}
		} else if l.lackedAt = now; now-l.sentAt >= s.timing.patience() {
			s.askAgain(now, l)
		}
	}
}

// askAgain sends a lease once more. A worker that does not deliver in the end loses it.
func (s *leasing) askAgain(now time.Duration, l *lease) {
	if s.strike(now, l, "") {
		s.assign(now)
		return
	}
	l.sentAt = now
	s.send(l)
}

// strike notes that a lease, or a part of it, has to be asked for again. If that was too often it takes the lease
// back from the worker, and reports that it did. part says what was asked for, for people.
func (s *leasing) strike(now time.Duration, l *lease, part string) bool {
	if l.strikes++; l.strikes <= maxStrikes {
		return false
	}
	s.out.reject(l.owner.id, ReasonUnanswered, "%sshards %s were asked for %d times", part, l.Block, l.strikes)
	s.missed(now, l)
	s.lose(now, l, l.owner.Account)
	return true
}

// nudge asks again for what may have been lost, long before its worker is doubted. To ask costs a few bytes and does no
// harm, while a second computation of the block costs a worker's time. It sends a lease again that was not answered in
// the time that it should take. It asks for chunks again if none has arrived from any worker for a while: if others
// arrive, the link may just be slow, and is not to be made slower.
func (s *leasing) nudge(now time.Duration) {
	soon := s.timing.soon()
	for _, l := range s.leases {
		switch {
		// The Lease, or the Result, may have been lost: either is repeated.
		case l.state == leased && now-max(l.sentAt, l.nudgedAt) >= max(soon, s.timing.due(l))<<min(l.nudges, maxDoublings):
			l.nudgedAt = now
			l.nudges++ // less and less often: it may just take long
			s.send(l)
		case l.state == pulling && l.asked.Next() > 0 &&
			now-max(l.movedAt, l.againAt, l.nudgedAt, s.transfer.arrivedAt) >= soon:
			l.nudgedAt = now
			s.transfer.askAgain(l)
		}
	}
}

// withdraw takes a lease off its task: nothing more is expected of it. It stays known by its number, so that what its
// worker still says of it is a duplicate and no offence.
func (s *leasing) withdraw(l *lease) {
	s.transfer.forget(l)
	l.state = settled
	l.task.leases = slices.DeleteFunc(l.task.leases, func(o *lease) bool { return o == l })
}

// withdrawAll takes the leases off a task that are in one of these states.
func (s *leasing) withdrawAll(t *task, states ...leaseState) {
	for _, l := range slices.Clone(t.leases) {
		if slices.Contains(states, l.state) {
			s.withdraw(l)
		}
	}
}

// revoke takes a lease back, with its credit and its memory. What becomes of the block is up to the caller.
func (s *leasing) revoke(now time.Duration, l *lease) {
	if l.state == leased {
		l.owner.load(now, -l.load())
	}
	s.withdraw(l)
	l.state = revoked
}

// lose takes a lease back and gives its block to another worker, unless another one has it already. The worker of the
// account that is named gets it only if there is nobody else. A task in the tree, or with the referee, is not given
// out again.
func (s *leasing) lose(now time.Duration, l *lease, not *trust.Account) {
	s.revoke(now, l)
	t, r := l.task, l.round
	switch {
	case l.audit:
		r.wantAudit(t)
	// Somebody else has delivered it, or the referee computes it.
	case !t.wanted():
	// Others have it: one of them may have announced it already.
	case t.regular() > 0:
		s.transfer.resume(now, t)
	// A block that is disputed, or that is not to go back to the same worker, stays whole; any other can be cut anew.
	case t.Phase() == trust.Disputed || not != nil:
		s.figures.Reissued++
		r.enqueue(now, t, not)
	default:
		s.figures.Reissued++
		r.dropAudit(t)
		r.release(now, t)
	}
}

// drop takes a member out, and takes its leases back. The credit of what was on its way comes back. The report says
// that it left.
func (s *leasing) drop(now time.Duration, w *member, why string) {
	s.transfer.endFetch(&w.fetch)
	s.members.drop(w)
	for _, l := range slices.Clone(s.leases) {
		switch {
		case l.owner != w:
		case l.out():
			s.lose(now, l, nil)
		// Its block is gone with it, and so is what others sum of it.
		case l.state == keeping:
			s.unkeep(now, l)
		case l.state == delivered && l.round.shared(): // it is not here, and waits to be confirmed
			l.task.forget(l)
			s.lose(now, l, nil)
		}
	}
	s.accounts.Leave(w.Account)
	if w.ready {
		s.life.waitSince = now
		report := s.members.report()
		report.Left, report.Reason = w.id, why
		s.out.add(report)
	}
}

// spend uses the credit: for gradients first, as the step waits for them.
func (s *leasing) spend(now time.Duration) {
	s.pull(now)
	s.transfer.deliver(now, s.members.list)
}

// pull uses the credit for gradients.
func (s *leasing) pull(now time.Duration) { s.transfer.pull(now, s.opt.step, s.leases) }

// giveOut lets another worker compute or deliver a task whose copy was dropped.
func (s *leasing) giveOut(now time.Duration, t *task) {
	switch {
	case t.Phase() == trust.Free || !t.wanted() || t.round.queued(t):
	case t.regular() > 0:
		s.transfer.resume(now, t)
	default:
		t.round.enqueue(now, t, nil)
		s.assign(now)
	}
}

// clear drops all that belongs to the work at the last parameters.
func (s *leasing) clear(now time.Duration) {
	s.endTrials(now)
	for _, l := range s.leases { // pulled, and not needed
		s.transfer.forget(l)
	}
	for _, r := range s.rounds {
		r.tree.Reset(vector.Block{Count: 1}, s.transfer.recycle)
		if r.work == wire.Sum {
			s.transfer.recycle(r.total)
		}
	}
	// What their workers still say is refused from here on; no number is given twice.
	clear(s.byID)
	s.leases, s.rounds = s.leases[:0], s.rounds[:0]
	s.transfer.inFlight = 0
	for _, w := range s.members.list {
		// The time up to here still counts for the pace.
		w.load(now, -w.busy)
		w.computed = 0
	}
}

// gradient reports whether the gradient of a step is being computed.
func (s *leasing) gradient() bool { return s.gradientRound() != nil }

// done reports whether all rounds are summed, and nobody doubts what is in the sums.
func (s *leasing) done() bool {
	return !slices.ContainsFunc(s.rounds, func(r *round) bool { return !r.done || len(r.disputes) > 0 })
}

// broken is the error of a task that was to go where it cannot; nil: all is well.
func (s *leasing) broken() error {
	for _, r := range s.rounds {
		if r.broken != nil {
			return r.broken
		}
	}
	return nil
}
