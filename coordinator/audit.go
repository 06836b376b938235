package coordinator

import (
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/switchyard-ml/switchyard/internal/reduce"
	"github.com/switchyard-ml/switchyard/internal/wire"
)

// claim is what a worker says that a block is. An audit knows the digest, an announcement the checksum; the digest of
// what was pulled is formed when it is needed.
type claim struct {
	account  *account
	id       string
	terms    []float32
	checksum uint32
	summed   bool // there is a checksum
	digest   string
}

// agrees reports whether two claims may be about the same bits.
func (c *claim) agrees(o *claim) bool {
	same := slices.EqualFunc(c.terms, o.terms, func(x, y float32) bool { return math.Float32bits(x) == math.Float32bits(y) })
	return same && (!c.summed || !o.summed || c.checksum == o.checksum) && (c.digest == "" || o.digest == "" || c.digest == o.digest)
}

// contradicted reports whether two workers say different things about a block.
func (t *task) contradicted() bool {
	for i, c := range t.claims {
		for _, o := range t.claims[:i] {
			if !c.agrees(o) {
				return true
			}
		}
	}
	return false
}

// unsay drops claims that are known to be worth nothing.
func (t *task) unsay(worthless func(*claim) bool) { t.claims = slices.DeleteFunc(t.claims, worthless) }

// fickle returns a worker that says two different things about a block, if there is one.
func (t *task) fickle() *account {
	for i, c := range t.claims {
		for _, o := range t.claims[:i] {
			if c.account == o.account && !c.agrees(o) {
				return c.account
			}
		}
	}
	return nil
}

// confirmed reports whether another worker than the one whose copy is held has computed the block to the same digest.
func (t *task) confirmed() bool {
	return slices.ContainsFunc(t.claims, func(c *claim) bool { return c.digest != "" && c.account != t.held.owner.account })
}

// vouched reports whether one of those who agree about a block has been right before the referee. Without that somebody
// with two identities would confirm himself. Who is right once, and lies with a second identity later, is not found out by
// this: that takes audits by the referee, see Config.AuditHere.
func (m *machine) vouched(t *task) bool {
	return m.cfg.Referee == nil || slices.ContainsFunc(t.claims, func(c *claim) bool { return c.account.examined })
}

// chooseAudit decides whether a block is to be computed twice. The choice is a keyed hash that workers cannot foresee:
// the one that is given the block first does not learn of it.
func (m *machine) chooseAudit(t *task) {
	share := m.auditShare()
	if share <= 0 {
		return
	}
	text := append([]byte(nil), m.key[:]...)
	text = append(text, m.cfg.Run...)
	for _, n := range []uint64{m.opt.step, uint64(t.round.work), uint64(t.block.First), uint64(t.block.Count)} {
		text = binary.BigEndian.AppendUint64(text, n)
	}
	sum := sha256.Sum256(text)
	t.audited = float64(binary.BigEndian.Uint64(sum[:])>>11)/(1<<53) < share
	if t.audited && !m.cfg.AuditHere {
		t.round.wantAudit(t)
	}
}

// auditShare is the share of the blocks to be computed twice at the present step. What a liar has undone is confirmed as
// a whole when it is done again: one who comes back under other names can delay a run then, but not hold it.
func (m *machine) auditShare() float64 {
	if m.opt.step < m.wary {
		return 1
	}
	return m.cfg.Audit
}

// wantAudit queues a task to be confirmed by another worker.
func (r *round) wantAudit(t *task) {
	if t.audited && !t.merged && t.judge == 0 && !slices.Contains(r.audits, t) {
		r.audits = append(r.audits, t)
	}
}

func (r *round) dropAudit(t *task) {
	r.audits = slices.DeleteFunc(r.audits, func(o *task) bool { return o == t })
}

// audit chooses a task for a worker to confirm.
func (r *round) audit(w *member) *task {
	for _, t := range r.audits {
		if t.mayAudit(w) {
			r.dropAudit(t)
			return t
		}
	}
	return nil
}

