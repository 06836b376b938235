package coordinator

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/switchyard-ml/switchyard/coordinator/trust"
	"github.com/switchyard-ml/switchyard/internal/vector"
	"github.com/switchyard-ml/switchyard/wire"
)

// Where a gradient is shared out, the way of a block ends when it is announced: its holder keeps it. When all blocks
// are kept, workers are leased the sections of their sum: keep, sum, gather. If the sum is doubted, the round turns
// into a star: turn, try.

// maxReissues is how often a section may be given to a further worker because the first took too long. Then the sum
// is doubted.
const maxReissues = 2

// maxReplaced is how often blocks of silent holders may be given out again in a pass. After that, silent holders are
// left to the failure detection.
const maxReplaced = 2

// keep leaves a block that is announced with its holder. Only its terms are here.
func (r *run) keep(now time.Duration, l *lease) {
	l.state, l.task.holder, l.task.copy = keeping, l, nil
	r.merge(now, l.task, vector.Partial{Terms: slices.Clone(l.said.Terms)},
		Contribution{Block: l.Block, Checksum: l.said.Checksum, Worker: l.owner.id})
}

// put adds a task to those whose bits are known and not here. kept stays in the order of first shards, in which
// sources and the tree of terms are formed.
func (r *round) put(t *task, p vector.Partial, from Contribution) {
	t.partial, t.from = p, from
	at, _ := slices.BinarySearchFunc(r.kept, t, func(x, y *task) int { return x.Block.First - y.Block.First })
	r.kept = slices.Insert(r.kept, at, t)
	r.done = r.open == 0
}

// takeOut removes a task whose holder is gone. Its shards count as open again.
func (r *round) takeOut(t *task) {
	r.kept = slices.DeleteFunc(r.kept, func(o *task) bool { return o == t })
	r.open += t.Block.Count
	r.done = false
	t.reset()
}

// reset begins the work on a block that was kept anew.
func (t *task) reset() {
	t.Reopen()
	t.holder, t.copy, t.partial = nil, nil, vector.Partial{}
}

// sum lets workers sum the blocks that are kept. It leads to Reduce messages for all, or to a star where workers
// cannot sum these blocks.
func (r *run) sum(now time.Duration, g *round) {
	here := slices.ContainsFunc(g.kept, func(t *task) bool { return t.holder == nil }) // the referee has computed it
	if here || len(g.kept) > maxSources || r.exchange.Doubted() != "" {
		r.turn(now)
		return
	}
	r.exchange.number++
	s := newSum(g, r.exchange.number, r.transfer.vector())
	s.openedAt = now
	r.leasing.rounds = append(r.leasing.rounds, s)
	r.leasing.assign(now)
}

// gather makes the sum of a round from its blocks' terms and the sections that workers have summed. The values are
// those of the sum, of which the gradient's round takes the memory.
func (r *run) gather(g, s *round) {
	tree := vector.NewTree(vector.Block{Count: r.cfg.Shards})
	g.contributions = g.contributions[:0]
	for _, t := range g.kept {
		tree.Add(t.Block, vector.Partial{Terms: t.partial.Terms}, func(vector.Partial) {})
		t.from.Digest = briefly(t.digest)
		g.contributions = append(g.contributions, t.from)
	}
	g.shares = s.attested()
	// The terms are summed along the same tree as gradients, so they do not depend on who summed what.
	g.total, _ = tree.Take()
	g.total.Values, s.total.Values = s.total.Values, nil
	r.exchange.Succeed()
	r.figures.Summed++
}

