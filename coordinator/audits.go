package coordinator

import "slices"

// wantAudit queues a task to be confirmed by another worker. It does nothing where nobody needs to confirm it any
// more, and queues it once.
func (r *round) wantAudit(t *task) {
	if t.Audited && !t.InTree() && !t.Judged() && !slices.Contains(r.audits, t) {
		r.audits = append(r.audits, t)
	}
}

// dropAudit takes a task off the queue of audits, if it is there.
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
	if !t.Claimed() || t.ClaimedBy(w.Account) || t.HasFailed(w.Account) {
		return false
	}
	if t.copy != nil && t.copy.owner.Account == w.Account {
		return false
	}
	return !slices.ContainsFunc(t.leases, func(l *lease) bool { return l.owner.Account == w.Account })
}

// underAudit reports whether a worker is computing the block to confirm it.
func (t *task) underAudit() bool {
	return slices.ContainsFunc(t.leases, func(l *lease) bool { return l.audit && l.out() })
}
