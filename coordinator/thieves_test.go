package coordinator_test

import (
	"strings"
	"sync"

	"github.com/switchyard-ml/switchyard/wire"
)

// thief is a worker's bus to whom somebody else listens: an honest worker computes, and what it is told about sums of
// sections, and says to other workers, is seen, changed or kept back.
type thief struct {
	wire.Bus
	lie float32 // each its own: two that agree would be believed
	// strikes decides whether it does something bad now, and one of so many things.
	strikes func(ways int) (way int, bad bool)
	reduces bool // it answers reduce leases itself; otherwise it changes what it says to other workers

	mu   sync.Mutex
	self wire.Header          // of the worker
	subj string               // on which it speaks to the coordinator
	sums map[uint64][]float32 // by lease: what it says
	step map[uint64]uint64
}

func newThief(bus wire.Bus, reduces bool, lie float32, strikes func(int) (int, bool)) *thief {
	return &thief{Bus: bus, reduces: reduces, lie: lie, strikes: strikes, sums: map[uint64][]float32{}, step: map[uint64]uint64{}}
}

func (b *thief) Publish(subject string, data []byte) error {
	m, err := wire.Decode(data)
	if err != nil {
		return b.Bus.Publish(subject, data)
	}
	if strings.Contains(subject, ".peer.") {
		if chunk, ok := m.(*wire.Chunk); ok && !b.reduces {
			switch way, bad := b.strikes(3); {
			case bad && way == 0:
				return nil // withheld
			case bad && way == 1: // other bytes, which have their checksum
				chunk.Data[0] ^= 1
				chunk.CRC = wire.Checksum(chunk.Data)
				return b.say(subject, chunk)
			case bad: // the same bytes again and again
				for range 5 {
					b.Bus.Publish(subject, data)
				}
			}
		}
		return b.Bus.Publish(subject, data)
	}
	b.mu.Lock()
	if strings.Contains(subject, ".control.") {
		b.self, b.subj = *m.Head(), subject
	}
	b.mu.Unlock()
	return b.Bus.Publish(subject, data)
}

func (b *thief) say(subject string, m wire.Message) error {
	data, err := wire.NewEncoder().Encode(m)
	if err != nil {
		panic(err)
	}
	return b.Bus.Publish(subject, data)
}

func (b *thief) Subscribe(subject string, handle func([]byte)) (wire.Subscription, error) {
	return b.Bus.Subscribe(subject, func(data []byte) {
		if m, err := wire.Decode(data); err == nil && b.reduces && b.steals(m) {
			return
		}
		handle(data)
	})
}

// steals answers a message in the worker's place.
func (b *thief) steals(m wire.Message) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	h := b.self
	h.Term = m.Head().Term
	switch m := m.(type) {
	case *wire.Reduce:
		way, bad := b.strikes(6)
		if !bad {
			return false
		}
		sections := wire.Sections{Chunks: wire.NewChunking(simulatedSize, 128), Count: m.Sections}
		if !sections.Valid(m.First, m.Count) { // integers have other chunks
			return false
		}
		cut := sections.Cut(m.First, m.Count)
		sum := make([]float32, cut.Size)
		for i := range sum {
			sum[i] = b.lie
		}
		r := &wire.Result{
			Header: h, Lease: m.ID, Step: m.Step, Attempt: m.Attempt, Work: wire.Sum, First: m.First, Count: m.Count,
			Length: cut.Size, Checksum: cut.ChecksumOf(sum),
		}
		if m.Audit {
			r.Length, r.Checksum, r.Digest = 0, 0, wire.DigestPartial(sum, nil)
		}
		switch way {
		case 0: // a wrong sum
			b.sums[m.ID], b.step[m.ID] = sum, m.Step
		case 1: // other sections
			r.First++
		case 2:
			r.Term--
		case 3: // it announces, and withholds
		case 4:
			r.Fault, r.Length, r.Checksum, r.Digest = "worker w1 sends other bits", 0, 0, ""
		case 5: // it says nothing
			return true
		}
		b.say(b.subj, r)
		return true
	case *wire.Pull:
		sum, ok := b.sums[m.Lease]
		if !ok {
			return false
		}
		cut := wire.NewChunking(len(sum), 128)
		for i := m.First; i < min(m.First+m.Count, cut.Count()); i++ {
			data := cut.Encode(nil, sum, i)
			b.say(strings.Replace(b.subj, ".control.", ".data.", 1), &wire.Chunk{
				Header: h, Lease: m.Lease, Step: b.step[m.Lease], Index: i, CRC: wire.Checksum(data), Data: data,
			})
		}
		return true
	}
	return false
}
