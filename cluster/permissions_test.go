package cluster_test

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/hashicorp/go-hclog"
	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nkeys"

	"github.com/switchyard-ml/switchyard/cluster"
	"github.com/switchyard-ml/switchyard/wire"
)

// keyFolder makes keys and puts the configuration of the official image beside them, as on a broker's machine.
func keyFolder(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	if _, err := cluster.Init(cluster.InitConfig{Dir: dir, BrokerDir: dir, Workers: []string{"second"}}, time.Now()); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"nats.conf", "tls.conf"} {
		data, err := os.ReadFile(filepath.Join("..", "deploy", "nats", name))
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, name), data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// startImage runs a server as the official image does, from a configuration in a folder of keys, and returns its URL.
func startImage(t *testing.T, dir, conf string) string {
	t.Helper()
	options, err := server.ProcessConfigFile(filepath.Join(dir, conf))
	if err != nil {
		t.Fatal(err)
	}
	return startImageWith(t, options).ClientURL()
}

// startImageWith runs a server with options that were read, on ports of this machine alone.
func startImageWith(t *testing.T, options *server.Options) *server.Server {
	t.Helper()
	options.Host, options.Port, options.HTTPPort, options.NoSigs, options.NoLog = "127.0.0.1", server.RANDOM_PORT, server.RANDOM_PORT, true, true
	s, err := server.NewServer(options)
	if err != nil {
		t.Fatal(err)
	}
	go s.Start()
	t.Cleanup(func() {
		s.Shutdown()
		s.WaitForShutdown()
	})
	if !s.ReadyForConnections(10 * time.Second) {
		t.Fatal("the server does not listen")
	}
	return s
}

