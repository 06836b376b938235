package cluster

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/hashicorp/go-hclog"
	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nkeys"
)

// newKey writes the seed of a new user and returns the file and the public key.
func newKey(t *testing.T) (file, public string) {
	t.Helper()
	seed, err := newSeed()
	if err != nil {
		t.Fatal(err)
	}
	file = filepath.Join(t.TempDir(), "user.nk")
	if public, err = publicKey(file, seed); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, seed, 0o600); err != nil {
		t.Fatal(err)
	}
	return file, public
}

// newCertificate makes a certificate for a host, valid until then, and the file of the authority that signed it.
func newCertificate(t *testing.T, host string, until time.Time) (tls.Certificate, string) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		NotBefore: until.Add(-48 * time.Hour), NotAfter: until, IsCA: true, BasicConstraintsValid: true,
		KeyUsage: x509.KeyUsageCertSign | x509.KeyUsageDigitalSignature,
	}
	if ip := net.ParseIP(host); ip != nil {
		template.IPAddresses = []net.IP{ip}
	} else {
		template.DNSNames = []string{host}
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "ca.pem")
	if err := os.WriteFile(file, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), 0o644); err != nil {
		t.Fatal(err)
	}
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}, file
}

// secured starts a server with options of its own and returns its address.
func secured(t *testing.T, options *server.Options) (s *server.Server, address string) {
	t.Helper()
	options.NoSigs, options.Host = true, "127.0.0.1"
	if options.Port == 0 {
		options.Port = server.RANDOM_PORT
	}
	if options.TLSConfig != nil {
		options.TLS, options.TLSTimeout = true, 5
	}
	s, err := server.NewServer(options)
	if err != nil {
		t.Fatal(err)
	}
	go s.Start()
	if !s.ReadyForConnections(10 * time.Second) {
		t.Fatal("the server does not come up")
	}
	t.Cleanup(func() { stop(s) })
	return s, s.Addr().String()
}

func stop(s *server.Server) {
	s.Shutdown()
	s.WaitForShutdown()
}

// allowed are users who may publish and subscribe to subjects.
func allowed(public string, subjects ...string) []*server.NkeyUser {
	p := &server.SubjectPermission{Allow: subjects}
	return []*server.NkeyUser{{Nkey: public, Permissions: &server.Permissions{Publish: p, Subscribe: p}}}
}

