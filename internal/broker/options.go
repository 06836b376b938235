package broker

import (
	"fmt"
	"net"
	"strconv"
	"time"

	"github.com/nats-io/nats-server/v2/server"
)

// Limits of the server; those that deploy/nats/nats.conf names have the same values there.
const (
	// writeDeadline is how long a slow link may take for one write before the server gives it up; NATS has 10 s.
	writeDeadline = 60 * time.Second
	// maxConnections times the 64 MiB that may wait for each bounds the server's memory.
	maxConnections = 1024
	// maxSubscriptions is per connection. A coordinator has a dozen and two for each run, a worker a handful.
	maxSubscriptions = 1024
	// pingInterval and maxPings bound the life of a connection whose machine has vanished.
	pingInterval = 20 * time.Second
	maxPings     = 2
	// handshakeTimeout is how long a client may take to prove who it is.
	handshakeTimeout = 5 * time.Second
	// retirement is how long the clients of a server that ends are let go; grace is the part before the first.
	retirement = 500 * time.Millisecond
	grace      = 100 * time.Millisecond
)

// options are the server's, for a configuration.
func (cfg *Config) options() (*server.Options, error) {
	options := &server.Options{}
	if cfg.Auth != "" {
		var err error
		if options, err = server.ProcessConfigFile(cfg.Auth); err != nil {
			return nil, fmt.Errorf("%w: %w", ErrKeys, err)
		}
		if len(options.Nkeys)+len(options.Users) == 0 { // it would let everybody in
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
	options.DontListen = cfg.Listen == ""
	if cfg.Listen == "" {
		return options, nil
	}
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
	return options, nil
}

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
