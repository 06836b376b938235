package pool

import (
	"errors"
	"fmt"
	"slices"
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
	s := &stage{t: t, pool: New(), runs: map[string]string{}}
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
			members = append(members, Member{run, id, 1})
			continue
		}
		run, err := s.pool.Seek(s.now, id, token(id), 1)
		if err != nil {
			s.t.Fatal(err)
		}
		s.runs[id] = run
	}
	s.pool.Observe(s.now, members)
	for _, m := range s.pool.Assign(s.now) {
		s.sent = append(s.sent, m)
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

// crew counts the workers of a run.
func (s *stage) crew(run string) int {
	n := 0
	for _, r := range s.runs {
		if r == run {
			n++
		}
	}
	return n
}

func token(id string) uint64 { return uint64(len(id))<<32 + uint64(id[len(id)-1]) }

func (s *stage) seconds(n int) {
	s.t.Helper()
	for range n {
		s.second()
	}
}

func (s *stage) want(crews map[string]int) {
	s.t.Helper()
	for run, n := range crews {
		if got := s.crew(run); got != n {
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
	if s.want(map[string]int{"": 5}); s.pool.Idle() != 5 {
		t.Errorf("%d are idle", s.pool.Idle())
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
	p := New()
	at := func(members ...Member) { p.Observe(0, members) }
	p.Open(0, Run{"a", 8}, true)
	a1, a2 := Member{"a", "w1", 1}, Member{"a", "w2", 1}
	at(a1, a2)
	p.Open(0, Run{"b", 8}, true)
	count := 0
	now := settling
	for ; now < settling+patience; now += 100 * time.Millisecond {
		p.Observe(now, []Member{a1, a2})
		for _, m := range p.Assign(now) {
			if count++; m != (Move{"w2", "b"}) {
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
	p := New()
	p.Open(0, Run{"a", 8}, true)
	if run, err := p.Seek(0, "w1", 1, 1); run != "a" || err != nil {
		t.Fatalf("sent to %q, %v", run, err)
	}
	p.Open(0, Run{"b", 8}, true)
	now := settling
	if run, _ := p.Seek(now, "w1", 1, 1); run != "a" {
		t.Errorf("it did not hear the first Assign and is sent to %q", run)
	}
	if run, _ := p.Seek(now, "w2", 2, 1); run != "b" {
		t.Errorf("the second is sent to %q", run)
	}
	// w1 has left for a, and was not seen yet: its place there is taken.
	if run, _ := p.Seek(now, "w3", 3, 1); run != "a" {
		t.Errorf("the third is sent to %q", run)
	}
	if run, _ := p.Seek(now, "w4", 4, 1); run != "b" {
		t.Errorf("the fourth is sent to %q", run)
	}
}

func TestPool_SeenInBothRunsWhileItChanges(t *testing.T) {
	for _, order := range [][]string{{"a", "b"}, {"b", "a"}} {
		p := New()
		p.Open(0, Run{"a", 8}, true)
		p.Observe(0, []Member{{"a", "w1", 1}, {"a", "w2", 1}})
		p.Open(0, Run{"b", 8}, true)
		p.Observe(settling, []Member{{"a", "w1", 1}, {"a", "w2", 1}})
		if moves := p.Assign(settling); len(moves) != 1 || moves[0] != (Move{"w2", "b"}) {
			t.Fatalf("sent %v", moves)
		}
		for range 3 {
			p.Observe(settling, []Member{{"a", "w1", 1}, {order[0], "w2", 1}, {order[1], "w2", 1}})
		}
		if w := p.worker("w2"); w.run != "b" || w.to != "" {
			t.Errorf("seen in %v: it counts as in %q, sent to %q", order, w.run, w.to)
		}
		if moves := p.Assign(settling + 2*again); len(moves) > 0 {
			t.Errorf("seen in %v: sent %v", order, moves)
		}
	}
}

func TestPool_ARunMayNotKnowThatAWorkerHasLeft(t *testing.T) {
	p := New()
	p.Open(0, Run{"a", 8}, true)
	p.Observe(0, []Member{{"a", "w1", 1}})
	p.Close("a")
	if run, err := p.Seek(0, "w1", 1, 1); run != "" || err != nil {
		t.Fatalf("sent to %q, %v", run, err)
	}
	p.Observe(0, []Member{{"a", "w1", 1}})
	if p.Idle() != 1 {
		t.Error("it has said that it serves no run, and counts as serving one")
	}
	p.Observe(0, []Member{{"a", "w2", 1}, {"b", "w2", 1}})
	if w := p.worker("w2"); w.run != "a" {
		t.Errorf("never heard of, it counts as in %q", w.run)
	}
	p.Observe(0, []Member{{"b", "w2", 1}, {"a", "w2", 1}})
	if w := p.worker("w2"); w.run != "a" {
		t.Errorf("still in a, it counts as in %q", w.run)
	}
	p.Observe(0, []Member{{"b", "w2", 1}})
	if w := p.worker("w2"); w.run != "b" {
		t.Errorf("in b alone, it counts as in %q", w.run)
	}
}

func TestPool_ForgetsTheSilent(t *testing.T) {
	p := New()
	p.Open(0, Run{"a", 8}, true)
	if _, err := p.Seek(0, "w1", 1, 1); err != nil {
		t.Fatal(err)
	}
	p.Observe(0, []Member{{"a", "w1", 1}, {"a", "w2", 1}})
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
	p := New()
	p.Open(0, Run{"a", 8}, true)
	if _, err := p.Seek(0, "w1", 1, 1); err != nil {
		t.Fatal(err)
	}
	p.Observe(time.Second, []Member{{"a", "w1", 1}})
	if _, err := p.Seek(2*time.Second, "w1", 2, 1); !errors.Is(err, ErrTaken) {
		t.Errorf("got %v", err)
	}
	if w := p.worker("w1"); w.run != "a" || w.token != 1 {
		t.Errorf("the attempt has changed it: %+v", w)
	}
	if _, err := p.Seek(time.Second+silence/3, "w1", 2, 1); err != nil { // started anew, with the same id
		t.Errorf("got %v", err)
	}
}

func TestPool_BansAProcessNotAName(t *testing.T) {
	p := New()
	p.Open(0, Run{"a", 8}, true)
	if _, err := p.Seek(0, "w1", 1, 1); err != nil {
		t.Fatal(err)
	}
	p.Ban("w1")
	p.Ban("w7")
	if _, err := p.Seek(time.Second, "w1", 1, 1); !errors.Is(err, ErrBanned) {
		t.Errorf("got %v", err)
	}
	if _, err := p.Seek(time.Second, "w2", 1, 1); !errors.Is(err, ErrBanned) {
		t.Errorf("under another name: got %v", err)
	}
	if _, err := p.Seek(time.Second, "w1", 2, 1); err != nil {
		t.Errorf("started anew: got %v", err)
	}
}

func TestPool_IsBounded(t *testing.T) {
	p := New()
	for i := range maxWorkers {
		if _, err := p.Seek(0, fmt.Sprint("w", i), 1, 1); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := p.Seek(0, "one-more", 1, 1); !errors.Is(err, ErrFull) {
		t.Errorf("got %v", err)
	}
	if p.Observe(0, []Member{{"a", "one-more", 1}}); len(p.workers) != maxWorkers {
		t.Errorf("%d are known", len(p.workers))
	}
}