// talker connects with a logger whose warnings arrive at the channel.
func talker(t *testing.T, cfg BusConfig) (*Bus, lines) {
	t.Helper()
	told := make(lines, 100)
	cfg.Log = hclog.New(&hclog.LoggerOptions{Output: told, Level: hclog.Warn})
	b, err := Connect(cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(b.Close)
	return b, told
}

// hear waits for a warning that contains text.
func (l lines) hear(t *testing.T, text string) {
	t.Helper()
	for line := range l {
		if strings.Contains(line, text) {
			return
		}
	}
}

// once publishes until a message arrives.
func once(t *testing.T, b *Bus, subject string) {
	t.Helper()
	got := make(chan []byte, 1000)
	sub, err := b.Subscribe(subject, func(data []byte) { got <- data })
	if err != nil {
		t.Fatal(err)
	}
	for {
		if err := b.Publish(subject, []byte("x")); err == nil {
			break
		}
		time.Sleep(time.Millisecond)
	}
	<-got
	if err := sub.Unsubscribe(); err != nil {
		t.Error(err)
	}
}

func TestConnect_NKeyAndTLS(t *testing.T) {
	file, public := newKey(t)
	certificate, ca := newCertificate(t, "127.0.0.1", time.Now().Add(time.Hour))
	_, address := secured(t, &server.Options{
		Nkeys: allowed(public, "sy.>"), TLSConfig: &tls.Config{Certificates: []tls.Certificate{certificate}},
	})
	b, told := talker(t, BusConfig{URL: "nats://" + address, NKeyFile: file, CAFile: ca})
	once(t, b, "sy.a")
	if state, err := b.Conn().TLSConnectionState(); err != nil || !state.HandshakeComplete {
		t.Errorf("the connection is not secure: %v", err)
	}
	if b.Trouble() != "" || b.Denied() != nil {
		t.Errorf("trouble: %s, denied: %v", b.Trouble(), b.Denied())
	}

	// That something is not allowed is told once, with the key, and nothing else suffers.
	for range 3 {
		if err := b.Publish("other", nil); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := b.Subscribe("elsewhere", func([]byte) {}); err != nil {
		t.Fatal(err)
	}
	once(t, b, "sy.a")
	if said := <-told; !strings.Contains(said, `\"other\"`) || !strings.Contains(said, public) {
		t.Errorf("told %s", said)
	}
	if len(told) > 0 {
		t.Errorf("told again: %s", <-told)
	}
	if got := b.Trouble(); got != "the broker does not let this key do what is needed" {
		t.Errorf("trouble is %q", got)
	}
	if err := b.Denied(); !errors.Is(err, ErrDenied) {
		t.Errorf("got %v, want ErrDenied", err)
	}
}

func TestDelay(t *testing.T) {
	server := start(t, "")
	defer server.Shutdown()
	b := connect(t, BusConfig{Server: server})
	defer b.Close()
	for _, c := range []struct {
		attempts    int
		least, most time.Duration
	}{{1, retryWait, 2 * retryWait}, {patientAfter, retryWait, 2 * retryWait}, {patientAfter + 1, patientRetry, 2 * patientRetry}} {
		if got := b.delay(c.attempts); got < c.least || got > c.most {
			t.Errorf("after %d attempts: %v", c.attempts, got)
		}
	}
}

// Credentials that the broker does not accept are told with a remedy, once; when the broker accepts them, all is well.
func TestConnect_RefusedUntilPutRight(t *testing.T) {
	file, public := newKey(t)
	_, other := newKey(t)
	s, address := secured(t, &server.Options{Nkeys: allowed(other, ">")})
	b, told := talker(t, BusConfig{URL: "nats://" + address, NKeyFile: file})
	told.hear(t, "does not accept this nkey")
	if got := b.Trouble(); got != "the broker does not accept this nkey" {
		t.Errorf("trouble is %q", got)
	}
	anonymous, toldToo := talker(t, BusConfig{URL: "nats://" + address})
	toldToo.hear(t, "requires an nkey")
	port := s.Addr().(*net.TCPAddr).Port
	stop(s)
	secured(t, &server.Options{Port: port, Nkeys: allowed(public, ">")})
	once(t, b, "sy.a")
	if len(told) > 0 || b.Trouble() != "" {
		t.Errorf("told %d more times, trouble %q", len(told), b.Trouble())
	}
	if anonymous.Publish("sy.a", nil) == nil {
		t.Error("a connection without a key can publish")
	}
}

// A seed that is exchanged under a running program is not used for the old identity.
func TestConnect_ChangedKey(t *testing.T) {
	file, public := newKey(t)
	second, _ := newKey(t)
	s, address := secured(t, &server.Options{Nkeys: allowed(public, ">")})
	b, told := talker(t, BusConfig{URL: "nats://" + address, NKeyFile: file})
	once(t, b, "sy.a")
	seed, err := os.ReadFile(second)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, seed, 0o600); err != nil {
		t.Fatal(err)
	}
	port := s.Addr().(*net.TCPAddr).Port
	stop(s)
	secured(t, &server.Options{Port: port, Nkeys: allowed(public, ">")})
	told.hear(t, "the key cannot be used any more")
	if b.Publish("sy.a", nil) == nil {
		t.Error("it can publish")
	}
}

func TestConnect_TLSTroubles(t *testing.T) {
	hour := time.Now().Add(time.Hour)
	good, ca := newCertificate(t, "127.0.0.1", hour)
	elsewhere, elsewhereCA := newCertificate(t, "broker.example", hour)
	stale, staleCA := newCertificate(t, "127.0.0.1", time.Now().Add(-time.Hour))
	for name, c := range map[string]struct {
		certificate *tls.Certificate
		ca, want    string
	}{
		"authority not given": {&good, "", "signed by an authority that is not trusted here"},
		"other authority":     {&good, elsewhereCA, "signed by an authority that is not trusted here"},
		"other name":          {&elsewhere, elsewhereCA, "not for the name that it was reached under"},
		"expired":             {&stale, staleCA, "expired"},
		"no TLS":              {nil, ca, "offers no TLS"},
	} {
		options := &server.Options{}
		if c.certificate != nil {
			options.TLSConfig = &tls.Config{Certificates: []tls.Certificate{*c.certificate}}
		}
		_, address := secured(t, options)
		b, told := talker(t, BusConfig{URL: "nats://" + address, CAFile: c.ca})
		line := <-told
		if !strings.Contains(line, c.want) {
			t.Errorf("%s: told %s", name, line)
		}
		if b.Conn().IsConnected() {
			t.Errorf("%s: it is connected", name)
		}
	}
}

// A broker that comes up later and then sends us away is told too, though there was never a connection.
func TestConnect_RefusedLater(t *testing.T) {
	file, _ := newKey(t)
	_, other := newKey(t)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	port := l.Addr().(*net.TCPAddr).Port
	l.Close()
	b, told := talker(t, BusConfig{URL: "nats://" + l.Addr().String(), NKeyFile: file})
	for b.Trouble() != "the broker does not answer" {
		time.Sleep(time.Millisecond)
	}
	secured(t, &server.Options{Port: port, Nkeys: allowed(other, ">")})
	told.hear(t, "does not accept this nkey")
}

func TestConnect_FilesThatCannotBeUsed(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	account, err := nkeys.CreateAccount()
	if err != nil {
		t.Fatal(err)
	}
	seed, err := account.Seed()
	if err != nil {
		t.Fatal(err)
	}
	good, _ := newKey(t)
	content, err := os.ReadFile(good)
	if err != nil {
		t.Fatal(err)
	}
	broken := append(bytes.TrimSpace(content)[:20], "SECRETSECRET"...)
	for name, c := range map[string]struct {
		cfg  BusConfig
		want string
	}{
		"no key":          {BusConfig{NKeyFile: filepath.Join(dir, "none.nk")}, "none.nk: no such file"},
		"not a seed":      {BusConfig{NKeyFile: write("text.nk", "hello")}, "text.nk holds no nkey seed"},
		"cut seed":        {BusConfig{NKeyFile: write("cut.nk", string(broken))}, "cut.nk holds no nkey seed"},
		"account's seed":  {BusConfig{NKeyFile: write("account.nk", string(seed))}, "not a user's"},
		"a folder":        {BusConfig{NKeyFile: dir}, "is a directory"},
		"no authority":    {BusConfig{CAFile: filepath.Join(dir, "none.pem")}, "none.pem: no such file"},
		"no certificate":  {BusConfig{CAFile: write("text.pem", "hello")}, "text.pem holds no certificate"},
		"key for the CA":  {BusConfig{CAFile: write("ca.key", "-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----\n")}, "private key"},
		"secrets in URLs": {BusConfig{URL: "nats://u:SECRETSECRET@h:1,nats://SECRETSECRET@g:1", NKeyFile: dir}, "xxxxx@h:1"},
	} {
		c.cfg.Log = hclog.NewNullLogger()
		_, err := Connect(c.cfg)
		if !errors.Is(err, ErrCredentials) || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "SECRETSECRET") {
			t.Errorf("%s: got %v, want %q", name, err, c.want)
		}
	}
}

// A key that everybody can read works, and is told.
func TestConnect_ReadableKey(t *testing.T) {
	file, public := newKey(t)
	if err := os.Chmod(file, 0o644); err != nil {
		t.Fatal(err)
	}
	_, address := secured(t, &server.Options{Nkeys: allowed(public, ">")})
	b, told := talker(t, BusConfig{URL: "nats://" + address, NKeyFile: file})
	told.hear(t, "everybody on this machine can read the key")
	once(t, b, "sy.a")
}
