package coordinator

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/switchyard-ml/switchyard/internal/vector"
)

// phase says where the work on a block stands. It changes as phase.allows says, and only in the methods of this file.
//
//	free ⇄ open ⇄ merged ⇄ contested       open: nobody doubts the block: it is pulled and merged
//	                                       merged: back, where its holder keeps it, and is gone, or is to send it
//	       open ⇄ held → merged            held: a copy is here, and waits to be confirmed
//	       open, held → refereed → decided → merged
//	       open, held → disputed → decided → merged
type phase uint8

const (
	free      phase = iota // nobody works on it; its shards are free, or part of other tasks
	open                   // it is leased, or queued to be leased again
	held                   // a whole copy is here and waits to be confirmed
	refereed               // the referee computes it
	disputed               // workers contradict each other; the next one that says something decides
	decided                // its bits are known; whoever said otherwise is being cut off
	merged                 // it is in the tree
	contested              // it is in the tree, and a worker contradicts it; the step does not close
)

func (p phase) String() string {
	return [...]string{"free", "open", "held", "refereed", "disputed", "decided", "merged", "contested"}[p]
}

// allows reports whether a task may go from one phase to another.
func (p phase) allows(to phase) bool {
	switch p {
	case free:
		return to == open
	case open:
		return to == free || to == held || to == refereed || to == disputed || to == merged
	case held:
		return to == open || to == held || to == refereed || to == disputed || to == merged
	case refereed, disputed:
		return to == decided
	case decided:
		return to == merged
	case merged:
		return to == contested || to == open
	case contested:
		return to == merged
	}
	return false
}

// inTree reports whether the block is part of the sum.
func (p phase) inTree() bool { return p == merged || p == contested }

// judged reports whether no worker's copy is wanted any more: the referee computes the block, or its bits are known.
func (p phase) judged() bool { return p == refereed || p == decided }

// errPhase ends a run in which a task was to enter a phase that does not follow. The parameters are those of the last
// step.
var errPhase = errors.New("coordinator: the work on a block went out of order")

// task is the work on a block, from when it is first given out until it is in the tree: who computes it and what they
// say it is.
//
// Invariant: an open task has a lease that is to deliver it, or waits in its round's queue; never both.
// Invariant: at most one lease is being pulled.
type task struct {
	round    *round
	block    vector.Block
	phase    phase
	attempts int      // how often it was leased
	reissued int      // how often it was given to a further worker because the first took too long
	leases   []*lease // that are out
	failures []*failure
	claims   []*claim // what workers have announced

	audited bool // a second worker has to confirm it
	// copy is the lease whose copy is here, whole; nil: none is.
	// Invariant: it is set while the task is held.
	copy   *lease
	copyAt time.Duration
	// arrived is the lease whose copy has come since the task was last looked at; nil: none.
	// Invariant: it is nil between two events.
	arrived *lease
	parties []*account // to the dispute
	charged bool       // who failed has been charged with it

	digest  string         // of the bits that count, where the gradient is shared out
	holder  *lease         // who keeps them; nil: they are in partial
	partial vector.Partial // what is here of a block that is kept: its terms
	from    Contribution
	// question is the number of the question that the referee was asked; 0: none.
	// Invariant: it is set exactly while the referee computes the block.
	question uint64
}

// failure is a worker's statement that it could not compute a block.
type failure struct {
	account *account
	id      string
	detail  string
}

// enter moves a task to another phase, and reports whether it did. A phase that does not follow changes nothing: the
// error is noted at the round, and ends the run.
func (t *task) enter(to phase) bool {
	if !t.phase.allows(to) {
		t.round.broken = fmt.Errorf("%w: shards %s cannot go from %q to %q", errPhase, t.block, t.phase, to)
		return false
	}
	t.phase = to
	return true
}

// reopen begins the work on a block whose shards were free.
func (t *task) reopen() { t.enter(open) }

// release ends the work on a block that nobody has: its shards can be cut in another way.
func (t *task) release() { t.enter(free) }

// hold keeps a whole copy. While the referee computes the block, the copy changes nothing.
func (t *task) hold(now time.Duration, l *lease) {
	if t.phase.judged() || t.enter(held) {
		t.copy, t.copyAt = l, now
	}
}

// dropCopy forgets the copy that is here, because the worker that delivered it is not believed.
func (t *task) dropCopy() {
	t.copy = nil
	if t.phase == held {
		t.enter(open)
	}
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

// refer leaves the block to the referee. What is in the tree stays there meanwhile.
func (t *task) refer(question uint64) {
	t.question = question
	if t.phase == merged {
		t.enter(contested)
	} else {
		t.enter(refereed)
	}
}

// dispute leaves the block to a worker that has said nothing about it yet.
func (t *task) dispute() {
	if t.phase == merged {
		t.enter(contested)
	} else {
		t.enter(disputed)
	}
}

// decide ends the doubts about a block. Whoever leaves now, it is not given out again.
func (t *task) decide() {
	if t.phase == contested {
		t.enter(merged)
	} else {
		t.enter(decided)
	}
}

// merge notes that the block is in the tree, and reports whether it may be put there.
func (t *task) merge() bool { return t.enter(merged) }

// purpose is what an announcement is good for.
type purpose uint8

const (
	reserve purpose = iota // the block is here already, or is being pulled: this copy waits behind it
	compare                // its bits are not wanted, but what it says is compared with what others say
	deliver                // its bits are wanted
)

// purpose says what the announcement of a lease is good for.
func (t *task) purpose(l *lease) purpose {
	switch {
	case l.audit:
		return compare
	case t.phase == disputed:
		if !t.neutral(l.owner) {
			return compare
		}
		return deliver
	case t.phase.inTree(), t.phase.judged(), len(t.claims) > 1 && t.contradicted(), t.phase == held && l.round.shared():
		return compare
	case t.phase == held && l.round.pulls():
		return reserve
	}
	return deliver
}

// wanted reports whether a worker's copy is still to be delivered.
func (t *task) wanted() bool { return t.copy == nil && !t.phase.inTree() && !t.phase.judged() }

// undoubted reports whether a copy of the block can be used as it is: nobody is to confirm it, and nobody else has said
// anything about it.
func (t *task) undoubted() bool { return t.phase == open && !t.audited && len(t.claims) == 1 }

// source is the lease that a task is pulled from, if any.
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

func (t *task) hasFailed(w *member) bool {
	return slices.ContainsFunc(t.failures, func(f *failure) bool { return f.account == w.account })
}

// neutral reports whether a worker's word decides a dispute.
func (t *task) neutral(w *member) bool {
	return !t.hasFailed(w) && !slices.Contains(t.parties, w.account)
}
