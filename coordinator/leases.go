package coordinator

import (
	"fmt"
	"slices"
	"time"

	"github.com/switchyard-ml/switchyard/internal/wire"
)

const (
	// maxStrikes is how often a lease is asked for again before another worker gets the block.
	maxStrikes = 3
	// remedy is what helps a run that diverges.
	remedy = "start again from the configuration with a smaller optim.rate or optim.clip"
)

// leaseState is where a lease stands.
type leaseState uint8

const (
	leased    leaseState = iota // the worker computes
	announced                   // it has, and the block is there, or is pulled from another
	pulling                     // announced, chunks are being pulled
	delivered                   // all is there, and waits to be confirmed
	settled                     // in the tree
	revoked                     // taken back; its messages are refused
)

// lease is a task in the hands of a worker.
type lease struct {
	*task
	id       uint64
	owner    *member
	audit    bool // only the digest is wanted
	attempt  int
	state    leaseState
	givenAt  time.Duration
	sentAt   time.Duration // the last time
	nudgedAt time.Duration // when it, or its missing chunks, were last asked for in passing
	nudges   int           // times that it was sent again in passing
	strikes  int           // times that it had to be asked for again
	done     int           // of its parts that the worker has computed, as its heartbeats tell
	grewAt   time.Duration // when that last grew, or the lease was given

	// from the announcement on
	said    *claim
	values  []float32 // nil until the first chunk is asked for
	box     *box      // where they are stored; nil: nowhere
	got     []bool
	next    int           // first chunk never asked for
	missing int           // chunks not yet there
	movedAt time.Duration // last arrival, or when it was first asked for more
	againAt time.Duration // when chunks were last asked for again
}

// out reports whether something is still expected of the lease.
func (l *lease) out() bool { return l.state == leased || l.state == announced || l.state == pulling }

// assign gives leases to workers with free slots while there is work.
func (m *machine) assign(now time.Duration) {
	if m.finished || m.suspended {
		return
	}
	f := m.field()
	for _, r := range m.rounds {
		for _, w := range m.members {
			for f.takes(w) && w.busy < w.slots {
				t, audit := m.choose(now, r, w, &f)
				if t == nil {
					break
				}
				m.issue(now, w, t, audit)
			}
		}
	}
}

// choose finds work for a worker: what has to be done again, then what is to be confirmed, then a free block.
func (m *machine) choose(now time.Duration, r *round, w *member, f *field) (t *task, audit bool) {
	if t := r.again(now, w, f.workers == 1, m.patienceFor(r)); t != nil {
		return t, false
	}
	if t := r.audit(w); t != nil {
		return t, true
	}
	b, ok := r.take(w, f)
	if !ok {
		return nil, false
	}
	t = r.task(b)
	m.chooseAudit(t)
	return t, false
}

// issue gives a task to a worker.
func (m *machine) issue(now time.Duration, w *member, t *task, audit bool) *lease {
	m.lastID++
	t.attempts++
	l := &lease{task: t, id: m.lastID, owner: w, audit: audit, attempt: t.attempts, givenAt: now, sentAt: now, grewAt: now}
	m.leases = append(m.leases, l)
	m.byID[l.id] = l
	t.leases = append(t.leases, l)
	w.asked = true
	w.account.allow(1)
	m.load(now, w, t.block.Count)
	if audit {
		m.figures.AuditedShards += uint64(t.block.Count)
	} else {
		m.figures.Issued += uint64(t.block.Count)
	}
	m.sendLease(l)
	return l
}

// load changes the number of shards in a worker's hands.
func (m *machine) load(now time.Duration, w *member, shards int) {
	w.pace.count(now, w.busy, w.slots)
	w.busy += shards
}

func (m *machine) sendLease(l *lease) {
	m.tell(l.owner.id, l.owner.mark, &wire.Lease{
		ID: l.id, Step: m.opt.step, Pass: m.pass, Attempt: l.attempt, Work: l.round.work, First: l.block.First, Count: l.block.Count, Audit: l.audit,
	})
}

