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
	if as.Rewind(4, 0); a.tainted {
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
		as.Leave(a)
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

// Of workers that come under ever new tokens, so many are known as one key may have, and those of others. The oldest go
// first, but one that was cut off, or whose contribution nobody confirmed, stays as long as there are others.
func TestAccounts_AreBoundedByKey(t *testing.T) {
	as := NewAccounts()
	other, cut, tainted := as.Of(1, "a@UHONEST"), as.Of(2, "b@UTHIEF"), as.Of(3, "c@UTHIEF")
	other.Refuse(false)
	cut.Banned = "why"
	tainted.Taint(5, wire.Gradient)
	for _, a := range []*Account{other, cut, tainted} {
		as.Leave(a)
	}
	for token := uint64(10); token < 10+2*maxGone; token++ {
		a := as.Of(token, "x@UTHIEF")
		a.Refuse(false)
		as.Leave(a)
		if as.Of(token, "x@UTHIEF") != a { // it comes back
			t.Fatal("one that has just gone is not known")
		}
		as.Leave(a)
	}
	if n := len(as.byToken); n != maxGone+1 || len(as.gone["UTHIEF"]) != maxGone {
		t.Errorf("%d accounts, %d of the thief, want %d", n, len(as.gone["UTHIEF"]), maxGone)
	}
	if as.Of(1, "a@UHONEST") != other || as.Banned(2) != cut || as.Of(3, "c@UTHIEF") != tainted || len(as.gone["UHONEST"]) != 0 {
		t.Error("the wrong one was forgotten")
	}
	// Where all are cut off, the oldest goes: it could have come under a new token just as well.
	for token := uint64(10); token < 10+2*maxGone; token++ {
		a := as.Of(token, "x@UTHIEF")
		a.Banned = "why"
		as.Leave(a)
	}
	if len(as.gone["UTHIEF"]) != maxGone || as.Banned(2) != nil || as.Banned(9+2*maxGone) == nil {
		t.Errorf("%d accounts of the thief", len(as.gone["UTHIEF"]))
	}
}
