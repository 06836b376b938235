package cmd

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"github.com/hashicorp/go-hclog"
	"github.com/spf13/cobra"

	"github.com/switchyard-ml/switchyard/cluster"
	"github.com/switchyard-ml/switchyard/config"
	"github.com/switchyard-ml/switchyard/internal/terminal"
	"github.com/switchyard-ml/switchyard/lead"
	"github.com/switchyard-ml/switchyard/wire"
)

// brokerFlags set the address of a broker and who may connect. They describe the server of the command broker, the
// one that train and sweep embed, and the one that a worker carries.
type brokerFlags struct {
	listen string
	// Folder of keys; empty: the broker asks for none. With tls it needs a certificate from that folder.
	keys string // folder
	tls  bool
	join clusterFlags
}

// brokerCommand is `broker`: it runs a NATS server until a signal ends it.
func (a *app) brokerCommand() *cobra.Command {
	var flags brokerFlags
	c := &cobra.Command{
		Use:   "broker",
		Short: "Run a NATS server for a coordinator and workers",
		Long: `Run a NATS server, which carries all messages between coordinators and workers. It
is the server that train embeds. Any other NATS server works too; docs/security.md has
its configuration. It runs until it is stopped.

With --keys, only clients with a key from that folder may connect, and each may do only
what its role needs; ` + "`switchyard init`" + ` creates the keys. With port 0, a free port is chosen and the
URL is printed.

With --cluster it forms one cluster with other servers, such as those that workers can
run: a message then travels directly from the sender's host to the receiver's. With
--keys, servers authenticate each other with the route certificate in that folder.`,
		Example: "  " + a.invoked + " broker --listen 127.0.0.1:4222\n" +
			"  " + a.invoked + " broker --listen 0.0.0.0:4222 --keys deploy/secrets --tls\n" +
			"  " + a.invoked + " broker --listen 0.0.0.0:4222 --keys deploy/secrets --tls --cluster 0.0.0.0:6222",
		Args: exactly(),
		RunE: func(*cobra.Command, []string) error { return a.serveBroker(flags) },
	}
	c.Flags().StringVar(&flags.listen, "listen", "127.0.0.1:4222", "address to listen on, HOST:PORT")
	c.Flags().StringVar(&flags.keys, "keys", "", "folder of keys (default: no keys; anyone can do anything)")
	c.Flags().BoolVar(&flags.tls, "tls", false, "require TLS, with the certificate from the folder of keys")
	flags.join.add(c, "form a cluster with other servers: address for their routes")
	return c
}

// serveBroker runs the broker of the flags. Where the system chose the port, it prints the URL on stdout, for
// scripts that need it; otherwise stdout stays empty. At the first signal it lets its clients go one by one and
// returns nil.
func (a *app) serveBroker(flags brokerFlags) error {
	log := a.logger(a.err, hclog.Info)
	b, err := flags.start(log, a.invoked+" init")
	if err != nil {
		return err
	}
	log.Info("broker ready", "url", b.URL(), "keys", flags.keys != "", "tls", flags.tls)
	if _, port, err := net.SplitHostPort(flags.listen); err == nil && port == "0" {
		if err := a.printf("%s\n", b.URL()); err != nil {
			return errors.Join(err, retire(b))
		}
	}
	err = a.untilSignal(a.err, "letting the clients go", func(ctx context.Context) error {
		if flags.join.listen != "" {
			go b.Follow(ctx)
		}
		flags.noteKeys(ctx, b, log)
		return retire(b)
	})
	if errors.Is(err, errAborted) {
		return nil // nothing that a broker holds is worth waiting for
	}
	log.Info("broker ended")
	return err
}

// seenInterval is how often it is noted which keys are connected.
const seenInterval = 10 * time.Second

// noteKeys notes which keys are connected, for: keys ls. It returns when ctx ends.
func (f brokerFlags) noteKeys(ctx context.Context, b *cluster.Broker, log hclog.Logger) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-time.After(seenInterval):
		}
		if f.keys == "" {
			continue
		}
		connected, err := b.Keys()
		if err == nil && len(connected) > 0 {
			err = cluster.NoteSeen(f.keys, connected, time.Now())
		}
		if err != nil {
			log.Debug("it is not noted which keys are connected", "error", err)
		}
	}
}

// retire ends a broker, and returns nil once all of its clients have been disconnected.
func retire(b *cluster.Broker) error {
	b.Retire()
	return nil
}

// listenAddress returns an error, with an example of a port, if a flag is not an address to listen on.
func listenAddress(flag, address string, example int) error {
	const ports = 1 << 16
	_, port, err := net.SplitHostPort(address)
	if err == nil {
		if n, numberErr := strconv.Atoi(port); numberErr != nil || n < 0 || n >= ports {
			err = fmt.Errorf("port %q is not a number from 0 to %d", port, ports-1)
		}
	}
	if err != nil {
		return config.Hint(config.Usagef("--%s %s: %w", flag, address, err), "must be HOST:PORT, e.g. 127.0.0.1:%d", example)
	}
	return nil
}

