package coordinator

import (
	"crypto/sha256"
	"encoding/binary"
	"slices"

	"github.com/switchyard-ml/switchyard/internal/vector"
	"github.com/switchyard-ml/switchyard/wire"
)

// auditing chooses the blocks that are computed twice. The choice is a hash with a secret key, so that workers cannot
// predict it. The worker that is given the block first does not know whether it is audited.
type auditing struct {
	key   [32]byte
	run   string
	share float64 // of the blocks
	// allBelow is the step below which all blocks are audited. Steps that were undone because of a worker that lied are
	// confirmed block by block when they are made again. If that worker comes back under another name, it can delay the
	// run, but not stop it.
	allBelow uint64
	here     bool // the referee confirms, and no worker is asked
}

// undone notes that the steps up to this one were undone.
func (a *auditing) undone(step uint64) { a.allBelow = max(a.allBelow, step+1) }

// any reports whether there may be audits in this run.
func (a *auditing) any() bool { return a.share > 0 || a.allBelow > 0 }

// draws decides whether a block is to be computed twice.
func (a *auditing) draws(step uint64, work wire.Work, b vector.Block) bool {
	share := a.share
	if step < a.allBelow {
		share = 1
	}
	if share <= 0 {
		return false
	}
	text := append([]byte(nil), a.key[:]...)
	text = append(text, a.run...)
	for _, n := range []uint64{step, uint64(work), uint64(b.First), uint64(b.Count)} {
		text = binary.BigEndian.AppendUint64(text, n)
	}
	sum := sha256.Sum256(text)
	return float64(binary.BigEndian.Uint64(sum[:])>>11)/(1<<53) < share
}

// wantAudit queues a task to be confirmed by another worker.
func (r *round) wantAudit(t *task) {
	if t.audited && !t.phase.inTree() && !t.phase.judged() && !slices.Contains(r.audits, t) {
		r.audits = append(r.audits, t)
	}
}

func (r *round) dropAudit(t *task) {
	r.audits = slices.DeleteFunc(r.audits, func(o *task) bool { return o == t })
}

// nextAudit takes a task for a worker to confirm off the queue; nil if there is none.
func (r *round) nextAudit(w *member) *task {
	for _, t := range r.audits {
		if t.mayAudit(w) {
			r.dropAudit(t)
			return t
		}
	}
	return nil
}

// mayAudit reports whether a worker can confirm a block: it must not have computed it. An audit is given out only after
// the block was announced. Every worker can see all leases, so one that sees no audit could lie in safety otherwise.
func (t *task) mayAudit(w *member) bool {
	if len(t.claims) == 0 {
		return false
	}
	if t.copy != nil && t.copy.owner.account == w.account || t.hasFailed(w) {
		return false
	}
	for _, l := range t.leases {
		if l.owner.account == w.account {
			return false
		}
	}
	return !slices.ContainsFunc(t.claims, func(c *claim) bool { return c.account == w.account })
}

// underAudit reports whether a worker is computing the block to confirm it.
func (t *task) underAudit() bool {
	return slices.ContainsFunc(t.leases, func(l *lease) bool { return l.audit && l.out() })
}
