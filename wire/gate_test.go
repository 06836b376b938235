package wire

import (
	"fmt"
	"strings"
	"testing"
	"time"
)

const thief, honest = "UTHIEF", "UHONEST"

// clocked is a gate whose time passes only when the test says so.
func clocked(bans ...Ban) (g *Gate, pass func(time.Duration)) {
	now := time.Unix(1_000_000, 0)
	g = NewGate(bans, "UOWN")
	g.now = func() time.Time { return now }
	return g, func(d time.Duration) { now = now.Add(d) }
}

func encoded(t *testing.T, m Message) []byte {
	t.Helper()
	data, err := NewEncoder().Encode(m)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// Every kind of message that a worker may send has a quota of its own; what it may not send has none. A flood of any
// of them is cut off, and the others with keys of their own notice nothing.
func TestGate_FloodOfEachKind(t *testing.T) {
	floods := map[string][]byte{
		"garbage": []byte("GET / HTTP/1.1"), "empty": {}, "huge": make([]byte, 1<<20),
		"huge hello": append(encoded(t, &Hello{}), make([]byte, 1<<20)...), "unknown kind": {0x97, Version, 0x7f, 0},
	}
	fromWorker := map[Kind]bool{
		KindHello: true, KindFetch: true, KindReady: true, KindNeed: true, KindResult: true, KindChunk: true, KindHeartbeat: true, KindBye: true, KindSeek: true,
		KindShare: true, KindChunksAt: true,
	}
	for _, m := range samples() {
		data := encoded(t, m)
		if got := (*Gate)(nil).glance(data); fromWorker[TypeOf(m)] && got != TypeOf(m) || !fromWorker[TypeOf(m)] && got != unsound {
			t.Errorf("%T is seen as kind %d", m, got)
		}
		floods[fmt.Sprintf("%T", m)] = data
	}
	for name, data := range floods {
		g, pass := clocked()
		admitted := 0
		for i := 0; i < 1_000_000 && !g.Banned(thief); i++ {
			if g.Admit(thief, data) {
				admitted++
			}
			if i%100 == 0 {
				pass(time.Millisecond)
			}
		}
		if bans := g.Bans(); len(bans) != 1 || bans[0].Key != thief || !strings.Contains(bans[0].Reason, "beyond what workers send") {
			t.Fatalf("%s: bans %+v after a flood of which %d were let in", name, bans, admitted)
		}
		if admitted > 20_000 {
			t.Errorf("%s: %d were let in", name, admitted)
		}
		pass(time.Hour)
		if g.Admit(thief, floods["*wire.Hello"]) {
			t.Errorf("%s: heard again by itself", name)
		}
		if !g.Admit(honest, floods["*wire.Hello"]) {
			t.Errorf("%s: another key is not heard", name)
		}
		if o := g.Offenders(); len(o) != 1 || o[0].Key != thief {
			t.Errorf("%s: offenders %+v", name, o)
		}
	}
}

// A message that is larger than any of its kind is garbage, and charged by its size: hardly one is let in.
func TestGate_TooLargeForItsKind(t *testing.T) {
	tail := make([]byte, 1<<20)
	for _, m := range samples() {
		kind := (*Gate)(nil).glance(encoded(t, m))
		if kind == unsound || kind == KindChunk {
			continue
		}
		g, _ := clocked()
		data, admitted := append(encoded(t, m), tail...), 0
		for range 100 {
			if g.Admit(thief, data) {
				admitted++
			}
		}
		if admitted > 1 || !g.Banned(thief) {
			t.Errorf("%d of %T with a MiB behind it are let in; banned: %v", admitted, m, g.Banned(thief))
		}
	}
}

// What was asked for is let in however much it is, and some of it may be damaged on its way.
func TestGate_LetsInWhatWasAskedFor(t *testing.T) {
	g, pass := clocked()
	chunk := encoded(t, &Chunk{Data: make([]byte, 60_000)})
	for range 1000 {
		g.Expect(honest, KindChunk, 1000)
		for i := range 1000 {
			if !g.Admit(honest, chunk) || i%10 == 0 && !g.Unsound(honest) {
				t.Fatal("not let in")
			}
		}
		pass(time.Second / 10)
	}
	for range 5000 {
		g.Admit(honest, chunk)
	}
	if o := g.Offenders(); len(o) != 1 || o[0].Dropped["chunk"] == 0 {
		t.Errorf("what was not asked for is let in: %+v", o)
	}
}

// What was asked for and did not come does not add up: after months of work a thief with the key has no more to send at
// once than after minutes. What comes late, and twice, is let in.
func TestGate_SurplusDrains(t *testing.T) {
	g, pass := clocked()
	result := encoded(t, &Result{})
	const perSecond = 50
	work := func(seconds int) {
		t.Helper()
		for range seconds * perSecond {
			g.Expect(honest, KindResult, 4)
			if !g.Admit(honest, result) {
				t.Fatal("not let in")
			}
			pass(time.Second / perSecond)
		}
	}
	work(20_000)
	pass(time.Hour) // nobody is heard for long, and then asked for more than the burst
	const many = 8000
	for range many {
		g.Expect(honest, KindResult, 4)
	}
	for range 2 {
		pass(time.Minute)
		for range many {
			if !g.Admit(honest, result) {
				t.Fatal("what is late is not let in")
			}
		}
	}
	work(600)
	admitted := 0
	for g.Admit(honest, result) {
		admitted++
	}
	// Four results are let in for each lease, one came, and half of the rest is forgotten each minute.
	if most := int(toCoordinator[KindResult].burst) + 3*perSecond*90; admitted > most {
		t.Errorf("%d results are let in at once, want %d at most", admitted, most)
	}
}

// A fleet of a thousand workers with one key starts at the same moment, works and beats, and loses nothing.
func TestGate_FleetWithOneKey(t *testing.T) {
	g, pass := clocked()
	const fleet = 1000
	say := func(m Message) {
		t.Helper()
		data := encoded(t, m)
		for range fleet {
			if !g.Admit(honest, data) {
				t.Fatalf("%T is not let in", m)
			}
		}
	}
	say(&Seek{Slots: 1})
	say(&Hello{Slots: 1})
	say(&Ready{})
	for range fleet {
		if !g.State(honest, 1) {
			t.Fatal("no parameters")
		}
	}
	pass(time.Second)
	g.Delivering("a", map[string]int{honest: fleet / 2})
	g.Delivering("b", map[string]int{honest: fleet / 2})
	for range 100 {
		pass(time.Second / 2)
		say(&Heartbeat{})
		say(&Need{})
		say(&Seek{Serving: "a"})
	}
	g.Delivering("a", nil)
	g.Delivering("b", nil)
	if c := g.keys[honest].workers; c != 0 {
		t.Errorf("%d workers are left", c)
	}
}

// Bans are kept and given from outside; who is let in again begins anew. A process never bans itself, and where there
// are no keys nobody is banned.
func TestGate_Bans(t *testing.T) {
	if own := NewGate([]Ban{{Key: "own"}, {Key: NoKey}}, "own"); own.Banned("own") || own.Banned(NoKey) || !own.Admit("own", encoded(t, &Hello{})) {
		t.Error("a process does not hear its own key")
	}
	g, _ := clocked(Ban{Key: thief, Reason: "before"})
	hello := encoded(t, &Hello{})
	if g.Admit(thief, hello) || !g.Admit(honest, hello) {
		t.Error("the ban of before does not hold")
	}
	g.SetBans(nil)
	select {
	case <-g.Changed():
	default:
		t.Error("the change is not told")
	}
	if !g.Admit(thief, hello) {
		t.Error("it is not let in again")
	}
	g.SetBans([]Ban{{Key: thief}, {Key: "UOWN"}, {Key: NoKey}})
	if g.Admit(thief, hello) || !g.Admit("UOWN", hello) || !g.Admit(NoKey, hello) {
		t.Error("the wrong keys are banned")
	}
	for range 100_000 {
		if !g.Admit(NoKey, hello) || !g.Admit("UOWN", nil) {
			t.Fatal("not let in")
		}
	}
	var none *Gate
	if !none.Admit(thief, nil) || none.Banned(thief) || !none.State(thief, 9) || !none.Unsound(thief) {
		t.Error("without a gate something is held back")
	}
	none.Expect(thief, KindChunk, 1)
	none.Delivering("a", nil)
}

// pullsOf are the pulls at one worker in a step of a run of so many workers with one key, each of which keeps that many
// blocks of as many chunks as there are sums: half a share at a time makes two for each worker, and each is pulled once.
func pullsOf(workers, blocks int) int { return (workers - 1) * 2 * blocks }

// Workers with one key pull in steps of 10 ms as much as each of them keeps, which is more than the quota by time: they
// are heard, for ever. One that pulls again and again is not.
func TestGate_PullsOfFastSteps(t *testing.T) {
	now := time.Unix(1_000_000, 0)
	data := encoded(t, &Pull{})
	for _, c := range []struct {
		workers, times int
		banned         bool
	}{{4, 1, false}, {16, 1, false}, {64, 1, false}, {64, 3, false}, {16, 100, true}} {
		g := NewPeerGate()
		g.now = func() time.Time { return now }
		kept, dropped := 2*2*c.workers, 0
		for range 3000 {
			g.AtLeast(KindPull, 4*kept)
			for range c.times * pullsOf(c.workers, 2) {
				if !g.Admit(honest, data) {
					dropped++
				}
			}
			now = now.Add(10 * time.Millisecond)
		}
		if g.Banned(honest) != c.banned || dropped > 0 != c.banned {
			t.Errorf("%d workers, %d times: %d pulls were dropped; banned: %v", c.workers, c.times, dropped, g.Banned(honest))
		}
	}
	// What may be pulled at once does not add up.
	g := NewPeerGate()
	g.now = func() time.Time { return now }
	for range 1000 {
		g.Admit(thief, data)
		g.AtLeast(KindPull, 20_000)
	}
	admitted := 0
	for g.Admit(thief, data) {
		admitted++
	}
	if admitted != 20_000 {
		t.Errorf("%d pulls were let in", admitted)
	}
}
