package cluster

import (
	"cmp"
	"crypto/rand"
	"errors"
	"fmt"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"github.com/hashicorp/go-hclog"
	"github.com/nats-io/nats.go"

	"github.com/switchyard-ml/switchyard/wire"
)

const (
	// defaultPayload is the limit of a NATS server that says nothing else.
	defaultPayload = 1 << 20
	// pendingBytes is what a subscription may hold that its handler has not taken; messages beyond are lost.
	pendingBytes = 64 << 20
	// flushTimeout bounds the wait for the server to have seen what was sent.
	flushTimeout = 2 * time.Second
	// writeTimeout bounds one write to a broker that takes nothing any more, during which Publish does not return.
	writeTimeout = 5 * time.Second

	// Between two attempts to connect passes at least retryWait, and after patientAfter of them patientRetry. A broker
	// that is there and sends us away, and logs it, is asked less often.
	retryWait     = 200 * time.Millisecond
	patientRetry  = time.Second
	patientAfter  = 100
	refusedWait   = 500 * time.Millisecond
	refusedRetry  = 5 * time.Second
	refusedBefore = 10
)

// Embedded is a broker in the same process. A Broker is one.
type Embedded interface {
	InProcessConn() (net.Conn, error)
}

// BusConfig says how to reach the broker.
type BusConfig struct {
	URL string // nats://host:port, or several with commas between
	// Server, if set, is what the connection is made to, within the process. If it is a Member and there is a URL, then
	// only while it reaches others: what is at the URL stands in for it.
	Server Embedded
	Name   string // shown by the broker
	// NKeyFile holds the seed of the nkey that proves who this is. Empty: nothing does.
	NKeyFile string
	// Changed is called once if the broker asks for proof and the file holds another key than at the start. The caller
	// is to connect anew. May be nil.
	Changed func()
	// CAFile holds the certificates, in PEM, of the authorities that the broker's certificate may be signed by; without
	// TLS there is no connection then. Empty: TLS if the broker wants it, with the authorities of the system.
	CAFile string
	Log    hclog.Logger

	settled time.Duration // of ownDialer; 0: defaultSettled
}

// Bus is a connection to a broker. A lost connection is restored for ever; meanwhile Publish fails at once, so that
// nothing stale is sent later. Several goroutines may use it.
type Bus struct {
	conn     atomic.Pointer[nats.Conn]
	log      hclog.Logger
	closed   atomic.Bool // by Close
	identity string      // public part of the nkey
	changed  sync.Once   // BusConfig.Changed was called
	troubles troubles
	end      chan struct{} // closed by Close
	watching sync.WaitGroup
}

var _ wire.Bus = (*Bus)(nil)

// Connect returns a bus. A broker that cannot be reached or that does not accept the credentials is no error: the
// connection is made when it is there and does. An address or a file that cannot be used is one.
func Connect(cfg BusConfig) (*Bus, error) {
	b := &Bus{log: cfg.Log, end: make(chan struct{})}
	options, err := b.credentials(cfg)
	if err != nil {
		return nil, fmt.Errorf("connect to broker %s: %w", redacted(cfg.URL), err)
	}
	options = append(options,
		nats.Name(cfg.Name),
		nats.MaxReconnects(-1),
		nats.RetryOnFailedConnect(true),
		nats.CustomReconnectDelay(b.delay),
		nats.ReconnectBufSize(-1),
		// A broker that restarts may refuse credentials for a while; two refusals in a row would close the connection.
		nats.IgnoreAuthErrorAbort(),
		// An answer waits behind all that is on its way to us, which on a slow link takes seconds.
		nats.PingInterval(10*time.Second),
		nats.MaxPingsOutstanding(3),
		nats.FlusherTimeout(writeTimeout),
		nats.Timeout(5*time.Second),
		nats.ConnectHandler(func(*nats.Conn) {
			b.troubles.over()
			b.log.Debug("connected to the broker")
		}),
		nats.ReconnectHandler(func(*nats.Conn) {
			b.troubles.over()
			b.log.Info("connected to the broker again")
		}),
		nats.ReconnectErrHandler(func(_ *nats.Conn, err error) { b.unreached(err) }),
		nats.DisconnectErrHandler(b.disconnected),
		nats.ClosedHandler(b.ended),
		nats.ErrorHandler(b.failed),
	)
	// Three ways: to the own server while it is part of the cluster, to it alone, or over the network.
	own, _ := cfg.Server.(Member)
	var dialer *ownDialer
	switch {
	case own != nil && cfg.URL != "":
		dialer = &ownDialer{own: own, secure: cfg.CAFile != "", ended: b.end, settled: cmp.Or(cfg.settled, defaultSettled)}
		options = append(options, nats.SetCustomDialer(dialer), nats.SkipHostLookup())
	case cfg.Server != nil:
		options = append(options, nats.InProcessServer(cfg.Server))
	}
	conn, err := nats.Connect(cfg.URL, options...)
	if err != nil {
		return nil, fmt.Errorf("connect to broker %s: %w", redacted(cfg.URL), err)
	}
	b.conn.Store(conn)
	if dialer != nil {
		b.watching.Go(func() { b.watch(dialer, b.end) })
	}
	if !conn.IsConnected() {
		b.log.Info("no connection to the broker yet; trying again", "url", redacted(cfg.URL))
	}
	return b, nil
}

