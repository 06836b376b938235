package coordinator

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/switchyard-ml/switchyard/wire"
)

// submit puts a task on the docket, because something was learnt about it.
func (j *judgement) submit(t *task) { j.docket = append(j.docket, t) }

// review looks at what is on the docket, but for tasks of rounds that are over meanwhile.
func (j *judgement) review(now time.Duration) {
	for len(j.docket) > 0 {
		t := j.docket[0]
		j.docket = j.docket[:copy(j.docket, j.docket[1:])]
		if slices.Contains(j.leasing.rounds, t.round) {
			j.weigh(now, t)
		}
	}
}

// weigh looks at a copy of a task that has come since, and then at the task.
func (j *judgement) weigh(now time.Duration, t *task) {
	l := t.arrived
	if t.arrived = nil; l != nil {
		if l.said.digest == "" && (t.audited || t.phase == disputed) {
			l.said.digest = wire.DigestPartial(l.values, l.said.terms)
		}
		if t.phase == disputed {
			j.decide(now, t, truth{l.partial(), l.owner.id, l})
			return
		}
		t.hold(now, l)
	}
	j.look(now, t)
}

// look does what is to be done about a task after something was learnt about it.
func (j *judgement) look(now time.Duration, t *task) {
	if !j.life.active() {
		return
	}
	switch j.rule(t) {
	case stay:
	case dismiss:
		j.dismissSource(now, t)
	case challenge:
		if err := j.dispute(now, t); err != nil {
			j.run.finish(err)
		}
	case believe:
		j.believe(now, t)
	case approve:
		j.figures.Audits++
		j.run.use(now, t.copy)
	case appeal:
		j.ask(t)
	case inquire:
		if j.inquire(now, t) {
			j.believe(now, t)
		}
	}
}

// believe uses a copy that nobody confirmed.
func (j *judgement) believe(now time.Duration, t *task) {
	j.accounts.trust(t.copy.owner.account, j.run.opt.step, t.round.work)
	j.run.use(now, t.copy)
}

// tick looks after what waits for somebody to speak: copies that are to be confirmed, and disputes that a worker is to
// decide.
func (j *judgement) tick(now time.Duration) {
	if j.auditing.any() {
		for _, l := range j.leasing.leases {
			if l.state == delivered && l.task.copy == l {
				j.submit(l.task)
			}
		}
		j.review(now)
	}
	j.hearThirds(now)
}

// hearThirds looks whether there is still somebody to decide about each dispute.
func (j *judgement) hearThirds(now time.Duration) {
	if j.hasReferee || !j.life.active() {
		return
	}
	for _, r := range j.leasing.rounds {
		for _, t := range slices.Clone(r.disputes) {
			if err := j.hearThird(now, t); err != nil {
				j.run.finish(err)
				return
			}
		}
	}
}

// verdict handles what the referee has computed. One that is no longer waited for is dropped.
func (j *judgement) verdict(now time.Duration, v verdict) {
	t := j.question(v.id)
	if t == nil || !j.life.active() {
		return
	}
	t.question = 0
	err := j.check(t, v)
	switch {
	case err != nil && len(t.failures) > 0:
		j.run.diverge(t, fmt.Sprintf("%s; the referee finds the same: %v", t.failures[len(t.failures)-1].detail, err))
	case err != nil:
		j.run.finish(fmt.Errorf("%w: at step %d the %s of shards %s: %s; the referee could not compute it: %w",
			ErrDisputed, j.run.opt.step, t.round.work, t.block, t.positions(), err))
	default:
		j.decide(now, t, truth{Partial: v.partial()})
	}
}

// decide ends the doubts about a task: its bits are known. Who said otherwise is cut off, and what it contributed
// undone.
func (j *judgement) decide(now time.Duration, t *task, p truth) {
	known := p.claim(t.round, j.transfer.chunks)
	liars, err := j.convict(t, p, known)
	if err != nil {
		j.run.finish(err)
		return
	}
	if j.quarantine(now, liars, p.blame(j.run.opt.step, t)) {
		return
	}
	if t.phase == merged {
		j.transfer.recycle(p.Partial)
		j.run.closeIfDone(now)
		return
	}
	if l := p.lease; l != nil && t.round.shared() {
		l.state, t.holder = keeping, l
	}
	j.leasing.withdrawAll(t, announced, pulling, delivered)
	t.copy, t.digest = nil, known.digest
	if t.audited {
		j.figures.Audits++
	}
	j.run.merge(now, t, p.Partial, Contribution{t.block, known.checksum, cmp.Or(p.judge, refereeName)})
}

// dismissSource cuts off a worker that has contradicted itself. That is certain without a referee.
func (j *judgement) dismissSource(now time.Duration, t *task) {
	a := t.inconsistent()
	if l := t.copy; l != nil && l.owner.account == a {
		t.dropCopy()
		j.leasing.lose(now, l, nil)
	}
	t.unsay(func(c *claim) bool { return c.account == a })
	why := fmt.Sprintf("at step %d it said two different things about the %s of shards %s", j.run.opt.step, t.round.work,
		t.block)
	if j.quarantine(now, []*account{a}, why) {
		return
	}
	if j.look(now, t); j.life.active() {
		j.leasing.giveOut(now, t)
	}
}

// quarantineRemedy is what helps a worker whose bits differ.
const quarantineRemedy = "check the machine's memory and that the worker's binary is of the same release; then " +
	"start it anew"

// quarantine cuts off workers whose bits are wrong. If they contributed what nobody has confirmed, the step begins
// anew, or the run goes back to before that, and true is returned: all tasks are void.
func (j *judgement) quarantine(now time.Duration, liars []*account, why string) (void bool) {
	clean, tainted := j.run.opt.step, false
	for _, a := range liars {
		if a.banned == "" {
			j.ban(a, why)
		}
		if a.tainted {
			clean, tainted = min(clean, a.since), true
			a.tainted = false
		}
	}
	if tainted && clean < j.run.opt.step {
		j.life.suspend()
		j.out.add(rollbackCommand{clean, why})
		return true
	}
	for _, w := range slices.Clone(j.members.list) {
		if w.account.banned == "" {
			continue
		}
		if tainted {
			j.leasing.drop(now, w, "cut off: "+why)
		} else {
			j.run.remove(now, w, "cut off: "+why)
		}
	}
	if tainted && j.life.state != finished {
		j.run.beginAnew(now)
	}
	return tainted || j.life.state == finished
}

// ban closes the run to a token, and sends the worker a refusal.
func (j *judgement) ban(a *account, why string) {
	a.banned = why
	j.figures.Quarantined, j.figures.Marks = append(j.figures.Quarantined, a.id), append(j.figures.Marks, a.mark)
	j.out.add(eventCommand{Event{Kind: EventQuarantine, Step: j.run.opt.step, Worker: a.id, Reason: why}})
	j.members.turnAway(a.id, a.token, why, quarantineRemedy)
}

// cutOff bans the members with too many offences or refused messages.
func (j *judgement) cutOff(now time.Duration) {
	for i := len(j.members.list) - 1; i >= 0 && j.life.active(); i-- {
		if i >= len(j.members.list) {
			continue
		}
		w := j.members.list[i]
		if why := w.excess(); why != "" {
			j.ban(w.account, why)
			j.run.remove(now, w, "cut off: "+why)
		}
	}
}
