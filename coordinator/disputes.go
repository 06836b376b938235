package coordinator

import (
	"fmt"
	"slices"
	"time"

	"github.com/switchyard-ml/switchyard/coordinator/trust"
	"github.com/switchyard-ml/switchyard/internal/vector"
	"github.com/switchyard-ml/switchyard/wire"
)

// judgement does what package trust rules: it finds somebody to confirm or to decide, and cuts off who lies.
//
// Invariant: pending is empty between two events.
type judgement struct {
	trust.Judgement
	terms   int     // of a block
	pending []*task // about which something was learnt, and which are to be looked at

	life     *life
	members  *members
	timing   *timing
	transfer *transfer
	exchange *summing
	leasing  *leasing
	run      *run
	out      *outbox
	figures  *Stats
}

// refereeName stands in the log where a worker's id stands otherwise. No worker can have it.
const refereeName = "(referee)"

// truth is what a block is, and who says so: the id of a worker with whom others agree, or the referee if it is empty.
type truth struct {
	vector.Partial
	judge string
	lease *lease // which it was announced for; nil: the referee computed it
}

// claim is the truth in the form of a claim. The checksum is formed over chunks of the given length. What a holder
// keeps is what it said. The checksum is compared with what workers said of a gradient; of a validation nobody says
// one.
func (p truth) claim(r *round, chunks wire.Chunking) *trust.Claim {
	if p.lease != nil && r.shared() {
		return p.lease.said
	}
	return &trust.Claim{
		Terms: p.Terms, Checksum: chunks.ChecksumOf(p.Values), Summed: r.work == wire.Gradient,
		Digest: r.digest(p.Partial),
	}
}

// blame says why a worker is believed not to compute what was asked for.
func (p truth) blame(step uint64, t *task) string {
	judge := "the referee"
	if p.judge != "" {
		judge = "worker " + p.judge + " and others"
	}
	return fmt.Sprintf("at step %d its %s of shards %s differs from what %s computed", step, t.round.work, t.Block, judge)
}

// inquire lets another worker, or the referee, confirm a block that is here. It reports whether there is neither: then
// the block is used as it is.
func (j *judgement) inquire(now time.Duration, t *task) (alone bool) {
	// A second worker is to confirm it, as long as there may be one; a copy that waited too long goes to the referee.
	others := 0
	for _, w := range j.members.list {
		if w.ready && w.Account != t.copy.owner.Account && !t.HasFailed(w.Account) {
			others++
		}
	}
	if others > 0 && now-t.copyAt <= j.timing.patienceFor(t.round) {
		if !t.underAudit() {
			t.round.wantAudit(t)
		}
		return false
	}
	if j.HasReferee {
		j.ask(t)
		return false
	}
	// Nobody is there: a run with one worker goes on, and the figures say what was not confirmed.
	j.figures.Unaudited++
	t.Audited = false
	t.round.dropAudit(t)
	return true
}

// ask lets the referee compute a task. What a sum is to be is known when the coordinator has summed itself. The
// verdict comes to verdict.
func (j *judgement) ask(t *task) {
	r := t.round
	if r.work == wire.Sum {
		j.exchange.Doubt(fmt.Sprintf("the sum of sections %s is to be confirmed", t.Block))
		return
	}
	r.dropAudit(t)
	r.dequeue(t)
	j.figures.Refereed++
	j.out.add(refereeCommand{trust.Question{ID: j.Refer(&t.Case), Work: r.work, Block: t.Block}})
}

// question returns the task that the referee was asked about; nil if the question is out of date. It looks at all
// tasks of the step, which is rare.
func (j *judgement) question(id uint64) *task {
	for _, r := range j.leasing.rounds {
		for _, t := range r.tasks {
			if t.Question() == id {
				return t
			}
		}
	}
	return nil
}

// check says what is wrong with a verdict about a task.
func (j *judgement) check(t *task, v trust.Verdict) error {
	values := 0
	if t.round.work == wire.Gradient {
		values = j.transfer.chunks.Size
	}
	return v.Check(values, j.terms)
}

// dispute lets the referee, or another worker, decide about a task. The copies that were announced are no longer
// pulled. If nobody can decide it returns an error, which ends the run. A doubted sum is no dispute: the coordinator
// sums itself.
func (j *judgement) dispute(now time.Duration, t *task) error {
	if t.round.work == wire.Sum {
		j.exchange.Doubt(fmt.Sprintf("of the sum of sections %s: %s", t.Block, t.Positions()))
		return nil
	}
	j.leasing.withdrawAll(t, announced, pulling)
	j.figures.Disputes++
	t.Dispute(j.HasReferee)
	t.round.disputes = append(t.round.disputes, t)
	if j.HasReferee {
		j.ask(t)
		return nil
	}
	return j.hearThird(now, t)
}

// hearThird gives a disputed block to a worker that has said nothing about it yet, or returns an error if there is
// none. It is called again at each tick, as workers come and go.
func (j *judgement) hearThird(now time.Duration, t *task) error {
	if slices.ContainsFunc(t.leases, func(l *lease) bool { return l.out() && t.Neutral(l.owner.Account) && !l.audit }) {
		return nil
	}
	if !slices.ContainsFunc(j.members.list, func(w *member) bool { return w.ready && t.Neutral(w.Account) }) {
		return j.undecided(t, "no third worker is there to decide")
	}
	if !t.round.queued(t) {
		t.round.enqueue(now, t, nil)
	}
	j.leasing.assign(now)
	return nil
}

// undecided is the error of a block whose bits nobody knows.
func (j *judgement) undecided(t *task, why string) error {
	return fmt.Errorf("%w: at step %d the %s of shards %s: %s; %s", ErrDisputed, j.run.opt.step, t.round.work, t.Block,
		t.Positions(), why)
}

// convict ends the doubts about a task whose bits are known. It returns the workers that said otherwise. The error
// says that nobody knows which bits are right.
func (j *judgement) convict(t *task, judge string, known *trust.Claim) ([]*trust.Account, error) {
	liars, believed := t.Convict(judge, known)
	if t.Phase() == trust.Contested { // the copy in the tree is of one of them, or of one that agrees with it
		for _, a := range liars {
			j.out.used(a, j.run.opt.step, t.round.work)
		}
	}
	if !believed { // nobody says what the third worker says
		return nil, j.undecided(t, "no two agree")
	}
	t.Decide()
	t.round.disputes = slices.DeleteFunc(t.round.disputes, func(o *task) bool { return o == t })
	return liars, nil
}
