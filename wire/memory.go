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
	subscribers queues

	mu sync.Mutex // one message at a time
	// fault decides the fate of a message; see NewMemory.
	fault func(subject string, data []byte) []time.Duration
}

// NewMemory returns a carrier. If fault is not nil it is called for each message, by one goroutine at a time: the
// message is delivered once for each delay in the result, so none drops it and two repeat it. The call may change
// data. A delay of 0 keeps the order of messages; others may change it.
func NewMemory(fault func(subject string, data []byte) []time.Duration) *Memory {
	return &Memory{fault: fault}
}

var _ Bus = (*Memory)(nil)

// MaxPayload implements Bus.
func (m *Memory) MaxPayload() int { return MemoryPayload }

// Publish implements Bus. Who subscribed after the message was sent does not hear it, however long it is delayed.
func (m *Memory) Publish(subject string, data []byte) error {
	if len(data) > MemoryPayload {
		return fmt.Errorf("%w: %d bytes, limit %d", ErrTooLarge, len(data), MemoryPayload)
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	// Who hears a message is fixed when it is sent.
	subscribers := m.subscribers.of(subject)
	if m.fault == nil {
		for _, q := range subscribers {
			q.put(subject, bytes.Clone(data))
		}
		return nil
	}
	data = bytes.Clone(data)
	for _, delay := range m.fault(subject, data) {
		for _, q := range subscribers {
			// The handler owns what it is given, so each gets a copy.
			own := bytes.Clone(data)
			if delay == 0 {
				q.put(subject, own)
			} else {
				time.AfterFunc(delay, func() { q.put(subject, own) })
			}
		}
	}
	return nil
}

// Subscribe implements Bus. Any number of messages may wait.
func (m *Memory) Subscribe(subject string, handle func(data []byte)) (Subscription, error) {
	return m.subscribers.subscribe(subject, 0, plain(handle)), nil
}

// Hear implements Bus.
func (m *Memory) Hear(subject string, handle func(key string, data []byte)) (Subscription, error) {
	return m.subscribers.subscribe(By(subject, AnyKey), 0, keyed(handle)), nil
}

// Key implements Bus.
func (m *Memory) Key() string { return NoKey }

// With is the bus for the holder of a key. No broker proves it: a test says which key speaks.
func (m *Memory) With(key string) Bus { return memoryOf{m, key} }

// memoryOf is a Memory of one party.
type memoryOf struct {
	*Memory
	key string
}

// Key implements Bus.
func (m memoryOf) Key() string { return m.key }

// plain is a handler of messages that need no subject.
func plain(handle func(data []byte)) func(subject string, data []byte) {
	return func(_ string, data []byte) { handle(data) }
}

// keyed is a handler of messages by keys.
func keyed(handle func(key string, data []byte)) func(subject string, data []byte) {
	return func(subject string, data []byte) { handle(last(subject), data) }
}
