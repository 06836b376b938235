package cluster

import "github.com/nats-io/nats-server/v2/server"

// Server is the server itself, for tests that look at its counters.
func (b *Broker) Server() *server.Server { return b.server }
