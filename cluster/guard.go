package cluster

import (
	"fmt"
	"io"
	"net"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/hashicorp/go-hclog"
	"github.com/nats-io/nats-server/v2/server"

	"github.com/switchyard-ml/switchyard/internal/admission"
)

// The guard takes the connections of a broker with keys, and passes them on to the server, which tells it who has
// shown a key. Whoever has not is a stranger. The limiter decides which are taken in, and there is room for a number
// of strangers: when it is full, the oldest stranger of the address that has most goes. Who has a key shows it within
// milliseconds, and so gets in however many others knock.
const (
	// maxStrangers is the number of connections without a key. All that start at the same moment are strangers at
	// first.
	maxStrangers = 256
	// askEvery is the least time between two questions to the server who has shown a key.
	askEvery = 100 * time.Millisecond
	// trial is how long a connection is watched: by then the server has sent away who shows no key.
	trial = handshakeTimeout + time.Second
)

// guard stands before the server. One goroutine accepts, and each connection has one that passes it on.
//
// Invariant: young is a part of all; a connection that is not in all is closed, or about to be.
type guard struct {
	listener net.Listener
	backend  string // address of the server
	server   *server.Server
	log      hclog.Logger
	wait     sync.WaitGroup
	ended    chan struct{} // closed when nobody is taken in any more

	mu      sync.Mutex // guards all below
	closed  bool
	limiter *limiter
	young   []*connection // those that are watched, in the order of their arrival
	all     map[*connection]bool
	asked   time.Time // when the server was last asked
	told    ration    // lines about connections that were closed
}

// connection is a client's connection. name is how the server calls it, "address:port".
type connection struct {
	name, address string
	since         time.Time
	shown         bool // a key
	client        net.Conn
	server        net.Conn // nil: not passed on yet
}

// watch passes the connections of a listener on to a server that listens at backend for the PROXY protocol.
func watch(l net.Listener, backend string, s *server.Server, log hclog.Logger) *guard {
	if err := shorten(l, backlog); err != nil {
		log.Debug("many connections from one address may keep others waiting", "error", err)
	}
	g := &guard{
		listener: l, backend: backend, server: s, log: log, ended: make(chan struct{}), limiter: newLimiter(time.Now()),
		all: map[*connection]bool{},
	}
	g.wait.Go(g.accept)
	return g
}

// accept takes connections in until refuse.
func (g *guard) accept() {
	for g.breathe() {
		conn, err := g.listener.Accept()
		if err != nil {
			select {
			case <-g.ended:
				return
			default:
			}
			g.log.Warn("a connection cannot be accepted", "error", err)
			time.Sleep(10 * time.Millisecond) // too many open files, for example
			continue
		}
		if v := g.enter(conn); v != nil {
			g.wait.Go(func() { g.serve(v) })
		}
	}
}

// breathe waits until there is credit for one more; it returns false when nobody is taken in any more. While it
// waits, connections queue at the operating system.
func (g *guard) breathe() bool {
	for {
		g.mu.Lock()
		pause := g.limiter.pause(time.Now())
		g.mu.Unlock()
		if pause == 0 {
			return true
		}
		select {
		case <-g.ended:
			return false
		case <-time.After(pause):
		}
	}
}

// enter makes room for a connection and takes it in, or closes it and returns nil.
func (g *guard) enter(conn net.Conn) *connection {
	v := &connection{name: listed(conn.RemoteAddr()), since: time.Now(), client: conn}
	v.address = admission.Address(v.name)
	g.mu.Lock()
	defer g.mu.Unlock()
	// Who has shown a key meanwhile is not to count as a stranger.
	g.greet(v.since)
	if g.closed || !g.limiter.enter(v.since, v.address) {
		g.tell(v.address, v.since)
		if c, ok := conn.(*net.TCPConn); ok {
			_ = c.SetLinger(0) // nothing of it is to stay
		}
		conn.Close()
		return nil
	}
	g.makeRoom(v.since)
	g.young, g.all[v] = append(g.young, v), true
	return v
}

// makeRoom closes the oldest stranger of the address that has most, if there are too many. Those from addresses where
// a key was ever shown go last. The lock is held.
func (g *guard) makeRoom(now time.Time) {
	var strangers, unknown []*connection
	for _, v := range g.young {
		if v.shown {
			continue
		}
		if strangers = append(strangers, v); !g.limiter.knows(v.address) {
			unknown = append(unknown, v)
		}
	}
	if len(strangers) < maxStrangers {
		return
	}
	if len(unknown) > 0 {
		strangers = unknown
	}
	out := strangers[admission.Oldest(strangers, func(v *connection) string { return v.address })]
	g.tell(out.address, now)
	g.leave(out)
}

