package cluster

import (
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"runtime"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nkeys"
)

// ErrCredentials is returned by Connect for a key or certificate file that cannot be used.
var ErrCredentials = errors.New("broker: credentials cannot be used")

// credentials are the options of a connection that proves who it is, or wants the broker to. It sets the identity of
// the bus.
func (b *Bus) credentials(cfg BusConfig) ([]nats.Option, error) {
	var options []nats.Option
	if cfg.NKeyFile != "" {
		pair, err := readSeed(cfg.NKeyFile)
		if err != nil {
			return nil, err
		}
		defer pair.Wipe()
		if b.identity, err = pair.PublicKey(); err != nil {
			return nil, fmt.Errorf("%w: %s: %w", ErrCredentials, cfg.NKeyFile, err)
		}
		if readableByAll(cfg.NKeyFile) {
			b.log.Warn("everybody on this machine can read the key", "file", cfg.NKeyFile, "remedy", "chmod 600")
		}
		options = append(options, nats.Nkey(b.identity, func(nonce []byte) ([]byte, error) { return b.sign(cfg, nonce) }))
	}
	if cfg.CAFile != "" {
		roots, err := readRoots(cfg.CAFile)
		if err != nil {
			return nil, err
		}
		options = append(options, nats.Secure(&tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS12}))
	}
	return options, nil
}

// sign answers the broker's challenge. The key is read each time, so that it is in memory no longer than needed. The
// connection has named its key before, so another one in the file cannot sign for it.
func (b *Bus) sign(cfg BusConfig, nonce []byte) ([]byte, error) {
	file := cfg.NKeyFile
	pair, err := readSeed(file)
	if err != nil {
		return nil, err
	}
	defer pair.Wipe()
	if public, err := pair.PublicKey(); err != nil || public != b.identity {
		if cfg.Changed != nil {
			b.changed.Do(cfg.Changed)
		}
		return nil, fmt.Errorf("%w: %s holds another key than at the start: start this program again", ErrCredentials, file)
	}
	return pair.Sign(nonce)
}

// readSeed reads the seed of a user's nkey. What the file holds is in no error. The caller wipes the pair.
func readSeed(file string) (nkeys.KeyPair, error) {
	data, err := readFile(file)
	if err != nil {
		return nil, err
	}
	defer clear(data)
	pair, err := nkeys.ParseDecoratedNKey(data)
	if err != nil {
		return nil, fmt.Errorf("%w: %s holds no nkey seed, which begins with SU", ErrCredentials, file)
	}
	if public, err := pair.PublicKey(); err != nil || !nkeys.IsValidPublicUserKey(public) {
		return nil, fmt.Errorf("%w: %s holds an nkey seed that is not a user's, which begins with SU", ErrCredentials, file)
	}
	return pair, nil
}

// readRoots reads the certificates of authorities, in PEM. The error is ErrCredentials.
func readRoots(file string) (*x509.CertPool, error) {
	data, err := readFile(file)
	if err != nil {
		return nil, err
	}
	roots := x509.NewCertPool()
	if !roots.AppendCertsFromPEM(data) {
		hint := ""
		if bytes.Contains(data, []byte("PRIVATE KEY")) {
			hint = "; it holds a private key, which is not to leave its machine"
		}
		return nil, fmt.Errorf("%w: %s holds no certificate in PEM%s", ErrCredentials, file, hint)
	}
	return roots, nil
}

// readFile reads a file. The error is ErrCredentials; if the file may not be read, it says which user is to be
// allowed to.
func readFile(file string) ([]byte, error) {
	data, err := os.ReadFile(file)
	if errors.Is(err, fs.ErrPermission) {
		return nil, fmt.Errorf("%w: %w: let user %d of this process read it", ErrCredentials, err, os.Getuid())
	}
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrCredentials, err)
	}
	return data, nil
}

// readableByAll reports whether everybody may read a file. Windows does not say.
func readableByAll(file string) bool {
	info, err := os.Stat(file)
	return err == nil && runtime.GOOS != "windows" && info.Mode().Perm()&0o004 != 0
}