// turn makes a star of a round whose sum is doubted, or cannot be formed by workers: the coordinator pulls all blocks
// that are kept. What workers said of the sum is kept as a trial, to be compared with what the coordinator finds.
func (r *run) turn(now time.Duration) {
	g, s := r.leasing.gradientRound(), r.leasing.sum()
	if why := r.exchange.Doubted(); why != "" {
		r.out.add(exchangeCommand{why})
		r.out.add(eventCommand{Event{Kind: EventDoubt, Step: r.opt.step, Reason: why}})
		r.exchange.Rest(r.opt.rounds())
		r.figures.Doubted++
	}
	if s != nil {
		r.exchange.trial = newTrial(g, s)
		r.leasing.endSum(now)
	}
	kept := g.kept
	g.kept, g.done, g.star = nil, false, true
	for _, t := range kept {
		g.open += t.Block.Count
		// What the referee computed is here already, and goes into the tree at once.
		if l := t.holder; l != nil {
			r.figures.undo(uint64(t.Block.Count))
			t.reset()
			l.state = announced
			r.transfer.prefer(now, l)
			continue
		}
		g.add(t, t.partial, t.from, r.transfer.recycle)
	}
	r.leasing.assign(now)
	r.leasing.spend(now)
	r.closeIfDone(now)
}

// newTrial notes what was said of a sum, before its leases end. Tasks of which nobody has said anything are left out.
func newTrial(g, s *round) *trial {
	tr := &trial{}
	for _, t := range g.kept {
		tr.basis = append(tr.basis, evidence{t, t.digest})
	}
	for _, l := range s.leases {
		if l.task.Claimed() && !slices.Contains(tr.sums, l.task) {
			tr.sums = append(tr.sums, l.task)
		}
	}
	return tr
}

// holds reports whether the blocks of the gradient's round are those of the sum.
func (tr *trial) holds() bool {
	return !slices.ContainsFunc(tr.basis, func(e evidence) bool {
		return !e.task.InTree() ||
			e.task.digest != e.digest
	})
}

// try compares what workers said of a sum with what it is, and closes the step. Nobody can be blamed if other blocks
// were used than those who summed were told. Those who said otherwise are cut off.
func (j *judgement) try(now time.Duration) {
	tr, g := j.exchange.trial, j.leasing.gradientRound()
	j.exchange.trial = nil
	var liars []*trust.Account
	if tr.holds() {
		for _, t := range tr.sums {
			for _, a := range t.Try(t.round.known(t.Block, g.total.Values)) {
				if !slices.Contains(liars, a) {
					liars = append(liars, a)
				}
			}
		}
	}
	if len(liars) > 0 {
		j.figures.Disputes++
		if j.quarantine(now, liars, fmt.Sprintf("at step %d its sum of a part of the gradient is not that of the blocks",
			j.run.opt.step)) {
			return
		}
	}
	j.run.closeIfDone(now)
}

// known is what is to be said of the given sections of a gradient.
func (r *round) known(sections vector.Block, gradient []float32) *trust.Claim {
	from, to := r.sections.Span(sections.First, sections.Count)
	part := gradient[from:to]
	return &trust.Claim{
		Checksum: r.sections.Cut(sections.First, sections.Count).ChecksumOf(part), Summed: true,
		Digest: wire.DigestPartial(part, nil),
	}
}

// settle does what follows from an event for a gradient that is shared out. It is called at the end of each event.
func (m *machine) settle(now time.Duration) {
	if g := m.leasing.shared(); g != nil && m.life.active() {
		m.promote(now, g)
	}
	switch g := m.leasing.gradientRound(); {
	case g == nil || !m.life.active():
	case m.exchange.void:
		m.run.beginAnew(now)
	// A doubted sum is given up once the blocks themselves are all kept and undisputed.
	case m.exchange.Doubted() != "" && g.shared() && g.done && len(g.disputes) == 0:
		m.run.turn(now)
	case m.exchange.trial != nil && g.done && len(g.disputes) == 0:
		m.judgement.try(now)
	}
}

// promote uses blocks that were announced and not used, because one better known to deliver was about to have them, if
// it is so no longer.
func (m *machine) promote(now time.Duration, g *round) {
	for i := 0; i < len(g.leases) && m.life.active() && m.leasing.shared() == g; i++ {
		l := g.leases[i]
		if l.state == announced && !l.audit && l.Phase() == trust.Open && l.task.wanted() && !m.leasing.spare(now, l) {
			g.dequeue(l.task)
			m.accept(now, l)
			m.judgement.review(now)
		}
	}
}

