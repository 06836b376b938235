package coordinator

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/switchyard-ml/switchyard/coordinator/trust"
	"github.com/switchyard-ml/switchyard/wire"
)

// submit puts a task among the pending, because something was learnt about it. It is looked at by review, before the
// event ends.
func (j *judgement) submit(t *task) { j.pending = append(j.pending, t) }

// review looks at what is among the pending, but for tasks of rounds that are over meanwhile.
func (j *judgement) review(now time.Duration) {
	for len(j.pending) > 0 {
		t := j.pending[0]
		j.pending = j.pending[:copy(j.pending, j.pending[1:])]
		if slices.Contains(j.leasing.rounds, t.round) {
			j.weigh(now, t)
		}
	}
}

// weigh looks at a copy of a task that has come since, and then at the task. A disputed block is decided by the copy
// of a neutral worker.
func (j *judgement) weigh(now time.Duration, t *task) {
	l := t.arrived
	if t.arrived = nil; l != nil {
		if l.said.Digest == "" && (t.Audited || t.thirdDecides()) {
			l.said.Digest = wire.DigestPartial(l.values, l.said.Terms)
		}
		if t.thirdDecides() {
			j.decide(now, t, truth{l.partial(), l.owner.id, l})
			return
		}
		t.hold(now, l)
	}
	j.look(now, t)
}

// look does what is to be done about a task after something was learnt about it. The ruling is that of package trust;
// what follows is decided here.
func (j *judgement) look(now time.Duration, t *task) {
	if !j.life.active() {
		return
	}
	switch j.Rule(&t.Case) {
	case trust.Stay:
	case trust.Dismiss:
		j.dismissSource(now, t)
	case trust.Challenge:
		if err := j.dispute(now, t); err != nil {
			j.run.finish(err)
		}
	case trust.Believe:
		j.believe(now, t)
	case trust.Approve:
		j.figures.Audits++
		j.run.use(now, t.copy)
	case trust.Appeal:
		j.ask(t)
	case trust.Inquire:
		if j.inquire(now, t) {
			j.believe(now, t)
		}
	}
}

// believe uses a copy that nobody confirmed.
func (j *judgement) believe(now time.Duration, t *task) {
	j.out.used(t.copy.owner.Account, j.run.opt.step, t.round.work)
	j.run.use(now, t.copy)
}

// tick looks after what waits for somebody to speak: copies that are to be confirmed, and disputes that a worker is to
// decide.
func (j *judgement) tick(now time.Duration) {
	if j.Audits.Any() {
		for _, l := range j.leasing.leases {
			if l.state == delivered && l.task.copy == l {
				j.submit(l.task)
			}
		}
		j.review(now)
	}
	j.hearThirds(now)
}

