package wire

import (
	"strings"
	"sync"
)

// queues are the subscribers within this process, by subject. The zero value has none. Several goroutines may use it.
type queues struct {
	mu  sync.RWMutex // guards all, and the slices in it
	all map[string][]*queue
}

// subscribe starts a queue of messages on a subject, of which up to limit bytes wait; 0: any number. handle is called
// by one goroutine, with the subject that a message was sent on.
func (s *queues) subscribe(subject string, limit int, handle func(subject string, data []byte)) *queue {
	q := &queue{from: s, subject: subject, limit: limit, wake: make(chan struct{}, 1), stop: make(chan struct{})}
	s.mu.Lock()
	if s.all == nil {
		s.all = make(map[string][]*queue)
	}
	s.all[subject] = append(s.all[subject], q)
	s.mu.Unlock()
	q.done.Add(1)
	go q.run(handle)
	return q
}

// of returns the queues of a subject as they are at the moment, those of AnyKey among them. The caller does not change
// the slice.
func (s *queues) of(subject string) []*queue {
	s.mu.RLock()
	defer s.mu.RUnlock()
	exact := s.all[subject]
	// The capacity is cut off, so that append copies: others may read exact meanwhile.
	if any := s.all[By(base(subject), AnyKey)]; len(any) > 0 {
		return append(exact[:len(exact):len(exact)], any...)
	}
	return exact
}

// base is a subject without its last part.
func base(subject string) string { return subject[:max(strings.LastIndexByte(subject, '.'), 0)] }

// last is the last part of a subject.
func last(subject string) string { return subject[strings.LastIndexByte(subject, '.')+1:] }

// remove takes a queue out, and reports whether it was there. What was returned by of stays as it was.
func (s *queues) remove(q *queue) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	all := s.all[q.subject]
	for i, other := range all {
		if other != q {
			continue
		}
		// A new slice, as somebody may be reading the old one.
		s.all[q.subject] = append(all[:i:i], all[i+1:]...)
		// An empty one would still hold what waits in the last queue.
		if len(all) == 1 {
			delete(s.all, q.subject)
		}
		return true
	}
	return false
}

// queue holds what a subscriber has not taken, so that a publisher never waits for it, and the goroutine that calls it.
type queue struct {
	from    *queues
	subject string
	limit   int           // bytes that may wait; messages beyond are lost; 0: no limit
	wake    chan struct{} // holds one notice: something waits
	stop    chan struct{} // closed by the first Unsubscribe
	done    sync.WaitGroup

	mu    sync.Mutex
	waits []waiting // in the order in which they came
	bytes int       // of what is in waits; what the handler has been given no longer counts
}

var _ Subscription = (*queue)(nil)

// waiting is a message that was not taken yet.
type waiting struct {
	subject string
	data    []byte
}

// put adds a message, which the handler owns from then on. It never waits. What does not fit is lost, as on any bus.
func (q *queue) put(subject string, data []byte) {
	q.mu.Lock()
	if q.limit == 0 || q.bytes+len(data) <= q.limit {
		q.waits = append(q.waits, waiting{subject, data})
		q.bytes += len(data)
	}
	q.mu.Unlock()
	select {
	case q.wake <- struct{}{}:
	default:
	}
}

// run calls handle for all that waits, in order, until the subscription ends.
func (q *queue) run(handle func(subject string, data []byte)) {
	defer q.done.Done()
	var batch []waiting
	for {
		select {
		case <-q.stop:
			return
		case <-q.wake:
		}
		q.mu.Lock()
		// The two slices take turns, so that publishers wait for no handler and nothing is allocated in the long run.
		batch, q.waits, q.bytes = q.waits, batch[:0], 0
		q.mu.Unlock()
		for i, m := range batch {
			batch[i] = waiting{} // its memory is not held while the next ones are handled
			select {
			case <-q.stop:
				return
			default:
				handle(m.subject, m.data)
			}
		}
	}
}

// Unsubscribe implements Subscription. It waits for a handler that is running. It must not be called by the handler
// itself, which would wait for its own end.
func (q *queue) Unsubscribe() error {
	if q.from.remove(q) {
		close(q.stop)
	}
	q.done.Wait()
	return nil
}
