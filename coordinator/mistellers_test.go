package coordinator_test

import (
	"strings"
	"sync"

	"github.com/switchyard-ml/switchyard/wire"
)

// The ways in which a misteller hands parameters on.
const (
	withheld = iota
	changed  // other values, with their checksum
	stale    // what it handed on before
	misplaced
	flooded
	mistellings
)

// misteller is the bus of a worker that hands on other parameters than it was sent.
type misteller struct {
	wire.Bus
	strikes func(ways int) (way int, bad bool)

	mu    sync.Mutex
	last  map[string][]byte // by subject: what it was to hand on the last time
	steps map[uint64]bool   // in which it was to hand on
}

func newMisteller(bus wire.Bus, strikes func(int) (int, bool)) *misteller {
	return &misteller{Bus: bus, strikes: strikes, last: map[string][]byte{}, steps: map[uint64]bool{}}
}

func (b *misteller) Publish(subject string, data []byte) error {
	m, err := wire.Decode(data)
	theta, ok := m.(*wire.Theta)
	if err != nil || !ok || !strings.Contains(subject, ".peer.") {
		return b.Bus.Publish(subject, data)
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	before := b.last[subject]
	b.last[subject], b.steps[theta.Step] = append([]byte(nil), data...), true
	way, bad := b.strikes(mistellings)
	if !bad {
		return b.Bus.Publish(subject, data)
	}
	switch way {
	case withheld:
		return nil
	case changed:
		n := len(theta.Data)
		if theta.Coding != wire.Float32 {
			n = b.bytes(theta)
		}
		theta.Coding, theta.BaseStep, theta.BasePass = wire.Float32, 0, 0
		theta.Data = make([]byte, n)
		theta.CRC = wire.Checksum(theta.Data)
	case stale:
		if before == nil {
			return nil
		}
		return b.Bus.Publish(subject, before)
	case misplaced:
		theta.Index = (theta.Index + 1) % theta.Count
	case flooded:
		for range 20 {
			b.Bus.Publish(subject, data)
		}
	}
	if data, err = wire.NewEncoder().Encode(theta); err != nil {
		panic(err)
	}
	return b.Bus.Publish(subject, data)
}

// bytes is how long a chunk is whose values come as differences, in a run of the toy or a simulated one.
func (b *misteller) bytes(theta *wire.Theta) int {
	for _, c := range []wire.Chunking{wire.NewChunking(toySize, 1024), wire.NewChunking(simulatedSize, 128)} {
		if c.Count() == theta.Count {
			return c.Bytes(theta.Index)
		}
	}
	return len(theta.Data)
}
