package lead

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/hashicorp/go-hclog"
	"go.uber.org/goleak"

	"github.com/switchyard-ml/switchyard/wire"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// scene is a dispatcher on a memory bus, with what it says to its workers.
type scene struct {
	t          *testing.T
	bus        *wire.Memory
	dispatcher *Dispatcher
	log        bytes.Buffer

	mu   sync.Mutex
	view PoolView
	said map[string][]wire.Message // by worker
}

// What a dispatcher does with a flood is decided by the gate: nothing of it is looked at.
func TestDispatcher_DropsWhatTheGateDrops(t *testing.T) {
	gate := wire.NewGate([]wire.Ban{{Key: "UTHIEF"}})
	view := func() PoolView { return PoolView{} }
	d := NewDispatcher(PoolConfig{View: view, Gate: gate, Log: hclog.NewNullLogger()}, wire.NewMemory(nil))
	data, err := wire.NewEncoder().Encode(&wire.Seek{Header: wire.Header{Run: wire.Pool, From: "w", Token: 1}, Slots: 1, Number: 1})
	if err != nil {
		t.Fatal(err)
	}
	d.receive("UTHIEF", data)
	if n := d.Workers(); n != 0 {
		t.Errorf("%d workers of a banned key are known", n)
	}
	for range 100_000 {
		d.receive("UFLOOD", data)
	}
	if !gate.Banned("UFLOOD") {
		t.Error("a flood of Seek is not cut off")
	}
	d.receive("UHONEST", data)
	if d.Workers() != 2 { // the one that flooded, and this one
		t.Errorf("%d workers are known", d.Workers())
	}
}

// act runs test with a dispatcher in a bubble of synctest.
func act(t *testing.T, numerics []wire.Numeric, test func(t *testing.T, s *scene)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		s := &scene{t: t, bus: wire.NewMemory(nil), said: map[string][]wire.Message{}}
		s.dispatcher = NewDispatcher(PoolConfig{
			Numerics: numerics, View: s.look, Log: hclog.New(&hclog.LoggerOptions{Output: &s.log, Level: hclog.Debug}),
		}, s.bus)
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error, 1)
		go func() { done <- s.dispatcher.Run(ctx) }()
		synctest.Wait()
		test(t, s)
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
}

func (s *scene) look() PoolView {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.view
}

func (s *scene) show(v PoolView) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.view = v
}

// hear collects what is said to a worker until the test ends.
func (s *scene) hear(id string) {
	sub, err := s.bus.Subscribe(wire.AssignSubject(id), func(data []byte) {
		msg, err := wire.Decode(data)
		if err != nil {
			s.t.Errorf("to %s: %v", id, err)
			return
		}
		s.mu.Lock()
		defer s.mu.Unlock()
		s.said[id] = append(s.said[id], msg)
	})
	if err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(func() {
		if err := sub.Unsubscribe(); err != nil {
			s.t.Error(err)
		}
	})
}

// take returns what was said to a worker since it was last asked, and forgets it.
func (s *scene) take(id string) []wire.Message {
	synctest.Wait()
	s.mu.Lock()
	defer s.mu.Unlock()
	said := s.said[id]
	s.said[id] = nil
	return said
}

func (s *scene) seek(id string, token uint64, numerics []wire.Numeric) {
	s.t.Helper()
	data, err := wire.NewEncoder().Encode(&wire.Seek{
		Header: wire.Header{Run: wire.Pool, From: id, Token: token}, Slots: 1, Numerics: numerics, Number: called.Add(1),
	})
	if err != nil {
		s.t.Fatal(err)
	}
	if err := s.bus.Publish(wire.By(wire.SeekSubject, wire.NoKey), bytes.Clone(data)); err != nil {
		s.t.Fatal(err)
	}
	synctest.Wait()
}

// joined is a worker in a run, whose token is token(id).
func joined(run, id string) Member {
	return Member{Run: run, ID: id, Mark: wire.Mark(token(id)), Slots: 1}
}

