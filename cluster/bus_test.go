package cluster

import (
	"bufio"
	"errors"
	"fmt"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/hashicorp/go-hclog"
	"github.com/nats-io/nats.go"

	"github.com/switchyard-ml/switchyard/wire"
)

func start(t *testing.T, listen string) *Broker {
	t.Helper()
	b, err := Start(Config{Listen: listen, Log: hclog.NewNullLogger()})
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func connect(t *testing.T, cfg BusConfig) *Bus {
	t.Helper()
	cfg.Log = hclog.NewNullLogger()
	b, err := Connect(cfg)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func TestBus_OrderAndLimits(t *testing.T) {
	server := start(t, "")
	defer server.Shutdown()
	a, b := connect(t, BusConfig{Server: server}), connect(t, BusConfig{Server: server})
	defer a.Close()
	defer b.Close()
	got := make(chan byte, 1000)
	sub, err := b.Subscribe("s", func(data []byte) { got <- data[0] })
	if err != nil {
		t.Fatal(err)
	}
	data := make([]byte, 100_000)
	for i := range 200 {
		data[0] = byte(i) // Publish must not keep data
		if err := a.Publish("s", data); err != nil {
			t.Fatal(err)
		}
	}
	for i := range 200 {
		if v := <-got; v != byte(i) {
			t.Fatalf("message %d: got %d", i, v)
		}
	}
	if err := a.Publish("s", make([]byte, a.MaxPayload()+1)); !errors.Is(err, wire.ErrTooLarge) {
		t.Errorf("got %v, want ErrTooLarge", err)
	}
	if err := sub.Unsubscribe(); err != nil {
		t.Error(err)
	}
}

// While the broker is away Publish fails at once; when it is back the subscriptions live again.
func TestBus_BrokerRestart(t *testing.T) {
	server := start(t, "127.0.0.1:0")
	url := server.URL()
	b := connect(t, BusConfig{URL: url})
	defer b.Close()
	got := make(chan []byte, 10)
	if _, err := b.Subscribe("s", func(data []byte) { got <- data }); err != nil {
		t.Fatal(err)
	}
	server.Shutdown()
	for b.Publish("s", []byte("lost")) == nil { // until the client has noticed
		time.Sleep(time.Millisecond)
	}
	for len(got) > 0 {
		<-got
	}
	server = start(t, url[len("nats://"):])
	defer server.Shutdown()
	for b.Publish("s", []byte("back")) != nil {
		time.Sleep(time.Millisecond)
	}
	if data := <-got; string(data) != "back" {
		t.Errorf("got %q: a message of before the restart was sent later", data)
	}
}

// A worker may be started before the broker.
func TestConnect_BeforeBroker(t *testing.T) {
	t.Parallel()
	server := start(t, "127.0.0.1:0")
	url := server.URL()
	server.Shutdown()
	b := connect(t, BusConfig{URL: url})
	defer b.Close()
	got := make(chan []byte, 10)
	if _, err := b.Subscribe("s", func(data []byte) { got <- data }); err != nil {
		t.Fatal(err)
	}
	if b.MaxPayload() != defaultPayload {
		t.Errorf("payload limit %d", b.MaxPayload())
	}
	server = start(t, url[len("nats://"):])
	defer server.Shutdown()
	for b.Publish("s", []byte("x")) != nil {
		time.Sleep(time.Millisecond)
	}
	<-got
}

// refuser speaks NATS as far as is needed to refuse all credentials. It counts the connections.
func refuser(t *testing.T, address string, connections chan<- int) (stop func()) {
	t.Helper()
	l, err := net.Listen("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	var done sync.WaitGroup
	done.Go(func() {
		for i := 1; ; i++ {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			fmt.Fprintf(conn, "INFO {\"server_id\":\"x\",\"version\":\"2.10.0\",\"max_payload\":1048576}\r\n")
			if _, err := bufio.NewReader(conn).ReadString('\n'); err == nil { // CONNECT
				fmt.Fprint(conn, "-ERR 'Authorization Violation'\r\n")
			}
			conn.Close()
			select {
			case connections <- i:
			default:
			}
		}
	})
	return func() { l.Close(); done.Wait() }
}

// A broker that refuses credentials again and again, as one whose accounts are being loaded does, is not given up.
func TestBus_RefusedTwiceTriesOn(t *testing.T) {
	t.Parallel()
	connections := make(chan int, 10)
	server := start(t, "127.0.0.1:0")
	url := server.URL()
	b := connect(t, BusConfig{URL: url})
	defer b.Close()
	server.Shutdown()
	defer refuser(t, url[len("nats://"):], connections)()
	given := b.Conn().StatusChanged(nats.CLOSED)
	for i := 0; i < 5; {
		select {
		case i = <-connections:
		case <-given:
			t.Fatalf("the connection was given up after refusal %d", i)
		}
	}
}

// lines passes on what is logged.
type lines chan string

func (l lines) Write(p []byte) (int, error) {
	l <- string(p)
	return len(p), nil
}

// A connection that ends without Close is told, one that is closed is not.
func TestBus_EndIsTold(t *testing.T) {
	server := start(t, "")
	defer server.Shutdown()
	told := make(lines, 10)
	cfg := BusConfig{Server: server, Log: hclog.New(&hclog.LoggerOptions{Output: told, Level: hclog.Error})}
	b, err := Connect(cfg)
	if err != nil {
		t.Fatal(err)
	}
	b.Conn().Close()
	if line := <-told; !strings.Contains(line, "closed for good") {
		t.Errorf("got %q", line)
	}
	if b, err = Connect(cfg); err != nil {
		t.Fatal(err)
	}
	heard := make(chan struct{})
	b.Conn().SetClosedHandler(func(conn *nats.Conn) {
		b.ended(conn)
		close(heard)
	})
	b.Close()
	<-heard
	if len(told) > 0 {
		t.Errorf("after Close: %q", <-told)
	}
}
