package worker

import (
	"context"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/switchyard-ml/switchyard/wire"
)

// exclusive is a program that takes a second for a shard, and notices when parameters are installed meanwhile.
type exclusive struct {
	still
	computing atomic.Int32
	loads     atomic.Int32
	disturbed atomic.Bool
}

func (p *exclusive) Load(uint64, []float32) error {
	p.loads.Add(1)
	if p.computing.Load() > 0 {
		p.disturbed.Store(true)
	}
	return nil
}

func (p *exclusive) Gradient(int, uint64, int, []float32, []float32) error {
	p.computing.Add(1)
	time.Sleep(time.Second)
	p.computing.Add(-1)
	return nil
}

// Parameters of the next step that arrive while a slot still computes are installed when it has ended, and not before.
func TestAdvance_InstallsNothingWhileASlotComputes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		bus, p := wire.NewMemory(nil), &exclusive{}
		lead(t, bus, func(m wire.Message) []wire.Message {
			switch m := m.(type) {
			case *wire.Hello:
				w := welcome
				return []wire.Message{&w}
			case *wire.Ready:
				return []wire.Message{theta(), &wire.Lease{ID: 1, Step: 3, Attempt: 1, Work: wire.Gradient, First: 0, Count: 1}}
			case *wire.Heartbeat:
				if len(m.Running) == 0 || m.Step != 3 {
					return nil
				}
				next := theta() // while the slot computes
				next.Step++
				return []wire.Message{next, &wire.Lease{ID: 2, Step: 4, Attempt: 1, Work: wire.Gradient, First: 0, Count: 1}}
			}
			return nil
		})
		ctx, cancel := context.WithTimeout(t.Context(), 3*time.Second)
		defer cancel()
		if err := newWorker(t, bus, func([]byte, []byte, int) (Program, error) { return p, nil }).Run(ctx); err != nil {
			t.Error(err)
		}
		if p.loads.Load() != 2 || p.disturbed.Load() {
			t.Errorf("parameters were installed %d times, want 2; while a slot computed: %v", p.loads.Load(), p.disturbed.Load())
		}
	})
}

// An agent gives signs of life while it waits for a run and while it serves one, and none when the worker of that run
// does nothing any more.
func TestAgent_SaysThatItLives(t *testing.T) {
	w := &Worker{}
	now := time.Unix(1000, 0)
	if !w.turns(now) {
		t.Error("a worker that has just been made is stuck")
	}
	w.turned.Store(now.UnixNano())
	if !w.turns(now.Add(stuckAfter - time.Second)) {
		t.Error("a worker that looked at the time is stuck")
	}
	if w.turns(now.Add(stuckAfter)) {
		t.Error("a worker that does not look at the time is well")
	}
	synctest.Test(t, func(t *testing.T) {
		signs := 0
		a, err := NewAgent(AgentConfig{
			ID: "w", Build: func([]byte, []byte, int) (Program, error) { return still{}, nil }, Alive: func() { signs++ },
		}, wire.NewMemory(nil), hclog.NewNullLogger())
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), 10500*time.Millisecond)
		defer cancel()
		if err := a.Run(ctx); err != nil || signs != 10 {
			t.Errorf("%d signs of life in ten seconds, %v", signs, err)
		}
	})
}
