package cluster

import (
	"crypto/ecdsa"
	"crypto/rand"
	"crypto/x509"
	"encoding/base64"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"time"
)

// InitConfig configures a folder of keys.
type InitConfig struct {
	Dir     string   // folder of the keys; made, for its owner alone, if missing
	Hosts   []string // names and addresses of the broker, in addition to localhost, 127.0.0.1 and nats
	Workers []string // names of further worker keys; a machine with a key of its own can be shut out alone
	// Numbered is the number of workers that get a key each, worker-1.nk and so on; see Take. A key for all workers is
	// not made then.
	Numbered int
	// Readable lets every user read the secrets, except the authority's key. Containers need this, because they run as
	// a user that this machine does not know. The permissions of the folder then protect the secrets.
	Readable bool
	// RenewServer makes new certificates of the broker and of routes, for the hosts of the old ones and those of Hosts.
	RenewServer bool
	BrokerDir   string // folder in which a NATS server finds certificate and key; empty: BrokerDir
}

// Report describes a folder of keys. Nothing in it is secret.
type Report struct {
	Files       []File
	Hosts       []string  // in the broker's certificate
	Absent      []string  // asked for and not in the certificate: RenewServer is needed
	ServerUntil time.Time // end of the broker's certificate
	CAUntil     time.Time // end of the authority's
	// Exposed says that other users of this machine can read the secrets.
	Exposed bool
}

// Init makes the keys that are missing in a folder and returns a description of the folder. It never replaces a
// private key or a token. Processes that call it at the same time wait for each other. now is the beginning of new
// certificates.
func Init(cfg InitConfig, now time.Time) (*Report, error) {
	if cfg.BrokerDir == "" {
		cfg.BrokerDir = BrokerDir
	}
	cfg.Hosts = slices.Clone(cfg.Hosts)
	for i, host := range cfg.Hosts {
		var err error
		if cfg.Hosts[i], err = canonical(host); err != nil {
			return nil, err
		}
	}
	if err := os.MkdirAll(cfg.Dir, 0o700); err != nil {
		return nil, fmt.Errorf("make the folder of the keys: %w", err)
	}
	release, err := lockFolder(cfg.Dir)
	if err != nil {
		return nil, err
	}
	defer release()
	// Private keys first, then what follows from them: a crash in between leaves something that the next call
	// completes.
	f := &folder{path: cfg.Dir, readable: cfg.Readable}
	users, err := initUsers(f, cfg.Workers, cfg.Numbered)
	if err != nil {
		return nil, err
	}
	if err := f.derive(Auth, authConf(users)); err != nil {
		return nil, err
	}
	if _, err := f.keep(PageToken, newToken); err != nil {
		return nil, err
	}
	report := &Report{}
	if err := initTLS(f, cfg, now, report); err != nil {
		return nil, err
	}
	report.Files = f.files
	report.Exposed, err = f.exposed()
	return report, err
}

// initUsers makes the missing nkeys and returns all users, in a fixed order. called are names of keys of workers,
// count the number of numbered ones.
func initUsers(f *folder, called []string, count int) ([]user, error) {
	workers, err := f.workerKeys()
	if err != nil {
		return nil, err
	}
	for n := range count {
		workers = append(workers, numbered(n+1))
	}
	// One key for all is made only where no worker has a numbered one.
	shared := !slices.ContainsFunc(workers, func(file string) bool { return number(file) > 0 })
	for _, name := range called {
		file, err := workerFile(name)
		if err != nil {
			return nil, err
		}
		workers = append(workers, file)
	}
	for _, file := range append([]string{CoordinatorKey, OperatorKey}, workers...) {
		if _, err := f.keepOnce(file, newSeed); err != nil {
			return nil, err
		}
	}
	// One that exists stays among the users, whatever else there is.
	if _, err := os.Stat(f.join(WorkerKey)); shared || err == nil {
		if _, err := f.keep(WorkerKey, newSeed); err != nil {
			return nil, err
		}
	}
	return f.users()
}

// newToken makes the token of the page: 256 random bits.
func newToken() ([]byte, error) {
	b := make([]byte, 32)
	rand.Read(b)
	return append(base64.RawURLEncoding.AppendEncode(nil, b), '\n'), nil
}

// initTLS makes the missing parts of authority and certificate. After that, the authority's key may be kept
// elsewhere. The report learns of hosts and dates.
func initTLS(f *folder, cfg InitConfig, now time.Time, report *Report) error {
	ca, caKey, err := initCA(f, now)
	if err != nil {
		return err
	}
	data, err := f.keep(ServerKey, newPrivateKey)
	if err != nil {
		return err
	}
	key, err := parsePrivateKey(ServerKey, data)
	if err != nil {
		return err
	}
	server, err := initServer(f, cfg, ca, caKey, key, now)
	if err != nil {
		return err
	}
	report.Hosts, report.ServerUntil, report.CAUntil = hostsOf(server), server.NotAfter, ca.NotAfter
	for _, host := range cfg.Hosts {
		if !slices.Contains(report.Hosts, host) {
			report.Absent = append(report.Absent, host)
		}
	}
	if err := f.derive(TLS, tlsConf(cfg.BrokerDir)); err != nil {
		return err
	}
	return initRoute(f, cfg, ca, caKey, report.Hosts, now)
}