// announce handles a Result: the block's worker is free for more, and the block can be pulled.
func (m *machine) announce(now time.Duration, w *member, msg *wire.Result) {
	l, reason, detail := m.find(w, msg.Lease, msg.Step)
	if reason != "" {
		m.refuse(w, reason, msg.Lease > m.lastID, "%s", detail)
		return
	}
	if reason, detail := m.checkResult(l, msg); reason != "" {
		m.refuse(w, reason, reason != ReasonDuplicate, "%s", detail)
		return
	}
	m.load(now, w, -l.block.Count)
	if msg.Fault != "" {
		m.fail(now, l, ReasonFault, msg.Fault)
		return
	}
	if !finite(msg.Terms) {
		m.fail(now, l, ReasonNonFinite, fmt.Sprintf("loss terms %v", msg.Terms))
		return
	}
	w.pace.deliver(l.block.Count, w.slots)
	w.computed += min(msg.Took, now-l.givenAt) * time.Duration(min(l.block.Count, w.slots)) / time.Duration(w.slots)
	l.round.times = append(l.round.times, (now-l.sentAt)/time.Duration(l.batches()))
	l.state, l.movedAt = announced, now
	l.said = &claim{
		account: w.account, id: w.id, terms: msg.Terms, digest: msg.Digest,
		checksum: msg.Checksum, summed: !l.audit && l.round.work == wire.Gradient,
	}
	l.task.claims = append(l.task.claims, l.said)
	m.assign(now)
	m.heard(now, l)
	if !m.finished && !m.suspended {
		m.pull(now)
	}
}

// parts is how many steps of computation a lease has: one for each shard, or one for each local step of each replica.
func (m *machine) parts(l *lease) int { return l.block.Count * m.partsOf(l.round) }

func (m *machine) partsOf(r *round) int {
	if r.work == wire.Validate {
		return 1
	}
	return int(m.opt.Stride())
}

// batches is how many shards a worker computes one after the other for a lease.
func (l *lease) batches() int {
	slots := min(l.owner.slots, l.block.Count)
	return (l.block.Count + slots - 1) / slots
}

// heard decides what follows from an announcement.
func (m *machine) heard(now time.Duration, l *lease) {
	t := l.task
	switch {
	case l.audit, t.merged, t.judge != 0, t.disputed && !t.neutral(l.owner), !t.disputed && t.contradicted():
		m.withdraw(l)
		m.check(now, t)
	case l.round.work == wire.Validate:
		m.accept(now, l)
	case t.held != nil && !t.disputed:
	default:
		if other := t.source(); other == nil {
			m.startPull(now, l)
		} else if now-other.movedAt >= m.patience() {
			m.stopPull(other)
			m.startPull(now, l)
		}
	}
}

// find returns the lease that a message is about, or why there is none.
func (m *machine) find(w *member, id, step uint64) (*lease, Reason, string) {
	if step != m.opt.step {
		return nil, ReasonStep, fmt.Sprintf("message of step %d, now %d", step, m.opt.step)
	}
	l := m.byID[id]
	if l == nil || l.owner != w || l.state == revoked {
		return nil, ReasonLease, fmt.Sprintf("lease %d is not held by %s", id, w.id)
	}
	return l, "", ""
}

func (m *machine) checkResult(l *lease, msg *wire.Result) (Reason, string) {
	if l.state != leased {
		return ReasonDuplicate, fmt.Sprintf("shards %s were announced before", l.block)
	}
	if msg.First != l.block.First || msg.Count != l.block.Count || msg.Work != l.round.work || msg.Attempt != l.attempt {
		return ReasonBlock, fmt.Sprintf("%s of shards %d+%d, attempt %d; leased were shards %s, attempt %d",
			msg.Work, msg.First, msg.Count, msg.Attempt, l.block, l.attempt)
	}
	if msg.Fault != "" {
		return "", ""
	}
	want := 0
	if l.round.work == wire.Gradient && !l.audit {
		want = m.sums.Size
	}
	if msg.Length != want || len(msg.Terms) != len(m.cfg.TermNames) {
		return ReasonLength, fmt.Sprintf("%d values and %d terms, want %d and %d",
			msg.Length, len(msg.Terms), want, len(m.cfg.TermNames))
	}
	if l.audit != (len(msg.Digest) == wire.HashLength) {
		return ReasonLength, fmt.Sprintf("a digest of %d characters; an audit is answered with one of %d, all else with none",
			len(msg.Digest), wire.HashLength)
	}
	return "", ""
}

