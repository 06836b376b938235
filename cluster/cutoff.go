package cluster

import (
	"errors"
	"fmt"

	"github.com/nats-io/nats-server/v2/server"
)

// ErrOpen is returned by CutOff for a server whose routes have no certificate.
var ErrOpen = errors.New("broker: only a server with a certificate of routes can be cut off")

// CutOff closes the routes to all other servers and takes none, or lets them come again. It is for the injection of
// faults: to the others it looks like a link that is gone. Clients stay. A route that is just being made may last a
// second longer. With off the routes are closed.
func (b *Broker) CutOff(off bool) error {
	if b.enforcer == nil { // without keys
		return ErrOpen
	}
	if err := b.enforcer.cutOff(off); err != nil {
		return fmt.Errorf("broker: cut off: %w", err)
	}
	return nil
}

// stayCutOff closes what routes have come to be after the server was cut off: with the certificate that was right when
// they were begun.
func (b *Broker) stayCutOff() {
	if b.enforcer == nil || !b.enforcer.isCutOff() || b.Joined() == 0 {
		return
	}
	if err := b.enforcer.cutOff(true); err != nil {
		b.log.Warn("a route stays, though the server is cut off", "error", err)
	}
}

// cutOff lets no certificate be the right one for a route: each time another one, as the server closes routes only when
// that changes.
func (b *enforcer) cutOff(off bool) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.options.Cluster.TLSPinnedCerts == nil {
		return ErrOpen
	}
	before := b.cuts
	if b.cuts++; !off {
		b.cuts = 0
	}
	err := b.apply(b.banned)
	if err != nil {
		b.cuts = before
	}
	return err
}

// isCutOff reports whether the server is to have no routes.
func (b *enforcer) isCutOff() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.cuts > 0
}

// nobody names the n-th certificate that nobody has: no key has such a hash.
func nobody(n int) server.PinnedCertSet {
	return server.PinnedCertSet{fmt.Sprintf("%064x", n): {}}
}