// watch doubts a sum that does not come. It is called at each tick.
func (m *machine) watch(now time.Duration) {
	s := m.leasing.sum()
	if s == nil || s.done {
		return
	}
	// Anything that moves counts: a chunk here, a Result, or a block that was added somewhere.
	moved := max(s.openedAt, m.transfer.arrivedAt)
	for _, l := range s.leases {
		if moved = max(moved, l.movedAt); l.done > 0 {
			moved = max(moved, l.grewAt)
		}
		if l.reissued > maxReissues && !l.InTree() {
			m.exchange.Doubt(fmt.Sprintf("sections %s were given to %d workers, and none has summed them: %s", l.Block,
				l.reissued+1, owners(l.task.leases)))
		}
	}
	if now-moved > m.timing.soon() && m.leasing.replaceSilent(now, s) {
		return
	}
	if limit := m.timing.still(s); now-moved > limit {
		m.exchange.Doubt(fmt.Sprintf("nothing of it has come for %v; it is expected of %s", limit, owners(s.leases)))
	}
}

// replaceSilent gives the blocks of holders out again of whom nothing was heard for as long as two heartbeats take,
// while others are heard: they may be dead, and nothing comes of the sum without them. It reports whether there are
// any. It does so maxReplaced times in a pass; what is slow for other reasons is left to those who notice the loss of
// a worker. That is sooner than such holders count as lost.
func (s *leasing) replaceSilent(now time.Duration, sum *round) bool {
	silence, heard := 2*s.timing.heartbeat(), false
	var gone []*lease
	for _, t := range sum.of.kept {
		switch l := t.holder; {
		case l == nil || t.Phase() == trust.Contested:
		case now-l.owner.lastSeen > silence:
			gone = append(gone, l)
		default:
			heard = heard || now-l.owner.lastSeen <= s.timing.heartbeat()
		}
	}
	// If nobody is heard, it may be the coordinator's own link, and no holder is to blame.
	if !heard || len(gone) == 0 || s.exchange.replaced >= maxReplaced {
		return false
	}
	s.exchange.replaced++
	for _, l := range gone {
		s.missed(now, l)
		s.unkeep(now, l)
	}
	s.assign(now)
	return true
}

// owners are the names of those of whom something is expected.
func owners(leases []*lease) string {
	var names []string
	for _, l := range leases {
		if l.out() && !slices.Contains(names, l.owner.id) {
			names = append(names, l.owner.id)
		}
	}
	return strings.Join(names, ", ")
}

// shared is the round whose blocks stay with their holders; nil if there is none.
func (s *leasing) shared() *round {
	if g := s.gradientRound(); g != nil && g.shared() {
		return g
	}
	return nil
}

// gradientRound is the round of the step's gradient; nil if there is none.
func (s *leasing) gradientRound() *round { return s.roundOf(wire.Gradient) }

// sum is the round in which workers sum the gradient; nil if there is none.
func (s *leasing) sum() *round { return s.roundOf(wire.Sum) }

func (s *leasing) roundOf(work wire.Work) *round {
	for _, r := range s.rounds {
		if r.work == work {
			return r
		}
	}
	return nil
}

// endSum gives up the sum that is under way, if there is one. Its leases are revoked, so what their workers still say
// is refused and no offence.
func (s *leasing) endSum(now time.Duration) {
	sum := s.sum()
	if sum == nil {
		return
	}
	for _, l := range sum.leases {
		if l.state != revoked {
			s.revoke(now, l)
		}
	}
	s.transfer.recycle(sum.total)
	s.rounds = slices.DeleteFunc(s.rounds, func(r *round) bool { return r == sum })
}

// unkeep gives a block out again whose holder is gone before anybody else had it. Who sums is to hear of another
// holder: the sum begins anew. If somebody contradicts the block, the pass begins anew.
func (s *leasing) unkeep(now time.Duration, l *lease) {
	t := l.task
	// A block that somebody contradicts cannot be given out anew.
	if t.Phase() == trust.Contested {
		s.exchange.void = true
		return
	}
	s.figures.undo(uint64(t.Block.Count))
	l.round.takeOut(t)
	s.endSum(now)
	s.lose(now, l, nil)
}
