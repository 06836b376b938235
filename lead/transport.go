package lead

import (
	"fmt"
	"path/filepath"

	"github.com/hashicorp/go-hclog"

	"github.com/switchyard-ml/switchyard/cluster"
	"github.com/switchyard-ml/switchyard/wire"
)

// Carrier is how vectors travel between parties of one process.
type Carrier string

// The carriers. They change no bit of what is carried.
const (
	Direct Carrier = "direct" // passed as slices, without messages
	Broker Carrier = "broker" // as messages through the broker, inside the process
	TCP    Carrier = "tcp"    // as messages over the loopback device, as between processes
)

// coordinatorParty is the party that connects with the coordinator's key.
const coordinatorParty = "coordinator"

// Transport is the embedded broker and its connections. Each party has a connection of its own, as if it were a
// process of its own. Connect and Close are called from one goroutine; Plain and Direct from any.
type Transport struct {
	broker  *cluster.Broker
	carrier Carrier
	local   *wire.InProcess // nil: vectors go through the broker as well
	buses   []*cluster.Bus  // those of Connect, which Close closes
	keys    string          // folder; empty: the broker asks for none
	log     hclog.Logger
}

// Embed starts a broker for this process alone. It has a port only if the carrier is TCP. No other process can join
// without one. With the carrier TCP the port is on the loopback device, a free one.
func Embed(carrier Carrier, log hclog.Logger) (*Transport, error) {
	listen := ""
	if carrier == TCP {
		listen = "127.0.0.1:0"
	}
	b, err := cluster.Start(cluster.Config{Listen: listen, Log: log.Named("broker")})
	if err != nil {
		return nil, fmt.Errorf("start the broker: %w", err)
	}
	return NewTransport(b, carrier, "", log), nil
}

// NewTransport connects to a broker of this process and owns it. keys is the folder with the keys of the broker; empty
// if the broker asks for none.
func NewTransport(b *cluster.Broker, carrier Carrier, keys string, log hclog.Logger) *Transport {
	t := &Transport{broker: b, carrier: carrier, keys: keys, log: log}
	if carrier == Direct {
		t.local = wire.NewInProcess()
	}
	return t
}

// Open reports whether parties outside this process can connect.
func (t *Transport) Open() bool { return t.broker.URL() != "" }

// Connect opens a connection for one party. All of them have the coordinator's key: a worker of this process has none
// that was given to anybody else, who could have it banned. The connection lasts until Close.
func (t *Transport) Connect(party string) (wire.Bus, error) {
	bus, err := t.Plain(party)
	if err != nil {
		return nil, err
	}
	t.buses = append(t.buses, bus)
	return t.Direct(bus), nil
}

// Plain opens a connection on which everything goes through the broker. Whoever asks for it closes it.
func (t *Transport) Plain(party string) (*cluster.Bus, error) {
	cfg := cluster.BusConfig{Server: t.broker, Name: party, Log: t.log.Named(party)}
	if t.carrier == TCP {
		cfg.Server, cfg.URL = nil, t.broker.URL()
	}
	if t.keys != "" {
		cfg.NKeyFile = filepath.Join(t.keys, cluster.CoordinatorKey)
	}
	bus, err := cluster.Connect(cfg)
	if err != nil {
		return nil, fmt.Errorf("connect %s to the embedded broker: %w", party, err)
	}
	return bus, nil
}

// Direct is a bus over a connection on which vectors between parties of this process travel as the carrier says.
// Parameters go through the broker, too, if workers of other processes may be there.
func (t *Transport) Direct(bus *cluster.Bus) wire.Bus {
	if t.local == nil {
		return bus
	}
	return t.local.Bus(bus, t.Open())
}

// Close closes the connections and then the broker. Connections of Plain are closed by those who asked for them.
func (t *Transport) Close() {
	for _, bus := range t.buses {
		bus.Close()
	}
	t.broker.Shutdown()
}
