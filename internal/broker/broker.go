// Package broker runs a NATS server inside the process, so that training needs no other program. It knows nothing about
// the messages.
package broker

import (
	"errors"
	"fmt"
	"net"
	"strings"
	"time"

	"github.com/hashicorp/go-hclog"
	"github.com/nats-io/nats-server/v2/server"
)

var (
	// ErrStart is returned when the server does not start: for example, its address is in use.
	ErrStart = errors.New("broker: cannot start")
	// ErrKeys is returned for a list of users or a certificate that cannot be used.
	ErrKeys = errors.New("broker: cannot use the keys")
)

// startTimeout is how long the server may take to listen.
const startTimeout = 10 * time.Second

// Config configures a broker.
type Config struct {
	// Listen is "host:port"; port 0 takes a free one. Empty: no port; only this process can connect.
	Listen string
	// Auth is a file in the format of NATS with the users and their permissions. Empty: everybody may do everything,
	// which is safe only if no other machine can connect. Connections of this process need a key like all others.
	Auth string
	// Certificate and Key are PEM files. If they are set, connections from outside the process must use TLS.
	Certificate, Key string
	Log              hclog.Logger
}

// Broker is a running NATS server with the default payload limit of 1 MiB.
type Broker struct {
	server *server.Server
	listen bool
}

// Start runs a server and waits until it accepts connections.
func Start(cfg Config) (*Broker, error) {
	options, err := cfg.options()
	if err != nil {
		return nil, err
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
	log.ready()
	return &Broker{server: s, listen: cfg.Listen != ""}, nil
}

// await waits until the server accepts connections, or returns the reason why it does not.
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

// startError is ErrStart with the reason that the server logged; the text of the operating system is in quotes.
func startError(listen, reason string) error {
	if _, inner, quoted := strings.Cut(reason, `, "`); quoted {
		reason = strings.TrimSuffix(inner, `"`)
	}
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

// Retire announces the end of the server to its clients, disconnects them one by one, and returns when the server has
// ended.
func (b *Broker) Retire() {
	b.server.LameDuckShutdown()
	b.Shutdown()
}

// Shutdown closes all connections and returns when the server has ended.
func (b *Broker) Shutdown() {
	b.server.Shutdown()
	b.server.WaitForShutdown()
}