// Conn is the connection itself, for what goes beside the protocol of package wire.
func (b *Bus) Conn() *nats.Conn { return b.conn.Load() }

// delay is how long to wait before the next attempt to connect, and looks why the last one failed, which the client
// does not tell before the first connection. It is called by the client between two rounds of attempts.
func (b *Bus) delay(attempts int) time.Duration {
	wait, later, patient := retryWait, patientRetry, patientAfter
	if conn := b.conn.Load(); conn != nil {
		if err := conn.LastError(); err != nil {
			b.unreached(err)
			wait, later, patient = refusedWait, refusedRetry, refusedBefore
		}
	}
	if attempts > patient {
		wait = later
	}
	// Clients that lost the same broker are not to come back at the same moment.
	var jitter [1]byte
	rand.Read(jitter[:])
	return wait + wait*time.Duration(jitter[0])/512
}

// disconnected hears that the connection was lost; it is being restored.
func (b *Bus) disconnected(conn *nats.Conn, err error) {
	if !conn.IsClosed() {
		b.log.Warn("connection to the broker lost", "error", err)
	}
}

// ended hears of the end of the connection, after which nothing is sent or heard.
func (b *Bus) ended(conn *nats.Conn) {
	if !b.closed.Load() {
		b.log.Error("connection to the broker closed for good", "error", conn.LastError())
	}
}

// failed hears of errors that no call returns: messages dropped because a handler is slow, and missing permissions.
func (b *Bus) failed(_ *nats.Conn, sub *nats.Subscription, err error) {
	subject := ""
	if sub != nil {
		subject = sub.Subject
	}
	switch {
	case errors.Is(err, nats.ErrPermissionViolation):
		b.refused(err)
		return
	case errors.Is(err, nats.ErrAuthorization), errors.Is(err, ErrCredentials):
		b.unreached(err)
		return
	}
	b.log.Warn("broker", "subject", subject, "error", err)
}

// MaxPayload implements wire.Bus. Before the first connection it is what a server has that says nothing else.
func (b *Bus) MaxPayload() int {
	if n := b.Conn().MaxPayload(); n > 0 {
		return int(n)
	}
	return defaultPayload
}

// Publish implements wire.Bus. The data are copied, and sent soon.
func (b *Bus) Publish(subject string, data []byte) error {
	err := b.Conn().Publish(subject, data)
	if errors.Is(err, nats.ErrMaxPayload) {
		return fmt.Errorf("%w: %d bytes, limit %d", wire.ErrTooLarge, len(data), b.MaxPayload())
	}
	if err != nil {
		return fmt.Errorf("publish to %s: %w", subject, err)
	}
	return nil
}

// Key implements wire.Bus.
func (b *Bus) Key() string { return wire.KeyName(b.identity) }

// Subscribe implements wire.Bus. When it returns, the broker has seen the subscription, unless it is away.
func (b *Bus) Subscribe(subject string, handle func(data []byte)) (wire.Subscription, error) {
	return b.subscribe(subject, func(m *nats.Msg) { handle(m.Data) })
}

// Hear implements wire.Bus, as Subscribe.
func (b *Bus) Hear(subject string, handle func(key string, data []byte)) (wire.Subscription, error) {
	return b.subscribe(wire.By(subject, wire.AnyKey), func(m *nats.Msg) { handle(m.Subject[len(subject)+1:], m.Data) })
}

// subscribe lets handle be called on a goroutine of the subscription.
func (b *Bus) subscribe(subject string, handle nats.MsgHandler) (wire.Subscription, error) {
	done := make(chan struct{})
	sub, err := b.Conn().Subscribe(subject, handle)
	if err != nil {
		return nil, fmt.Errorf("subscribe: %w", err)
	}
	// It is called when the last handler has returned: Unsubscribe waits for that.
	sub.SetClosedHandler(func(string) { close(done) })
	if err := sub.SetPendingLimits(-1, pendingBytes); err != nil {
		return nil, fmt.Errorf("subscribe: %w", errors.Join(err, sub.Unsubscribe()))
	}
	// What others send from now on is to be heard.
	if b.Conn().IsConnected() {
		if err := b.Conn().FlushTimeout(flushTimeout); err != nil {
			b.log.Debug("subscription not confirmed", "subject", subject, "error", err)
		}
	}
	return &subscription{sub, done}, nil
}

// Close sends what is on its way and closes the connection. It may be called more than once.
func (b *Bus) Close() {
	if !b.closed.Swap(true) {
		close(b.end)
	}
	b.watching.Wait()
	if b.Conn().IsConnected() {
		if err := b.Conn().FlushTimeout(flushTimeout); err != nil {
			b.log.Debug("flush", "error", err)
		}
	}
	b.Conn().Close()
}

// subscription is one at the broker. done is closed when no handler runs any more.
type subscription struct {
	sub  *nats.Subscription
	done chan struct{}
}

// Unsubscribe implements wire.Subscription. One that ended with its connection is no error.
func (s *subscription) Unsubscribe() error {
	err := s.sub.Unsubscribe()
	if err != nil && !errors.Is(err, nats.ErrConnectionClosed) && !errors.Is(err, nats.ErrBadSubscription) {
		return fmt.Errorf("unsubscribe: %w", err)
	}
	<-s.done
	return nil
}
