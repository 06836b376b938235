package coordinator

import (
	"time"

	"github.com/switchyard-ml/switchyard/coordinator/trust"
	"github.com/switchyard-ml/switchyard/internal/vector"
)

// task is the work on a block, from when it is first given out until it is in the tree: who computes it, and the case,
// which is what they say of it.
//
// Invariant: an open task has a lease that is to deliver it, or waits in its round's queue; never both.
// Invariant: at most one lease is being pulled.
type task struct {
	trust.Case
	round    *round
	attempts int      // how often it was leased
	reissued int      // how often it was given to a further worker because the first took too long
	leases   []*lease // that are out

	// copy is the lease whose copy is here, whole; nil: none is.
	// Invariant: it is set while the task is held.
	copy   *lease
	copyAt time.Duration
	// arrived is the lease whose copy has come since the task was last looked at; nil: none.
	// Invariant: it is nil between two events.
	arrived *lease

	digest  string         // of the bits that count, where the gradient is shared out
	holder  *lease         // who keeps them; nil: they are in partial
	partial vector.Partial // what is here of a block that is kept: its terms
	from    Contribution   // what the log is to say of it
}

// hold keeps a whole copy. The referee's answer may be on its way: then the copy is kept, and decides nothing.
func (t *task) hold(now time.Duration, l *lease) {
	if t.Hold(l.owner.Account) {
		t.copy, t.copyAt = l, now
	}
}

// dropCopy forgets the copy that is here, because the worker that delivered it is not believed.
func (t *task) dropCopy() {
	t.copy = nil
	t.DropCopy()
}

// forget drops the copy of a lease, which has come or is about to be held.
func (t *task) forget(l *lease) {
	if t.arrived == l {
		t.arrived = nil
	}
	if t.copy == l {
		t.dropCopy()
	}
}

// purpose is what an announcement is good for.
type purpose uint8

const (
	reserve purpose = iota // the block is here already, or is being pulled: this copy waits behind it
	compare                // its bits are not wanted, but what it says is compared with what others say
	deliver                // its bits are wanted
)

// purpose says what the announcement of a lease is good for. It depends on what is here, and on who speaks.
func (t *task) purpose(l *lease) purpose {
	held := t.Phase() == trust.Held
	switch {
	case l.audit:
		return compare
	case t.thirdDecides():
		// A party only repeats what it said; the word of a neutral worker decides, with its bits.
		if !t.Neutral(l.owner.Account) {
			return compare
		}
		return deliver
	case t.InTree(), t.Judged(), t.Contradicted(), held && l.round.shared():
		return compare
	case held && l.round.pulls():
		return reserve
	}
	return deliver
}

// thirdDecides reports whether the word of a worker is waited for that has said nothing of the block yet: others
// contradict each other, and no referee computes it. What is in the tree may be contradicted, too.
func (t *task) thirdDecides() bool {
	return t.Phase() == trust.Disputed || t.Phase() == trust.Contested && t.Question() == 0
}

// wanted reports whether a worker's copy is still to be delivered.
func (t *task) wanted() bool { return t.copy == nil && !t.InTree() && !t.Judged() }

// source is the lease that a task is pulled from, if any. nil: none.
func (t *task) source() *lease {
	for _, l := range t.leases {
		if l.state == pulling {
			return l
		}
	}
	return nil
}

// regular counts the leases of a task that are to deliver it.
func (t *task) regular() int {
	n := 0
	for _, l := range t.leases {
		if !l.audit {
			n++
		}
	}
	return n
}
