package coordinator

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/switchyard-ml/switchyard/internal/wire"
)

// weigh handles a whole and sound copy of a block that is to be confirmed, or that others have spoken about.
func (m *machine) weigh(now time.Duration, l *lease) {
	t := l.task
	if t.audited || t.phase == disputed {
		l.said.digest = wire.DigestPartial(l.values, l.said.terms)
	}
	if t.phase == disputed {
		m.decide(now, t, truth{l.partial(), l.owner.id})
		return
	}
	t.hold(now, l)
	m.review(now, t)
}

// review does what judgement rules about a task after something was learnt about it.
func (m *machine) review(now time.Duration, t *task) {
	if !m.life.active() {
		return
	}
	switch m.judgement.rule(t) {
	case stay:
	case dismiss:
		m.dismissSource(now, t)
	case challenge:
		m.finishIf(m.judgement.dispute(now, t))
	case believe:
		m.believe(now, t.copy)
	case approve:
		m.figures.Audits++
		m.use(now, t.copy)
	case appeal:
		m.judgement.ask(t)
	case inquire:
		if m.judgement.inquire(now, t) {
			m.believe(now, t.copy)
		}
	}
}

// finishIf ends the run if there is an error.
func (m *machine) finishIf(err error) {
	if err != nil {
		m.finish(err)
	}
}

// seekAudits looks after blocks that wait to be confirmed.
func (m *machine) seekAudits(now time.Duration) {
	if !m.auditing.any() {
		return
	}
	for _, t := range m.judgement.waiting() {
		m.review(now, t)
	}
}

// hearThirds looks after disputes that a worker is to decide.
func (m *machine) hearThirds(now time.Duration) { m.finishIf(m.judgement.hearThirds(now)) }

// verdict handles what the referee has computed. One that is no longer waited for is dropped.
func (m *machine) verdict(now time.Duration, v verdict) {
	t, err := m.judgement.answered(v, len(m.cfg.TermNames))
	switch {
	case t == nil:
		return
	case err != nil && len(t.failures) > 0:
		m.diverge(t, fmt.Sprintf("%s; the referee finds the same: %v", t.failures[len(t.failures)-1].detail, err))
	case err != nil:
		m.finish(fmt.Errorf("%w: at step %d the %s of shards %s: %s; the referee could not compute it: %w",
			ErrDisputed, m.opt.step, t.round.work, t.block, t.positions(), err))
	default:
		m.decide(now, t, truth{Partial: v.partial()})
	}
	m.conclude(now)
}

// decide ends the doubts about a task: its bits are known. Who said otherwise is cut off, and what it contributed undone.
func (m *machine) decide(now time.Duration, t *task, p truth) {
	known := p.claim(t.round.work, m.transfer.chunks)
	liars, err := m.judgement.convict(t, p, known)
	if err != nil {
		m.finish(err)
		return
	}
	if m.quarantine(now, liars, p.blame(m.opt.step, t)) {
		return
	}
	if t.phase == merged {
		m.transfer.recycle(p.Partial)
		m.closeIfDone(now)
		return
	}
	m.leasing.withdrawAll(t, announced, pulling, delivered)
	t.copy = nil
	if t.audited {
		m.figures.Audits++
	}
	m.merge(now, t, p.Partial, Credit{t.block, known.checksum, cmp.Or(p.judge, refereeName)})
}

// dismissSource cuts off a worker that has contradicted itself, which takes no judge.
func (m *machine) dismissSource(now time.Duration, t *task) {
	a := t.inconsistent()
	if l := t.copy; l != nil && l.owner.account == a {
		t.dropCopy()
		m.leasing.lose(now, l, nil)
	}
	t.unsay(func(c *claim) bool { return c.account == a })
	why := fmt.Sprintf("at step %d it said two different things about the %s of shards %s", m.opt.step, t.round.work, t.block)
	if m.quarantine(now, []*account{a}, why) {
		return
	}
	if m.review(now, t); m.life.active() {
		m.leasing.giveOut(now, t)
	}
}

// quarantineRemedy is what helps a worker whose bits differ.
const quarantineRemedy = "check the machine's memory and that the worker's binary is of the same release; then start it anew"

// quarantine cuts off workers whose bits are wrong. If they contributed what nobody has confirmed, the step begins
// anew, or the run goes back to before that, and true is returned: all tasks are void.
func (m *machine) quarantine(now time.Duration, liars []*account, why string) (void bool) {
	clean, tainted := m.opt.step, false
	for _, a := range liars {
		if a.banned == "" {
			m.ban(a, why)
		}
		if a.tainted {
			clean, tainted = min(clean, a.since), true
			a.tainted = false
		}
	}
	if tainted && clean < m.opt.step {
		m.life.suspend()
		m.out.add(rollbackCommand{clean, why})
		return true
	}
	for _, w := range slices.Clone(m.members.list) {
		if w.account.banned == "" {
			continue
		}
		m.dropMember(now, w, "cut off: "+why)
		if !tainted {
			m.fillGap(now)
		}
	}
	if tainted && m.life.state != finished {
		m.beginAnew(now)
	}
	return tainted || m.life.state == finished
}

// ban closes the run to a token, and lets the worker know. One whose id others have used is not sent anything: they would
// hear it, too.
func (m *machine) ban(a *account, why string) {
	a.banned = why
	m.figures.Quarantined = append(m.figures.Quarantined, a.id)
	m.out.add(eventCommand{Event{Kind: EventQuarantine, Step: m.opt.step, Worker: a.id, Reason: why}})
	m.members.turnAway(a.id, a.token, why, quarantineRemedy)
}

// cutOff bans the members that have sent more than can be borne.
func (m *machine) cutOff(now time.Duration) {
	for i := len(m.members.list) - 1; i >= 0 && m.life.active(); i-- {
		if i >= len(m.members.list) {
			continue
		}
		w := m.members.list[i]
		if why := w.excess(); why != "" {
			m.ban(w.account, why)
			m.remove(now, w, "cut off: "+why)
		}
	}
}
