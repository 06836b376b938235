package wire

import (
	"bytes"
	"fmt"
	"sync"
)

// Local is the short way between the parties of a run that live in one process, its coordinator among them: they hand
// each other vectors, encoded and verified as ever, and only what is for others goes through the broker. A vector crosses
// a broker by half a dozen copies and as many changes of goroutine; all else is small, and takes the long way.
type Local struct {
	lending sync.RWMutex
	readers map[string]func(data []byte) // of gradients, by subject
	// With a lock of their own: a reader may let its publisher wait for somebody who puts something into a queue.
	sharing queues // of parameters
	limit   int    // bytes that may wait in a queue
}

// NewLocal returns the short way of one process.
func NewLocal() *Local {
	return &Local{readers: make(map[string]func([]byte)), limit: queueBytes}
}

// Bus returns the bus of one party over its connection to the broker. Parameters go there, too, if there may be workers
// outside the process.
func (l *Local) Bus(over Bus, outside bool) Bus {
	return &localBus{Bus: over, local: l, outside: outside}
}

// Lender is a Bus that can lend its messages.
type Lender interface {
	// Lend is Subscribe for a handler that keeps nothing of data when it returns, and that several goroutines may call at
	// the same time: those of publishers, who wait for it.
	Lend(subject string, handle func(data []byte)) (Subscription, error)
}

type localBus struct {
	Bus     // to the broker
	local   *Local
	outside bool
}

var _ Lender = (*localBus)(nil)

// Publish implements Bus.
func (b *localBus) Publish(subject string, data []byte) error {
	if len(data) > b.MaxPayload() {
		return fmt.Errorf("%w: %d bytes, limit %d", ErrTooLarge, len(data), b.MaxPayload())
	}
	switch {
	case carries(subject, dataSubject) && b.local.lend(subject, data):
		return nil
	case carries(subject, thetaSubject):
		b.local.share(subject, data)
		if !b.outside {
			return nil
		}
	}
	return b.Bus.Publish(subject, data)
}

// Subscribe implements Bus. Parameters come from this process alone.
func (b *localBus) Subscribe(subject string, handle func(data []byte)) (Subscription, error) {
	if carries(subject, thetaSubject) {
		return b.local.sharing.subscribe(subject, b.local.limit, handle), nil
	}
	return b.Bus.Subscribe(subject, handle)
}

// Lend implements Lender, for the one subscriber that a subject of gradients has.
func (b *localBus) Lend(subject string, handle func(data []byte)) (Subscription, error) {
	over, err := b.Bus.Subscribe(subject, handle)
	if err != nil {
		return nil, err
	}
	l := b.local
	l.lending.Lock()
	l.readers[subject] = handle
	l.lending.Unlock()
	return &loan{l, subject, over}, nil
}

// lend calls who reads a subject in this process, and reports whether there is one.
func (l *Local) lend(subject string, data []byte) bool {
	l.lending.RLock()
	defer l.lending.RUnlock()
	handle := l.readers[subject]
	if handle == nil {
		return false
	}
	handle(data)
	return true
}

// loan is a subscription of a Lender.
type loan struct {
	local   *Local
	subject string
	over    Subscription
}

// Unsubscribe implements Subscription.
func (s *loan) Unsubscribe() error {
	s.local.lending.Lock()
	delete(s.local.readers, s.subject)
	s.local.lending.Unlock()
	return s.over.Unsubscribe()
}

// share gives one copy of data to all who wait for it in this process: nobody changes what has come.
func (l *Local) share(subject string, data []byte) {
	subscribers := l.sharing.of(subject)
	if len(subscribers) == 0 {
		return
	}
	data = bytes.Clone(data)
	for _, q := range subscribers {
		q.put(data)
	}
}

// queueBytes is what may wait in a queue; messages beyond are lost.
const queueBytes = 64 << 20
