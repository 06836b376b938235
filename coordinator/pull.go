package coordinator

import (
	"fmt"
	"math"
	"time"

	"github.com/switchyard-ml/switchyard/internal/wire"
)

// spend uses the credit: for gradients first, as the step waits for them.
func (m *machine) spend(now time.Duration) {
	m.pull(now)
	m.deliver(now)
}

// affords reports whether n bytes more may be on their way, to the coordinator or from its data set: at most cfg.Credit,
// or one chunk.
func (m *machine) affords(n int) bool {
	total := m.inFlight + m.data.flying
	return total == 0 || total+n <= m.cfg.Credit
}

// pull asks for chunks of announced blocks, oldest lease first, as far as the credit goes.
func (m *machine) pull(now time.Duration) {
	n := m.sums.Count()
	for _, l := range m.leases {
		if l.state != pulling || l.next == n {
			continue
		}
		first := l.next
		for l.next < n && m.affords(m.sums.Bytes(l.next)) {
			m.inFlight += m.sums.Bytes(l.next)
			l.next++
		}
		if l.next == first {
			return
		}
		if l.values == nil {
			l.values, l.got = m.vector(), make([]bool, n)
			l.box = &box{from: m.headOf(l.owner), step: m.opt.step, chunks: m.sums, values: l.values}
			m.intake.open(l.id, l.box)
		}
		l.box.want(first, l.next)
		l.movedAt = now
		l.owner.account.allow(l.next - first)
		m.tell(l.owner.id, l.owner.mark, &wire.Pull{Lease: l.id, First: first, Count: l.next - first})
	}
}

// startPull makes a lease the one that its block is pulled from.
func (m *machine) startPull(now time.Duration, l *lease) {
	l.state, l.movedAt = pulling, now
	l.next, l.missing = 0, m.sums.Count()
}

// stopPull lets another worker's copy of the block go first.
func (m *machine) stopPull(l *lease) {
	m.forget(l)
	l.state = announced
}

// source is the lease that a task is pulled from, if any.
func (t *task) source() *lease {
	for _, l := range t.leases {
		if l.state == pulling {
			return l
		}
	}
	return nil
}

// pullNext pulls a task from another worker that has it, if there is one.
func (m *machine) pullNext(now time.Duration, t *task) {
	if t.source() != nil || t.held != nil || t.merged || t.judge != 0 {
		return
	}
	for _, l := range t.leases {
		if l.state == announced && !l.audit {
			m.startPull(now, l)
			return
		}
	}
}

// pullAgain asks once more for chunks that were lost: of a lease of which nothing has arrived for a while.
func (m *machine) pullAgain(now time.Duration, l *lease) {
	if l.next == 0 || now-max(l.movedAt, l.againAt) < m.patience() {
		return
	}
	if l.strikes++; l.strikes > maxStrikes {
		m.reject(l.owner.id, ReasonUnanswered, "chunks of shards %s were asked for %d times", l.block, l.strikes)
		l.owner.doubtedAt = now
		m.lose(now, l, l.owner.account)
		m.assign(now)
		m.spend(now)
		return
	}
	l.againAt = now
	m.pullMissing(l)
}

// pullMissing asks for the chunks of a lease that were asked for before and are not there.
func (m *machine) pullMissing(l *lease) {
	for i := 0; i < l.next; i++ {
		first := i
		for i < l.next && !l.got[i] {
			i++
		}
		if i > first {
			l.owner.account.allow(i - first)
			m.tell(l.owner.id, l.owner.mark, &wire.Pull{Lease: l.id, First: first, Count: i - first})
		}
	}
}

// headOf is what a worker's messages bear.
func (m *machine) headOf(w *member) wire.Header {
	return wire.Header{Run: m.cfg.Run, From: w.id, Term: m.term, Token: w.token}
}

// arrive handles a chunk, or hears that it is stored. A chunk that fails a check is asked for again when time is up.
func (m *machine) arrive(now time.Duration, w *member, msg *wire.Chunk) {
	l, reason, detail := m.find(w, msg.Lease, msg.Step)
	if reason == "" && !m.hasStored(l, msg) {
		reason, detail = m.checkChunk(l, msg)
	}
	if reason != "" {
		// A changed chunk has the wrong checksum; its length is under the seal.
		m.refuse(w, reason, reason == ReasonLength || reason == ReasonLease && msg.Lease > m.lastID, "%s", detail)
		return
	}
	l.got[msg.Index] = true
	l.movedAt, l.strikes, m.arrivedAt = now, 0, now
	l.missing--
	m.inFlight -= m.sums.Bytes(msg.Index)
	if l.missing == 0 {
		m.complete(now, l)
	}
	if !m.finished && !m.suspended {
		m.spend(now)
	}
}

// hasStored reports whether a chunk that nobody has counted yet is in its box now. One without data was put there before.
func (m *machine) hasStored(l *lease, msg *wire.Chunk) bool {
	switch {
	case l.state != pulling || msg.Index >= l.next || l.got[msg.Index]:
		return false
	case msg.Data == nil:
		return l.box.has(msg.Index)
	}
	return m.intake.store(msg)
}

// checkChunk says why a chunk was not stored.
func (m *machine) checkChunk(l *lease, msg *wire.Chunk) (Reason, string) {
	switch {
	case l.state == settled, l.state == pulling && msg.Index < l.next && l.got[msg.Index]:
		return ReasonDuplicate, fmt.Sprintf("chunk %d of shards %s is there already", msg.Index, l.block)
	case l.state != pulling, msg.Index >= l.next, msg.Data == nil: // it was stored when the lease was pulled before
		return ReasonUnrequested, fmt.Sprintf("chunk %d of shards %s was not asked for", msg.Index, l.block)
	case len(msg.Data) != m.sums.Bytes(msg.Index):
		return ReasonLength, fmt.Sprintf("chunk %d has %d bytes, want %d", msg.Index, len(msg.Data), m.sums.Bytes(msg.Index))
	case wire.Checksum(msg.Data) != msg.CRC:
		return ReasonChecksum, fmt.Sprintf("chunk %d of shards %s does not have its checksum", msg.Index, l.block)
	}
	return ReasonDuplicate, fmt.Sprintf("chunk %d of shards %s was stored meanwhile", msg.Index, l.block)
}

// complete checks a block of which all chunks are there.
func (m *machine) complete(now time.Duration, l *lease) {
	if wire.Combine(l.box.crcs) != l.said.checksum {
		m.refuse(l.owner, ReasonChecksum, true, "shards %s are not what was announced", l.block)
		l.task.unsay(func(c *claim) bool { return c == l.said })
		m.lose(now, l, l.owner.account)
		m.assign(now)
		return
	}
	if l.box.odd.Load() {
		m.fail(now, l, ReasonNonFinite, "the gradient holds a NaN or an infinity")
		return
	}
	m.accept(now, l)
}

func finite(x []float32) bool {
	for _, v := range x {
		if math.IsNaN(float64(v)) || math.IsInf(float64(v), 0) {
			return false
		}
	}
	return true
}
