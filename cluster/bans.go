package cluster

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/hashicorp/go-hclog"
	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nkeys"
)

// enforcer closes the server to keys that the coordinator has banned. It hears their list on a subject on which
// coordinators alone may publish, with a key of its own that is good for nothing else and leaves no memory of this
// process.
type enforcer struct {
	broker *Broker // set by listen
	pair   nkeys.KeyPair
	conn   *nats.Conn // within the process
	log    hclog.Logger
	own    *server.NkeyUser // of the enforcer itself

	mu      sync.Mutex
	options *server.Options // with all users
	banned  []string
	cuts    int // how often routes were closed since the server is to have none; 0: it may have some
}

// newEnforcer adds the enforcer's key to the users of a server that is to be started. The key may publish nothing.
func newEnforcer(options *server.Options, subject string, log hclog.Logger) (*enforcer, error) {
	pair, err := nkeys.CreateUser()
	if err != nil {
		return nil, fmt.Errorf("make an nkey: %w", err)
	}
	public, err := pair.PublicKey()
	if err != nil {
		return nil, fmt.Errorf("make an nkey: %w", err)
	}
	own := &server.NkeyUser{Nkey: public, Permissions: &server.Permissions{
		Publish:   &server.SubjectPermission{Deny: []string{">"}},
		Subscribe: &server.SubjectPermission{Allow: []string{subject}},
	}}
	options.Nkeys = append(options.Nkeys, own)
	return &enforcer{options: options.Clone(), pair: pair, own: own, log: log}, nil
}

// listen hears the lists, from one goroutine.
func (b *enforcer) listen(broker *Broker, subject string) error {
	b.broker = broker
	public, err := b.pair.PublicKey()
	if err == nil {
		refused := func(_ *nats.Conn, _ *nats.Subscription, err error) { b.log.Debug("banned keys", "error", err) }
		b.conn, err = nats.Connect("", nats.InProcessServer(broker), nats.Nkey(public, b.pair.Sign), nats.Name("bans"),
			nats.Timeout(startTimeout), nats.MaxReconnects(-1), nats.ErrorHandler(refused))
	}
	if err == nil {
		_, err = b.conn.Subscribe(subject, func(m *nats.Msg) { b.hear(m.Data) })
	}
	if err == nil {
		err = b.conn.FlushTimeout(startTimeout) // from here on no list is missed
	}
	if err != nil {
		return fmt.Errorf("listen for banned keys: %w", err)
	}
	return nil
}

// hear takes a list of banned keys over: those who have them are disconnected. A list that cannot be applied is tried
// again when it comes the next time.
func (b *enforcer) hear(data []byte) {
	var names []string
	if err := json.Unmarshal(data, &names); err != nil {
		b.log.Warn("the list of banned keys cannot be read", "error", err)
		return
	}
	slices.Sort(names)
	b.mu.Lock()
	defer b.mu.Unlock()
	if slices.Equal(names, b.banned) {
		return
	}
	// Connections are named in the log while they are still there.
	b.name(among(names))
	if err := b.apply(names); err != nil {
		b.log.Error("banned keys are still let in", "error", err)
		return
	}
	b.banned = names
}

// among reports for a key whether it begins like one of those named. An empty name is that of nobody.
func among(names []string) func(public string) bool {
	return func(public string) bool {
		return slices.ContainsFunc(names, func(name string) bool { return name != "" && strings.HasPrefix(public, name) })
	}
}

// apply lets the server take in all users but those with the keys named, and no routes while it is cut off. The lock
// is held.
func (b *enforcer) apply(names []string) error {
	banned := among(names)
	options := b.options.Clone()
	options.Nkeys = slices.DeleteFunc(options.Nkeys, func(u *server.NkeyUser) bool { return banned(u.Nkey) })
	// The pin of a key that nobody has lets no route come to be.
	if b.cuts > 0 {
		options.Cluster.TLSPinnedCerts = nobody(b.cuts)
	}
	return b.broker.server.ReloadOptions(options)
}

// load takes other users over; who is banned stays so. An error leaves everything as it was.
func (b *enforcer) load(options *server.Options) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	before := b.options
	options.Nkeys = append(options.Nkeys, b.own)
	b.options = options.Clone()
	err := b.apply(b.banned)
	if err != nil {
		b.options = before
	}
	return err
}

// name logs the connections that are about to be closed.
func (b *enforcer) name(banned func(public string) bool) {
	list, err := b.broker.server.Connz(&server.ConnzOptions{Username: true, Limit: 4 * maxConnections})
	if err != nil {
		b.log.Debug("connections of banned keys", "error", err)
		return
	}
	for _, c := range list.Conns {
		if banned(c.AuthorizedUser) {
			b.log.Warn("connection closed: its key is banned", "key", c.AuthorizedUser, "address",
				fmt.Sprintf("%s:%d", c.IP, c.Port), "name", c.Name)
		}
	}
}

// close ends the connection over which lists come. What is banned stays so.
func (b *enforcer) close() { b.conn.Close() }
