package trust

import (
	"errors"
	"fmt"
	"slices"

	"github.com/switchyard-ml/switchyard/internal/vector"
)

// Phase says where the work on a block stands. It changes as allows says, and only in the methods of this file.
//
//	Free ⇄ Open ⇄ Merged ⇄ Contested       Open: nobody doubts the block: it is pulled and merged
//	                                       Merged: back, where its holder keeps it, and is gone, or is to send it
//	       Open ⇄ Held → Merged            Held: a copy is here, and waits to be confirmed
//	       Open, Held → Refereed → Decided → Merged
//	       Open, Held → Disputed → Decided → Merged
type Phase uint8

// The phases.
const (
	Free      Phase = iota // nobody works on it; its shards are free, or part of other tasks
	Open                   // it is leased, or queued to be leased again
	Held                   // a whole copy is here and waits to be confirmed
	Refereed               // the referee computes it
	Disputed               // workers contradict each other; the next one that says something decides
	Decided                // its bits are known; whoever said otherwise is being cut off
	Merged                 // it is in the tree
	Contested              // it is in the tree, and a worker contradicts it; the step does not close
)

// String returns the name of the phase.
func (p Phase) String() string {
	return [...]string{"free", "open", "held", "refereed", "disputed", "decided", "merged", "contested"}[p]
}

// allows reports whether a block may go from one phase to another.
func (p Phase) allows(to Phase) bool {
	switch p {
	case Free:
		return to == Open
	case Open:
		return to == Free || to == Held || to == Refereed || to == Disputed || to == Merged
	case Held:
		return to == Open || to == Held || to == Refereed || to == Disputed || to == Merged
	case Refereed, Disputed:
		return to == Decided
	case Decided:
		return to == Merged
	case Merged:
		return to == Contested || to == Open
	case Contested:
		return to == Merged
	}
	return false
}

// InTree reports whether the block is part of the sum.
func (p Phase) InTree() bool { return p == Merged || p == Contested }

// Judged reports whether no worker's copy is wanted any more: the referee computes the block, or its bits are known.
func (p Phase) Judged() bool { return p == Refereed || p == Decided }

// ErrPhase is the error of a block that was to enter a phase that does not follow.
var ErrPhase = errors.New("coordinator: the work on a block went out of order")

// Case is a block as far as belief goes: who says what of it, who could not compute it, and what follows.
//
// Invariant: there is a deliverer while the block is held.
// Invariant: there is a question exactly while the referee computes the block.
type Case struct {
	Block   vector.Block
	Audited bool // a second worker, or the referee, has to confirm it

	phase     Phase
	claims    []*Claim   // what workers have announced
	deliverer *Account   // of whom a whole copy is here; nil: none is
	failures  []*Failure // who could not compute it
	parties   []*Account // to the dispute
	charged   bool       // who failed has been charged with it
	question  uint64     // number of the question that the referee was asked; 0: none
	broken    *error     // where a phase that does not follow is noted
}

// Failure is a worker's statement that it could not compute a block. Detail is the worker's text, for people.
type Failure struct {
	Account    *Account
	ID, Detail string
}

// NewCase returns the case of a block on which nobody works. A move that does not follow is noted in broken, and
// changes nothing.
func NewCase(block vector.Block, broken *error) Case { return Case{Block: block, broken: broken} }

// Phase says where the work on the block stands.
func (c *Case) Phase() Phase { return c.phase }

// InTree reports whether the block is part of the sum.
func (c *Case) InTree() bool { return c.phase.InTree() }

// Judged reports whether no worker's copy is wanted any more.
func (c *Case) Judged() bool { return c.phase.Judged() }

// enter moves the block to another phase, and reports whether it did.
func (c *Case) enter(to Phase) bool {
	if !c.phase.allows(to) {
		*c.broken = fmt.Errorf("%w: shards %s cannot go from %q to %q", ErrPhase, c.Block, c.phase, to)
		return false
	}
	c.phase = to
	return true
}

// Reopen begins the work on a block whose shards were free, or that was in the tree and is not here.
func (c *Case) Reopen() {
	c.enter(Open)
	c.deliverer = nil
}

// Release ends the work on a block that nobody has: its shards can be cut in another way.
func (c *Case) Release() { c.enter(Free) }

// Hold notes that a whole copy of a worker is kept, and reports whether it is. While the referee computes the block,
// the copy changes nothing.
func (c *Case) Hold(by *Account) bool {
	kept := c.phase.Judged() || c.enter(Held)
	if kept {
		c.deliverer = by
	}
	return kept
}

// DropCopy forgets the copy that is here, because the worker that delivered it is not believed.
func (c *Case) DropCopy() {
	c.deliverer = nil
	if c.phase == Held {
		c.enter(Open)
	}
}

// refer leaves the block to the referee. What is in the tree stays there meanwhile. Its question replaces one that
// was asked before.
func (c *Case) refer(question uint64) {
	c.question = question
	if c.phase == Merged {
		c.enter(Contested)
	} else {
		c.enter(Refereed)
	}
}

// Question is the number of the question that the referee was asked about the block; 0: none.
func (c *Case) Question() uint64 { return c.question }

// Answered notes that the referee has answered.
func (c *Case) Answered() { c.question = 0 }

// Dispute notes who contradict each other. If there is no referee, the block is left to a worker that has said
// nothing about it yet. With a referee, its question moves the block on: see Judgement.Refer.
func (c *Case) Dispute(referee bool) {
	c.parties = nil
	for _, o := range c.claims {
		c.parties = append(c.parties, o.Account)
	}
	switch {
	case referee:
	case c.phase == Merged:
		c.enter(Contested)
	default:
		c.enter(Disputed)
	}
}

// Decide ends the doubts about a block. Whoever leaves now, it is not given out again.
func (c *Case) Decide() {
	if c.phase == Contested {
		c.enter(Merged)
	} else {
		c.enter(Decided)
	}
}

// Merge notes that the block is in the tree, and reports whether it may be put there. To have failed at the block is an
// offence then: another worker could compute it.
func (c *Case) Merge() bool {
	if !c.enter(Merged) {
		return false
	}
	if !c.charged { // a block that is kept may come here again
		for _, f := range c.failures {
			f.Account.Offences++
		}
	}
	c.charged = true
	return true
}

// Fail notes that a worker could not compute the block, and reports whether it is the first. What it has claimed is
// worth nothing.
func (c *Case) Fail(by *Account, id, detail string, said *Claim) (first bool) {
	by.spoke = true
	c.failures = append(c.failures, &Failure{by, id, detail})
	c.Unsay(said)
	return len(c.failures) == 1
}

// Failures are the statements of those who could not compute the block, in order.
func (c *Case) Failures() []*Failure { return c.failures }

// HasFailed reports whether a worker could not compute the block.
func (c *Case) HasFailed(a *Account) bool {
	return slices.ContainsFunc(c.failures, func(f *Failure) bool { return f.Account == a })
}

// Neutral reports whether a worker's word decides a dispute. One who spoke is a party, and one who failed cannot
// know.
func (c *Case) Neutral(a *Account) bool { return !c.HasFailed(a) && !slices.Contains(c.parties, a) }
