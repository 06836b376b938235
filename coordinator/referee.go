package coordinator

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/switchyard-ml/switchyard/autodiff/kernel"
	"github.com/switchyard-ml/switchyard/internal/reduce"
	"github.com/switchyard-ml/switchyard/internal/wire"
)

// A dispute is a block about which workers say different things. The step does not close while there is one. The referee,
// which computes in the coordinator's own process, decides; without it a worker that has said nothing about the block
// does, and if there is none the run ends: nobody can tell which bits are right.

// refereeName stands in the log where a worker's id stands otherwise. No worker can have it.
const refereeName = "(referee)"

// referee asks its function one question at a time, on a goroutine of its own.
type referee struct {
	compute Referee
	ctx     context.Context // of the questions
	cancel  context.CancelFunc
	queue   []question
	theta   []float32 // of the last question
	busy    bool
	done    chan verdict
}

type question struct {
	refereeCommand
	step  uint64
	theta []float32
}

type verdict struct {
	id            uint64
	values, terms []float32
	err           error
}

// newReferee returns a referee that works until stop is called.
func newReferee(compute Referee) *referee {
	ctx, cancel := context.WithCancel(context.Background())
	return &referee{compute: compute, ctx: ctx, cancel: cancel, done: make(chan verdict, 1)}
}

// ask queues a question about parameters, of which it keeps one copy for as long as they are the same.
func (r *referee) ask(c refereeCommand, step uint64, theta []float32) {
	if !slices.Equal(r.theta, theta) {
		r.theta = slices.Clone(theta)
	}
	r.queue = append(r.queue, question{c, step, r.theta})
	r.next()
}

// next begins with the next question, if there is one and nothing is under way.
func (r *referee) next() {
	if r.busy || len(r.queue) == 0 {
		return
	}
	q := r.queue[0]
	r.queue, r.busy = r.queue[1:], true
	go func() {
		v := verdict{id: q.id}
		v.values, v.terms, v.err = r.compute(r.ctx, q.step, q.theta, q.work, q.block)
		r.done <- v
	}()
}

// stop ends what is under way and waits for it.
func (r *referee) stop() {
	r.cancel()
	if r.busy {
		<-r.done
	}
}

// decided stands for a question that is answered.
const decided = math.MaxUint64

// ask lets the referee compute a task.
func (m *machine) ask(t *task) {
	r := t.round
	r.dropAudit(t)
	r.retry = slices.DeleteFunc(r.retry, func(o retry) bool { return o.task == t })
	m.lastQuestion++
	t.judge = m.lastQuestion
	m.asked[t.judge] = t
	m.figures.Refereed++
	m.emit(refereeCommand{t.judge, r.work, t.block})
}

// verdict handles what the referee has computed. One that is no longer waited for is dropped.
func (m *machine) verdict(now time.Duration, v verdict) {
	t := m.asked[v.id]
	if t == nil || m.finished || m.suspended {
		return
	}
	delete(m.asked, v.id)
	t.judge = 0
	if v.err == nil {
		v.err = m.checkVerdict(t, v)
	}
	switch {
	case v.err != nil && len(t.failures) > 0:
		m.diverge(t, fmt.Sprintf("%s; the referee finds the same: %v", t.failures[len(t.failures)-1].detail, v.err))
	case v.err != nil:
		m.finish(fmt.Errorf("%w: at step %d the %s of shards %s: %s; the referee could not compute it: %w",
			ErrDisputed, m.opt.step, t.round.work, t.block, t.positions(), v.err))
	default:
		m.decide(now, t, reduce.Partial{Values: v.values, Terms: v.terms}, "")
	}
	m.cutOff(now)
}

func (m *machine) checkVerdict(t *task, v verdict) error {
	want := 0
	if t.round.work == wire.Gradient {
		want = m.sums.Size
	}
	if len(v.values) != want || len(v.terms) != len(m.cfg.TermNames) {
		return fmt.Errorf("the referee returned %d parameters and %d terms, want %d and %d", len(v.values), len(v.terms), want, len(m.cfg.TermNames))
	}
	if !kernel.Finite(v.values) || !finite(v.terms) {
		return errors.New("gradient or terms hold a NaN or an infinity")
	}
	return nil
}

// dropFickle cuts off a worker that has contradicted itself, which takes no judge.
func (m *machine) dropFickle(now time.Duration, t *task) {
	a := t.fickle()
	if held := t.held; held != nil && held.owner.account == a {
		t.held = nil
		m.lose(now, held, nil)
	}
	t.unsay(func(c *claim) bool { return c.account == a })
	why := fmt.Sprintf("at step %d it said two different things about the %s of shards %s", m.opt.step, t.round.work, t.block)
	if m.quarantine(now, []*account{a}, why) {
		return
	}
	if m.check(now, t); !m.finished && !m.suspended {
		m.giveOut(now, t)
	}
}

