package wire

import (
	"bytes"
	"fmt"
	"sync"
)

// InProcess carries vectors between the parties of a run that live in one process, its coordinator among them. They are
// encoded and verified as on any bus, but do not go through the broker, which would cost half a dozen copies and as
// many changes of goroutine. Messages for parties outside the process, and all that is small, take the broker.
type InProcess struct {
	lending sync.RWMutex       // guards readers; no reader is called meanwhile
	readers map[string]*reader // of gradients, by subject
	sharing queues             // of parameters
	limit   int                // bytes that may wait in a queue
}

// NewInProcess returns the carrier of one process.
func NewInProcess() *InProcess {
	return &InProcess{readers: make(map[string]*reader), limit: queueBytes}
}

// Bus returns the bus of one party over its connection to the broker. Parameters go there, too, if there may be workers
// outside the process.
func (p *InProcess) Bus(over Bus, outside bool) Bus {
	return &inProcessBus{Bus: over, process: p, outside: outside}
}

// Lender is a Bus that can lend its messages.
type Lender interface {
	// Lend is Hear for a handler that keeps nothing of data when it returns, and that several goroutines may call
	// at the same time: those of publishers, who wait for it.
	Lend(subject string, handle func(key string, data []byte)) (Subscription, error)
}

// inProcessBus is the bus of one party: it takes the vectors out of what goes to the broker, and leaves it the rest.
type inProcessBus struct {
	Bus     // to the broker
	process *InProcess
	outside bool // there may be workers that only the broker reaches
}

var _ Lender = (*inProcessBus)(nil)

// Publish implements Bus. The reader of a gradient in this process has handled it when Publish returns; parameters
// are in the queue of each subscriber.
func (b *inProcessBus) Publish(subject string, data []byte) error {
	if len(data) > b.MaxPayload() {
		return fmt.Errorf("%w: %d bytes, limit %d", ErrTooLarge, len(data), b.MaxPayload())
	}
	switch {
	// A gradient without a reader here goes to the broker: its coordinator is elsewhere.
	case carries(base(subject), dataSubject) && b.process.lend(subject, data):
		return nil
	case carries(subject, thetaSubject):
		b.process.share(subject, data)
		if !b.outside {
			return nil
		}
	}
	return b.Bus.Publish(subject, data)
}

// Subscribe implements Bus. Parameters come from this process alone.
func (b *inProcessBus) Subscribe(subject string, handle func(data []byte)) (Subscription, error) {
	if carries(subject, thetaSubject) {
		return b.process.sharing.subscribe(subject, b.process.limit, plain(handle)), nil
	}
	return b.Bus.Subscribe(subject, handle)
}

// Lend implements Lender, for the one subscriber that a subject of gradients has. Workers outside the process are
// heard by way of the broker.
func (b *inProcessBus) Lend(subject string, handle func(key string, data []byte)) (Subscription, error) {
	over, err := b.Bus.Hear(subject, handle)
	if err != nil {
		return nil, err
	}
	p, r := b.process, &reader{handle: handle}
	p.lending.Lock()
	p.readers[subject] = r
	p.lending.Unlock()
	return &loan{p, subject, r, over}, nil
}

// reader is who reads a subject of gradients. Its handler may let publishers wait for long; those of other readers do
// not wait with them.
type reader struct {
	handle func(key string, data []byte)
	calls  sync.RWMutex // held for reading while handle is called
	ended  bool         // guarded by calls
}

// lend calls who reads a subject in this process, and reports whether there is one. The handler runs in the goroutine
// of the publisher, which gets its memory back when lend returns.
func (p *InProcess) lend(subject string, data []byte) bool {
	p.lending.RLock()
	r := p.readers[base(subject)]
	p.lending.RUnlock()
	if r == nil {
		return false
	}
	r.calls.RLock()
	defer r.calls.RUnlock()
	if r.ended {
		return false
	}
	r.handle(last(subject), data)
	return true
}

// loan is a subscription of a Lender. over is the one at the broker.
type loan struct {
	process *InProcess
	subject string
	reader  *reader
	over    Subscription
}

// Unsubscribe implements Subscription. It waits for publishers that are in the handler.
func (s *loan) Unsubscribe() error {
	p := s.process
	p.lending.Lock()
	if p.readers[s.subject] == s.reader { // a later one may have taken its place
		delete(p.readers, s.subject)
	}
	p.lending.Unlock()
	s.reader.calls.Lock()
	s.reader.ended = true
	s.reader.calls.Unlock()
	return s.over.Unsubscribe()
}

// share gives one copy of data to all who wait for it in this process: nobody changes what has come.
func (p *InProcess) share(subject string, data []byte) {
	subscribers := p.sharing.of(subject)
	if len(subscribers) == 0 {
		return
	}
	data = bytes.Clone(data)
	for _, q := range subscribers {
		q.put(subject, data)
	}
}

// queueBytes is what may wait in a queue; messages beyond are lost. It is what a connection to a broker may hold,
// too.
const queueBytes = 64 << 20