// wantAssign requires that what was said last is to go to a run.
func (s *scene) wantAssign(id, run string) {
	s.t.Helper()
	said := s.take(id)
	if len(said) == 0 {
		s.t.Fatalf("nothing was said to %s", id)
	}
	if a, ok := said[len(said)-1].(*wire.Assign); !ok || a.To != run || a.Head().Run != wire.Pool {
		s.t.Errorf("%s was told %+v, want to go to %q", id, said[len(said)-1], run)
	}
}

func TestDispatcher_AnswersAndSendsAtOnceWhenARunOpens(t *testing.T) {
	act(t, nil, func(_ *testing.T, s *scene) {
		s.hear("w1")
		s.seek("w1", 1, nil)
		s.wantAssign("w1", "")
		s.dispatcher.Open(Run{"a", 8}, true)
		s.wantAssign("w1", "a")
		s.seek("w1", 1, nil) // that was lost
		s.wantAssign("w1", "a")
		if n := strings.Count(s.log.String(), "worker found"); n != 1 {
			s.t.Errorf("found %d times", n)
		}
		s.dispatcher.Close("a")
		s.seek("w1", 1, nil)
		s.wantAssign("w1", "")
		if n := s.dispatcher.Workers(); n != 1 {
			s.t.Errorf("%d are known", n)
		}
	})
}

func TestDispatcher_SharesOutWhenARunOpens(t *testing.T) {
	act(t, nil, func(_ *testing.T, s *scene) {
		s.hear("w1")
		s.hear("w2")
		s.dispatcher.Open(Run{"a", 8}, true)
		s.seek("w1", 1, nil)
		s.seek("w2", 2, nil)
		s.take("w1")
		s.show(PoolView{Members: []Member{joined("a", "w1"), joined("a", "w2")}})
		time.Sleep(2 * settling)
		s.dispatcher.Open(Run{"b", 8}, true)
		time.Sleep(settling + interval)
		s.wantAssign("w2", "b")
		time.Sleep(again)
		s.wantAssign("w2", "b") // it is still where it was
		s.show(PoolView{Members: []Member{joined("a", "w1"), joined("b", "w2")}})
		time.Sleep(interval)
		s.take("w2")
		time.Sleep(patience)
		if said := append(s.take("w1"), s.take("w2")...); len(said) > 0 {
			s.t.Errorf("all are where they are to be, and are told %v", said)
		}
	})
}

func TestDispatcher_RefusesWithReasonAndRemedy(t *testing.T) {
	ours := []wire.Numeric{{Kernel: "dot", Sum: 1}, {Kernel: "exp", Sum: 2}}
	for _, test := range []struct {
		name   string
		theirs []wire.Numeric
		want   string // part of the reason; empty: accepted
	}{
		{"the same", ours, ""},
		{"another result", []wire.Numeric{{Kernel: "dot", Sum: 1}, {Kernel: "exp", Sum: 3}}, "kernel exp gives 0000000000000003, here 0000000000000002"},
		{"a kernel fewer", ours[:1], "kernel exp is not known there"},
		{"a kernel more", append(ours[:2:2], wire.Numeric{Kernel: "log"}), "it has 3 kernels, here are 2"},
		{"none", nil, "kernel dot is not known there"},
	} {
		act(t, ours, func(t *testing.T, s *scene) {
			s.hear("w1")
			s.dispatcher.Open(Run{"a", 8}, true)
			s.seek("w1", 1, test.theirs)
			if test.want == "" {
				s.wantAssign("w1", "a")
				return
			}
			said := s.take("w1")
			if len(said) != 1 {
				t.Fatalf("%s: told %v", test.name, said)
			}
			if r, ok := said[0].(*wire.Refusal); !ok || !strings.Contains(r.Reason, test.want) || r.Remedy == "" || r.Token != wire.Mark(1) {
				t.Errorf("%s: told %+v", test.name, said[0])
			}
		})
	}
}

