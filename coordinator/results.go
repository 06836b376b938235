package coordinator

import (
	"fmt"
	"time"

	"github.com/switchyard-ml/switchyard/autodiff/kernel"
	"github.com/switchyard-ml/switchyard/coordinator/exchange"
	"github.com/switchyard-ml/switchyard/internal/vector"
	"github.com/switchyard-ml/switchyard/wire"
)

// The way of a block, from its announcement to the tree: announce, arrive, accept, merge. A block that is audited, that
// somebody contradicts, or that failed goes by way of review, too.

// announce handles a Result: the block's worker is free for more, and the block can be pulled. What follows for a
// block is decided by hear, and by fail if it could not be computed.
func (m *machine) announce(now time.Duration, w *member, msg *wire.Result) {
	l, reason, detail := m.leasing.find(w, msg.Lease, msg.Step)
	if reason != "" {
		m.refuse(w, reason, m.leasing.neverGave(msg.Lease), detail)
		return
	}
	if reason, detail := l.check(msg, len(m.cfg.TermNames)); reason != "" {
		m.refuse(w, reason, reason != ReasonDuplicate, detail)
		return
	}
	// It has the block no more in hand, whatever it says of it.
	w.load(now, -l.load())
	switch {
	// Either the holder or the one who sums may lie; nobody is blamed yet.
	case msg.Fault != "" && l.round.work == wire.Sum:
		m.accuse(now, l, msg.Fault)
		return
	case msg.Fault != "":
		m.fail(now, l, ReasonFault, msg.Fault)
		return
	case !kernel.Finite(msg.Terms):
		m.fail(now, l, ReasonNonFinite, fmt.Sprintf("loss terms %v", msg.Terms))
		return
	}
	m.leasing.announce(now, l, msg)
	m.leasing.assign(now)
	m.hear(now, l)
	m.judgement.review(now)
	if m.life.active() {
		m.leasing.pull(now)
	}
}

// hear decides what follows from an announcement.
func (m *machine) hear(now time.Duration, l *lease) {
	if l.task.Vouched(now, l.owner.Account) {
		l.owner.Delivers()
	}
	switch purpose := l.task.purpose(l); {
	// It has said what it has to say: nothing is pulled, and the claim is weighed.
	case purpose == compare:
		m.leasing.withdraw(l)
		m.judgement.submit(l.task)
	case purpose == reserve || m.leasing.spare(now, l): // until the copy before it turns out to be wrong, or does not come
	// Nothing has to come: a validation has its terms, and a block that is kept stays where it is.
	case !l.round.pulls():
		m.accept(now, l)
	default:
		m.transfer.prefer(now, l)
	}
}

// arrive counts a chunk that is stored. The last one of a block completes it.
func (m *machine) arrive(now time.Duration, w *member, c exchange.Stored) {
	l, reason, detail := m.leasing.find(w, c.Lease, c.Step)
	if reason == "" {
		reason, detail = m.transfer.arrive(now, l, c)
	}
	if reason != "" {
		m.refuse(w, reason, reason == ReasonLease && m.leasing.neverGave(c.Lease), detail)
		return
	}
	// Only a whole copy can be compared with what was announced.
	if l.asked.Missing() == 0 {
		m.complete(now, l)
		m.judgement.review(now)
	}
	if m.life.active() {
		m.leasing.spend(now)
	}
}

// refuseChunk refuses a chunk that was not stored, and says why. If it is missing it is asked for again later. It
// never becomes an offence for what a network can do.
func (m *machine) refuseChunk(w *member, msg *wire.Chunk) {
	l, reason, detail := m.leasing.find(w, msg.Lease, msg.Step)
	if reason == "" {
		reason, detail = m.transfer.check(l, msg)
	}
	// A changed chunk has the wrong checksum; its length is under the seal.
	m.refuse(w, reason, reason == ReasonLength || reason == ReasonLease && m.leasing.neverGave(msg.Lease), detail)
}

// complete checks a block of which all chunks are here. What is not as announced is no copy at all: another worker
// gets the block.
func (m *machine) complete(now time.Duration, l *lease) {
	switch {
	// Each chunk had its checksum, so it is the worker, and not the network, that changed its mind.
	case wire.Combine(l.crcs) != l.said.Checksum || l.said.Digests != "" &&
		l.round.digest(vector.Partial{Values: l.values, Terms: l.said.Terms}) != l.said.Digest:
		m.out.refuse(l.owner, ReasonChecksum, true, fmt.Sprintf("shards %s are not what was announced", l.Block))
		l.task.Unsay(l.said)
		m.leasing.lose(now, l, l.owner.Account)
		m.leasing.assign(now)
	case l.special && l.round.work == wire.Sum:
		m.accuse(now, l, "the sum holds a NaN or an infinity")
	case l.special:
		m.fail(now, l, ReasonNonFinite, "the gradient holds a NaN or an infinity")
	default:
		m.accept(now, l)
	}
}

// accept handles a whole and sound copy of a block. What nobody doubts goes into the tree. Its values are here, or
// its holder keeps them.
func (m *machine) accept(now time.Duration, l *lease) {
	l.state = delivered
	l.owner.Delivers()
	if l.task.Undoubted() {
		m.out.used(l.owner.Account, m.run.opt.step, l.round.work)
		m.run.use(now, l)
		return
	}
	l.task.arrived = l
	m.judgement.submit(l.task)
}

// accuse handles a sum that a worker could not form, because of what another sent it, as it says. It is not known which
// of the two is to blame, so the coordinator sums itself.
func (m *machine) accuse(now time.Duration, l *lease, detail string) {
	m.exchange.Doubt(fmt.Sprintf("worker %s: %s", l.owner.id, detail))
	l.state = announced // it is no longer in the worker's hands
	m.leasing.lose(now, l, l.owner.Account)
}

// fail handles a block that a worker could not compute. It is given to another worker, if there is one. A block that
// fails twice is given to the referee. If there is no referee, or it fails there, too, the run ends.
func (m *machine) fail(now time.Duration, l *lease, reason Reason, detail string) {
	m.out.reject(l.owner.id, reason, "step %d, %s of shards %s: %s", m.run.opt.step, l.round.work, l.Block, detail)
	t := l.task
	l.state = announced // it is no longer in the worker's hands
	first := t.Fail(l.owner.Account, l.owner.id, detail, l.said)
	m.leasing.lose(now, l, l.owner.Account)
	switch {
	// It is not known yet whether the block or the worker is to blame.
	case l.audit, t.InTree(), first, t.Judged():
		m.judgement.submit(t)
		m.judgement.review(now)
	case m.judgement.HasReferee:
		m.judgement.ask(t)
	default:
		m.run.diverge(t, detail)
		return
	}
	m.leasing.assign(now)
}

// pullAgain asks once more for chunks that were lost. A worker that does not deliver in the end loses the block. It
// is called at each tick.
func (m *machine) pullAgain(now time.Duration) {
	for i := 0; i < len(m.leasing.leases); i++ {
		l := m.leasing.leases[i]
		if !m.transfer.lost(now, l) {
			continue
		}
		if m.leasing.strike(now, l, "chunks of ") {
			m.leasing.assign(now)
			m.leasing.spend(now)
			continue
		}
		l.againAt = now
		m.transfer.askAgain(l)
	}
}
