package cluster

import (
	"fmt"
	"net"
	"strconv"
	"time"

	"github.com/nats-io/nats-server/v2/server"
)

// Limits of the server. Those that deploy/nats/nats.conf sets, too, have the same values there.
const (
	// writeDeadline is the longest time for one write to a slow link; after it, the server disconnects the client. The
	// default of NATS is 10 s.
	writeDeadline = 60 * time.Second
	// maxConnections limits the memory of the server: up to 64 MiB can wait for each connection.
	maxConnections = 1024
	// maxSubscriptions is the limit per connection. A coordinator has a dozen, and two for each run; a worker has a
	// handful.
	maxSubscriptions = 1024
	// pingInterval and maxPings decide when the server gives up a connection whose machine has disappeared.
	pingInterval = 20 * time.Second
	maxPings     = 2
	// handshakeTimeout is the longest time for a client to authenticate.
	handshakeTimeout = 5 * time.Second
	// retirement is the time in which a server that ends disconnects its clients; grace is the time before the first.
	retirement = 500 * time.Millisecond
	grace      = 100 * time.Millisecond
)

// options translates a configuration into options of the server. It reads the files that the configuration names.
// ErrKeys and ErrStart say what is wrong.
func (cfg *Config) options() (*server.Options, error) {
	options := &server.Options{}
	if cfg.Auth != "" {
		var err error
		if options, err = server.ProcessConfigFile(cfg.Auth); err != nil {
			return nil, fmt.Errorf("%w: %w", ErrKeys, err)
		}
		if len(options.Nkeys)+len(options.Users) == 0 { // without users everybody may connect
			return nil, fmt.Errorf("%w: %s names no user", ErrKeys, cfg.Auth)
		}
	}
	if err := cfg.useTLS(options); err != nil {
		return nil, err
	}
	options.ServerName, options.NoSigs, options.NoLog = "switchyard", true, false
	options.WriteDeadline, options.MaxConn, options.MaxSubs = writeDeadline, maxConnections, maxSubscriptions
	options.PingInterval, options.MaxPingsOut = pingInterval, maxPings
	options.AuthTimeout = handshakeTimeout.Seconds()
	options.LameDuckDuration, options.LameDuckGracePeriod = retirement, grace
	if err := cfg.Cluster.use(options); err != nil {
		return nil, err
	}
	var err error
	switch {
	case cfg.Listen != "":
		options.Host, options.Port, err = splitListen(cfg.Listen)
	case options.Cluster.Port != 0: // NATS takes routes only where it takes clients
		options.Host, options.Port = "127.0.0.1", server.RANDOM_PORT
	default:
		options.DontListen = true
	}
	return options, err
}

// splitListen returns host and port of an address to listen on, as the server takes them. The error is ErrStart.
func splitListen(address string) (host string, port int, err error) {
	host, text, err := net.SplitHostPort(address)
	if err != nil {
		return "", 0, fmt.Errorf("%w: %w", ErrStart, err)
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < 0 || n > 65535 {
		return "", 0, fmt.Errorf("%w: port %q", ErrStart, text)
	}
	if n == 0 {
		n = server.RANDOM_PORT
	}
	return host, n, nil
}

// useTLS lets clients from outside the process connect by TLS only. Without a certificate it changes nothing.
func (cfg *Config) useTLS(options *server.Options) error {
	if cfg.Certificate == "" {
		return nil
	}
	config, err := server.GenTLSConfig(&server.TLSConfigOpts{CertFile: cfg.Certificate, KeyFile: cfg.Key})
	if err != nil {
		return fmt.Errorf("%w: %w", ErrKeys, err)
	}
	options.TLS, options.TLSConfig, options.TLSTimeout = true, config, handshakeTimeout.Seconds()
	return nil
}
