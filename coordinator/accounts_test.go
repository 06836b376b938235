package coordinator

import (
	"testing"

	"github.com/switchyard-ml/switchyard/wire"
)

// What a worker contributed counts from the first step that is not known yet. A validation counts for the step before.
func TestAccounts_TrustKeepsTheFirstStep(t *testing.T) {
	out := new(outbox)
	as := accounts{byToken: map[uint64]*account{}, out: out}
	a := as.of(1, "w")
	for _, c := range []struct {
		step  uint64
		work  wire.Work
		news  bool
		since uint64
	}{{5, wire.Gradient, true, 5}, {6, wire.Gradient, false, 5}, {5, wire.Validate, true, 4}, {4, wire.Gradient, false, 4}} {
		as.trust(a, c.step, c.work)
		if got := len(out.take()) == 1; got != c.news || a.since != c.since {
			t.Errorf("step %d: event %v, since %d", c.step, got, a.since)
		}
	}
	if as.rewind(4); a.tainted {
		t.Error("what was undone is held against the worker")
	}
}

// An account is kept while there is something to remember.
func TestAccounts_ForgetsTheBlameless(t *testing.T) {
	as := accounts{byToken: map[uint64]*account{}, before: map[uint64]uint64{wire.Mark(3): 8}, out: new(outbox)}
	good, bad, old := as.of(1, "good"), as.of(2, "bad"), as.of(3, "old")
	bad.offences++
	for _, a := range []*account{good, bad, old} {
		as.forget(a)
	}
	if as.of(1, "good") == good || as.of(2, "bad") != bad {
		t.Error("the wrong one was forgotten")
	}
	if !old.tainted || old.since != 8 || as.of(3, "old") != old {
		t.Error("what was contributed under an earlier coordinator is not known")
	}
	if as.banned(2) != nil {
		t.Error("nobody was cut off")
	}
	if bad.banned = "why"; as.banned(2) != bad {
		t.Error("one who was cut off is not known")
	}
}

// A few offences and much noise are borne, and more of one who does more.
func TestAccount_Excess(t *testing.T) {
	for _, c := range []struct {
		account account
		want    bool
	}{
		{account{offences: offencesBorne}, false},
		{account{offences: offencesBorne + 1}, true},
		{account{offences: offencesBorne + 1, accepted: offencesPer - 1}, true},
		{account{offences: offencesBorne + 1, accepted: offencesPer}, false},
		{account{offences: offencesBorne + 2, accepted: offencesPer}, true},
		{account{noise: noiseBorne}, false},
		{account{noise: noiseBorne + 1}, true},
		{account{noise: noiseBorne + 1, allowed: 1}, false},
		{account{noise: noiseBorne + noisePer + 1, allowed: 1}, true},
	} {
		if got := c.account.excess() != ""; got != c.want {
			t.Errorf("%+v: got %v", c.account, got)
		}
	}
}