// mayAudit reports whether a worker's word about a block would be a second one. Whoever has a worker's key can see the
// leases of all: an audit is given out only once the bits of the block are announced, or one could lie where there is none.
func (t *task) mayAudit(w *member) bool {
	if len(t.claims) == 0 {
		return false
	}
	if t.held != nil && t.held.owner.account == w.account || t.hasFailed(w) {
		return false
	}
	for _, l := range t.leases {
		if l.owner.account == w.account {
			return false
		}
	}
	return !slices.ContainsFunc(t.claims, func(c *claim) bool { return c.account == w.account })
}

func (t *task) hasFailed(w *member) bool {
	return slices.ContainsFunc(t.failures, func(f *failure) bool { return f.account == w.account })
}

// accept handles a whole and sound copy of a block.
func (m *machine) accept(now time.Duration, l *lease) {
	t := l.task
	if t.audited || t.disputed {
		l.said.digest = wire.DigestPartial(l.values, l.said.terms)
	}
	l.state = delivered
	if t.disputed {
		truth := reduce.Partial{Values: l.values, Terms: slices.Clone(l.said.terms)}
		l.values = nil
		m.decide(now, t, truth, l.owner.id)
		return
	}
	t.held, t.heldAt = l, now
	m.check(now, t)
}

// check decides what becomes of a task after something was learnt about it.
func (m *machine) check(now time.Duration, t *task) {
	switch {
	case m.finished || m.suspended || t.released || t.judge != 0 || t.disputed:
	case t.fickle() != nil:
		m.dropFickle(now, t)
	case t.contradicted():
		m.dispute(now, t)
	case t.merged || t.held == nil:
	case !t.audited:
		m.taint(t.held.owner.account, t.round.work)
		m.merge(now, t)
	case m.cfg.AuditHere:
		m.ask(t)
	case t.confirmed() && m.vouched(t):
		m.figures.Audits++
		m.merge(now, t)
	case t.confirmed():
		m.ask(t)
	default:
		m.seekAudit(now, t)
	}
}

// seekAudit looks for somebody to confirm a block that is there: another worker, or the referee. Where there is neither,
// the block is used as it is.
func (m *machine) seekAudit(now time.Duration, t *task) {
	others := 0
	for _, w := range m.members {
		if w.ready && w.account != t.held.owner.account && !t.hasFailed(w) {
			others++
		}
	}
	if others > 0 && now-t.heldAt <= m.patienceFor(t.round) {
		if !slices.ContainsFunc(t.leases, func(l *lease) bool { return l.audit && l.out() }) {
			t.round.wantAudit(t)
		}
		return
	}
	if m.cfg.Referee != nil {
		m.ask(t)
		return
	}
	m.figures.Unaudited++
	t.audited = false
	t.round.dropAudit(t)
	m.check(now, t)
}

// seekAudits looks after blocks that wait to be confirmed.
func (m *machine) seekAudits(now time.Duration) {
	if m.cfg.Audit <= 0 && m.wary == 0 {
		return
	}
	for _, l := range slices.Clone(m.leases) {
		if l.state == delivered && l.task.held == l {
			m.check(now, l.task)
		}
	}
}

// merge puts a task's block into the tree.
func (m *machine) merge(now time.Duration, t *task) {
	l := t.held
	l.owner.account.accepted++
	values := l.values
	l.values = nil
	m.withdraw(l)
	m.settle(now, t, reduce.Partial{Values: values, Terms: slices.Clone(l.said.terms)}, Credit{t.block, l.said.checksum, l.owner.id})
}

// blame says why a worker is believed not to compute what was asked for.
func blame(step uint64, t *task, judge string) string {
	if judge == "" {
		judge = "the referee"
	} else {
		judge = "worker " + judge + " and others"
	}
	return fmt.Sprintf("at step %d its %s of shards %s differs from what %s computed", step, t.round.work, t.block, judge)
}
