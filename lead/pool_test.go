package lead

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

// stage is a pool with a clock, and with workers that obey.
type stage struct {
	t    *testing.T
	pool *Pool
	now  time.Duration
	runs map[string]string // by worker: what it serves; empty: it seeks
	sent []Move
}

func newStage(t *testing.T, runs ...string) *stage {
	s := &stage{t: t, pool: NewPool(), runs: map[string]string{}}
	for _, r := range runs {
		s.pool.Open(0, Run{r, 8}, true)
	}
	return s
}

// second lets a second pass, in which all that seek say so and all that are sent somewhere go there.
func (s *stage) second() {
	s.t.Helper()
	s.now += time.Second
	var members []Member
	for _, id := range s.ids() {
		if run := s.runs[id]; run != "" {
			members = append(members, member(run, id))
			continue
		}
		run, err := seek(s.pool, s.now, id, token(id))
		if err != nil {
			s.t.Fatal(err)
		}
		s.runs[id] = run
	}
	s.pool.Observe(s.now, members)
	for _, m := range s.pool.Assign(s.now) {
		s.sent = append(s.sent, m.Move)
		s.runs[m.Worker] = m.Run
	}
}

func (s *stage) ids() []string {
	var ids []string
	for id := range s.runs {
		ids = append(ids, id)
	}
	slices.Sort(ids)
	return ids
}

func (s *stage) end(run string) {
	s.pool.Close(run)
	for id, r := range s.runs {
		if r == run {
			s.runs[id] = ""
		}
	}
}

// members counts the workers of a run.
func (s *stage) members(run string) int {
	n := 0
	for _, r := range s.runs {
		if r == run {
			n++
		}
	}
	return n
}

// token is 1 for w1.
func token(id string) uint64 { return uint64(len(id)-2)<<32 + uint64(id[len(id)-1]-'0') }

// member is a worker in a run that has delivered nothing yet.
func member(run, id string) Member {
	return Member{Run: run, ID: id, Mark: token(id), Slots: 1}
}

// called counts the calls of all workers of all tests.
var called atomic.Uint64

// seek seeks as a worker whose mark is token, and returns where it is sent.
func seek(p *Pool, now time.Duration, id string, token uint64) (string, error) {
	a, err := p.Seek(now, Call{ID: id, Mark: token, Number: called.Add(1), Slots: 1})
	return a.Run, err
}

// heard lets members say which run they serve.
func heard(t *testing.T, p *Pool, members ...Member) {
	t.Helper()
	for _, m := range members {
		if _, err := p.Seek(0, Call{ID: m.ID, Mark: m.Mark, Number: called.Add(1), Slots: m.Slots, Serving: m.Run}); err != nil {
			t.Fatal(err)
		}
	}
}

func find(p *Pool, id string) *pooled { return p.known[identity{id, token(id)}] }

func (s *stage) seconds(n int) {
	s.t.Helper()
	for range n {
		s.second()
	}
}

func (s *stage) want(counts map[string]int) {
	s.t.Helper()
	for run, n := range counts {
		if got := s.members(run); got != n {
			s.t.Errorf("after %v: run %q has %d workers, want %d: %v", s.now, run, got, n, s.runs)
		}
	}
}

func TestPool_SharesWorkersOutAsRunsComeAndGo(t *testing.T) {
	s := newStage(t)
	for i := range 4 {
		s.runs[fmt.Sprint("w", i)] = ""
	}
	s.seconds(2)
	s.want(map[string]int{"": 4})
	s.pool.Open(s.now, Run{"a", 8}, true)
	s.seconds(2)
	s.want(map[string]int{"a": 4})
	s.pool.Open(s.now, Run{"b", 8}, true)
	s.seconds(2)
	s.want(map[string]int{"a": 4}) // b settles
	s.seconds(3)
	s.want(map[string]int{"a": 2, "b": 2})
	s.pool.Open(s.now, Run{"c", 8}, false)
	s.seconds(1)
	s.want(map[string]int{"a": 2, "b": 1, "c": 1}) // a new run need not wait
	s.end("c")
	s.seconds(2)
	s.sent = nil
	s.seconds(30)
	if s.want(map[string]int{"a": 2, "b": 2}); len(s.sent) > 0 {
		t.Errorf("sent to and fro: %v", s.sent)
	}
	s.runs["w9"] = ""
	s.seconds(2)
	s.want(map[string]int{"a": 3, "b": 2})
	s.end("a")
	s.seconds(3)
	s.want(map[string]int{"b": 5})
	s.end("b")
	s.seconds(20)
	if s.want(map[string]int{"": 5}); s.pool.Workers() != 5 {
		t.Errorf("%d are known", s.pool.Workers())
	}
}

