package worker

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/switchyard-ml/switchyard/wire"
)

// still is a program that does nothing, or fails where it is told to.
type still struct{ load error }

func (still) Size() int                                             { return 4 }
func (still) TermNames() []string                                   { return []string{"loss"} }
func (s still) Load(uint64, []float32) error                        { return s.load }
func (still) Gradient(int, uint64, int, []float32, []float32) error { return nil }
func (still) Validate(_ int, _ uint64, shard int, t []float32) error {
	t[0] = float32(shard)
	return nil
}

// lead plays the coordinator: it answers what the worker says with what answer returns.
func lead(t *testing.T, bus wire.Bus, answer func(wire.Message) []wire.Message) {
	t.Helper()
	s, err := wire.SubjectsOf("r")
	if err != nil {
		t.Fatal(err)
	}
	sub, err := bus.Hear(s.Control, func(_ string, data []byte) {
		m, err := wire.Decode(data)
		if err != nil {
			t.Errorf("the worker sent %x: %v", data, err)
			return
		}
		for _, a := range answer(m) {
			*a.Head() = wire.Header{Run: "r", Term: 1}
			if wire.TypeOf(a) == wire.KindRefusal {
				a.Head().Token = wire.Mark(m.Head().Token)
			}
			data, err := wire.NewEncoder().Encode(a)
			if err != nil {
				t.Error(err)
			}
			bus.Publish(s.Worker("w"), data)
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { sub.Unsubscribe() })
}

func newWorker(t *testing.T, bus wire.Bus, build func([]byte, []byte, int) (Program, error)) *Worker {
	t.Helper()
	w, err := New(Config{Run: "r", ID: "w", Build: build}, bus, hclog.NewNullLogger())
	if err != nil {
		t.Fatal(err)
	}
	return w
}

func theta() *wire.Theta {
	data := make([]byte, 16)
	return &wire.Theta{Step: 3, Count: 1, CRC: wire.Checksum(data), Data: data}
}

var welcome = wire.Welcome{Size: 4, Chunk: 64, Heartbeat: time.Second, Job: []byte("job")}

func TestRun_ErrorsOfTheProgram(t *testing.T) {
	broken := errors.New("broken")
	builds := map[string]func([]byte, []byte, int) (Program, error){
		"build the program of the job": func([]byte, []byte, int) (Program, error) { return nil, broken },
		"load the parameters of step":  func([]byte, []byte, int) (Program, error) { return still{load: broken}, nil },
	}
	for act, build := range builds {
		bus, left := wire.NewMemory(nil), make(chan bool, 1)
		lead(t, bus, func(m wire.Message) []wire.Message {
			switch m.(type) {
			case *wire.Hello:
				w := welcome
				return []wire.Message{&w}
			case *wire.Ready:
				return []wire.Message{theta()}
			case *wire.Bye:
				left <- true
			}
			return nil
		})
		err := newWorker(t, bus, build).Run(t.Context())
		if !errors.Is(err, broken) || !strings.Contains(err.Error(), act) {
			t.Errorf("got %v, want %q", err, act)
		}
		<-left
	}
}

// Without a coordinator a worker says Hello once a second, and goes when it is told to.
func TestRun_NoCoordinator(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		bus, hellos := wire.NewMemory(nil), 0
		s, _ := wire.SubjectsOf("r")
		sub, _ := bus.Hear(s.Control, func(_ string, data []byte) {
			if m, err := wire.Decode(data); err == nil && wire.TypeOf(m) == wire.KindHello {
				hellos++
			}
		})
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
		defer cancel()
		if err := newWorker(t, bus, func([]byte, []byte, int) (Program, error) { return still{}, nil }).Run(ctx); err != nil {
			t.Error(err)
		}
		sub.Unsubscribe()
		if hellos < 9 || hellos > 11 {
			t.Errorf("%d times Hello in ten seconds", hellos)
		}
	})
}

// A lease that is sent again is not computed again: its result is announced again.
func TestRun_LeaseSentAgain(t *testing.T) {
	bus, results := wire.NewMemory(nil), 0
	lease := func() *wire.Lease {
		return &wire.Lease{ID: 9, Step: 3, Attempt: 1, Work: wire.Validate, First: 2, Count: 2}
	}
	lead(t, bus, func(m wire.Message) []wire.Message {
		switch m := m.(type) {
		case *wire.Hello:
			w := welcome
			return []wire.Message{&w}
		case *wire.Ready:
			return []wire.Message{lease(), theta()} // in the wrong order
		case *wire.Result:
			results++
			if m.Lease != 9 || m.Terms[0] != 5 || m.First != 2 || m.Count != 2 || m.Length != 0 {
				t.Errorf("got %+v", m)
			}
			if results == 3 {
				return []wire.Message{&wire.End{Reason: "done"}}
			}
			return []wire.Message{lease()}
		}
		return nil
	})
	if err := newWorker(t, bus, func([]byte, []byte, int) (Program, error) { return still{}, nil }).Run(t.Context()); err != nil {
		t.Error(err)
	}
}

func TestNew_Config(t *testing.T) {
	build := func([]byte, []byte, int) (Program, error) { return still{}, nil }
	for name, cfg := range map[string]Config{
		"run": {Run: "a.b", Build: build}, "id": {Run: "r", ID: "*", Build: build},
		"slots": {Run: "r", Slots: 1 << 20, Build: build}, "build": {Run: "r"},
	} {
		if _, err := New(cfg, wire.NewMemory(nil), hclog.NewNullLogger()); !errors.Is(err, ErrConfig) {
			t.Errorf("%s: got %v", name, err)
		}
	}
	w, err := New(Config{Run: "r", Build: build}, wire.NewMemory(nil), hclog.NewNullLogger())
	if err != nil || wire.CheckName(w.ID()) != nil {
		t.Errorf("random id %q, %v", w.ID(), err)
	}
}
