package coordinator

import (
	"fmt"
	"time"

	"github.com/switchyard-ml/switchyard/internal/wire"
)

const (
	// maxStrikes is how often a lease is asked for again before another worker gets the block.
	maxStrikes = 3
	// remedy is what helps a run that diverges.
	remedy = "start again from the configuration with a smaller optim.rate or optim.clip"
)

// assign gives leases to workers with free slots while there is work.
func (m *machine) assign(now time.Duration) {
	if m.finished {
		return
	}
	slots, alone := m.slots(), m.ready() == 1
	for _, r := range m.rounds {
		for _, w := range m.members {
			for w.ready && w.busy < w.slots {
				b, ok := r.take(w, slots, alone)
				if !ok {
					break
				}
				m.lastID++
				r.attempts[b]++
				l := &lease{id: m.lastID, owner: w, round: r, block: b, attempt: r.attempts[b], sentAt: now, grewAt: now}
				m.leases = append(m.leases, l)
				m.byID[l.id] = l
				w.busy += b.Count
				m.sendLease(l)
			}
		}
	}
}

func (m *machine) sendLease(l *lease) {
	m.send(l.owner.id, &wire.Lease{
		ID: l.id, Step: m.adam.step, Attempt: l.attempt, Work: l.round.work, First: l.block.First, Count: l.block.Count,
	})
}

// announce handles a Result: the block's worker is free for more, and the block can be pulled.
func (m *machine) announce(now time.Duration, w *member, msg *wire.Result) {
	l, reason, detail := m.find(w, msg.Lease, msg.Step)
	if reason == "" {
		reason, detail = m.checkResult(l, msg)
	}
	if reason != "" {
		m.reject(w.id, reason, "%s", detail)
		return
	}
	w.busy -= l.block.Count
	if msg.Fault != "" {
		m.fail(now, l, ReasonFault, msg.Fault)
		return
	}
	if !finite(msg.Terms) {
		m.fail(now, l, ReasonNonFinite, fmt.Sprintf("loss terms %v", msg.Terms))
		return
	}
	l.state, l.terms, l.checksum, l.movedAt = pulling, msg.Terms, msg.Checksum, now
	l.next, l.missing = 0, m.chunks.Count()
	m.assign(now)
	if l.round.work == wire.Validate {
		m.settle(now, l)
		return
	}
	m.pull(now)
}

// find returns the lease that a message is about, or why there is none.
func (m *machine) find(w *member, id, step uint64) (*lease, Reason, string) {
	if step != m.adam.step {
		return nil, ReasonStep, fmt.Sprintf("message of step %d, now %d", step, m.adam.step)
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
	if l.round.work == wire.Gradient {
		want = m.chunks.Size
	}
	if msg.Length != want || len(msg.Terms) != len(m.cfg.TermNames) {
		return ReasonLength, fmt.Sprintf("%d parameters and %d terms, want %d and %d",
			msg.Length, len(msg.Terms), want, len(m.cfg.TermNames))
	}
	return "", ""
}

// revoke takes a lease back, with its credit and its memory. What becomes of the block is up to the caller.
func (m *machine) revoke(l *lease) {
	if l.state == leased {
		l.owner.busy -= l.block.Count
	}
	m.forget(l)
	l.state = revoked
}

// forget drops what was pulled of a lease.
func (m *machine) forget(l *lease) {
	for i := range l.next {
		if l.state == pulling && !l.got[i] {
			m.inFlight -= m.chunks.Bytes(i)
		}
	}
	if l.values != nil {
		m.pool = append(m.pool, l.values)
	}
	l.values, l.next, l.missing = nil, 0, 0
}

// reissue takes a lease back and gives its block to another worker, if there is one.
func (m *machine) reissue(now time.Duration, l *lease) {
	m.revoke(l)
	l.round.retry = append(l.round.retry, retry{l.block, l.owner})
	m.assign(now)
}

// askAgain sends a lease once more. A worker that does not deliver in the end loses it.
func (m *machine) askAgain(now time.Duration, l *lease) {
	if l.strikes++; l.strikes > maxStrikes {
		m.reject(l.owner.id, ReasonUnanswered, "shards %s were asked for %d times", l.block, l.strikes)
		m.reissue(now, l)
		return
	}
	l.sentAt = now
	m.sendLease(l)
}

// fail handles a block that could not be computed, whose lease is no longer out. It is given to another worker, if
// there is one; a block that fails twice ends the run.
func (m *machine) fail(now time.Duration, l *lease, reason Reason, detail string) {
	m.reject(l.owner.id, reason, "step %d, %s of shards %s: %s", m.adam.step, l.round.work, l.block, detail)
	m.forget(l)
	l.state = revoked
	r := l.round
	if before, again := r.faults[l.block]; again {
		m.finish(fmt.Errorf("%w: at step %d the %s of shards %s failed twice (workers %s and %s): %s: %s",
			ErrDiverged, m.adam.step, r.work, l.block, before.id, l.owner.id, detail, remedy))
		return
	}
	r.faults[l.block] = l.owner
	r.retry = append(r.retry, retry{l.block, l.owner})
	m.assign(now)
}
