package cluster

import (
	"crypto/x509"
	"errors"
	"fmt"
	"net/url"
	"strings"
	"sync"

	"github.com/nats-io/nats.go"
)

// maxTold bounds how many different troubles are remembered, and so told.
const maxTold = 256

// troubles remembers what was told: each is told once per connection or attempt to make one. Goroutines of the client
// and of its user share it.
type troubles struct {
	mu     sync.Mutex
	last   string          // why there is no connection
	seen   map[string]bool // troubles with the connection that were told; nil: none
	denied map[string]bool // what the broker has refused to this key; nil: nothing
}

// first notes that something is to be told and reports whether it was not before. told is one of the maps of t.
func (t *troubles) first(told *map[string]bool, what string) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if *told == nil {
		*told = make(map[string]bool)
	}
	if (*told)[what] || len(*told) >= maxTold {
		return false
	}
	(*told)[what] = true
	return true
}

// over forgets the troubles of a connection that was restored. If they come again they are told again.
func (t *troubles) over() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.last, t.seen, t.denied = "", nil, nil
}

// notAllowed is the trouble of a key whose role is another.
const notAllowed = "the broker does not let this key do what is needed"

// ErrDenied is returned by Denied.
var ErrDenied = errors.New(notAllowed)

// Denied returns ErrDenied if the broker has refused something to this key since the connection was made, which no
// waiting helps against.
func (b *Bus) Denied() error {
	b.troubles.mu.Lock()
	defer b.troubles.mu.Unlock()
	if len(b.troubles.denied) > 0 {
		return ErrDenied
	}
	return nil
}

// Trouble says why there is no connection to the broker, or what it does not allow, as far as that is known. It is
// empty if all is well.
func (b *Bus) Trouble() string {
	b.troubles.mu.Lock()
	defer b.troubles.mu.Unlock()
	conn := b.conn.Load()
	switch {
	case conn != nil && conn.IsConnected() && len(b.troubles.denied) == 0:
		return ""
	case conn != nil && conn.IsConnected():
		return notAllowed
	case b.troubles.last == "":
		return "the broker does not answer"
	}
	return b.troubles.last
}

// unreached hears of a connection that was not made. What somebody has to put right is told once.
func (b *Bus) unreached(err error) {
	if err == nil {
		return
	}
	what, remedy := b.diagnose(err)
	b.troubles.mu.Lock()
	b.troubles.last = what
	b.troubles.mu.Unlock()
	if remedy != "" && b.troubles.first(&b.troubles.seen, what) {
		b.log.Warn(what, "remedy", remedy, "error", err)
	}
}

// diagnose says what is wrong and what can be done about it: nothing but to wait if the broker is away. remedy is
// empty then.
func (b *Bus) diagnose(err error) (what, remedy string) {
	var authority x509.UnknownAuthorityError
	var host x509.HostnameError
	var invalid x509.CertificateInvalidError
	text := strings.ToLower(err.Error())
	switch {
	case strings.Contains(text, "authorization violation"), strings.Contains(text, "authentication"):
		if b.identity == "" {
			return "the broker requires an nkey", "give the file of one that it knows: --nkey FILE"
		}
		return "the broker does not accept this nkey", "let it load the users that belong to this key, or give the file " +
			"of another: " + b.identity
	case errors.As(err, &authority):
		return "the broker's certificate is signed by an authority that is not trusted here",
			"give the certificate of its authority: --tls-ca FILE"
	case errors.As(err, &host):
		return "the broker's certificate is not for the name that it was reached under",
			"connect by a name that the certificate has, or make one that has this name: " + host.Error()
	case errors.As(err, &invalid):
		return "the broker's certificate is not valid", "make a new one, or set the clock: " + invalid.Error()
	case errors.Is(err, nats.ErrSecureConnWanted):
		return "the broker offers no TLS", "start it with TLS, or connect without --tls-ca"
	case errors.Is(err, nats.ErrTLS):
		return "no secure connection to the broker", "see the error"
	case errors.Is(err, ErrCredentials):
		return "the key cannot be used any more", "see the error"
	}
	return "the broker does not answer", ""
}

// refused hears of a subject that the broker does not let this key publish or subscribe to. The first is told; a key of
// the wrong role meets many.
func (b *Bus) refused(err error) {
	known := b.Denied() != nil
	switch {
	case !b.troubles.first(&b.troubles.denied, err.Error()):
	case known:
		b.log.Debug("the broker does not allow it", "error", err)
	default:
		remedy := "connect with the key of the right role: --nkey FILE"
		if b.identity != "" {
			remedy = fmt.Sprintf("let the broker allow it to %s, or connect with the key of another role", b.identity)
		}
		b.log.Warn("the broker does not allow it", "error", err, "remedy", remedy)
	}
}

// redacted is a list of addresses without the secrets that they may hold. It is for logs and errors.
func redacted(urls string) string {
	list := strings.Split(urls, ",")
	for i, text := range list {
		u, err := url.Parse(strings.TrimSpace(text))
		switch {
		case err != nil && strings.Contains(text, "@"):
			_, list[i], _ = strings.Cut(text, "@")
		case err == nil && u.User != nil:
			u.User = url.User("xxxxx")
			list[i] = u.String()
		}
	}
	return strings.Join(list, ",")
}
