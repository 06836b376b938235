package serving

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"os"
	"sync/atomic"
	"time"
)

// pressure says which share of the requests is refused because they wait for a core. With more connections than the
// cores can answer, requests queue in the kernel and for a core before the service sees them, where no limit on
// requests in progress counts them. A canary queues there, too: a byte that goes through a pipe from one goroutine
// to another. While bytes are late the share grows, else it falls: slower, since whoever is refused comes back
// later. Few connections cannot make a long queue: if bytes are late then, something else keeps the cores busy.
//
// watch alone writes share; requests read it from any goroutine.
type pressure struct {
	few         int64         // connections, of which no request is refused
	target      time.Duration // within which a byte is in time
	connections atomic.Int64  // that are open
	share       atomic.Uint64 // of the requests, in parts of whole
	due         atomic.Uint64 // the sum of the shares of all requests: one is refused each time that it passes a whole
}

// A byte is sent every canaryEvery, and is late after canaryTarget. A late byte adds a twentieth of all requests to
// those that are refused, one in time takes a two-hundredth off: after twenty late bytes in a row all are refused.
const (
	canaryEvery  = 5 * time.Millisecond
	canaryTarget = 10 * time.Millisecond

	whole     = 1 << 16
	pressMore = whole / 20
	pressLess = whole / 200
)

// many reports whether there are enough connections for a long queue.
func (p *pressure) many() bool { return p.connections.Load() > p.few }

// refuses decides on a request. The refused ones are spread evenly among the others; nothing is drawn.
func (p *pressure) refuses() bool {
	if !p.many() {
		return false
	}
	share := p.share.Load()
	due := p.due.Add(share)
	return due/whole != (due-share)/whole
}

// counts follows connections; it is a hook of http.Server.
func (p *pressure) counts(_ net.Conn, state http.ConnState) {
	switch state {
	case http.StateNew:
		p.connections.Add(1)
	case http.StateClosed, http.StateHijacked:
		p.connections.Add(-1)
	}
}

// saw takes the delay of a byte into account.
func (p *pressure) saw(delay time.Duration) {
	share := p.share.Load()
	if delay > p.target {
		share = min(share+pressMore, whole)
	} else {
		share = max(share, pressLess) - pressLess
	}
	p.share.Store(share)
}

// watch sends bytes while there are many connections, until the context ends. It returns an error only if there is
// no pipe, or it breaks.
func (p *pressure) watch(ctx context.Context) error {
	from, to, err := os.Pipe()
	if err != nil {
		return fmt.Errorf("watch how long requests wait for a core: %w", err)
	}
	defer from.Close()
	defer to.Close()
	defer p.share.Store(0)
	came := make(chan time.Time)
	go func() {
		defer close(came)
		for b := make([]byte, 1); ; {
			if _, err := from.Read(b); err != nil {
				return
			}
			came <- time.Now()
		}
	}()
	tick := time.NewTicker(canaryEvery)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
		if !p.many() {
			p.share.Store(0)
			continue
		}
		sent := time.Now()
		if _, err := to.Write([]byte{0}); err != nil {
			return fmt.Errorf("watch how long requests wait for a core: %w", err)
		}
		p.saw((<-came).Sub(sent))
	}
}
