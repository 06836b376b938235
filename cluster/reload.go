package cluster

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/hashicorp/go-hclog"
	"github.com/nats-io/nats-server/v2/server"
)

// reloadInterval is how often the files of users and certificate are looked at.
const reloadInterval = time.Second

// reloader lets a server follow the files that its configuration names. One goroutine owns it.
type reloader struct {
	cfg    Config
	broker *Broker
	log    hclog.Logger
	loaded [][]byte // contents of the files as they were loaded
	failed [][]byte // contents that could not be used
}

// newReloader takes the files as they are for those that a server will have loaded, which is to be told to it.
func newReloader(cfg Config) *reloader {
	r := &reloader{cfg: cfg, log: cfg.Log}
	r.loaded, _ = r.read()
	return r
}

// read returns the contents of the files. An error means that one of them cannot be read, as while it is being
// replaced.
func (r *reloader) read() ([][]byte, error) {
	var list [][]byte
	for _, path := range []string{
		r.cfg.Auth, r.cfg.Certificate, r.cfg.Key, r.cfg.Cluster.Certificate, r.cfg.Cluster.Key,
		r.cfg.Cluster.CA,
	} {
		if path == "" {
			continue
		}
		data, err := os.ReadFile(path)
		if err != nil {
			return nil, err
		}
		list = append(list, data)
	}
	return list, nil
}

// run looks at the files, and at the routes of a server that is cut off, until the server ends.
func (r *reloader) run(ended <-chan struct{}) {
	ticker := time.NewTicker(reloadInterval)
	defer ticker.Stop()
	for {
		select {
		case <-ended:
			return
		case <-ticker.C:
			r.look()
			r.broker.stayCutOff()
		}
	}
}

// look loads the files if they have changed. Clients whose key is not on the list any more are cut off. Files that
// cannot be used leave everything as it is. They are tried once, and again when they have changed.
func (r *reloader) look() {
	now, err := r.read()
	if err != nil || same(now, r.loaded) || same(now, r.failed) {
		return // being replaced
	}
	if err := r.load(); err != nil {
		r.failed = now
		r.log.Error("users and certificate have changed and cannot be used; those of before stay", "error", err)
		return
	}
	r.loaded, r.failed = now, nil
	r.log.Info("users and certificate were loaded again")
}

// load brings the server to the configuration that the files have.
func (r *reloader) load() error {
	options, err := r.cfg.options()
	if err != nil {
		return err
	}
	if r.broker.guard != nil {
		behindGuard(options)
	}
	// A running server cannot take another name.
	options.ServerName = r.broker.server.Name()
	if r.broker.enforcer != nil {
		err = r.broker.enforcer.load(options)
	} else {
		err = r.broker.server.ReloadOptions(options)
	}
	if err != nil {
		return fmt.Errorf("%w: %w", ErrKeys, err)
	}
	return nil
}

// same reports whether two lists of contents are equal.
func same(a, b [][]byte) bool {
	if len(a) != len(b) {
		return false
	}
	for i := range a {
		if !bytes.Equal(a[i], b[i]) {
			return false
		}
	}
	return true
}

// Keys returns the public parts of the nkeys that clients are connected with.
func (b *Broker) Keys() ([]string, error) {
	list, err := b.server.Connz(&server.ConnzOptions{Username: true, Limit: maxConnections})
	if err != nil {
		return nil, errors.Join(errors.New("broker: list the connections"), err)
	}
	var keys []string
	for _, c := range list.Conns {
		if c.AuthorizedUser != "" && (b.enforcer == nil || c.AuthorizedUser != b.enforcer.own.Nkey) {
			keys = append(keys, c.AuthorizedUser)
		}
	}
	return keys, nil
}