// greet asks the server now and then who has shown a key. Those who have been watched long enough get their credit
// back if they have, and are strangers no more. The lock is held, also while the server is asked.
func (g *guard) greet(now time.Time) {
	if len(g.young) == 0 || now.Sub(g.asked) < askEvery {
		return
	}
	g.asked = now
	list, err := g.server.Connz(&server.ConnzOptions{Username: true, Limit: 4 * maxConnections})
	if err != nil {
		g.log.Debug("who has shown a key is not known", "error", err)
		return
	}
	known := map[string]bool{}
	for _, c := range list.Conns {
		if c.AuthorizedUser != "" {
			known[net.JoinHostPort(c.IP, strconv.Itoa(c.Port))] = true
		}
	}
	g.young = slices.DeleteFunc(g.young, func(v *connection) bool {
		if !v.shown && known[v.name] {
			v.shown = true
			g.limiter.know(now, v.address)
		}
		old := now.Sub(v.since) > trial
		if old && v.shown {
			g.limiter.giveBack(now, v.address)
		}
		return old
	})
}

// tell logs now and then that connections are closed, and whose. Nobody who knocks can fill the log.
func (g *guard) tell(address string, now time.Time) {
	if g.closed {
		return
	}
	if allowed, more := g.told.take(now); allowed {
		g.log.Warn("connections that show no key are closed to make room", append([]any{"address", address}, more...)...)
	}
}

// leave closes a connection. It may be closed already. The lock is held.
func (g *guard) leave(v *connection) {
	delete(g.all, v)
	if i := slices.Index(g.young, v); i >= 0 {
		g.young = slices.Delete(g.young, i, i+1)
	}
	v.client.Close()
	if v.server != nil {
		v.server.Close()
	}
}

// serve passes a connection on until one side ends it. It returns when both directions have ended.
func (g *guard) serve(v *connection) {
	defer func() {
		g.mu.Lock()
		defer g.mu.Unlock()
		g.leave(v)
	}()
	inner, err := net.Dial("tcp", g.backend)
	if err != nil {
		g.log.Debug("a connection is not passed on", "error", err)
		return
	}
	g.mu.Lock()
	v.server = inner
	// It had to go while the server was reached.
	if !g.all[v] {
		inner.Close()
	}
	g.mu.Unlock()
	if _, err := io.WriteString(inner, proxyHeader(v.client)); err != nil {
		return
	}
	// One goroutine for each direction; the end of one closes both connections, and so ends the other.
	back := make(chan struct{})
	go func() {
		defer close(back)
		io.Copy(v.client, inner) // an error is the end of the connection, as is none
		v.client.Close()
	}()
	io.Copy(inner, v.client)
	inner.Close()
	<-back
}

// listed is the address of a client as the server lists it: without a zone, which the PROXY protocol does not tell.
func listed(remote net.Addr) string {
	if a, ok := remote.(*net.TCPAddr); ok {
		return net.JoinHostPort(a.IP.String(), strconv.Itoa(a.Port))
	}
	return remote.String()
}

// proxyHeader tells the server where a connection comes from. It is version 1 of the PROXY protocol, a line of text.
func proxyHeader(conn net.Conn) string {
	from, ok := conn.RemoteAddr().(*net.TCPAddr)
	to, okTo := conn.LocalAddr().(*net.TCPAddr)
	if !ok || !okTo {
		return "PROXY UNKNOWN\r\n"
	}
	family := "TCP4"
	if from.IP.To4() == nil {
		family = "TCP6"
	}
	return fmt.Sprintf("PROXY %s %s %s %d %d\r\n", family, from.IP, to.IP, from.Port, to.Port)
}

// refuse takes no more connections. Those that are here stay.
func (g *guard) refuse() {
	g.mu.Lock()
	if !g.closed {
		g.closed = true
		close(g.ended)
	}
	g.mu.Unlock()
	g.listener.Close()
}

// close ends all connections and waits for that.
func (g *guard) close() {
	g.refuse()
	g.mu.Lock()
	for v := range g.all {
		g.leave(v)
	}
	g.mu.Unlock()
	g.wait.Wait()
}
