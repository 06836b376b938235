package lead

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/hashicorp/go-hclog"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/micro"

	"github.com/switchyard-ml/switchyard/cluster"
	"github.com/switchyard-ml/switchyard/config"
	"github.com/switchyard-ml/switchyard/ops"
)

// connectedHost is a host at a broker, with a connection of its own. connecting is called before each connection.
func connectedHost(t *testing.T, b *cluster.Broker, connecting func(h *Host, party string)) *Host {
	t.Helper()
	var h *Host
	h = New(Config{
		RunsDir: t.TempDir(), Kinds: config.Builtin().Kinds(), Log: hclog.NewNullLogger(),
		Connect: func(party string) (*cluster.Bus, error) {
			connecting(h, party)
			return cluster.Connect(cluster.BusConfig{Server: b, Name: party, Log: hclog.NewNullLogger()})
		},
	})
	if err := h.Connect(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(h.Close)
	return h
}

// startBroker starts a broker for the time of a test.
func startBroker(t *testing.T) *cluster.Broker {
	t.Helper()
	b, err := cluster.Start(cluster.Config{Listen: "127.0.0.1:0", Log: hclog.NewNullLogger()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(b.Shutdown)
	return b
}

// TestHost_TheYoungerGivesIn: when brokers that were apart find each other, one of their hosts ends.
func TestHost_TheYoungerGivesIn(t *testing.T) {
	b := startBroker(t)
	connected := func() *Host { return connectedHost(t, b, func(*Host, string) {}) }
	server, err := connected().alone(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := server.Stop(); err != nil {
			t.Error(err)
		}
	}()
	h := connected()
	h.look = time.Millisecond
	err = h.watchRivals(t.Context(), ops.Identity{ID: "younger", Started: time.Now().Add(time.Hour)})
	if !errors.Is(err, errRival) {
		t.Errorf("got %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	subject, err := micro.ControlSubject(micro.PingVerb, ops.Service, "")
	if err != nil {
		t.Fatal(err)
	}
	looks := 0
	sub, err := h.bus.Conn().Subscribe(subject, func(*nats.Msg) {
		if looks++; looks == 2 { // it has heard all answers to its first
			cancel()
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	defer sub.Unsubscribe()
	if err := h.watchRivals(ctx, ops.Identity{ID: "older", Started: time.Now().Add(-time.Hour)}); err != nil {
		t.Errorf("the older one gives in: %v", err)
	}
}
