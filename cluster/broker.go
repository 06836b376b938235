package cluster

import (
	"cmp"
	"errors"
	"fmt"
	"net"
	"strings"
	"sync"
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

// startTimeout is how long the server may take to listen, and to answer its own client, on a machine that is busy.
const startTimeout = 30 * time.Second

// Config configures a broker.
type Config struct {
	// Listen is "host:port"; port 0 takes a free one. Empty: no port; only this process can connect.
	Listen string
	// Auth is a file in the format of NATS with the users and their permissions. Empty: everybody may do everything,
	// which is safe only if no other machine can connect. Connections of this process need a key like all others. The
	// file, and those of the certificate, are loaded again when they change.
	Auth string
	// Certificate and Key are PEM files. If they are set, connections from outside the process must use TLS.
	Certificate, Key string
	// Bans is a subject on which coordinators say, as a JSON list, how the keys begin that are to be let in no more.
	// Empty: there is none. Without Auth nobody is told apart.
	Bans string
	// Cluster joins the server to others.
	Cluster Cluster
	Log     hclog.Logger
}

// Broker is a running NATS server with the default payload limit of 1 MiB.
type Broker struct {
	server   *server.Server
	log      hclog.Logger
	listen   bool      // it has a port
	url      string    // where others connect
	guard    *guard    // nil: the server listens itself
	enforcer *enforcer // nil: nobody is banned
	end      sync.Once
	ended    chan struct{} // closed when the server is to end
	reloads  sync.WaitGroup
}

// Start runs a server and waits until it accepts connections. It returns ErrStart or ErrKeys if that fails.
func Start(cfg Config) (*Broker, error) {
	// What changes from here on, while the server starts, is loaded again.
	follow := newReloader(cfg)
	options, err := cfg.options()
	if err != nil {
		return nil, err
	}
	guarded := cfg.Listen != "" && cfg.Auth != "" // with keys, a guard stands before the server
	if guarded {
		behindGuard(options)
	}
	nameServer(options)
	b := &Broker{listen: cfg.Listen != "", log: cfg.Log, ended: make(chan struct{})}
	// Without keys everybody is NoKey, whom no ban can name.
	if cfg.Auth != "" && cfg.Bans != "" {
		if b.enforcer, err = newEnforcer(options, cfg.Bans, cfg.Log); err != nil {
			return nil, err
		}
	}
	var front net.Listener
	if guarded {
		if front, err = net.Listen("tcp", cfg.Listen); err != nil {
			return nil, startError(cfg.Listen, err.Error())
		}
	}
	if err := b.start(options, cfg, front); err != nil {
		if front != nil {
			front.Close()
		}
		return nil, err
	}
	if cfg.Auth != "" {
		follow.broker = b
		b.reloads.Go(func() { follow.run(b.ended) })
	}
	return b, nil
}

// behindGuard lets a server listen for the guard alone. No other machine can so claim an address that is not its own.
func behindGuard(options *server.Options) {
	options.Host, options.Port, options.ProxyProtocol, options.Cluster.NoAdvertise = "127.0.0.1", server.RANDOM_PORT, true,
		true
}

// start runs the server, behind a guard if there is one. It waits for the server, up to startTimeout.
func (b *Broker) start(options *server.Options, cfg Config, front net.Listener) error {
	s, err := server.NewServer(options)
	if err != nil {
		return fmt.Errorf("%w: %w", ErrStart, err)
	}
	log := &adapter{log: cfg.Log}
	s.SetLoggerV2(log, false, false, false)
	go s.Start()
	if reason := await(s.ReadyForConnections, log, startTimeout); reason != "" {
		s.Shutdown()
		if strings.Contains(reason, routerPort) {
			return startError(cfg.Cluster.Listen, reason)
		}
		return startError(cfg.Listen, reason)
	}
	log.ready()
	b.server, b.url = s, s.ClientURL()
	if front != nil {
		b.guard = watch(front, s.Addr().String(), s, cfg.Log)
		scheme, _, _ := strings.Cut(b.url, "://")
		host, _, _ := net.SplitHostPort(cfg.Listen) // it was listened on
		_, port, _ := net.SplitHostPort(front.Addr().String())
		b.url = scheme + "://" + net.JoinHostPort(cmp.Or(host, server.DEFAULT_HOST), port)
	}
	if b.enforcer == nil {
		return nil
	}
	// A broker that does not hear of bans is none: it would let in whom it should not.
	if err := b.enforcer.listen(b, cfg.Bans); err != nil {
		b.enforcer = nil
		b.Shutdown()
		return fmt.Errorf("%w: %w", ErrStart, err)
	}
	return nil
}

// await waits until the server accepts connections, or returns the reason why it does not. Empty: it does.
func await(ready func(time.Duration) bool, log *adapter, timeout time.Duration) string {
	for deadline := time.Now().Add(timeout); !ready(100 * time.Millisecond); {
		if last := log.lastError(); last != "" {
			return last
		}
		if time.Now().After(deadline) {
			return fmt.Sprintf("it accepts no connections after %v", timeout)
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
	return b.url
}

// InProcessConn connects within the process.
func (b *Broker) InProcessConn() (net.Conn, error) {
	return b.server.InProcessConn() // without a header of the PROXY protocol, which the server does not insist on
}

// Retire announces the end of the server to its clients, disconnects them one by one, and returns when the server has
// ended. That takes about the time of retirement.
func (b *Broker) Retire() {
	b.stopReloads()
	if b.guard != nil {
		b.guard.refuse()
	}
	b.server.LameDuckShutdown()
	b.Shutdown()
}

// Shutdown closes all connections and returns when the server has ended.
func (b *Broker) Shutdown() {
	b.stopReloads()
	if b.enforcer != nil {
		b.enforcer.close()
	}
	b.server.Shutdown()
	b.server.WaitForShutdown()
	if b.guard != nil {
		b.guard.close()
	}
}

// stopReloads ends what follows the files. It may be called more than once.
func (b *Broker) stopReloads() {
	b.end.Do(func() { close(b.ended) })
	b.reloads.Wait()
}