func TestPool_LeavesWorkersThatComeBackWhereTheyWere(t *testing.T) {
	s := newStage(t, "a", "b")
	for i := range 6 {
		s.runs[fmt.Sprint("w", i)] = []string{"a", "b"}[i/3]
	}
	s.seconds(20)
	if len(s.sent) > 0 {
		t.Errorf("sent away: %v", s.sent)
	}
}

func TestPool_SendsAWorkerAgainUntilItIsThere(t *testing.T) {
	p := NewPool()
	at := func(members ...Member) { p.Observe(0, members) }
	p.Open(0, Run{"a", 8}, true)
	a1, a2 := member("a", "w1"), member("a", "w2")
	at(a1, a2)
	heard(t, p, a1, a2)
	p.Open(0, Run{"b", 8}, true)
	count := 0
	now := settling
	for ; now < settling+patience; now += 100 * time.Millisecond {
		p.Observe(now, []Member{a1, a2})
		for _, m := range p.Assign(now) {
			if count++; m.Move != (Move{"w2", "b"}) {
				t.Errorf("sent %v", m)
			}
		}
	}
	if count != int(patience/again) {
		t.Errorf("sent %d times in %v, want %d", count, patience, patience/again)
	}
	for ; now < settling+patience+holdOff; now += time.Second {
		p.Observe(now, []Member{a1, a2})
		for _, m := range p.Assign(now) {
			if m.Worker == "w2" { // w1 is asked instead
				t.Errorf("after %v: sent %v, which did not obey", now, m)
			}
		}
	}
}

func TestPool_AWorkerOnItsWayIsNotSentElsewhere(t *testing.T) {
	p := NewPool()
	p.Open(0, Run{"a", 8}, true)
	if run, err := seek(p, 0, "w1", 1); run != "a" || err != nil {
		t.Fatalf("sent to %q, %v", run, err)
	}
	p.Open(0, Run{"b", 8}, true)
	now := settling
	if run, _ := seek(p, now, "w1", 1); run != "a" {
		t.Errorf("it did not hear the first Assign and is sent to %q", run)
	}
	if run, _ := seek(p, now, "w2", 2); run != "b" {
		t.Errorf("the second is sent to %q", run)
	}
	// w1 has left for a, and was not seen yet: its place there is taken.
	if run, _ := seek(p, now, "w3", 3); run != "a" {
		t.Errorf("the third is sent to %q", run)
	}
	if run, _ := seek(p, now, "w4", 4); run != "b" {
		t.Errorf("the fourth is sent to %q", run)
	}
}

func TestPool_SeenInBothRunsWhileItChanges(t *testing.T) {
	for _, order := range [][]string{{"a", "b"}, {"b", "a"}} {
		p := NewPool()
		p.Open(0, Run{"a", 8}, true)
		p.Observe(0, []Member{member("a", "w1"), member("a", "w2")})
		heard(t, p, member("a", "w1"), member("a", "w2"))
		p.Open(0, Run{"b", 8}, true)
		p.Observe(settling, []Member{member("a", "w1"), member("a", "w2")})
		if moves := p.Assign(settling); len(moves) != 1 || moves[0].Move != (Move{"w2", "b"}) {
			t.Fatalf("sent %v", moves)
		}
		for range 3 {
			p.Observe(settling, []Member{member("a", "w1"), member(order[0], "w2"), member(order[1], "w2")})
		}
		if w := find(p, "w2"); w.run != "b" || w.to != "" {
			t.Errorf("seen in %v: it counts as in %q, sent to %q", order, w.run, w.to)
		}
		if moves := p.Assign(settling + 2*again); len(moves) > 0 {
			t.Errorf("seen in %v: sent %v", order, moves)
		}
	}
}

