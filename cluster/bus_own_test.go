package cluster

import (
	"crypto/tls"
	"net"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
)

// member is a server whose routes are what a test says.
type member struct {
	*Broker
	reaches atomic.Int64
}

func (m *member) Joined() int { return int(m.reaches.Load()) }

func newMember(t *testing.T) *member {
	m := &member{Broker: start(t, "127.0.0.1:0")}
	t.Cleanup(m.Shutdown)
	return m
}

func until(t *testing.T, what string, so func() bool) {
	t.Helper()
	for deadline := time.Now().Add(2 * time.Minute); !so(); time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("in vain: %s", what)
		}
	}
}

// at reports whether a bus is connected to a server.
func at(b *Bus, s *server.Server) func() bool {
	return func() bool { return b.Conn().IsConnected() && b.Conn().ConnectedServerId() == s.ID() }
}

// named starts a server and returns it with the server itself, to tell it apart.
func named(t *testing.T) (*server.Server, string) {
	t.Helper()
	s, address := secured(t, &server.Options{})
	return s, "nats://" + address
}

// A bus is connected to the server of its process while that reaches others, and to another one while it does not, or is
// gone. Subscriptions go with it.
func TestBus_OwnServer(t *testing.T) {
	own := newMember(t)
	other, url := named(t)
	own.reaches.Store(1)
	b := connect(t, BusConfig{Server: own, URL: url, settled: time.Millisecond})
	defer b.Close()
	if id := b.Conn().ConnectedServerId(); id == other.ID() {
		t.Fatal("it is connected to the other server, though its own reaches it")
	}
	got := make(chan string, 100)
	if _, err := b.Subscribe("s", func(data []byte) { got <- string(data) }); err != nil {
		t.Fatal(err)
	}
	own.reaches.Store(0)
	until(t, "the connection moves to the other server", at(b, other))
	from := connect(t, BusConfig{URL: url})
	defer from.Close()
	until(t, "the subscription has moved", func() bool {
		return from.Publish("s", []byte("x")) == nil && from.Conn().Flush() == nil && len(got) > 0
	})
	own.reaches.Store(2)
	until(t, "the connection moves back", func() bool { return b.Conn().IsConnected() && b.Conn().ConnectedServerId() != other.ID() })
	own.Shutdown()
	until(t, "the connection goes where there is a server", at(b, other))
}

// A process that was held up until the wait was over still finds its own server.
func TestOwnDialer_LooksOnce(t *testing.T) {
	own := newMember(t)
	d := &ownDialer{own: own, settled: -time.Second}
	if d.await() {
		t.Error("a server that reaches no other is taken for one that does")
	}
	own.reaches.Store(1)
	if !d.await() {
		t.Error("a server that reaches another was not looked at")
	}
}

// Who insists on TLS has it with other servers, and nothing encrypted within the process.
func TestBus_OwnServerWithTLS(t *testing.T) {
	own := newMember(t)
	own.reaches.Store(1)
	certificate, ca := newCertificate(t, "127.0.0.1", time.Now().Add(24*time.Hour))
	other, address := secured(t, &server.Options{TLSConfig: &tls.Config{Certificates: []tls.Certificate{certificate}}})
	plain, plainURL := named(t)
	b := connect(t, BusConfig{Server: own, URL: "tls://" + address, CAFile: ca, settled: time.Millisecond})
	defer b.Close()
	if !b.Conn().IsConnected() || b.Conn().ConnectedServerId() == other.ID() {
		t.Fatalf("not connected to the own server: %v", b.Conn().LastError())
	}
	own.reaches.Store(0)
	until(t, "the connection moves to the other server", at(b, other))
	if state, err := b.Conn().TLSConnectionState(); err != nil || !state.HandshakeComplete {
		t.Errorf("it is not encrypted: %v", err)
	}
	never := connect(t, BusConfig{Server: own, URL: plainURL, CAFile: ca, settled: time.Millisecond})
	defer never.Close()
	until(t, "why there is no connection is known", func() bool { return never.Trouble() != "" && never.Conn().LastError() != nil })
	if at(never, plain)() {
		t.Error("it is connected to a server without TLS")
	}
}

// A line longer than what is read at a time arrives whole, and what follows it.
func TestClaimingTLS(t *testing.T) {
	near, far := net.Pipe()
	defer near.Close()
	go func() {
		far.Write([]byte("INFO {\"a\":1}\r\nPING {\r\n"))
		far.Close()
	}()
	c := &claimingTLS{Conn: near}
	var text strings.Builder
	for buf := make([]byte, 3); ; {
		n, err := c.Read(buf)
		text.Write(buf[:n])
		if err != nil {
			break
		}
	}
	if want := "INFO {\"tls_available\":true,\"a\":1}\r\nPING {\r\n"; text.String() != want {
		t.Errorf("got %q, want %q", text.String(), want)
	}
}
