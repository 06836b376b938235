package cluster

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/switchyard-ml/switchyard/wire"
)

const a, b = "UAAAAAAAAAAA", "UBBBBBBBBBBB"

// keyed is a bus of the holder of a key.
func keyed() wire.Bus { return wire.NewMemory(nil).With("UOWNOWNOWNOW") }

func newBanList(t *testing.T, dir string) *BanList {
	t.Helper()
	k, err := NewBanList(dir, keyed(), hclog.NewNullLogger())
	if err != nil {
		t.Fatal(err)
	}
	return k
}

// What is banned stays so for the next coordinator, until it is let in again.
func TestBanList_SurvivesARestart(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "runs")
	k := newBanList(t, dir)
	for i, want := range []bool{true, false} {
		if changed, err := k.Ban(a, "stolen"); err != nil || changed != want {
			t.Fatal(i, changed, err)
		}
	}
	k = newBanList(t, dir)
	if list := k.Gate.Bans(); len(list) != 1 || list[0].Key != a || list[0].Reason != "stolen" || list[0].Since.IsZero() {
		t.Fatalf("%+v", list)
	}
	for i, want := range []bool{true, false} {
		if changed, err := k.Unban(a); err != nil || changed != want {
			t.Fatal(i, changed, err)
		}
	}
	if list := newBanList(t, dir).Gate.Bans(); len(list) != 0 {
		t.Errorf("%+v", list)
	}
}

// What cannot be written is written as soon as it can be.
func TestBanList_TriesAgain(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "runs")
	k := newBanList(t, dir)
	if err := os.WriteFile(dir, nil, 0o600); err != nil { // there can be no folder of this name
		t.Fatal(err)
	}
	if changed, err := k.Ban(a, "stolen"); err == nil || !changed || !k.Gate.Banned(a) {
		t.Fatalf("changed %v, error %v", changed, err)
	}
	k.reread()
	if err := os.Remove(dir); err != nil {
		t.Fatal(err)
	}
	k.reread()
	if list, err := Load(dir); err != nil || len(list) != 1 || list[0].Key != a {
		t.Errorf("%+v, %v", list, err)
	}
}

// What somebody else writes into the file holds, and what the gate finds is written.
func TestBanList_FollowsFileAndGate(t *testing.T) {
	dir := t.TempDir()
	k := newBanList(t, dir)
	if err := Save(dir, []wire.Ban{{Key: a, Since: time.Unix(1, 0).UTC(), Reason: "by hand"}}); err != nil {
		t.Fatal(err)
	}
	if k.reread(); !k.Gate.Banned(a) {
		t.Error("the file is not followed")
	}
	garbage := make([]byte, 1<<20)
	for range 1000 {
		k.Gate.Admit(b, garbage)
	}
	k.keep()
	list, err := Load(dir)
	if err != nil || len(list) != 2 || list[0].Key != a || list[1].Key != b {
		t.Errorf("%+v, %v", list, err)
	}
	if err := os.WriteFile(filepath.Join(dir, file), []byte("nonsense, longer than what was there"), 0o644); err != nil {
		t.Fatal(err)
	}
	if k.reread(); !k.Gate.Banned(a) || !k.Gate.Banned(b) {
		t.Error("a damaged file lets keys in")
	}
	if _, err := NewBanList(dir, keyed(), hclog.NewNullLogger()); err == nil {
		t.Error("a damaged file is read as an empty one")
	}
}

// A key in the file is read as one that is typed: a longer text bans the key that it begins with, and one that is no key
// must not end as a ban of nobody.
func TestBanList_KeysByHand(t *testing.T) {
	dir := t.TempDir()
	if err := Save(dir, []wire.Ban{{Key: a + "REST"}}); err != nil {
		t.Fatal(err)
	}
	if k := newBanList(t, dir); !k.Gate.Banned(a) {
		t.Errorf("banned are %v", k.Gate.Bans())
	}
	if err := Save(dir, []wire.Ban{{Key: "worker-3"}}); err != nil {
		t.Fatal(err)
	}
	if list, err := Load(dir); !errors.Is(err, ErrKey) {
		t.Errorf("%v, %v", list, err)
	}
}

// What somebody writes into the file between two looks at it outlasts what is banned or let in within that second, and
// the other way round.
func TestBanList_FileAndGateAtOnce(t *testing.T) {
	dir, c := t.TempDir(), "UCCCCCCCCCCC"
	k := newBanList(t, dir)
	byHand := func(list ...wire.Ban) {
		t.Helper()
		if err := Save(dir, list); err != nil {
			t.Fatal(err)
		}
	}
	expect := func(want ...string) {
		t.Helper()
		list, err := Load(dir)
		var got []string
		for _, b := range list {
			got = append(got, b.Key)
		}
		if err != nil || !slices.Equal(got, want) {
			t.Errorf("the file has %v, %v, want %v", got, err, want)
		}
		for _, key := range []string{a, b, c} {
			if k.Gate.Banned(key) != slices.Contains(want, key) {
				t.Errorf("banned %s: %v", key, k.Gate.Banned(key))
			}
		}
	}
	byHand(wire.Ban{Key: a})
	if changed, err := k.Ban(b, "stolen"); err != nil || !changed {
		t.Fatal(changed, err)
	}
	expect(a, b)
	byHand(wire.Ban{Key: b})
	k.Gate.Ban(c, "flood")
	k.keep()
	expect(b, c)
	k.Gate.Ban(a, "flood")
	byHand(wire.Ban{Key: c, Reason: "by hand"})
	k.reread()
	expect(a, c)
}

func TestCheckKey(t *testing.T) {
	for text, want := range map[string]string{a: a, a + "REST": a, "w1@" + a: a, " " + a + "\n": a, "": "", "open": "", "UAA": "", "w1": "", "XAAAAAAAAAAA": "", "U-AAAAAAAAAA": "", "Uaaaaaaaaaaa": ""} {
		got, err := CheckKey(text)
		if got != want || (err != nil) != (want == "") || err != nil && !errors.Is(err, ErrKey) {
			t.Errorf("%q: got %q, %v", text, got, err)
		}
	}
}