// startEmbedded runs the broker of this program with a folder of keys.
func startEmbedded(t *testing.T, dir string, withTLS bool) *cluster.Broker {
	t.Helper()
	cfg := cluster.Config{Listen: "127.0.0.1:0", Auth: filepath.Join(dir, cluster.Auth), Log: hclog.NewNullLogger()}
	if withTLS {
		cfg.Certificate, cfg.Key = filepath.Join(dir, cluster.Server), filepath.Join(dir, cluster.ServerKey)
	}
	b, err := cluster.Start(cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(b.Shutdown)
	return b
}

// holder returns the option of a client that has a key.
func holder(t *testing.T, dir, file string) nats.Option {
	t.Helper()
	option, err := nats.NkeyOptionFromSeed(filepath.Join(dir, file))
	if err != nil {
		t.Fatal(err)
	}
	return option
}

func connect(t *testing.T, url string, options ...nats.Option) *nats.Conn {
	t.Helper()
	conn, err := nats.Connect(url, append(options, nats.NoReconnect(), nats.ErrorHandler(func(*nats.Conn, *nats.Subscription, error) {}))...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(conn.Close)
	return conn
}

// outcome is what the broker says of what a connection has just done.
func outcome(t *testing.T, conn *nats.Conn) error {
	t.Helper()
	if err := conn.FlushTimeout(10 * time.Second); err != nil {
		t.Fatal(err)
	}
	return conn.LastError()
}

// permissions are what each key may do; KEY stands for the name of the key, and OTHER for that of another worker's.
var permissions = []struct {
	key                string
	publish, subscribe []string // allowed
	mute, deaf         []string // denied
}{
	{
		cluster.CoordinatorKey,
		[]string{"sy.r.theta", "sy.r.all", "sy.r.worker.OTHER.w1", "sypool.worker.OTHER.w1", "sy.r.control.KEY", "sybroker.bans", "_INBOX.a.b", "$SRV.PING"},
		[]string{"sy.r.control.*", "sy.r.data.*", "sy.*.control.OTHER", "sypool.seek.*", "switchyard.submit", "switchyard.runs.list", "$SRV.PING", "_INBOX.>"},
		[]string{"sy.r.control.OTHER", "sy.r.data.OTHER", "sypool.seek.OTHER", "sypool.seek", "switchyard.submit", "anything", "$SYS.REQ.SERVER.PING"},
		[]string{">", "sy.>", "sy.r.worker.OTHER.w1", "sybroker.bans", "$SYS.>"},
	},
	{
		cluster.WorkerKey,
		[]string{"sy.r.control.KEY", "sy.r.data.KEY", "sypool.seek.KEY", "sy.r.peer.OTHER.w1.KEY", "sy.r.peer.KEY.w1.KEY"},
		[]string{"sy.r.theta", "sy.r.all", "sy.r.worker.KEY.w1", "sy.r.peer.KEY.w1.*", "sy.r.peer.KEY.w1.OTHER", "sypool.worker.KEY.w1", "sypool.worker.KEY.*", "sy.*.worker.KEY.*"},
		[]string{
			"sy.r.control.OTHER", "sy.r.data.OTHER", "sypool.seek.OTHER", "sypool.seek", "sybroker.bans", "sy.r.control", "sy.r.control.KEY.x", "sy.r.control.open",
			"sy.r.peer.KEY.w1.OTHER", "sy.r.peer.OTHER.w1.OTHER", "sy.r.peer.OTHER.w1", "sy.r.peer.OTHER.w1.open",
			"sy.r.theta", "sy.r.all", "sy.r.worker.KEY.w1", "sy.r.worker.OTHER.w2", "sypool.worker.KEY.w1", "switchyard.submit", "switchyard.runs.stop",
			"_INBOX.a.b", "$SRV.PING", "$SYS.REQ.SERVER.PING", "$JS.API.INFO", "anything",
		},
		[]string{
			">", "sy.>", "sy.*.*", "sy.r.*", "*.r.control.*", "sy.r.control.KEY", "sy.*.control.*", "sy.r.data.*", "sypool.>", "sypool.seek.*", "sypool.seek.KEY",
			"sy.r.peer.OTHER.w1.*", "sy.r.peer.OTHER.w1.KEY", "sy.r.peer.*.*.*", "sy.r.peer.*.*.KEY", "sy.r.peer.>",
			"sy.r.worker.OTHER.w1", "sy.*.worker.*.*", "sy.r.worker.>", "sypool.worker.OTHER.w1", "sypool.worker.*.*", "sypool.worker.>",
			"switchyard.>", "switchyard.submit", "_INBOX.>", "$SRV.>", "$SYS.>", "$JS.>",
		},
	},
	{
		cluster.OperatorKey,
		[]string{"switchyard.submit", "switchyard.runs.list", "$SRV.PING", "$SRV.INFO.switchyard"},
		[]string{"_INBOX.>", "_INBOX.a.b"},
		[]string{"sy.r.theta", "sy.r.all", "sy.r.worker.OTHER.w1", "sy.r.control.KEY", "sy.r.data.KEY", "sypool.seek.KEY", "sypool.worker.OTHER.w1", "_INBOX.a.b", "anything"},
		[]string{">", "sy.>", "sy.r.theta", "sy.r.control.*", "sypool.>", "switchyard.>", "$SRV.>", "$SYS.>"},
	},
}

// Each role may do what it needs and nothing else, at the broker of the image and at ours.
func TestPermissions(t *testing.T) {
	dir := keyFolder(t)
	for where, url := range map[string]string{
		"image": startImage(t, dir, "nats.conf"), "embedded": startEmbedded(t, dir, false).URL(),
	} {
		for _, p := range permissions {
			named := strings.NewReplacer("KEY", keyName(t, dir, p.key), "OTHER", keyName(t, dir, "worker-second.nk"))
			t.Run(where+"/"+p.key, func(t *testing.T) {
				for _, subject := range p.publish {
					checkPublish(t, url, holder(t, dir, p.key), named.Replace(subject), true)
				}
				for _, subject := range p.mute {
					checkPublish(t, url, holder(t, dir, p.key), named.Replace(subject), false)
				}
				for _, subject := range p.subscribe {
					checkSubscribe(t, url, holder(t, dir, p.key), named.Replace(subject), true)
				}
				for _, subject := range p.deaf {
					checkSubscribe(t, url, holder(t, dir, p.key), named.Replace(subject), false)
				}
			})
		}
	}
}

func checkPublish(t *testing.T, url string, key nats.Option, subject string, allowed bool) {
	t.Helper()
	conn := connect(t, url, key)
	defer conn.Close()
	if err := conn.Publish(subject, []byte("x")); err != nil {
		t.Fatal(err)
	}
	if err := outcome(t, conn); (err == nil) != allowed || err != nil && !errors.Is(err, nats.ErrPermissionViolation) {
		t.Errorf("publish %s: got %v", subject, err)
	}
}

func checkSubscribe(t *testing.T, url string, key nats.Option, subject string, allowed bool) {
	t.Helper()
	for _, queue := range []string{"", "q"} { // a member of a queue must not get past the list
		conn := connect(t, url, key)
		if _, err := conn.QueueSubscribeSync(subject, queue); err != nil && queue != "" {
			t.Fatal(err)
		} else if queue == "" {
			if _, err := conn.SubscribeSync(subject); err != nil {
				t.Fatal(err)
			}
		}
		if err := outcome(t, conn); (err == nil) != allowed || err != nil && !errors.Is(err, nats.ErrPermissionViolation) {
			t.Errorf("subscribe %s, queue %q: got %v", subject, queue, err)
		}
		conn.Close()
	}
}

// keyName is the name of a key in subjects.
func keyName(t *testing.T, dir, file string) string {
	t.Helper()
	seed, err := os.ReadFile(filepath.Join(dir, file))
	if err != nil {
		t.Fatal(err)
	}
	pair, err := nkeys.FromSeed([]byte(strings.TrimSpace(string(seed))))
	if err != nil {
		t.Fatal(err)
	}
	public, err := pair.PublicKey()
	if err != nil {
		t.Fatal(err)
	}
	return wire.KeyName(public)
}

// strangers are those who have no key, or not the one that they claim.
func strangers(t *testing.T, dir string) map[string]nats.Option {
	t.Helper()
	pair, err := nkeys.CreateUser()
	if err != nil {
		t.Fatal(err)
	}
	unknown, err := pair.PublicKey()
	if err != nil {
		t.Fatal(err)
	}
	seed, err := os.ReadFile(filepath.Join(dir, cluster.WorkerKey))
	if err != nil {
		t.Fatal(err)
	}
	worker, err := nkeys.FromSeed([]byte(strings.TrimSpace(string(seed))))
	if err != nil {
		t.Fatal(err)
	}
	known, err := worker.PublicKey()
	if err != nil {
		t.Fatal(err)
	}
	return map[string]nats.Option{
		"nothing":                 nats.Name("nobody"),
		"another key":             nats.Nkey(unknown, pair.Sign),
		"another's signature":     nats.Nkey(known, pair.Sign),
		"no signature":            nats.Nkey(known, func([]byte) ([]byte, error) { return nil, nil }),
		"user and password":       nats.UserInfo("worker", "worker"),
		"public key as user name": nats.UserInfo(known, ""),
		"a token":                 nats.Token(known),
	}
}

// A stranger does not get in, so that he can neither say nor hear anything.
func TestPermissions_Strangers(t *testing.T) {
	dir := keyFolder(t)
	image, embedded := startImage(t, dir, "nats.conf"), startEmbedded(t, dir, false).URL()
	for name, stranger := range strangers(t, dir) {
		for _, url := range []string{image, embedded} {
			conn, err := nats.Connect(url, stranger, nats.NoReconnect())
			if err == nil {
				conn.Close()
				t.Errorf("%s at %q: let in", name, url)
			} else if !errors.Is(err, nats.ErrAuthorization) {
				t.Errorf("%s at %q: got %v", name, url, err)
			}
		}
	}
}

// Within the process of the broker a key is needed too.
func TestPermissions_InProcess(t *testing.T) {
	dir := keyFolder(t)
	b := startEmbedded(t, dir, false)
	conn, err := b.InProcessConn()
	if err != nil {
		t.Fatal(err)
	}
	if said := rude(t, conn, "CONNECT {}\r\nPUB sy.r.control 1\r\nx\r\n"); !strings.Contains(said, "-ERR 'Authorization Violation'") {
		t.Errorf("the broker says %q", said)
	}
	connect(t, "", nats.InProcessServer(b), holder(t, dir, cluster.WorkerKey))
}

// A key that was taken off the list is of no use, and the others remain good.
func TestPermissions_Revoked(t *testing.T) {
	dir, away := keyFolder(t), t.TempDir()
	connect(t, startEmbedded(t, dir, false).URL(), holder(t, dir, "worker-second.nk"))
	if err := os.Rename(filepath.Join(dir, "worker-second.nk"), filepath.Join(away, "worker-second.nk")); err != nil {
		t.Fatal(err)
	}
	revoked := holder(t, away, "worker-second.nk")
	if _, err := cluster.Init(cluster.InitConfig{Dir: dir}, time.Now()); err != nil {
		t.Fatal(err)
	}
	url := startEmbedded(t, dir, false).URL()
	if _, err := nats.Connect(url, revoked, nats.NoReconnect()); !errors.Is(err, nats.ErrAuthorization) {
		t.Errorf("got %v", err)
	}
	connect(t, url, holder(t, dir, cluster.WorkerKey))
}

// Messages before the key are not delivered: not those of a program that does not wait for its turn.
func TestPermissions_BeforeTheKey(t *testing.T) {
	dir := keyFolder(t)
	url := startEmbedded(t, dir, false).URL()
	lead := connect(t, url, holder(t, dir, cluster.CoordinatorKey))
	heard, err := lead.SubscribeSync("sy.*.control.*")
	if err != nil {
		t.Fatal(err)
	}
	if err := outcome(t, lead); err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{
		"PUB sy.r.control 1\r\nx\r\n",
		"CONNECT {\"verbose\":true,\"user\":\"worker\",\"pass\":\"x\"}\r\nPUB sy.r.control 1\r\nx\r\n",
		"CONNECT {\"nkey\":\"\",\"sig\":\"\"}\r\nSUB sy.> 1\r\nPUB sy.r.control 1\r\nx\r\n",
	} {
		if said := rude(t, dial(t, url), text); !strings.Contains(said, "-ERR 'Authorization Violation'") {
			t.Errorf("%q: the broker says %q", text, said)
		}
	}
	connect(t, url, holder(t, dir, cluster.WorkerKey)).Publish("sy.r.control."+keyName(t, dir, cluster.WorkerKey), []byte("last"))
	if m, err := heard.NextMsg(10 * time.Second); err != nil || string(m.Data) != "last" {
		t.Errorf("got %v, %v", m, err)
	}
}

// dial connects to a broker without a word.
func dial(t *testing.T, url string) net.Conn {
	t.Helper()
	_, address, _ := strings.Cut(url, "://")
	conn, err := net.Dial("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	return conn
}

// rude sends text to a broker without minding its greeting, and returns all that it says until it hangs up.
func rude(t *testing.T, conn net.Conn, text string) string {
	t.Helper()
	var writing sync.WaitGroup
	writing.Go(func() { io.WriteString(conn, text) }) // the broker may hang up in the middle
	defer writing.Wait()
	defer conn.Close()
	said, err := io.ReadAll(conn)
	if err != nil && len(said) == 0 {
		t.Fatal(err)
	}
	return string(said)
}

// authorities returns the option of a client that trusts the authority of a folder.
func authorities(t *testing.T, dir, host string) nats.Option {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(dir, cluster.CA))
	if err != nil {
		t.Fatal(err)
	}
	pool := x509.NewCertPool()
	pool.AppendCertsFromPEM(data)
	return nats.Secure(&tls.Config{RootCAs: pool, ServerName: host})
}

// With TLS there is no way in without it, and no way to be taken for the broker.
func TestTLS(t *testing.T) {
	dir, other := keyFolder(t), keyFolder(t)
	for where, url := range map[string]string{
		"image": startImage(t, dir, "tls.conf"), "embedded": startEmbedded(t, dir, true).URL(),
	} {
		t.Run(where, func(t *testing.T) {
			key := holder(t, dir, cluster.WorkerKey)
			for _, host := range []string{"127.0.0.1", "localhost", "nats"} {
				conn := connect(t, url, key, authorities(t, dir, host))
				if state, err := conn.TLSConnectionState(); err != nil || state.Version < tls.VersionTLS12 {
					t.Errorf("%s: %v, %v", host, state.Version, err)
				}
			}
			for name, option := range map[string]nats.Option{
				"another authority":        authorities(t, other, "127.0.0.1"),
				"another host":             authorities(t, dir, "elsewhere"),
				"authorities of the world": nats.Secure(&tls.Config{ServerName: "127.0.0.1"}),
			} {
				var unknown x509.UnknownAuthorityError
				var host x509.HostnameError
				if _, err := nats.Connect(url, key, option, nats.NoReconnect()); !errors.As(err, &unknown) && !errors.As(err, &host) {
					t.Errorf("%s: got %v", name, err)
				}
			}
			if _, err := nats.Connect(url, authorities(t, dir, "localhost"), nats.NoReconnect()); !errors.Is(err, nats.ErrAuthorization) {
				t.Errorf("TLS without a key: got %v", err)
			}
			if said := rude(t, dial(t, url), "CONNECT {}\r\nPING\r\n"); strings.Contains(said, "PONG") {
				t.Errorf("a client without TLS hears %q", said)
			}
		})
	}
}

// Nobody can make the broker hold more than its limits.
func TestLimits(t *testing.T) {
	dir := keyFolder(t)
	url := startEmbedded(t, dir, false).URL()
	if said := rude(t, dial(t, url), fmt.Sprintf("PUB %s 1\r\n", strings.Repeat("x", 1<<16))); !strings.Contains(said, "-ERR") {
		t.Errorf("a long subject: the broker says %q", said)
	}
	conn := connect(t, url, holder(t, dir, cluster.WorkerKey))
	if n := conn.MaxPayload(); n != 1<<20 {
		t.Errorf("payload limit %d", n)
	}
	for range 1024 {
		if _, err := conn.SubscribeSync("sy.r.theta"); err != nil {
			t.Fatal(err)
		}
	}
	if err := outcome(t, conn); err != nil {
		t.Fatal(err)
	}
	if _, err := conn.SubscribeSync("sy.r.theta"); err != nil {
		t.Fatal(err)
	}
	if err := outcome(t, conn); !errors.Is(err, nats.ErrMaxSubscriptionsExceeded) {
		t.Errorf("one subscription too many: got %v", err)
	}
}

func TestStart_KeysThatCannotBeUsed(t *testing.T) {
	dir := keyFolder(t)
	write := func(name, text string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	for name, cfg := range map[string]cluster.Config{
		"missing":     {Auth: filepath.Join(dir, "nowhere.conf")},
		"nobody":      {Auth: write("empty.conf", "# nobody\n")},
		"not a file":  {Auth: write("odd.conf", "authorization { users: [ {nkey: nonsense} ] }")},
		"certificate": {Certificate: write("odd.pem", "x"), Key: filepath.Join(dir, cluster.ServerKey)},
		"other key":   {Certificate: filepath.Join(dir, cluster.Server), Key: filepath.Join(dir, cluster.CAKey)},
	} {
		cfg.Log = hclog.NewNullLogger()
		if b, err := cluster.Start(cfg); !errors.Is(err, cluster.ErrKeys) {
			t.Errorf("%s: got %v, %v", name, b, err)
		}
	}
}
