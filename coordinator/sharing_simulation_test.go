package coordinator_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/switchyard-ml/switchyard/wire"
	"github.com/switchyard-ml/switchyard/wire/shm"
)

// house is a host on which the coordinator of a simulated run is, and some of its workers.
type house struct {
	host *shm.Twin

	mu      sync.Mutex
	fate    *rand.Rand
	reads   int
	faults  float64 // share of the reads that fail, or find something else
	liars   float64 // share of the workers that say what is not so about their memory
	outside float64 // share of the workers that are elsewhere
}

func newHouse(seed uint64) *house {
	h := &house{fate: rand.New(rand.NewPCG(seed, 9))}
	h.faults = [...]float64{0, 0.002, 0.05}[h.fate.IntN(3)]
	h.liars = [...]float64{0, 0.5}[h.fate.IntN(2)]
	h.outside = [...]float64{0, 0.3}[h.fate.IntN(2)]
	h.host = shm.NewTwin(h.read)
	return h
}

// draw is a number in [0,1).
func (h *house) draw() float64 {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.fate.Float64()
}

// read decides what becomes of a read.
func (h *house) read(data []byte) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.reads++
	switch x := h.fate.Float64(); {
	case x < h.faults/2:
		return errors.New("vanished")
	case x < h.faults && len(data) > 0:
		data[h.fate.IntN(len(data))] ^= 1 << h.fate.IntN(8)
	}
	return nil
}

// lodge is the memory of one more worker; nil: it is elsewhere, or there is no house.
func (h *house) lodge(bus *severable) shm.Host {
	switch {
	case h == nil || h.draw() < h.outside:
		return nil
	case h.draw() < h.liars:
		before := bus.alter
		bus.alter = func(data []byte) []byte {
			if before != nil {
				data = before(data)
			}
			return h.mistold(data)
		}
	}
	return h.host
}

// mistold is what a worker says who lies about its memory, now and then.
func (h *house) mistold(data []byte) []byte {
	kind := wire.KindOf(data)
	if kind != wire.KindChunksAt && kind != wire.KindShare || h.draw() > 0.2 {
		return data
	}
	m, err := wire.Decode(data)
	if err != nil {
		return data
	}
	switch m := m.(type) {
	case *wire.Share:
		m.On = !m.On
	case *wire.ChunksAt:
		switch int(6 * h.draw()) {
		case 0:
			m.At += 4
		case 1:
			m.At = wire.MaxPlace
		case 2:
			m.Sum++
		case 3:
			m.Count++
		case 4:
			m.First++
		default:
			m.First, m.Count = wire.MaxCount, wire.MaxCount
		}
	}
	if data, err = wire.NewEncoder().Encode(m); err != nil {
		panic(err)
	}
	return data
}

// Where some workers share memory with the coordinator, where that memory fails now and then and some say what is not so
// about it, every schedule of faults ends with the bits of the undisturbed run, and no honest worker is cut off.
func TestSimulation_SharedMemory(t *testing.T) {
	reads := 0
	t.Run("schedules", func(t *testing.T) {
		var mu sync.Mutex
		for i := range uint64(max(*simulations/3, 1)) {
			seed := *firstSeed + i
			t.Run(fmt.Sprint("seed=", seed), func(t *testing.T) {
				t.Parallel()
				synctest.Test(t, func(t *testing.T) {
					h := newHouse(seed)
					s := simulateOn(t, seed, 0, h)
					if t.Failed() {
						t.Logf("%s, faults %g, liars %g, outside %g\nrepeat it with: go test ./coordinator -run TestSimulation_SharedMemory -seed %d -simulations 3", s.plan, h.faults, h.liars, h.outside, seed)
					}
					mu.Lock()
					defer mu.Unlock()
					reads += h.reads
				})
			})
		}
	})
	if want := max(*simulations/3, 1) * 20; reads < want {
		t.Errorf("shared memory was read %d times in all, want %d at least: it is not used", reads, want)
	}
}
