package cluster

import (
	"context"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/hex"
	"errors"
	"fmt"
	"net"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/nats-io/nats-server/v2/server"
)

// ErrSeed is returned for what is not the address of a server's routes.
var ErrSeed = errors.New("broker: not an address of routes")

// Cluster lets servers join: what is published at one is heard at all, and crosses only the hosts of the two servers
// concerned. Each takes routes of the others and needs to know one of them; it hears of the rest.
//
// Servers trust each other: permissions and bans are those of the server that a client is connected to. Who has the
// certificate of routes can say anything in anybody's name.
type Cluster struct {
	// Name is what all servers call it.
	Name string
	// Listen is the "host:port" at which routes are taken; port 0 takes a free one. Empty: the server is alone.
	Listen string
	// Seeds are addresses of routes of other servers, as "nats-route://host:port" or "host:port". They are tried for
	// ever.
	Seeds []string
	// Certificate, Key and CA are PEM files. With keys they are needed: routes use TLS, and both ends must have the
	// key of this certificate. Without, whoever reaches the address can join.
	Certificate, Key, CA string
	// Expect is the name that the certificate of another server must have.
	Expect string
}

const (
	// routeScheme is that of addresses of routes.
	routeScheme = "nats-route"
	// routePort is that of a seed that names none.
	routePort = "6222"
	// implicitRetries is how often a server that was heard of is tried again. If it is there it comes by itself.
	implicitRetries = 3
)

// SeedURL returns the address of a server's routes with its scheme. The error is ErrSeed, and repeats nothing that
// may be a password.
func SeedURL(text string) (string, error) {
	text = strings.TrimSpace(text)
	if !strings.Contains(text, "://") {
		text = routeScheme + "://" + text
	}
	u, err := url.Parse(text)
	if err != nil {
		return "", fmt.Errorf("%w: it is no URL", ErrSeed) // the error may repeat a password
	}
	// Each mistake has its own words, as people type these addresses.
	switch port, portErr := strconv.Atoi(u.Port()); {
	case u.User != nil:
		return "", fmt.Errorf("%w: it has a user or a password in it; servers prove themselves by a certificate", ErrSeed)
	case u.Scheme == "nats" || u.Scheme == "tls":
		return "", fmt.Errorf("%w: %s is for clients; routes have a port of their own, nats-route://HOST:%s", ErrSeed, text,
			routePort)
	case u.Scheme != routeScheme:
		return "", fmt.Errorf("%w: %s does not begin with %s://", ErrSeed, text, routeScheme)
	case u.Hostname() == "":
		return "", fmt.Errorf("%w: %s has no host", ErrSeed, text)
	case u.Port() == "" && !strings.HasSuffix(u.Host, ":"):
		u.Host = net.JoinHostPort(u.Hostname(), routePort)
	case portErr != nil || port < 1 || port > 65535:
		return "", fmt.Errorf("%w: a port is a number from 1 to 65535, not %q", ErrSeed, u.Port())
	}
	return u.Scheme + "://" + u.Host, nil
}

// use translates a cluster into options of a server. Its name, which no other server may have, is added by the
// caller. Without Listen nothing is changed.
func (c *Cluster) use(options *server.Options) error {
	if c.Listen == "" {
		if len(c.Seeds) > 0 {
			return fmt.Errorf("%w: a server with seeds takes routes, too", ErrStart)
		}
		return nil
	}
	host, port, err := splitListen(c.Listen)
	if err != nil {
		return err
	}
	for _, seed := range c.Seeds {
		text, err := SeedURL(seed)
		if err != nil {
			return err
		}
		u, err := url.Parse(text)
		if err != nil {
			return fmt.Errorf("%w: %w", ErrSeed, err)
		}
		options.Routes = append(options.Routes, u)
	}
	// Clients are told no addresses of other servers: whoever connects to one of ours stays there.
	options.Cluster = server.ClusterOpts{
		Name: c.Name, Host: host, Port: port, NoAdvertise: true,
		ConnectRetries: implicitRetries,
	}
	if c.Certificate == "" {
		return nil
	}
	config, pin, err := c.tls()
	if err != nil {
		return fmt.Errorf("%w: %w", ErrKeys, err)
	}
	options.Cluster.TLSConfig, options.Cluster.TLSPinnedCerts = config, server.PinnedCertSet{pin: {}}
	options.Cluster.TLSTimeout = handshakeTimeout.Seconds()
	return nil
}

// tls is what both ends of a route do: show the certificate, and accept one for the same key by the same authority.
// The pin is compared beside the chain of the certificate: an authority alone lets nobody in.
func (c *Cluster) tls() (config *tls.Config, pin string, err error) {
	pair, err := tls.LoadX509KeyPair(c.Certificate, c.Key)
	if err != nil {
		return nil, "", err
	}
	if pair.Leaf == nil {
		if pair.Leaf, err = x509.ParseCertificate(pair.Certificate[0]); err != nil {
			return nil, "", err
		}
	}
	roots, err := readRoots(c.CA)
	if err != nil {
		return nil, "", err
	}
	return &tls.Config{
		Certificates: []tls.Certificate{pair}, RootCAs: roots, ClientCAs: roots, ClientAuth: tls.RequireAndVerifyClientCert,
		ServerName: c.Expect, MinVersion: tls.VersionTLS12,
	}, PinOf(pair.Leaf), nil
}

// nameServer gives a server of a cluster a name of its own.
func nameServer(options *server.Options) {
	if options.Cluster.Port != 0 {
		var b [6]byte
		rand.Read(b[:])
		options.ServerName += "-" + hex.EncodeToString(b[:])
	}
}

// Routes is the address at which routes are taken, "host:port"; empty if the server is alone.
func (b *Broker) Routes() string {
	if address := b.server.ClusterAddr(); address != nil {
		return address.String()
	}
	return ""
}

// Joined is the number of other servers that are reached. It is 0, too, if the server does not say.
func (b *Broker) Joined() int {
	list, err := b.server.Routez(nil)
	if err != nil {
		return 0
	}
	others := map[string]bool{}
	for _, r := range list.Routes {
		others[r.RemoteID] = true // there are several connections to each
	}
	return len(others)
}

// Running reports whether the server has not ended.
func (b *Broker) Running() bool { return b.server.Running() }

// joinedEvery is the time between two looks at the routes.
const joinedEvery = time.Second

// Follow tells the log how many other servers are reached, whenever that changes, until ctx ends. It blocks.
func (b *Broker) Follow(ctx context.Context) {
	ticker := time.NewTicker(joinedEvery)
	defer ticker.Stop()
	for last := -1; ; {
		if n := b.Joined(); n != last {
			b.log.Info("servers of the cluster", "reached", n)
			last = n
		}
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
	}
}
