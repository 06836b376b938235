// Package broker runs a NATS server inside the process, so that one command trains without anything installed. It
// knows nothing of what is sent.
package broker

import (
	"errors"
	"fmt"
	"net"
	"strconv"
	"time"

	"github.com/hashicorp/go-hclog"
	"github.com/nats-io/nats-server/v2/server"
)

// ErrStart is returned when the server does not come up: its address is taken or not ours.
var ErrStart = errors.New("broker: cannot start")

const (
	// startTimeout is how long the server may take to listen.
	startTimeout = 10 * time.Second
	// writeDeadline is how long a slow link may take for one write before the server gives it up; NATS has 10 s.
	writeDeadline = 60 * time.Second
)

// Config says where the broker listens.
type Config struct {
	// Listen is "host:port", with port 0 for a free one. Empty: no port at all, connections come from this process.
	Listen string
	Log    hclog.Logger
}

// Broker is a running NATS server with the default payload limit of 1 MiB.
type Broker struct {
	server *server.Server
	listen bool
}

// Start runs a server and waits until it can be connected to.
func Start(cfg Config) (*Broker, error) {
	options := &server.Options{
		ServerName: "switchyard", NoSigs: true, WriteDeadline: writeDeadline, DontListen: cfg.Listen == "",
	}
	if cfg.Listen != "" {
		host, port, err := net.SplitHostPort(cfg.Listen)
		if err != nil {
			return nil, fmt.Errorf("%w: %w", ErrStart, err)
		}
		n, err := strconv.Atoi(port)
		if err != nil || n < 0 || n > 65535 {
			return nil, fmt.Errorf("%w: port %q", ErrStart, port)
		}
		if n == 0 {
			n = server.RANDOM_PORT
		}
		options.Host, options.Port = host, n
	}
	s, err := server.NewServer(options)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrStart, err)
	}
	log := &adapter{log: cfg.Log}
	s.SetLoggerV2(log, false, false, false)
	go s.Start()
	if reason := await(s.ReadyForConnections, log, startTimeout); reason != "" {
		s.Shutdown()
		return nil, startError(cfg.Listen, reason)
	}
	return &Broker{server: s, listen: cfg.Listen != ""}, nil
}

// await waits until the server takes connections, or returns the reason why it does not.
func await(ready func(time.Duration) bool, log *adapter, timeout time.Duration) string {
	for deadline := time.Now().Add(timeout); !ready(100 * time.Millisecond); {
		if last := log.lastError(); last != "" {
			return last
		}
		if time.Now().After(deadline) {
			return fmt.Sprintf("it takes no connections after %v", timeout)
		}
	}
	return ""
}

func startError(listen, reason string) error {
	if listen == "" {
		return fmt.Errorf("%w: %s", ErrStart, reason)
	}
	return fmt.Errorf("%w on %s: %s", ErrStart, listen, reason)
}

// URL is the address for other processes; empty if there is none.
func (b *Broker) URL() string {
	if !b.listen {
		return ""
	}
	return b.server.ClientURL()
}

// InProcessConn connects within the process.
func (b *Broker) InProcessConn() (net.Conn, error) { return b.server.InProcessConn() }

// Shutdown closes all connections and returns when the server has ended.
func (b *Broker) Shutdown() {
	b.server.Shutdown()
	b.server.WaitForShutdown()
}
