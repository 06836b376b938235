package web

import (
	"context"
	"net"
	"net/http"
	"sync"
)

// streams are the clients of events. When there are too many, the oldest client of the address that has most makes room:
// nobody can keep others from the page by opening it many times. A page whose events end asks for them again.
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

// enter takes the client of a request in. The context ends when it has to make room, and after leave.
func (s *streams) enter(r *http.Request) (ctx context.Context, leave func()) {
	address, _, err := net.SplitHostPort(r.RemoteAddr)
	if err != nil {
		address = r.RemoteAddr
	}
	ctx, cancel := context.WithCancel(r.Context())
	own := &seat{address, cancel}
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.all) >= s.most {
		s.remove(s.crowding())
	}
	s.all = append(s.all, own)
	return ctx, func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.remove(own)
	}
}

// crowding is the oldest client of the address that has most.
func (s *streams) crowding() *seat {
	counts := map[string]int{}
	most := ""
	for _, o := range s.all {
		if counts[o.address]++; counts[o.address] > counts[most] {
			most = o.address
		}
	}
	for _, o := range s.all {
		if o.address == most {
			return o
		}
	}
	return s.all[0]
}

func (s *streams) remove(own *seat) {
	own.end()
	for i, o := range s.all {
		if o == own {
			s.all = append(s.all[:i:i], s.all[i+1:]...)
			return
		}
	}
}
