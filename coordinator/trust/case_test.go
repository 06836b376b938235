package trust

import (
	"errors"
	"slices"
	"testing"

	"github.com/switchyard-ml/switchyard/internal/vector"
)

var phases = []Phase{Free, Open, Held, Refereed, Disputed, Decided, Merged, Contested}

func caseAt(phase Phase) (*Case, *error) {
	broken := new(error)
	c := NewCase(vector.Block{Count: 2}, broken)
	c.phase = phase
	return &c, broken
}

// A block goes from phase to phase as it should, and in no other way. A move that is refused changes nothing, and is
// noted.
func TestCase_EntersOnlyWhatFollows(t *testing.T) {
	follows := map[Phase][]Phase{
		Free:      {Open},
		Open:      {Free, Held, Refereed, Disputed, Merged},
		Held:      {Open, Held, Refereed, Disputed, Merged},
		Refereed:  {Decided},
		Disputed:  {Decided},
		Decided:   {Merged},
		Merged:    {Contested, Open},
		Contested: {Merged},
	}
	for _, from := range phases {
		for _, to := range phases {
			c, broken := caseAt(from)
			want := slices.Contains(follows[from], to)
			if got := c.enter(to); got != want {
				t.Errorf("from %v to %v: got %v", from, to, got)
			}
			if c.phase == to != (want || from == to) || errors.Is(*broken, ErrPhase) == want {
				t.Errorf("from %v to %v: it is %v, noted is %v", from, to, c.phase, *broken)
			}
		}
	}
}

// What moves a block by a method leads to the phase that it names, whether the block is in the tree or not.
func TestCase_Moves(t *testing.T) {
	a := &Account{}
	for _, c := range []struct {
		name     string
		from, to Phase
		move     func(*Case)
	}{
		{"reopen", Free, Open, (*Case).Reopen},
		{"reopen what is gone", Merged, Open, (*Case).Reopen},
		{"release", Open, Free, (*Case).Release},
		{"hold", Open, Held, func(c *Case) { c.Hold(a) }},
		{"hold meanwhile", Refereed, Refereed, func(c *Case) { c.Hold(a) }},
		{"drop the copy", Held, Open, (*Case).DropCopy},
		{"drop the copy of what is in the tree", Merged, Merged, (*Case).DropCopy},
		{"refer", Held, Refereed, func(c *Case) { c.refer(1) }},
		{"refer what is in the tree", Merged, Contested, func(c *Case) { c.refer(1) }},
		{"dispute", Open, Disputed, func(c *Case) { c.Dispute(false) }},
		{"dispute where there is a referee", Open, Open, func(c *Case) { c.Dispute(true) }},
		{"dispute what is in the tree", Merged, Contested, func(c *Case) { c.Dispute(false) }},
		{"decide", Disputed, Decided, (*Case).Decide},
		{"decide what is in the tree", Contested, Merged, (*Case).Decide},
		{"merge", Decided, Merged, func(c *Case) { c.Merge() }},
	} {
		one, broken := caseAt(c.from)
		if c.move(one); one.phase != c.to || *broken != nil {
			t.Errorf("%s: got %v, want %v; %v", c.name, one.phase, c.to, *broken)
		}
	}
}

// Who failed at a block that others can compute is charged with it once.
func TestCase_MergeChargesOnce(t *testing.T) {
	a := &Account{}
	c, _ := caseAt(Open)
	if !c.Fail(a, "a", "no", nil) || c.Fail(a, "a", "no", nil) || !c.HasFailed(a) {
		t.Error("the first failure is not told from the second")
	}
	c.Merge()
	c.Reopen()
	if c.Merge(); a.Offences != 2 {
		t.Errorf("%d offences of two failures", a.Offences)
	}
}