func TestDispatcher_RefusesOtherVersions(t *testing.T) {
	act(t, nil, func(t *testing.T, s *scene) {
		s.hear("w1")
		old := append([]byte{0x97, wire.Version + 1, byte(wire.KindSeek), 0xa5}, wire.Pool...)
		old = append(old, 0xa2, 'w', '1', 0, 0, 0xce)
		old = binary.BigEndian.AppendUint32(old, wire.Checksum(old[:len(old)-1]))
		if err := s.bus.Publish(wire.By(wire.SeekSubject, wire.NoKey), old); err != nil {
			t.Fatal(err)
		}
		said := s.take("w1")
		if len(said) != 1 {
			t.Fatalf("told %v", said)
		}
		if r, ok := said[0].(*wire.Refusal); !ok || !strings.Contains(r.Reason, fmt.Sprintf("protocol version %d,", wire.Version+1)) || r.Remedy == "" {
			t.Errorf("told %+v", said[0])
		}
	})
}

// A worker of a release before subjects had keys is told, where it listens, that it is too old.
func TestDispatcher_RefusesOldSubjects(t *testing.T) {
	act(t, nil, func(t *testing.T, s *scene) {
		told := make(chan wire.Message, 8)
		sub, err := s.bus.Subscribe("sypool.worker.w1", func(data []byte) {
			if m, err := wire.Decode(data); err == nil {
				told <- m
			}
		})
		if err != nil {
			t.Fatal(err)
		}
		defer sub.Unsubscribe()
		for _, version := range []byte{4, wire.Version} { // one of this version uses the subjects of this version
			old := append([]byte{0x97, version, byte(wire.KindSeek), 0xa5}, wire.Pool...)
			old = append(old, 0xa2, 'w', '1', 0, 0, 0xce)
			old = binary.BigEndian.AppendUint32(old, wire.Checksum(old[:len(old)-1]))
			if err := s.bus.Publish("sypool.seek", old); err != nil {
				t.Fatal(err)
			}
		}
		synctest.Wait()
		if len(told) != 1 {
			t.Fatalf("told %d times", len(told))
		}
		if r, ok := (<-told).(*wire.Refusal); !ok || !strings.Contains(r.Reason, "protocol version 4,") || r.Remedy == "" {
			t.Errorf("told %+v", r)
		}
	})
}

func TestDispatcher_BansOnceWhomARunHasSentAway(t *testing.T) {
	act(t, nil, func(t *testing.T, s *scene) {
		s.hear("w1")
		s.dispatcher.Open(Run{"a", 8}, true)
		s.seek("w1", 1, nil)
		s.wantAssign("w1", "a")
		s.show(PoolView{Banned: []Ban{{"a", "w1", wire.Mark(1)}}})
		time.Sleep(2 * interval)
		s.seek("w1", 1, nil)
		if said := s.take("w1"); len(said) != 1 || wire.TypeOf(said[0]) != wire.KindRefusal {
			t.Errorf("told %v", said)
		}
		s.seek("w1", 2, nil) // a new process
		s.wantAssign("w1", "a")
		time.Sleep(2 * interval)
		s.seek("w1", 2, nil)
		s.wantAssign("w1", "a")
	})
}

func TestDispatcher_IgnoresWhatIsNoSeek(t *testing.T) {
	act(t, nil, func(t *testing.T, s *scene) {
		s.dispatcher.Open(Run{"a", 8}, true)
		encoder := wire.NewEncoder()
		for _, m := range []wire.Message{
			&wire.Seek{Header: wire.Header{Run: "a", From: "w1"}, Slots: 1},
			&wire.Seek{Header: wire.Header{Run: wire.Pool, From: "w 1"}, Slots: 1},
			&wire.Seek{Header: wire.Header{Run: wire.Pool, From: "w1"}},
			&wire.Hello{Header: wire.Header{Run: wire.Pool, From: "w1"}, Slots: 1},
		} {
			data, err := encoder.Encode(m)
			if err != nil {
				t.Fatal(err)
			}
			if err := s.bus.Publish(wire.By(wire.SeekSubject, wire.NoKey), data); err != nil {
				t.Fatal(err)
			}
		}
		if err := s.bus.Publish(wire.By(wire.SeekSubject, wire.NoKey), []byte("nonsense")); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		if n := len(s.dispatcher.pool.workers); n != 0 {
			t.Errorf("%d workers are known", n)
		}
	})
}