func TestPool_ARunMayNotKnowThatAWorkerHasLeft(t *testing.T) {
	p := NewPool()
	p.Open(0, Run{"a", 8}, true)
	p.Observe(0, []Member{member("a", "w1")})
	p.Close("a")
	if run, err := seek(p, 0, "w1", 1); run != "" || err != nil {
		t.Fatalf("sent to %q, %v", run, err)
	}
	p.Observe(0, []Member{member("a", "w1")})
	if find(p, "w1").place != seeking {
		t.Error("it has said that it serves no run, and counts as serving one")
	}
	p.Observe(0, []Member{member("a", "w2"), member("b", "w2")})
	if w := find(p, "w2"); w.run != "a" {
		t.Errorf("never heard of, it counts as in %q", w.run)
	}
	p.Observe(0, []Member{member("b", "w2"), member("a", "w2")})
	if w := find(p, "w2"); w.run != "a" {
		t.Errorf("still in a, it counts as in %q", w.run)
	}
	p.Observe(0, []Member{member("b", "w2")})
	if w := find(p, "w2"); w.run != "b" {
		t.Errorf("in b alone, it counts as in %q", w.run)
	}
}

func TestPool_ForgetsTheSilent(t *testing.T) {
	p := NewPool()
	p.Open(0, Run{"a", 8}, true)
	if _, err := seek(p, 0, "w1", 1); err != nil {
		t.Fatal(err)
	}
	p.Observe(0, []Member{member("a", "w1"), member("a", "w2")})
	p.Observe(silence-1, nil)
	if len(p.workers) != 2 {
		t.Fatalf("%d are known", len(p.workers))
	}
	p.Observe(silence, nil)
	if len(p.workers) != 0 {
		t.Errorf("%d are known", len(p.workers))
	}
}

func TestPool_NobodySeeksInAnothersName(t *testing.T) {
	p := NewPool()
	p.Open(0, Run{"a", 8}, true)
	if _, err := seek(p, 0, "w1", 1); err != nil {
		t.Fatal(err)
	}
	p.Observe(time.Second, []Member{member("a", "w1")})
	before := *find(p, "w1")
	for _, other := range []Call{{ID: "w1", Mark: 2, Number: 99, Slots: 8}, {ID: "w1@KEY", Mark: 1, Number: 99, Slots: 8}} {
		if a, err := p.Seek(time.Second, other); err != nil || a.Worker != other.ID || a.Mark != other.Mark {
			t.Errorf("answered %+v, %v", a, err)
		}
		if w := find(p, "w1"); *w != before {
			t.Errorf("%+v has changed %+v to %+v", other, before, *w)
		}
	}
}

// A Seek that was recorded, or that comes minutes late, brings nobody back to an older state.
func TestPool_OldSeeks(t *testing.T) {
	p := NewPool()
	p.Open(0, Run{"a", 8}, true)
	call := Call{ID: "w1", Mark: 1, Number: 7, Slots: 1}
	first, err := p.Seek(0, call)
	if err != nil || first.Run != "a" || first.Number != 7 {
		t.Fatalf("%+v, %v", first, err)
	}
	p.Observe(time.Second, []Member{member("a", "w1")})
	for _, number := range []uint64{7, 6, 0} {
		call.Number, call.Slots = number, 99
		if _, err := p.Seek(2*time.Second, call); !errors.Is(err, ErrOld) {
			t.Errorf("number %d: got %v", number, err)
		}
	}
	if w := find(p, "w1"); w.place != serving || w.run != "a" || w.slots != 1 {
		t.Errorf("it counts as %+v", *w)
	}
	call.Number = 8
	next, err := p.Seek(3*time.Second, call)
	if err != nil || next.Order <= first.Order || next.Number != 8 {
		t.Errorf("%+v, %v", next, err)
	}
}

// A pool that was started anew sends away whoever serves a run only after it has heard from it: before, it would believe
// nothing.
func TestPool_StartedAnew(t *testing.T) {
	p := NewPool()
	p.Open(0, Run{"a", 8}, true)
	there := []Member{member("a", "w1"), member("a", "w2")}
	p.Observe(0, there)
	p.Open(0, Run{"b", 8}, false)
	now := settling
	p.Observe(now, there)
	if moves := p.Assign(now); len(moves) > 0 {
		t.Fatalf("sent %+v", moves)
	}
	a, err := p.Seek(now, Call{ID: "w2", Mark: token("w2"), Number: 40, Slots: 1, Serving: "a"})
	if err != nil || a.Run != "b" || a.Number != 40 {
		t.Errorf("answered %+v, %v", a, err)
	}
	if w := find(p, "w2"); w.place != serving || w.run != "a" {
		t.Errorf("it counts as %+v", *w)
	}
}