// giveOut sees to it that somebody computes a task of which nothing is left but what was said.
func (m *machine) giveOut(now time.Duration, t *task) {
	r := t.round
	waits := slices.ContainsFunc(r.retry, func(o retry) bool { return o.task == t })
	switch {
	case waits || t.released || t.merged || t.held != nil || t.judge != 0:
	case t.regular() > 0:
		m.pullNext(now, t)
	default:
		r.retry = append(r.retry, retry{t, nil, now})
		m.assign(now)
	}
}

// dispute looks for somebody to decide. What was said about the block so far is no longer pulled.
func (m *machine) dispute(now time.Duration, t *task) {
	for _, l := range slices.Clone(t.leases) {
		if l.state == announced || l.state == pulling {
			m.withdraw(l)
		}
	}
	m.figures.Disputes++
	t.disputed, t.parties = true, nil
	for _, c := range t.claims {
		t.parties = append(t.parties, c.account)
	}
	m.disputes = append(m.disputes, t)
	if m.cfg.Referee != nil {
		m.ask(t)
		return
	}
	m.hearThird(now, t)
}

// hearThird gives a disputed block to a worker that has said nothing about it yet.
func (m *machine) hearThird(now time.Duration, t *task) {
	if slices.ContainsFunc(t.leases, func(l *lease) bool { return l.out() && t.neutral(l.owner) && !l.audit }) {
		return
	}
	if !slices.ContainsFunc(m.members, func(w *member) bool { return w.ready && t.neutral(w) }) {
		m.finish(fmt.Errorf("%w: at step %d the %s of shards %s: %s; no third worker is there to decide",
			ErrDisputed, m.opt.step, t.round.work, t.block, t.positions()))
		return
	}
	if r := t.round; !slices.ContainsFunc(r.retry, func(o retry) bool { return o.task == t }) {
		r.retry = append(r.retry, retry{t, nil, now})
	}
	m.assign(now)
}

// hearThirds looks whether there is still somebody to decide.
func (m *machine) hearThirds(now time.Duration) {
	for _, t := range slices.Clone(m.disputes) {
		if t.judge == 0 && t.disputed && !m.finished && !m.suspended {
			m.hearThird(now, t)
		}
	}
}

// neutral reports whether a worker's word decides a dispute.
func (t *task) neutral(w *member) bool {
	return !t.hasFailed(w) && !slices.Contains(t.parties, w.account)
}

// positions says who says what.
func (t *task) positions() string {
	text := ""
	for i, c := range t.claims {
		if i > 0 {
			text += ", "
		}
		text += fmt.Sprintf("worker %s says %s", c.id, c.text())
	}
	return text
}

func (c *claim) text() string {
	switch {
	case c.digest != "":
		return fmt.Sprintf("digest %.8s", c.digest)
	case c.summed:
		return fmt.Sprintf("checksum %08x", c.checksum)
	}
	return fmt.Sprintf("terms %v", c.terms)
}

// decide ends the doubts about a task: these are its bits, by the worker named, or the referee if none is. Who said
// otherwise is cut off, and what it contributed undone.
func (m *machine) decide(now time.Duration, t *task, truth reduce.Partial, judge string) {
	known := &claim{
		terms: truth.Terms, checksum: m.sums.ChecksumOf(truth.Values), summed: t.round.work == wire.Gradient,
		digest: wire.DigestPartial(truth.Values, truth.Terms),
	}
	var liars, agreed []*account
	for _, c := range t.claims {
		switch {
		case c.agrees(known):
			if !slices.Contains(agreed, c.account) {
				agreed = append(agreed, c.account)
			}
			c.account.examined = c.account.examined || judge == ""
		case !slices.Contains(liars, c.account):
			liars = append(liars, c.account)
			if t.merged { // and then it is in the tree, or somebody says so who agrees with it
				m.taint(c.account, t.round.work)
			}
		}
	}
	if judge != "" && len(agreed) < 2 { // nobody says what the third worker says
		m.finish(fmt.Errorf("%w: at step %d the %s of shards %s: %s: no two agree", ErrDisputed, m.opt.step, t.round.work, t.block, t.positions()))
		return
	}
	t.disputed = false
	m.disputes = slices.DeleteFunc(m.disputes, func(o *task) bool { return o == t })
	t.judge = decided // whoever leaves now, the block is not given out again
	if m.quarantine(now, liars, blame(m.opt.step, t, judge)) {
		return
	}
	t.judge = 0
	if t.merged {
		m.recycle(truth)
		m.closeIfDone(now)
		return
	}
	for _, l := range slices.Clone(t.leases) {
		if l.state != leased {
			m.withdraw(l)
		}
	}
	t.held = nil
	if t.audited {
		m.figures.Audits++
	}
	m.settle(now, t, truth, Credit{t.block, known.checksum, cmp.Or(judge, refereeName)})
}
