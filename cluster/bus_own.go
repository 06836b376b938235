package cluster

import (
	"bufio"
	"bytes"
	"net"
	"sync"
	"sync/atomic"
	"time"
)

// Member is a server in the same process that belongs to a cluster. A Broker of a cluster is one.
type Member interface {
	Embedded
	Running() bool
	Joined() int // other servers that it reaches
}

const (
	// watchEvery is the time between two looks at the own server.
	watchEvery = 500 * time.Millisecond
	// defaultSettled is how long the own server has to reach others, or reach none, before the connection moves.
	defaultSettled = 5 * time.Second
	// joinWait is how long a new connection waits at most for the own server to reach others.
	joinWait = 2 * time.Second
)

// ownDialer connects within the process while the own server runs and reaches others, and over the network otherwise.
// The client asks it for one connection at a time. inside is read by the goroutine that watches.
type ownDialer struct {
	own    Member
	secure bool // the client insists on TLS
	ended  <-chan struct{}
	// settled is how long it takes until the connection moves.
	settled time.Duration

	inside atomic.Bool // the last connection does not leave the process
}

// Dial implements nats.CustomDialer. An address that does not answer within five seconds is an error.
func (d *ownDialer) Dial(network, address string) (net.Conn, error) {
	d.inside.Store(false)
	if d.await() {
		if conn, err := d.own.InProcessConn(); err == nil {
			d.inside.Store(true)
			if d.secure {
				conn = &claimingTLS{Conn: conn}
			}
			return conn, nil
		}
	}
	return net.DialTimeout(network, address, 5*time.Second)
}

// SkipTLSHandshake lets the client send nothing encrypted to its own process.
func (d *ownDialer) SkipTLSHandshake() bool { return d.inside.Load() }

// await waits a little until the own server reaches others, and reports whether it does. It waits joinWait at most, and
// looks once however late that is.
func (d *ownDialer) await() bool {
	for deadline := time.Now().Add(min(joinWait, d.settled)); d.own.Running(); {
		if d.own.Joined() > 0 {
			return true
		}
		if !time.Now().Before(deadline) {
			return false
		}
		select {
		case <-d.ended:
			return false
		case <-time.After(20 * time.Millisecond):
		}
	}
	return false
}

// claimingTLS is a connection within the process whose first line, INFO with an object of JSON, says that TLS can be
// had. A client that insists on TLS asks for that before it asks the dialer to skip it. Nothing is encrypted: it does
// not leave the process.
type claimingTLS struct {
	net.Conn
	once  sync.Once
	first []byte // what is left of the first line
	err   error
	rest  *bufio.Reader
}

// Read implements net.Conn.
func (c *claimingTLS) Read(p []byte) (int, error) {
	c.once.Do(func() {
		c.rest = bufio.NewReader(c.Conn)
		line, err := c.rest.ReadBytes('\n')
		c.first, c.err = bytes.Replace(line, []byte("{"), []byte(`{"tls_available":true,`), 1), err
	})
	if len(c.first) > 0 {
		n := copy(p, c.first)
		c.first = c.first[n:]
		return n, nil
	}
	if c.err != nil {
		return 0, c.err
	}
	return c.rest.Read(p)
}

// watch moves the connection to other servers when the own one reaches none of them any more, and back when it does,
// until the bus is closed. A move costs a moment without connection, so it waits until the state has lasted.
func (b *Bus) watch(d *ownDialer, ended <-chan struct{}) {
	ticker := time.NewTicker(watchEvery)
	defer ticker.Stop()
	since := time.Now() // when the connection was last where it belongs
	for {
		select {
		case <-ended:
			return
		case <-ticker.C:
		}
		// Whether the connection belongs to the own server; a state that changes back counts from the beginning.
		fit := d.own.Running() && d.own.Joined() > 0
		if fit == d.inside.Load() || !b.Conn().IsConnected() {
			since = time.Now()
			continue
		}
		if time.Since(since) < d.settled {
			continue
		}
		since = time.Now()
		if fit {
			b.log.Info("the server of this process reaches others again: connecting to it")
		} else {
			b.log.Warn("the server of this process reaches no other: connecting to another one")
		}
		if err := b.Conn().ForceReconnect(); err != nil {
			b.log.Debug("the connection does not move", "error", err)
		}
	}
}