// initRoute makes what servers of a cluster prove to each other that they belong to it, if it is missing. A folder of
// an older release whose authority's key is kept elsewhere goes without.
func initRoute(f *folder, cfg InitConfig, ca *x509.Certificate, caKey *ecdsa.PrivateKey, hosts []string,
	now time.Time,
) error {
	if _, err := os.Stat(f.join(Route)); caKey == nil && errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	data, err := f.keep(RouteKey, newPrivateKey)
	if err != nil {
		return err
	}
	key, err := parsePrivateKey(RouteKey, data)
	if err != nil {
		return err
	}
	sign := func() ([]byte, error) {
		if caKey == nil {
			return nil, fmt.Errorf("%w: put %s back beside %s to make a certificate of routes", ErrNoCA, CAKey, CA)
		}
		return newRoute(hosts, &key.PublicKey, ca, caKey, now)
	}
	if cfg.RenewServer {
		if data, err = sign(); err == nil {
			err = f.derive(Route, data)
		}
	} else {
		data, err = f.keep(Route, sign)
	}
	if err != nil {
		return err
	}
	certificate, err := parseCertificate(Route, data)
	if err != nil {
		return err
	}
	if err := checkServer(Route, RouteKey, certificate, ca, key); err != nil {
		return err
	}
	return f.derive(RoutesConfig, clusterConf(cfg.BrokerDir, PinOf(certificate)))
}

// initCA makes the authority if it is missing. The returned key is nil if it is kept elsewhere. Of an authority whose
// certificate is there, no new key is ever made: nobody would trust it.
func initCA(f *folder, now time.Time) (*x509.Certificate, *ecdsa.PrivateKey, error) {
	var key *ecdsa.PrivateKey
	_, err := os.Stat(f.join(CA))
	certified := err == nil
	_, err = os.Stat(f.join(CAKey))
	if !certified || err == nil {
		data, err := f.keep(CAKey, newPrivateKey)
		if err != nil {
			return nil, nil, err
		}
		if key, err = parsePrivateKey(CAKey, data); err != nil {
			return nil, nil, err
		}
	} else if !errors.Is(err, fs.ErrNotExist) {
		return nil, nil, fmt.Errorf("look for the authority's key: %w", err)
	}
	data, err := f.keep(CA, func() ([]byte, error) { return newCA(key, now) })
	if err != nil {
		return nil, nil, err
	}
	ca, err := parseCertificate(CA, data)
	if err != nil {
		return nil, nil, err
	}
	if key != nil && !key.PublicKey.Equal(ca.PublicKey) {
		return nil, nil, fmt.Errorf("%w: %s is not for the key in %s", ErrDamaged, CA, CAKey)
	}
	return ca, key, nil
}

// initServer makes the broker's certificate if it is missing, or renews it. A renewed one keeps the hosts of the old
// one.
func initServer(f *folder, cfg InitConfig, ca *x509.Certificate, caKey, key *ecdsa.PrivateKey,
	now time.Time,
) (*x509.Certificate, error) {
	hosts := append(alwaysHosts(), cfg.Hosts...)
	sign := func() ([]byte, error) {
		if caKey == nil {
			return nil, fmt.Errorf("%w: put %s back beside %s to make a certificate of the broker", ErrNoCA, CAKey, CA)
		}
		slices.Sort(hosts)
		return newServer(slices.Compact(hosts), &key.PublicKey, ca, caKey, now)
	}
	if !cfg.RenewServer {
		data, err := f.keep(Server, sign)
		if err != nil {
			return nil, err
		}
		server, err := parseCertificate(Server, data)
		if err != nil {
			return nil, err
		}
		return server, checkServer(Server, ServerKey, server, ca, key)
	}
	// An old one that cannot be read is simply replaced.
	if old, err := os.ReadFile(f.join(Server)); err == nil {
		if server, err := parseCertificate(Server, old); err == nil {
			hosts = append(hosts, hostsOf(server)...)
		}
	}
	data, err := sign()
	if err != nil {
		return nil, err
	}
	if err := f.derive(Server, data); err != nil {
		return nil, err
	}
	return parseCertificate(Server, data)
}

// exposed reports whether other users can read a secret: the permissions of both the file and the folder allow it.
func (f *folder) exposed() (bool, error) {
	info, err := os.Stat(f.path)
	if err != nil {
		return false, fmt.Errorf("look at the folder of the keys: %w", err)
	}
	// Nobody else can enter the folder.
	if info.Mode().Perm()&0o011 == 0 {
		return false, nil
	}
	for _, file := range f.files {
		info, err := os.Stat(f.join(file.Name))
		if err != nil {
			return false, fmt.Errorf("look at a key: %w", err)
		}
		if secret(file.Name) && info.Mode().Perm()&0o044 != 0 {
			return true, nil
		}
	}
	return false, nil
}
