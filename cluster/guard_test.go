package cluster_test

import (
	"encoding/json"
	"errors"
	"net"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/hashicorp/go-hclog"
	"github.com/nats-io/nats.go"

	"github.com/switchyard-ml/switchyard/cluster"
	"github.com/switchyard-ml/switchyard/wire"
)

// knock opens connections that say nothing, as fast as it can, until stop is closed, and closes the oldest now and then.
func knock(url string, stop <-chan struct{}, wait *sync.WaitGroup, knocks *atomic.Int64) {
	_, address, _ := strings.Cut(url, "://")
	wait.Go(func() {
		var held []net.Conn
		defer func() {
			for _, c := range held {
				c.Close()
			}
		}()
		for {
			select {
			case <-stop:
				return
			default:
			}
			conn, err := net.Dial("tcp", address)
			if err != nil {
				time.Sleep(time.Millisecond)
				continue
			}
			knocks.Add(1)
			if held = append(held, conn); len(held) > 2000 {
				held[0].Close()
				held = held[1:]
			}
		}
	})
}

// patient is a connection that is tried until it is made, again and again.
func patient(t *testing.T, url string, options ...nats.Option) *nats.Conn {
	t.Helper()
	conn, err := nats.Connect(url, append(options, nats.RetryOnFailedConnect(true), nats.MaxReconnects(-1), nats.IgnoreAuthErrorAbort(),
		nats.ReconnectWait(20*time.Millisecond), nats.Timeout(5*time.Second), nats.ErrorHandler(func(*nats.Conn, *nats.Subscription, error) {}))...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(conn.Close)
	return conn
}

// However many connections without a key are opened, from the same address even, who has one gets in and stays.
func TestGuard_StrangersAtTheDoor(t *testing.T) {
	t.Parallel()
	dir := keyFolder(t)
	url := startEmbedded(t, dir, false).URL()
	early := connect(t, url, holder(t, dir, cluster.CoordinatorKey))
	heard, err := early.SubscribeSync("sy.*.control.*")
	if err != nil || early.Flush() != nil {
		t.Fatal(err)
	}
	stop := make(chan struct{})
	var wait sync.WaitGroup
	defer wait.Wait()
	defer close(stop)
	var knocks atomic.Int64
	for range 2 {
		knock(url, stop, &wait, &knocks)
	}
	until(t, "many strangers have come", func() bool { return knocks.Load() > 512 })
	subject := "sy.r.control." + keyName(t, dir, cluster.WorkerKey)
	for i := range 8 {
		conn := patient(t, url, holder(t, dir, cluster.WorkerKey))
		for !conn.IsConnected() {
			if t.Context().Err() != nil {
				t.Fatal("not let in")
			}
			time.Sleep(time.Millisecond)
		}
		if err := conn.Publish(subject, []byte{byte(i)}); err != nil {
			t.Fatal(err)
		}
		if m, err := heard.NextMsg(time.Minute); err != nil || m.Data[0] != byte(i) {
			t.Fatalf("worker %d: got %v, %v", i, m, err)
		}
	}
	if n := early.Statistics.Reconnects; n != 0 {
		t.Errorf("who was there before lost its connection %d times", n)
	}
}

// A guarded broker tells clients no address of its own, works within the process, and ends with all its connections.
func TestGuard_IsNotSeen(t *testing.T) {
	dir := keyFolder(t)
	for _, tls := range []bool{false, true} {
		b := startEmbedded(t, dir, tls)
		var options []nats.Option
		if tls {
			options = append(options, authorities(t, dir, "127.0.0.1"))
		}
		conn := connect(t, b.URL(), append(options, holder(t, dir, cluster.WorkerKey))...)
		if found := conn.DiscoveredServers(); len(found) > 0 {
			t.Errorf("TLS %v: the client is told of %q", tls, found)
		}
		within := connect(t, "", nats.InProcessServer(b), holder(t, dir, cluster.WorkerKey))
		if err := within.Flush(); err != nil {
			t.Errorf("TLS %v: %v", tls, err)
		}
	}
}

// TestBans_HeardFromTheStart: a broker that has started misses no list.
func TestBans_HeardFromTheStart(t *testing.T) {
	dir := keyFolder(t)
	for range 5 {
		b, err := cluster.Start(cluster.Config{
			Listen: "127.0.0.1:0", Auth: dir + "/" + cluster.Auth, Bans: wire.BansSubject, Log: hclog.NewNullLogger(),
		})
		if err != nil {
			t.Fatal(err)
		}
		if b.Server().GlobalAccount().Interest(wire.BansSubject) == 0 {
			t.Error("nobody hears of bans yet")
		}
		b.Shutdown()
	}
}

// The connections of a banned key are closed, it is let in no more, and others notice nothing; until it is let in again.
func TestBans_AtTheBroker(t *testing.T) {
	dir, log := keyFolder(t), &logged{}
	b, err := cluster.Start(cluster.Config{
		Listen: "127.0.0.1:0", Auth: dir + "/" + cluster.Auth, Bans: wire.BansSubject, Log: hclog.New(&hclog.LoggerOptions{Output: log, Level: hclog.Warn}),
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(b.Shutdown)
	lead := connect(t, b.URL(), holder(t, dir, cluster.CoordinatorKey))
	honest := connect(t, b.URL(), holder(t, dir, "worker-second.nk"))
	closed := make(chan struct{})
	var once sync.Once
	thief := patient(t, b.URL(), holder(t, dir, cluster.WorkerKey), nats.DisconnectErrHandler(func(*nats.Conn, error) { once.Do(func() { close(closed) }) }))
	name := keyName(t, dir, cluster.WorkerKey)
	ban := func(names ...string) {
		t.Helper()
		data, err := json.Marshal(append([]string{}, names...))
		if err == nil {
			err = lead.Publish(wire.BansSubject, data)
		}
		if err == nil {
			err = outcome(t, lead)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	ban(name)
	select {
	case <-closed:
	case <-time.After(2 * time.Minute):
		t.Fatalf("it is not closed:\n%s", log)
	}
	if _, err := nats.Connect(b.URL(), holder(t, dir, cluster.WorkerKey), nats.NoReconnect()); !errors.Is(err, nats.ErrAuthorization) {
		t.Errorf("it is let in: %v", err)
	}
	ban(name) // it is told again and again
	if err := outcome(t, honest); err != nil || honest.Statistics.Reconnects != 0 {
		t.Errorf("another key: %v", err)
	}
	if text := log.String(); !strings.Contains(text, name) || !strings.Contains(text, "address=127.0.0.1:") {
		t.Errorf("the log does not name key and connection:\n%s", text)
	}
	ban()
	until(t, "it is let in again", thief.IsConnected)
	if err := outcome(t, lead); err != nil || lead.Statistics.Reconnects != 0 {
		t.Errorf("the coordinator: %v", err)
	}
}
