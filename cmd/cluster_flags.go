package cmd

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/switchyard-ml/switchyard/cluster"
	"github.com/switchyard-ml/switchyard/config"
)

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
	c.Flags().StringSliceVar(&f.seeds, "cluster-seed", nil, "address of the routes of a server of the cluster, "+
		"nats-route://HOST:6222; the others are heard of from it; may be repeated")
}

// check normalises the seeds, or returns what is wrong.
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

// config is the cluster that the flags describe, with the certificate of a folder of keys if there is one.
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
