package web

import (
	"context"
	"net/http"
	"sync"

	"github.com/switchyard-ml/switchyard/internal/admission"
)

// streams are the clients of events. When there are too many, the oldest client of the address that has most makes
// room: nobody can keep others from the page by opening it many times. A page whose events end asks for them again.
type streams struct {
	most int

	mu  sync.Mutex
	all []*seat // in the order of their arrival
}

// seat is the place of one client.
type seat struct {
	address string
	end     context.CancelFunc
}

// enter takes the client of a request in. The context ends when it has to make room, and after leave. leave has to
// be called once.
func (s *streams) enter(r *http.Request) (ctx context.Context, leave func()) {
	ctx, cancel := context.WithCancel(r.Context())
	own := &seat{admission.Address(r.RemoteAddr), cancel}
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.all) >= s.most {
		s.remove(s.all[admission.Oldest(s.all, func(o *seat) string { return o.address })])
	}
	s.all = append(s.all, own)
	return ctx, func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.remove(own)
	}
}

// remove ends a client and takes it out; one that is out already is only ended. The lock is held.
func (s *streams) remove(own *seat) {
	own.end()
	for i, o := range s.all {
		if o == own {
			s.all = append(s.all[:i:i], s.all[i+1:]...)
			return
		}
	}
}
