package wire

import "sync"

// queues are the subscribers within this process, by subject. The zero value has none.
type queues struct {
	mu  sync.RWMutex
	all map[string][]*queue
}

// subscribe starts a queue of messages on a subject, of which up to limit bytes wait; 0: any number.
func (s *queues) subscribe(subject string, limit int, handle func([]byte)) *queue {
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

// of returns the queues of a subject as they are at the moment. The caller does not change the slice.
func (s *queues) of(subject string) []*queue {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.all[subject]
}

// remove takes a queue out, and reports whether it was there. What was returned by of stays as it was.
func (s *queues) remove(q *queue) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	all := s.all[q.subject]
	for i, other := range all {
		if other == q {
			s.all[q.subject] = append(all[:i:i], all[i+1:]...)
			return true
		}
	}
	return false
}

// queue holds what a subscriber has not taken, so that a publisher never waits for it, and the goroutine that calls it.
type queue struct {
	from    *queues
	subject string
	limit   int // bytes that may wait; messages beyond are lost; 0: no limit
	wake    chan struct{}
	stop    chan struct{}
	done    sync.WaitGroup

	mu    sync.Mutex
	waits [][]byte
	bytes int
}

var _ Subscription = (*queue)(nil)

// put adds a message, which the handler owns from then on.
func (q *queue) put(data []byte) {
	q.mu.Lock()
	if q.limit == 0 || q.bytes+len(data) <= q.limit {
		q.waits = append(q.waits, data)
		q.bytes += len(data)
	}
	q.mu.Unlock()
	select {
	case q.wake <- struct{}{}:
	default:
	}
}

func (q *queue) run(handle func([]byte)) {
	defer q.done.Done()
	var batch [][]byte
	for {
		select {
		case <-q.stop:
			return
		case <-q.wake:
		}
		q.mu.Lock()
		batch, q.waits, q.bytes = q.waits, batch[:0], 0
		q.mu.Unlock()
		for i, data := range batch {
			batch[i] = nil
			select {
			case <-q.stop:
				return
			default:
				handle(data)
			}
		}
	}
}

// Unsubscribe implements Subscription. It waits for a handler that is running.
func (q *queue) Unsubscribe() error {
	if q.from.remove(q) {
		close(q.stop)
	}
	q.done.Wait()
	return nil
}
