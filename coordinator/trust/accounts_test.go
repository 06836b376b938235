package trust

import (
	"testing"

	"github.com/switchyard-ml/switchyard/wire"
)

// What a worker contributed counts from the first step that is not known yet. A validation counts for the step before.
func TestAccount_TaintKeepsTheFirstStep(t *testing.T) {
	as := NewAccounts()
	a := as.Of(1, "w")
	for _, c := range []struct {
		step  uint64
		work  wire.Work
		news  bool
		since uint64
	}{{5, wire.Gradient, true, 5}, {6, wire.Gradient, false, 5}, {5, wire.Validate, true, 4}, {4, wire.Gradient, false, 4}} {
		since, got := a.Taint(c.step, c.work)
		if got != c.news || since != c.since || a.since != since {
			t.Errorf("step %d: news %v, since %d", c.step, got, a.since)
		}
	}
	if as.Rewind(4); a.tainted {
		t.Error("what was undone is held against the worker")
	}
}

// An account is kept while there is something to remember.
func TestAccounts_ForgetsTheBlameless(t *testing.T) {
	as := NewAccounts()
	as.Inherit(map[uint64]uint64{wire.Mark(3): 8})
	good, bad, old := as.Of(1, "good"), as.Of(2, "bad"), as.Of(3, "old")
	bad.Offences++
	for _, a := range []*Account{good, bad, old} {
		as.Forget(a)
	}
	if as.Of(1, "good") == good || as.Of(2, "bad") != bad {
		t.Error("the wrong one was forgotten")
	}
	if !old.tainted || old.since != 8 || as.Of(3, "old") != old {
		t.Error("what was contributed under an earlier coordinator is not known")
	}
	if as.Banned(2) != nil {
		t.Error("nobody was cut off")
	}
	if bad.Banned = "why"; as.Banned(2) != bad {
		t.Error("one who was cut off is not known")
	}
}

// A few offences and much noise are borne, and more of one who does more.
func TestAccount_Excess(t *testing.T) {
	for _, c := range []struct {
		account Account
		want    bool
	}{
		{Account{Offences: offencesBorne}, false},
		{Account{Offences: offencesBorne + 1}, true},
		{Account{Offences: offencesBorne + 1, Accepted: offencesPer - 1}, true},
		{Account{Offences: offencesBorne + 1, Accepted: offencesPer}, false},
		{Account{Offences: offencesBorne + 2, Accepted: offencesPer}, true},
		{Account{noise: noiseBorne}, false},
		{Account{noise: noiseBorne + 1}, true},
		{Account{noise: noiseBorne + 1, allowed: 1}, false},
		{Account{noise: noiseBorne + noisePer + 1, allowed: 1}, true},
	} {
		if got := c.account.Excess() != ""; got != c.want {
			t.Errorf("%+v: got %v", c.account, got)
		}
	}
}
