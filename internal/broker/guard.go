package broker

import (
	"fmt"
	"io"
	"net"
	"strconv"
	"sync"
	"time"

	"github.com/hashicorp/go-hclog"
	"github.com/nats-io/nats-server/v2/server"
)

// The guard takes the connections of a broker with keys, and passes them on to the server, which tells it who has shown
// a key. Whoever has not is a stranger: there is room for so many of them, and when it is full, the oldest stranger of
// the address that has most goes. Who has a key shows it within milliseconds, and so gets in however many others knock.
const (
	// maxStrangers is the number of connections without a key. All that start at the same moment are strangers at first.
	maxStrangers = 256
	// An address may open that many connections per second, and burst at once.
	knockRate, knockBurst = 1000, 2000
	// maxAddresses bounds the addresses that are remembered; they are forgotten together.
	maxAddresses = 4096
	// askEvery is the least time between two questions to the server who has shown a key.
	askEvery = 5 * time.Millisecond
	// strangerTime is when the server has sent away who shows no key.
	strangerTime = handshakeTimeout + time.Second
)

type guard struct {
	listener net.Listener
	backend  string
	server   *server.Server
	log      hclog.Logger
	wait     sync.WaitGroup

	mu        sync.Mutex
	closed    bool
	strangers []*visitor // in the order of their arrival
	all       map[*visitor]bool
	asked     time.Time
	knocks    map[string]*knocks // by address
	told      ration
}

// visitor is a connection. name is how the server calls it, "address:port".
type visitor struct {
	name, address string
	since         time.Time
	client        net.Conn
	server        net.Conn // nil: not passed on yet
}

// knocks are the connections that an address may open at the moment.
type knocks struct {
	left float64
	at   time.Time
}

// watch passes the connections of a listener on to a server that listens at backend for the PROXY protocol.
func watch(l net.Listener, backend string, s *server.Server, log hclog.Logger) *guard {
	g := &guard{listener: l, backend: backend, server: s, log: log, all: map[*visitor]bool{}, knocks: map[string]*knocks{}}
	g.wait.Go(g.accept)
	return g
}

func (g *guard) accept() {
	for {
		conn, err := g.listener.Accept()
		if err != nil {
			g.mu.Lock()
			closed := g.closed
			g.mu.Unlock()
			if closed {
				return
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

// enter makes room for a connection and takes it in, or closes it and returns nil.
func (g *guard) enter(conn net.Conn) *visitor {
	name := conn.RemoteAddr().String()
	address, _, err := net.SplitHostPort(name)
	if err != nil {
		address = name
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	now := time.Now()
	if g.closed || !g.mayKnock(address, now) {
		g.tell(address, now)
		conn.Close()
		return nil
	}
	g.greet(now)
	if len(g.strangers) >= maxStrangers {
		out := g.crowd()
		g.tell(out.address, now)
		g.leave(out)
	}
	v := &visitor{name: name, address: address, since: now, client: conn}
	g.strangers, g.all[v] = append(g.strangers, v), true
	return v
}

// mayKnock takes one from the connections that an address may open.
func (g *guard) mayKnock(address string, now time.Time) bool {
	k := g.knocks[address]
	if k == nil {
		if len(g.knocks) >= maxAddresses {
			clear(g.knocks)
		}
		k = &knocks{left: knockBurst, at: now}
		g.knocks[address] = k
	}
	k.left = min(k.left+now.Sub(k.at).Seconds()*knockRate, knockBurst)
	k.at = now
	if k.left < 1 {
		return false
	}
	k.left--
	return true
}

// greet takes from the strangers those who have shown a key, if there is little room, and those who have been there so
// long that the server has looked at them.
func (g *guard) greet(now time.Time) {
	for len(g.strangers) > 0 && now.Sub(g.strangers[0].since) > strangerTime {
		g.strangers = g.strangers[1:]
	}
	if len(g.strangers) < maxStrangers/2 || now.Sub(g.asked) < askEvery {
		return
	}
	g.asked = now
	known := map[string]bool{}
	list, err := g.server.Connz(&server.ConnzOptions{Username: true, Limit: 4 * maxConnections})
	if err != nil {
		g.log.Debug("who has shown a key is not known", "error", err)
		return
	}
	for _, c := range list.Conns {
		if c.AuthorizedUser != "" {
			known[net.JoinHostPort(c.IP, strconv.Itoa(c.Port))] = true
		}
	}
	kept := g.strangers[:0:0]
	for _, v := range g.strangers {
		if !known[v.name] {
			kept = append(kept, v)
		}
	}
	g.strangers = kept
}

// crowd is the oldest stranger of the address that has most.
func (g *guard) crowd() *visitor {
	counts := map[string]int{}
	most := ""
	for _, v := range g.strangers {
		if counts[v.address]++; counts[v.address] > counts[most] {
			most = v.address
		}
	}
	for _, v := range g.strangers {
		if v.address == most {
			return v
		}
	}
	return g.strangers[0]
}

// tell logs now and then that connections are closed, and whose.
func (g *guard) tell(address string, now time.Time) {
	if g.closed {
		return
	}
	if allowed, more := g.told.take(now); allowed {
		g.log.Warn("connections that show no key are closed to make room", append([]any{"address", address}, more...)...)
	}
}

// leave closes a connection.
func (g *guard) leave(v *visitor) {
	delete(g.all, v)
	for i, o := range g.strangers {
		if o == v {
			g.strangers = append(g.strangers[:i:i], g.strangers[i+1:]...)
			break
		}
	}
	v.client.Close()
	if v.server != nil {
		v.server.Close()
	}
}

// serve passes a connection on until one side ends it.
func (g *guard) serve(v *visitor) {
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
	if !g.all[v] {
		inner.Close()
	}
	g.mu.Unlock()
	if _, err := io.WriteString(inner, proxyHeader(v.client)); err != nil {
		return
	}
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

// proxyHeader tells the server where a connection comes from.
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

// refuse takes no more connections.
func (g *guard) refuse() {
	g.mu.Lock()
	g.closed = true
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