// start runs a broker. It warns if everybody on the network may do everything, which is allowed, because a network
// may be private. Faults of the flags, and keys that are missing in the folder, are usage errors; initCommand is
// the command line that makes keys, for hints.
func (f brokerFlags) start(log hclog.Logger, initCommand string) (*cluster.Broker, error) {
	if f.listen != "" {
		if err := listenAddress("listen", f.listen, 4222); err != nil {
			return nil, err
		}
	}
	if err := f.join.check(); err != nil {
		return nil, err
	}
	joined, err := f.join.config(f.keys, initCommand)
	if err != nil {
		return nil, err
	}
	cfg := cluster.Config{Listen: f.listen, Bans: wire.BansSubject, Cluster: joined, Log: log.Named("broker")}
	switch {
	// With keys, only the clients of the list may connect; without, everybody.
	case f.keys != "":
		cfg.Auth = filepath.Join(f.keys, cluster.Auth)
	case f.tls:
		return nil, config.Hint(config.Usagef("--tls needs --keys, the folder with the certificate"), "make one with: %s",
			initCommand)
	}
	if f.tls {
		cfg.Certificate, cfg.Key = filepath.Join(f.keys, cluster.Server), filepath.Join(f.keys, cluster.ServerKey)
	}
	// The server would name the missing file, but not the command that makes it.
	for _, path := range []string{cfg.Auth, cfg.Certificate, cfg.Key} {
		if _, err := os.Stat(path); path != "" && errors.Is(err, fs.ErrNotExist) {
			return nil, config.Hint(config.Usagef("--keys %s: %w", f.keys, err), "make the keys with: %s --dir %s", initCommand,
				terminal.Quoted(f.keys))
		}
	}
	if f.keys == "" && f.listen != "" && !loopback(f.listen) {
		log.Warn("the broker is open: anyone who reaches it can read and change the runs; use --keys, or a loopback "+
			"address", "listen", f.listen)
	}
	if f.keys == "" && f.join.listen != "" && !loopback(f.join.listen) {
		log.Warn("the routes are open: anyone who reaches them can read and change the runs; use --keys, or a "+
			"loopback address", "cluster", f.join.listen)
	}
	b, err := cluster.Start(cfg)
	if errors.Is(err, cluster.ErrStart) && (f.listen != "" || f.join.listen != "") {
		return nil, config.Hint(fmt.Errorf("start the broker: %w", err), "if another program listens there, the flag "+
			"takes another port; with port 0 it is a free one")
	}
	if err != nil {
		return nil, fmt.Errorf("start the broker: %w", err)
	}
	return b, nil
}

// loopback reports whether only this machine can reach an address HOST:PORT. An empty host, which listens on all
// interfaces, is not loopback.
func loopback(address string) bool {
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		return false
	}
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}

// transport starts the broker that the flags describe, for connections from this process. Without an address in the
// flags no other process reaches it. Vectors between parties of this process are handed over without messages.
func (f brokerFlags) transport(log hclog.Logger, initCommand string) (*lead.Transport, error) {
	b, err := f.start(log, initCommand)
	if err != nil {
		return nil, err
	}
	if url := b.URL(); url != "" {
		log.Info("the broker listens", "url", url)
	}
	if routes := b.Routes(); routes != "" {
		log.Info("the broker takes routes of other servers", "address", routes)
	}
	return lead.NewTransport(b, lead.Direct, f.keys, log), nil
}

// clusterFlags join a server of this process to others.
type clusterFlags struct {
	listen string // for routes; empty: the server is alone
	seeds  []string
}

// routesExample is the usual port of routes.
const routesExample = 6222

// add defines the flags; what says whose server it is.
func (f *clusterFlags) add(c *cobra.Command, what string) {
	c.Flags().StringVar(&f.listen, "cluster", "", what+", e.g. 0.0.0.0:6222 (default: none)")
	c.Flags().StringSliceVar(&f.seeds, "cluster-seed", nil, "route address of a server in the cluster, "+
		"nats-route://HOST:6222, from which the others are learned; may be repeated")
}

// check normalises the seeds, or returns what is wrong, as a usage error: seeds without an address of its own, a
// seed that is no address, or an address that cannot be listened on.
func (f *clusterFlags) check() error {
	if f.listen == "" {
		if len(f.seeds) > 0 {
			return config.Hint(config.Usagef("--cluster-seed without --cluster: a server that joins others takes their "+
				"routes, too"), "e.g. --cluster 0.0.0.0:%d", routesExample)
		}
		return nil
	}
	for i, seed := range f.seeds {
		address, err := cluster.SeedURL(seed)
		if err != nil {
			return config.Hint(config.Usagef("--cluster-seed: %w", err), "e.g. --cluster-seed nats-route://10.0.0.7:%d",
				routesExample)
		}
		f.seeds[i] = address
	}
	return listenAddress("cluster", f.listen, routesExample)
}

// config is the cluster that the flags describe, with the certificate of a folder of keys if there is one; without
// --cluster it is empty. A certificate that the folder does not have is a usage error.
func (f *clusterFlags) config(folder, initCommand string) (cluster.Cluster, error) {
	if f.listen == "" {
		return cluster.Cluster{}, nil
	}
	joined := cluster.Cluster{Name: cluster.ClusterName, Listen: f.listen, Seeds: f.seeds, Expect: cluster.RouteName}
	if folder == "" {
		return joined, nil
	}
	joined.Certificate, joined.Key, joined.CA = filepath.Join(folder, cluster.Route),
		filepath.Join(folder, cluster.RouteKey), filepath.Join(folder, cluster.CA)
	for _, path := range []string{joined.Certificate, joined.Key, joined.CA} {
		if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
			return joined, config.Hint(config.Usagef("--keys %s: %w: servers of a cluster prove themselves with it", folder,
				err),
				"%s makes it; for a worker's machine: --hand-out %s=FOLDER", initCommand, cluster.RoleRoute)
		}
	}
	return joined, nil
}