// withdraw takes a lease off its task: nothing more is expected of it.
func (m *machine) withdraw(l *lease) {
	m.forget(l)
	l.state = settled
	l.task.leases = slices.DeleteFunc(l.task.leases, func(o *lease) bool { return o == l })
}

// revoke takes a lease back, with its credit and its memory. What becomes of the block is up to the caller.
func (m *machine) revoke(now time.Duration, l *lease) {
	if l.state == leased {
		m.load(now, l.owner, -l.block.Count)
	}
	m.withdraw(l)
	l.state = revoked
}

// forget drops what was pulled of a lease.
func (m *machine) forget(l *lease) {
	for i := range l.next {
		if l.state == pulling && !l.got[i] {
			m.inFlight -= m.sums.Bytes(i)
		}
	}
	if l.box != nil {
		m.intake.close(l.id)
		l.box = nil
	}
	if l.values != nil {
		m.pool = append(m.pool, l.values)
	}
	l.values, l.next, l.missing = nil, 0, 0
}

// lose takes a lease back and gives its block to another worker, unless one has it already. One that is named gets it
// only if there is nobody else.
func (m *machine) lose(now time.Duration, l *lease, not *account) {
	m.revoke(now, l)
	t, r := l.task, l.round
	switch {
	case l.audit:
		r.wantAudit(t)
	case t.merged || t.held != nil || t.judge != 0:
	case t.regular() > 0:
		m.pullNext(now, t)
	case t.disputed || not != nil:
		r.retry = append(r.retry, retry{t, not, now})
	default:
		r.dropAudit(t)
		r.release(now, t)
	}
}

// regular counts the leases of a task that are to deliver it.
func (t *task) regular() int {
	n := 0
	for _, l := range t.leases {
		if !l.audit {
			n++
		}
	}
	return n
}

// askAgain sends a lease once more. A worker that does not deliver in the end loses it.
func (m *machine) askAgain(now time.Duration, l *lease) {
	if l.strikes++; l.strikes > maxStrikes {
		m.reject(l.owner.id, ReasonUnanswered, "shards %s were asked for %d times", l.block, l.strikes)
		l.owner.doubtedAt = now
		m.lose(now, l, l.owner.account)
		m.assign(now)
		return
	}
	l.sentAt = now
	m.sendLease(l)
}

// fail handles a block that could not be computed, whose lease is no longer out. It is given to another worker, if there
// is one. A block that fails twice is the referee's; without one, or if it fails there, too, it ends the run.
func (m *machine) fail(now time.Duration, l *lease, reason Reason, detail string) {
	m.reject(l.owner.id, reason, "step %d, %s of shards %s: %s", m.opt.step, l.round.work, l.block, detail)
	t := l.task
	l.state = announced // it is no longer in the worker's hands
	before := len(t.failures)
	t.failures = append(t.failures, &failure{l.owner.account, l.owner.id, detail})
	t.unsay(func(c *claim) bool { return c == l.said })
	m.lose(now, l, l.owner.account)
	switch {
	case l.audit, t.merged, before == 0, t.judge != 0:
		m.check(now, t)
	case m.cfg.Referee != nil:
		m.ask(t)
	default:
		m.diverge(t, detail)
		return
	}
	m.assign(now)
}

// diverge ends the run with a block that nobody can compute.
func (m *machine) diverge(t *task, detail string) {
	first, last := t.failures[0], t.failures[len(t.failures)-1]
	m.finish(fmt.Errorf("%w: at step %d the %s of shards %s failed twice (workers %s and %s): %s: %s",
		ErrDiverged, m.opt.step, t.round.work, t.block, first.id, last.id, detail, remedy))
}
