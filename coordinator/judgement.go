package coordinator

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/switchyard-ml/switchyard/autodiff/kernel"
	"github.com/switchyard-ml/switchyard/wire"
)

// judgement decides which bits are right where workers are not simply believed: blocks that are audited, blocks about
// which workers say different things, and blocks that failed twice.
//
// A dispute is a block about which workers contradict each other. The step does not close while there is one. The
// referee, which computes in the coordinator's own process, decides it. Without a referee a worker decides that has not
// computed the block before. If there is none, the run ends, because it is not known which bits are right.
//
// Invariant: the docket is empty between two events.
type judgement struct {
	hasReferee   bool
	terms        int     // of a block
	docket       []*task // about which something was learnt, and which are to be looked at
	lastQuestion uint64

	life     *life
	accounts *accounts
	members  *members
	timing   *timing
	transfer *transfer
	auditing *auditing
	exchange *exchange
	leasing  *leasing
	run      *run
	out      *outbox
	figures  *Stats
}

// ruling is what becomes of a task after something was learnt about it.
type ruling uint8

const (
	stay      ruling = iota // nothing: somebody else is to speak first
	dismiss                 // a worker has contradicted itself
	challenge               // workers contradict each other
	believe                 // the copy that is here is used as it is
	approve                 // the copy that is here is confirmed
	appeal                  // the referee is to compute the block
	inquire                 // somebody is to confirm the copy that is here
)

// rule decides what becomes of a task.
func (j *judgement) rule(t *task) ruling {
	switch {
	case t.phase != open && t.phase != held && t.phase != merged:
		return stay
	case t.inconsistent() != nil:
		return dismiss
	case t.contradicted():
		return challenge
	case t.phase != held:
		return stay
	case !t.audited:
		return believe
	case j.auditing.here:
		return appeal
	case t.confirmed() && j.vouched(t):
		return approve
	case t.confirmed():
		return appeal
	}
	return inquire
}

// vouched reports whether the referee has found one of the workers right that agree about a block. Otherwise somebody
// with two identities could confirm his own blocks. This does not find somebody who is right once and lies under a
// second identity later. Audits by the referee do: see Config.AuditHere.
func (j *judgement) vouched(t *task) bool {
	return !j.hasReferee || slices.ContainsFunc(t.claims, func(c *claim) bool { return c.account.examined })
}

// inquire lets another worker, or the referee, confirm a block that is here. It reports whether there is neither: then
// the block is used as it is.
func (j *judgement) inquire(now time.Duration, t *task) (alone bool) {
	others := 0
	for _, w := range j.members.list {
		if w.ready && w.account != t.copy.owner.account && !t.hasFailed(w) {
			others++
		}
	}
	if others > 0 && now-t.copyAt <= j.timing.patienceFor(t.round) {
		if !t.underAudit() {
			t.round.wantAudit(t)
		}
		return false
	}
	if j.hasReferee {
		j.ask(t)
		return false
	}
	j.figures.Unaudited++
	t.audited = false
	t.round.dropAudit(t)
	return true
}

// ask lets the referee compute a task. What a sum is to be is known when the coordinator has summed itself.
func (j *judgement) ask(t *task) {
	r := t.round
	if r.work == wire.Sum {
		j.exchange.doubt(fmt.Sprintf("the sum of sections %s is to be confirmed", t.block))
		return
	}
	r.dropAudit(t)
	r.dequeue(t)
	j.lastQuestion++
	t.refer(j.lastQuestion)
	j.figures.Refereed++
	j.out.add(refereeCommand{j.lastQuestion, r.work, t.block})
}

// question returns the task that the referee was asked about; nil if the question is out of date.
func (j *judgement) question(id uint64) *task {
	for _, r := range j.leasing.rounds {
		for _, t := range r.tasks {
			if t.question == id {
				return t
			}
		}
	}
	return nil
}

// check says what is wrong with a verdict about a task.
func (j *judgement) check(t *task, v verdict) error {
	want := 0
	if t.round.work == wire.Gradient {
		want = j.transfer.chunks.Size
	}
	switch {
	case v.err != nil:
		return v.err
	case len(v.values) != want || len(v.terms) != j.terms:
		return fmt.Errorf("the referee returned %d parameters and %d terms, want %d and %d", len(v.values), len(v.terms),
			want, j.terms)
	case !kernel.Finite(v.values) || !kernel.Finite(v.terms):
		return errors.New("gradient or terms hold a NaN or an infinity")
	}
	return nil
}

// dispute lets the referee, or another worker, decide about a task. The copies that were announced are no longer
// pulled. If nobody can decide it returns an error, which ends the run.
func (j *judgement) dispute(now time.Duration, t *task) error {
	if t.round.work == wire.Sum {
		j.exchange.doubt(fmt.Sprintf("of the sum of sections %s: %s", t.block, t.positions()))
		return nil
	}
	j.leasing.withdrawAll(t, announced, pulling)
	j.figures.Disputes++
	t.parties = nil
	for _, c := range t.claims {
		t.parties = append(t.parties, c.account)
	}
	t.round.disputes = append(t.round.disputes, t)
	if j.hasReferee {
		j.ask(t)
		return nil
	}
	t.dispute()
	return j.hearThird(now, t)
}

// hearThird gives a disputed block to a worker that has said nothing about it yet, or returns an error if there is
// none.
func (j *judgement) hearThird(now time.Duration, t *task) error {
	if slices.ContainsFunc(t.leases, func(l *lease) bool { return l.out() && t.neutral(l.owner) && !l.audit }) {
		return nil
	}
	if !slices.ContainsFunc(j.members.list, func(w *member) bool { return w.ready && t.neutral(w) }) {
		return fmt.Errorf("%w: at step %d the %s of shards %s: %s; no third worker is there to decide",
			ErrDisputed, j.run.opt.step, t.round.work, t.block, t.positions())
	}
	if !t.round.queued(t) {
		t.round.enqueue(now, t, nil)
	}
	j.leasing.assign(now)
	return nil
}

// convict ends the doubts about a task whose bits are known. It returns the workers that said otherwise. If the bits
// are a worker's, a second one must agree with it, or nobody knows which are right.
func (j *judgement) convict(t *task, p truth, known *claim) ([]*account, error) {
	var liars, agreed []*account
	for _, c := range t.claims {
		switch {
		case c.agrees(known):
			if !slices.Contains(agreed, c.account) {
				agreed = append(agreed, c.account)
			}
			c.account.examined = c.account.examined || p.judge == ""
		case !slices.Contains(liars, c.account):
			liars = append(liars, c.account)
			if t.phase == contested { // the copy in the tree is of this worker, or of one that agrees with it
				j.accounts.trust(c.account, j.run.opt.step, t.round.work)
			}
		}
	}
	if p.judge != "" && len(agreed) < 2 { // nobody says what the third worker says
		return nil, fmt.Errorf("%w: at step %d the %s of shards %s: %s: no two agree", ErrDisputed, j.run.opt.step,
			t.round.work, t.block, t.positions())
	}
	t.decide()
	t.round.disputes = slices.DeleteFunc(t.round.disputes, func(o *task) bool { return o == t })
	return liars, nil
}