// hearThirds looks whether there is still somebody to decide about each dispute. A referee needs no third.
func (j *judgement) hearThirds(now time.Duration) {
	if j.HasReferee || !j.life.active() {
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
func (j *judgement) verdict(now time.Duration, v trust.Verdict) {
	t := j.question(v.ID)
	if t == nil || !j.life.active() {
		return
	}
	t.Answered()
	err := j.check(t, v)
	switch {
	case err != nil && len(t.Failures()) > 0:
		last := t.Failures()[len(t.Failures())-1]
		j.run.diverge(t, fmt.Sprintf("%s; the referee finds the same: %v", last.Detail, err))
	case err != nil:
		j.run.finish(fmt.Errorf("%w: at step %d the %s of shards %s: %s; the referee could not compute it: %w",
			ErrDisputed, j.run.opt.step, t.round.work, t.Block, t.Positions(), err))
	default:
		j.decide(now, t, truth{Partial: v.Partial})
	}
}

// decide ends the doubts about a task: its bits are known. Who said otherwise is cut off, and what it contributed
// undone. A block that was in the tree stays there if nobody is to be undone.
func (j *judgement) decide(now time.Duration, t *task, p truth) {
	// First it is settled who lied: if what they contributed is undone, this task is void with it.
	known := p.claim(t.round, j.transfer.chunks)
	liars, err := j.convict(t, p.judge, known)
	if err != nil {
		j.run.finish(err)
		return
	}
	if j.quarantine(now, liars, p.blame(j.run.opt.step, t)) {
		return
	}
	// It was contested, and what is in the tree is right.
	if t.Phase() == trust.Merged {
		j.transfer.recycle(p.Partial)
		if p.lease != nil {
			j.leasing.withdraw(p.lease)
		}
		j.run.closeIfDone(now)
		return
	}
	// Where the gradient is shared out the bits stay with the worker that is believed.
	if l := p.lease; l != nil && t.round.shared() {
		l.state, t.holder = keeping, l
	}
	// Other copies are not needed; those who still compute are heard when they are done, to be compared.
	j.leasing.withdrawAll(t, announced, pulling, delivered)
	t.copy, t.digest = nil, known.Digest
	if t.Audited {
		j.figures.Audits++
	}
	j.run.merge(now, t, p.Partial, Contribution{
		Block: t.Block, Checksum: known.Checksum, Worker: cmp.Or(p.judge, refereeName),
	})
}

// dismissSource cuts off a worker that has contradicted itself. That is certain without a referee.
func (j *judgement) dismissSource(now time.Duration, t *task) {
	a := t.Inconsistent()
	// Neither its copy nor its word counts any more.
	if l := t.copy; l != nil && l.owner.Account == a {
		t.dropCopy()
		j.leasing.lose(now, l, nil)
	}
	t.UnsayAll(a)
	why := fmt.Sprintf("at step %d it said two different things about the %s of shards %s", j.run.opt.step, t.round.work,
		t.Block)
	if j.quarantine(now, []*trust.Account{a}, why) {
		return
	}
	if j.look(now, t); j.life.active() {
		j.leasing.giveOut(now, t)
	}
}

// quarantineRemedy is what helps a worker whose bits differ.
const quarantineRemedy = "check the machine's memory and that the worker's binary is of the same release; then " +
	"restart it"

// quarantine cuts off workers whose bits are wrong. If they contributed what nobody has confirmed, the step begins
// anew, or the run goes back to before that, and true is returned: all tasks are void. clean is the last step whose
// parameters none of them had a part in.
func (j *judgement) quarantine(now time.Duration, liars []*trust.Account, why string) (void bool) {
	clean, tainted := j.run.opt.step, false
	for _, a := range liars {
		if a.Banned == "" {
			j.ban(a, why)
		}
		if since, ok := a.Clear(); ok {
			clean, tainted = min(clean, since), true
		}
	}
	// Their sums are in the present parameters. The shell goes back, and rewind makes the run go on.
	if tainted && clean < j.run.opt.step {
		j.life.suspend()
		j.out.add(rollbackCommand{clean, why})
		return true
	}
	for _, w := range slices.Clone(j.members.list) {
		if w.Account.Banned == "" {
			continue
		}
		// A step that begins anew gives its leases out by itself; only otherwise do those of the dropped go to others
		// now.
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
func (j *judgement) ban(a *trust.Account, why string) {
	a.Banned = why
	j.figures.CutOff++
	j.figures.Quarantined = newest(append(j.figures.Quarantined, a.ID))
	j.figures.Marks = newest(append(j.figures.Marks, a.Mark))
	j.out.add(eventCommand{Event{Kind: EventQuarantine, Step: j.run.opt.step, Worker: a.ID, Reason: why}})
	j.members.turnAway(a.ID, a.Token, why, quarantineRemedy)
}

// cutOff bans the members with too many offences or refused messages. It is called at the end of each event.
func (j *judgement) cutOff(now time.Duration) {
	for i := len(j.members.list) - 1; i >= 0 && j.life.active(); i-- {
		if i >= len(j.members.list) {
			continue
		}
		w := j.members.list[i]
		if why := w.Excess(); why != "" {
			j.ban(w.Account, why)
			j.run.remove(now, w, "cut off: "+why)
		}
	}
}
