package cluster_test

import (
	"errors"
	"testing"

	"github.com/hashicorp/go-hclog"

	"github.com/switchyard-ml/switchyard/cluster"
)

// A server that is cut off reaches no other and is reached by none, while the others reach each other; then it is one of
// them again. Its own clients stay all the time.
func TestCutOff(t *testing.T) {
	t.Parallel()
	dir := keyFolder(t)
	servers := startCluster(t, dir, 2, hclog.NewNullLogger())
	seed, lonely, other := servers[0], servers[1], servers[2]
	clients := lonely.Server().NumClients()
	for range 2 {
		if err := lonely.CutOff(true); err != nil {
			t.Fatal(err)
		}
		until(t, "it is alone", func() bool { return lonely.Joined() == 0 && seed.Joined() == 1 && other.Joined() == 1 })
		if n := lonely.Server().NumClients(); n != clients {
			t.Errorf("it has %d clients, want %d", n, clients)
		}
		if err := lonely.CutOff(false); err != nil {
			t.Fatal(err)
		}
		for _, b := range servers {
			until(t, "all are joined again", func() bool { return b.Joined() == 2 })
		}
	}
}

// Without a certificate of routes whoever comes is let in, so that nobody can be kept out.
func TestCutOff_OpenRoutes(t *testing.T) {
	b, err := cluster.Start(cluster.Config{Cluster: cluster.Cluster{Name: "x", Listen: "127.0.0.1:0"}, Log: hclog.NewNullLogger()})
	if err != nil {
		t.Fatal(err)
	}
	defer b.Shutdown()
	alone := startServer(t, keyFolder(t), "127.0.0.1:0", cluster.Cluster{}, hclog.NewNullLogger())
	for _, b := range []*cluster.Broker{b, alone} {
		if err := b.CutOff(true); !errors.Is(err, cluster.ErrOpen) {
			t.Errorf("got %v", err)
		}
	}
}
