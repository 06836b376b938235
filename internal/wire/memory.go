package wire

import (
	"bytes"
	"fmt"
	"sync"
	"time"
)

// MemoryPayload is the payload limit of a Memory bus, the default of a NATS server.
const MemoryPayload = 1 << 20

// Memory is a carrier inside one process, for tests and simulations. All that are given the same Memory, or Links to
// it, hear each other. Messages are copied on their way, so what is sent runs through the codec as on a network.
type Memory struct {
	mu   sync.Mutex
	subs map[string][]*memorySubscription
	// fault decides the fate of a message; see NewMemory.
	fault func(subject string, data []byte) []time.Duration
}

// NewMemory returns a carrier. If fault is not nil it is called for each message, by one goroutine at a time: the
// message is delivered once for each delay in the result, so none drops it and two repeat it. The call may change data.
func NewMemory(fault func(subject string, data []byte) []time.Duration) *Memory {
	return &Memory{subs: make(map[string][]*memorySubscription), fault: fault}
}

var _ Bus = (*Memory)(nil)

// MaxPayload implements Bus.
func (m *Memory) MaxPayload() int { return MemoryPayload }

// Publish implements Bus.
func (m *Memory) Publish(subject string, data []byte) error {
	if len(data) > MemoryPayload {
		return fmt.Errorf("%w: %d bytes, limit %d", ErrTooLarge, len(data), MemoryPayload)
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	subs := m.subs[subject]
	if m.fault == nil {
		for _, s := range subs {
			s.deliver(bytes.Clone(data))
		}
		return nil
	}
	data = bytes.Clone(data)
	for _, delay := range m.fault(subject, data) {
		for _, s := range subs {
			own := bytes.Clone(data)
			if delay == 0 {
				s.deliver(own)
			} else {
				time.AfterFunc(delay, func() { s.deliver(own) })
			}
		}
	}
	return nil
}

// Subscribe implements Bus.
func (m *Memory) Subscribe(subject string, handle func(data []byte)) (Subscription, error) {
	s := &memorySubscription{bus: m, subject: subject, wake: make(chan struct{}, 1), stop: make(chan struct{})}
	m.mu.Lock()
	m.subs[subject] = append(m.subs[subject], s)
	m.mu.Unlock()
	s.done.Add(1)
	go s.run(handle)
	return s, nil
}

// memorySubscription is an unbounded queue with the goroutine that empties it.
type memorySubscription struct {
	bus     *Memory
	subject string
	wake    chan struct{}
	stop    chan struct{}
	done    sync.WaitGroup

	mu    sync.Mutex
	queue [][]byte
}

func (s *memorySubscription) deliver(data []byte) {
	s.mu.Lock()
	s.queue = append(s.queue, data)
	s.mu.Unlock()
	select {
	case s.wake <- struct{}{}:
	default:
	}
}

func (s *memorySubscription) run(handle func([]byte)) {
	defer s.done.Done()
	var batch [][]byte
	for {
		select {
		case <-s.stop:
			return
		case <-s.wake:
		}
		s.mu.Lock()
		batch, s.queue = s.queue, batch[:0]
		s.mu.Unlock()
		for i, data := range batch {
			batch[i] = nil
			select {
			case <-s.stop:
				return
			default:
				handle(data)
			}
		}
	}
}

// Unsubscribe implements Subscription. It waits for a handler that is running.
func (s *memorySubscription) Unsubscribe() error {
	s.bus.mu.Lock()
	subs := s.bus.subs[s.subject]
	for i, other := range subs {
		if other == s {
			s.bus.subs[s.subject] = append(subs[:i:i], subs[i+1:]...)
			close(s.stop)
			break
		}
	}
	s.bus.mu.Unlock()
	s.done.Wait()
	return nil
}
