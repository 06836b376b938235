package main

import (
	"fmt"
	"path/filepath"

	"github.com/hashicorp/go-hclog"

	"github.com/switchyard-ml/switchyard/internal/broker"
	"github.com/switchyard-ml/switchyard/internal/keys"
	"github.com/switchyard-ml/switchyard/internal/wire"
	"github.com/switchyard-ml/switchyard/internal/wire/natsbus"
)

// transport is the embedded broker and the connections to it. Each party has its own,
// as it would have in a process of its own.
type transport struct {
	broker *broker.Broker
	local  *wire.InProcess // nil: vectors go through the broker, too
	dial   bool            // connections are those of other processes: over the network
	buses  []*natsbus.Bus
	keys   string // folder; empty: the broker asks for none
	log    hclog.Logger
}

// openTransport starts the broker; with an empty address it has no port at all.
func openTransport(listen string, log hclog.Logger) (*transport, error) {
	return brokerFlags{listen: listen}.transport(log, "")
}

// transport starts the broker that the flags describe, to be connected to from this process.
func (f brokerFlags) transport(log hclog.Logger, initCommand string) (*transport, error) {
	b, err := f.start(log, initCommand)
	if err != nil {
		return nil, err
	}
	if url := b.URL(); url != "" {
		log.Info("the broker listens", "url", url)
	}
	return &transport{broker: b, local: wire.NewInProcess(), keys: f.keys, log: log}, nil
}

// connect opens a connection for one party, with the key of its role: coordinator, or else worker. Parties of this process
// hand each other vectors directly.
func (t *transport) connect(party string) (wire.Bus, error) {
	cfg := natsbus.Config{Server: t.broker, Name: party, Log: t.log.Named(party)}
	if t.dial {
		cfg.Server, cfg.URL = nil, t.broker.URL()
	}
	if t.keys != "" {
		cfg.NKeyFile = filepath.Join(t.keys, keys.WorkerKey)
		if party == "coordinator" {
			cfg.NKeyFile = filepath.Join(t.keys, keys.CoordinatorKey)
		}
	}
	bus, err := natsbus.Connect(cfg)
	if err != nil {
		return nil, fmt.Errorf("connect %s to the embedded broker: %w", party, err)
	}
	t.buses = append(t.buses, bus)
	if t.local == nil {
		return bus, nil
	}
	return t.local.Bus(bus, t.broker.URL() != ""), nil
}

// close closes the connections and then the broker.
func (t *transport) close() {
	for _, bus := range t.buses {
		bus.Close()
	}
	t.broker.Shutdown()
}