// A phantom says that it has a thousand slots, and never joins. It moves nobody who has delivered, and a run that has
// phantoms alone gets workers.
func TestPool_Phantoms(t *testing.T) {
	p := NewPool()
	p.Open(0, Run{"a", 8}, false)
	phantom := func(now time.Duration) {
		for i := range 64 {
			if _, err := p.Seek(now, Call{ID: fmt.Sprint("phantom", i), Mark: 1000 + uint64(i), Number: called.Add(1), Slots: 1024}); err != nil {
				t.Fatal(err)
			}
		}
	}
	var there []Member
	for i := range 4 {
		id := fmt.Sprint("w", i)
		if _, err := seek(p, 0, id, token(id)); err != nil {
			t.Fatal(err)
		}
		m := member("a", id)
		m.Proven = true
		there = append(there, m)
	}
	now := time.Duration(0)
	for ; now < 3*time.Second; now += interval {
		phantom(now)
		p.Observe(now, there)
		p.Assign(now)
	}
	p.Open(now, Run{"b", 8}, false)
	moved := map[string]string{}
	for end := now + patience/2; now < end; now += interval {
		phantom(now)
		p.Observe(now, there)
		for _, m := range p.Assign(now) {
			if strings.HasPrefix(m.Worker, "w") {
				moved[m.Worker] = m.Run
			}
		}
	}
	if len(moved) != 2 || moved["w2"] != "b" || moved["w3"] != "b" { // as without phantoms
		t.Errorf("moved %v", moved)
	}
}

// Who was sent to a run and never appears there is left out, also for workers that are as new.
func TestPool_IdlersAreLeftOut(t *testing.T) {
	p := NewPool()
	p.Open(0, Run{"a", 8}, false)
	p.Open(0, Run{"b", 8}, false)
	for now := time.Duration(0); now <= patience; now += time.Second {
		if run, err := seek(p, now, "w1", 1); run != "a" || err != nil {
			t.Fatalf("sent to %q, %v", run, err)
		}
	}
	for i, want := range []string{"a", "b"} { // as if w1 were not there
		id := fmt.Sprint("w", i+2)
		if run, err := seek(p, patience, id, token(id)); run != want || err != nil {
			t.Errorf("%s is sent to %q, %v", id, run, err)
		}
	}
}

func TestPool_BansAProcessNotAName(t *testing.T) {
	p := NewPool()
	p.Open(0, Run{"a", 8}, true)
	if _, err := seek(p, 0, "w1", 1); err != nil {
		t.Fatal(err)
	}
	p.Ban(1)
	p.Ban(7)
	if _, err := seek(p, time.Second, "w1", 1); !errors.Is(err, ErrBanned) {
		t.Errorf("got %v", err)
	}
	if _, err := seek(p, time.Second, "w2", 1); !errors.Is(err, ErrBanned) {
		t.Errorf("under another name: got %v", err)
	}
	if _, err := seek(p, time.Second, "w1", 2); err != nil {
		t.Errorf("started anew: got %v", err)
	}
}

// Who comes under ever new tokens, and is expelled each time, takes no more memory in the end.
func TestPool_RemembersSoManyBans(t *testing.T) {
	p := NewPool()
	p.Open(0, Run{"a", 8}, true)
	for mark := range uint64(2 * maxBanned) {
		p.Ban(mark + 1)
	}
	if _, err := seek(p, 0, "w", 2*maxBanned); len(p.banned) != maxBanned || !errors.Is(err, ErrBanned) {
		t.Errorf("%d are remembered, the last gets %v", len(p.banned), err)
	}
}

// Whoever fills the pool fills it for its own key alone.
func TestPool_IsBounded(t *testing.T) {
	p := NewPool()
	for i := range maxWorkers {
		if _, err := seek(p, 0, fmt.Sprintf("w%d@THIEF", i), 1); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := seek(p, 0, "one-more@THIEF", 1); !errors.Is(err, ErrFull) {
		t.Errorf("got %v", err)
	}
	if p.Observe(0, []Member{member("a", "one-more@THIEF")}); len(p.workers) != maxWorkers {
		t.Errorf("%d are known", len(p.workers))
	}
	if _, err := seek(p, 0, "w1@HONEST", 2); err != nil {
		t.Errorf("another key: %v", err)
	}
	p.Observe(2*silence, nil)
	if len(p.workers)+len(p.known)+len(p.keys) > 0 {
		t.Errorf("%d workers of %d keys are known after all are gone", len(p.workers), len(p.keys))
	}
	if _, err := seek(p, 2*silence, "one-more@THIEF", 1); err != nil {
		t.Errorf("when there is room again: %v", err)
	}
}
