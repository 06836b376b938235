package worker

import (
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/switchyard-ml/switchyard/wire"
)

// farsighted is a program whose shards take three steps to prepare. It notes what is called.
type farsighted struct {
	still
	mu       sync.Mutex
	prepared map[uint64][]int // shards by step, one for each call
	told     chan bool        // gets one value when all shards of step 4 are prepared
}

func (p *farsighted) Prepare(_ int, step uint64, shard int) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	list := append(p.prepared[step], shard)
	p.prepared[step] = list
	if step == 4 && len(list) == 6 {
		p.told <- true
	}
	n := 0
	for _, s := range list {
		if s == shard {
			n++
		}
	}
	return n < 3
}

// While a worker waits for the parameters after step 3 it prepares step 4 for the shards that it had, each to its end
// and no further. It leaves at once when it is told to.
func TestWorker_PreparesWhileItWaits(t *testing.T) {
	bus := wire.NewMemory(nil)
	p := &farsighted{prepared: make(map[uint64][]int), told: make(chan bool, 1)}
	lead(t, bus, func(m wire.Message) []wire.Message {
		switch m.(type) {
		case *wire.Hello:
			w := welcome
			return []wire.Message{&w}
		case *wire.Ready:
			return []wire.Message{theta(), &wire.Lease{ID: 9, Step: 3, Attempt: 1, Work: wire.Gradient, First: 2, Count: 2}}
		}
		return nil
	})
	w := newWorker(t, bus, func([]byte, []byte, int) (Program, error) { return p, nil })
	done := make(chan error)
	go func() { done <- w.Run(t.Context()) }()
	<-p.told
	s, _ := wire.SubjectsOf("r")
	data, err := wire.NewEncoder().Encode(&wire.End{Header: wire.Header{Run: "r", Term: 1}, Reason: "done"})
	if err != nil {
		t.Fatal(err)
	}
	bus.Publish(s.Worker("w"), data)
	if err := <-done; err != nil {
		t.Error(err)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	slices.Sort(p.prepared[4])
	if got := p.prepared[4]; len(p.prepared) != 1 || !slices.Equal(got, []int{2, 2, 2, 3, 3, 3}) {
		t.Errorf("prepared %v", p.prepared)
	}
}

// endless never has enough.
type endless struct {
	still
	began chan bool
	once  sync.Once
}

func (p *endless) Prepare(int, uint64, int) bool {
	p.once.Do(func() { close(p.began) })
	time.Sleep(10 * time.Microsecond)
	return true
}

// A slot that prepares takes a shard as soon as there is one, and stops when the worker goes.
func TestWorker_PreparesOnlyWhileItWaits(t *testing.T) {
	bus := wire.NewMemory(nil)
	p := &endless{began: make(chan bool)}
	results := 0
	lead(t, bus, func(m wire.Message) []wire.Message {
		switch m.(type) {
		case *wire.Hello:
			w := welcome
			return []wire.Message{&w}
		case *wire.Ready:
			return []wire.Message{theta(), &wire.Lease{ID: 1, Step: 3, Attempt: 1, Work: wire.Gradient, First: 0, Count: 1}}
		case *wire.Result:
			if results++; results == 4 {
				return []wire.Message{&wire.End{Reason: "done"}}
			}
			<-p.began
			return []wire.Message{&wire.Lease{ID: uint64(1 + results), Step: 3, Attempt: 1, Work: wire.Gradient, First: results, Count: 1}}
		}
		return nil
	})
	if err := newWorker(t, bus, func([]byte, []byte, int) (Program, error) { return p, nil }).Run(t.Context()); err != nil {
		t.Error(err)
	}
	if results != 4 {
		t.Errorf("%d results", results)
	}
}

// What was expected of a step is forgotten with it.
func TestPrefetch_ForgetsOtherSteps(t *testing.T) {
	var f prefetch
	p := &farsighted{prepared: make(map[uint64][]int)}
	f.expect(p, 7, 1)
	f.expect(p, 8, 2)
	f.expect(still{}, 8, 3) // has nothing to prepare
	for f.prepare(0) {
	}
	if len(p.prepared) != 1 || !slices.Equal(p.prepared[8], []int{2, 2, 2}) {
		t.Errorf("prepared %v", p.prepared)
	}
}
