package main

import (
	"fmt"

	"github.com/hashicorp/go-hclog"

	"github.com/switchyard-ml/switchyard/internal/broker"
	"github.com/switchyard-ml/switchyard/internal/wire"
	"github.com/switchyard-ml/switchyard/internal/wire/natsbus"
)

// transport is the embedded broker and the connections to it. Each party has its own,
// as it would have in a process of its own.
type transport struct {
	broker *broker.Broker
	buses  []*natsbus.Bus
	log    hclog.Logger
}

// openTransport starts the broker; with an empty address it has no port at all.
func openTransport(listen string, log hclog.Logger) (*transport, error) {
	b, err := broker.Start(broker.Config{Listen: listen, Log: log.Named("broker")})
	if err != nil {
		return nil, fmt.Errorf("start the embedded broker: %w", err)
	}
	if url := b.URL(); url != "" {
		log.Info("the broker listens", "url", url)
	}
	return &transport{broker: b, log: log}, nil
}

// connect opens a connection for one party.
func (t *transport) connect(party string) (wire.Bus, error) {
	bus, err := natsbus.Connect(natsbus.Config{Server: t.broker, Name: party, Log: t.log.Named(party)})
	if err != nil {
		return nil, fmt.Errorf("connect %s to the embedded broker: %w", party, err)
	}
	t.buses = append(t.buses, bus)
	return bus, nil
}

// close closes the connections and then the broker.
func (t *transport) close() {
	for _, bus := range t.buses {
		bus.Close()
	}
	t.broker.Shutdown()
}
