package cluster_test

import (
	"bytes"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/hashicorp/go-hclog"
	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"

	"github.com/switchyard-ml/switchyard/cluster"
	"github.com/switchyard-ml/switchyard/coordinator"
	"github.com/switchyard-ml/switchyard/wire"
)

// routes are those of a server with a folder of keys.
func routes(dir string, seeds ...string) cluster.Cluster {
	return cluster.Cluster{
		Name: cluster.ClusterName, Listen: "127.0.0.1:0", Seeds: seeds, Expect: cluster.RouteName,
		Certificate: filepath.Join(dir, cluster.Route), Key: filepath.Join(dir, cluster.RouteKey), CA: filepath.Join(dir, cluster.CA),
	}
}

// startServer starts a server of a cluster with keys.
func startServer(t *testing.T, dir, listen string, joined cluster.Cluster, log hclog.Logger) *cluster.Broker {
	t.Helper()
	b, err := cluster.Start(cluster.Config{Listen: listen, Auth: filepath.Join(dir, cluster.Auth), Bans: wire.BansSubject, Cluster: joined, Log: log})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(b.Shutdown)
	return b
}

// until returns when something has come true.
func until(t *testing.T, what string, so func() bool) {
	t.Helper()
	for deadline := time.Now().Add(2 * time.Minute); !so(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("in vain: %s", what)
		}
	}
}

// startCluster starts a seed that clients reach by a port, and others, which know the seed alone.
func startCluster(t *testing.T, dir string, others int, log hclog.Logger) []*cluster.Broker {
	t.Helper()
	list := []*cluster.Broker{startServer(t, dir, "127.0.0.1:0", routes(dir), log)}
	for range others {
		list = append(list, startServer(t, dir, "", routes(dir, list[0].Routes()), log))
	}
	for i, b := range list {
		until(t, fmt.Sprintf("server %d reaches all others", i), func() bool { return b.Joined() == others })
	}
	return list
}

// local connects within the process to a server, or by URL to others when it is away.
func local(t *testing.T, dir, key, url string, b *cluster.Broker, log hclog.Logger) *cluster.Bus {
	t.Helper()
	bus, err := cluster.Connect(cluster.BusConfig{URL: url, Server: b, Name: key, NKeyFile: filepath.Join(dir, key), Log: log.Named(key)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(bus.Close)
	return bus
}

// runOver leads a run to its end with two members, each of which has a server of its own.
func (s *site) runOver(c *coordinator.Coordinator, servers []*cluster.Broker, program func() *toy) {
	s.t.Helper()
	program = together(s.t, 2, program)
	for i, key := range []string{cluster.WorkerKey, "worker-second.nk"} {
		id := fmt.Sprint("w", i)
		s.serve(id, s.member(local(s.t, s.dir, key, "", servers[i], s.log), id, program))
	}
	if err := c.Run(s.t.Context()); err != nil {
		s.t.Fatal(err)
	}
}

// A run over three servers, of which each party has its own, has the bits of one without any.
func TestCluster_SameBits(t *testing.T) {
	t.Parallel()
	for _, exchange := range []coordinator.Exchange{coordinator.Star, coordinator.Sharded} {
		dir, text := keyFolder(t), &logged{}
		log := hclog.New(&hclog.LoggerOptions{Output: text, Level: hclog.Warn})
		servers := startCluster(t, dir, 2, log)
		s := &site{t, dir, servers[0].URL(), log}
		cfg := toyConfig(t, 20, 8)
		want := undisturbed(t, cfg, hostileSize)
		cfg.Exchange, cfg.Chunk = exchange, 8192
		c, err := coordinator.New(cfg, initial(hostileSize), s.connect(cluster.CoordinatorKey), nil, log)
		if err != nil {
			t.Fatal(err)
		}
		s.runOver(c, servers[1:], func() *toy { return &toy{size: hostileSize} })
		if got := hash(c); got != want {
			t.Errorf("exchange %v: SHA-256 %s, want %s", exchange, got, want)
		}
		if n := c.Stats().Summed; exchange == coordinator.Sharded && n < 10 {
			t.Errorf("workers summed in %d of 20 steps:\n%s", n, text)
		}
	}
}

// Who has no certificate of routes, one of another authority, of another use, or for a key that was replaced, does not
// get in. The server is there for its own clients meanwhile.
func TestCluster_RefusesStrangers(t *testing.T) {
	t.Parallel()
	dir, other, old := keyFolder(t), keyFolder(t), t.TempDir()
	if err := os.CopyFS(old, os.DirFS(dir)); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{cluster.Route, cluster.RouteKey} {
		if err := os.Remove(filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := cluster.Init(cluster.InitConfig{Dir: dir, BrokerDir: dir}, time.Now()); err != nil {
		t.Fatal(err)
	}
	seed := startServer(t, dir, "127.0.0.1:0", routes(dir), hclog.NewNullLogger())
	asBroker := routes(dir, seed.Routes())
	asBroker.Certificate, asBroker.Key = filepath.Join(dir, cluster.Server), filepath.Join(dir, cluster.ServerKey)
	strangers := map[string]cluster.Cluster{"other authority": routes(other), "the broker's": asBroker, "replaced": routes(old), "none": {}}
	for name, joined := range strangers {
		if err := tryRoute(t, seed.Routes(), joined); err == nil {
			t.Errorf("%s: it is let in", name)
		}
	}
	if err := tryRoute(t, seed.Routes(), routes(dir)); err != nil {
		t.Errorf("the certificate of routes is refused: %v", err)
	}
	blank := startServer(t, dir, "", cluster.Cluster{Name: cluster.ClusterName, Listen: "127.0.0.1:0", Seeds: []string{seed.Routes()}}, hclog.NewNullLogger())
	replaced := startServer(t, dir, "", routes(old, seed.Routes()), hclog.NewNullLogger())
	good := startServer(t, dir, "", routes(dir, seed.Routes()), hclog.NewNullLogger())
	until(t, "one with the certificate joins", func() bool { return good.Joined() == 1 && seed.Joined() > 0 })
	if blank.Joined() != 0 || replaced.Joined() != 0 || seed.Joined() != 1 {
		t.Errorf("a stranger reaches %d and %d servers, the seed %d", blank.Joined(), replaced.Joined(), seed.Joined())
	}
}

// tryRoute begins a route as a server with the certificate of a cluster does, and returns why it goes no further.
func tryRoute(t *testing.T, address string, joined cluster.Cluster) error {
	t.Helper()
	conn, err := net.Dial("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if err := conn.SetDeadline(time.Now().Add(2 * time.Minute)); err != nil {
		t.Fatal(err)
	}
	config := &tls.Config{InsecureSkipVerify: true}
	if joined.Certificate != "" {
		pair, err := tls.LoadX509KeyPair(joined.Certificate, joined.Key)
		if err != nil {
			t.Fatal(err)
		}
		config.Certificates = []tls.Certificate{pair}
	}
	secured := tls.Client(conn, config)
	if _, err := fmt.Fprint(secured, "CONNECT {\"tls_required\":true,\"name\":\"x\",\"cluster\":\"switchyard\"}\r\nPING\r\n"); err != nil {
		return err
	}
	_, err = secured.Read(make([]byte, 1)) // the answer to who is let in
	return err
}

// What a key may say and hear is the same at another server than the one where the message ends, and bans hold at all.
func TestCluster_PermissionsCrossRoutes(t *testing.T) {
	dir, log := keyFolder(t), hclog.NewNullLogger()
	first := startServer(t, dir, "127.0.0.1:0", routes(dir), log)
	second := startServer(t, dir, "127.0.0.1:0", routes(dir, first.Routes()), log)
	until(t, "the servers are joined", func() bool { return first.Joined() == 1 && second.Joined() == 1 })
	key := keyName(t, dir, cluster.WorkerKey)
	lead := connect(t, first.URL(), holder(t, dir, cluster.CoordinatorKey))
	heard := make(chan *nats.Msg, 100)
	for _, subject := range []string{"sy.r.control.*", "sypool.seek.*"} {
		if _, err := lead.ChanSubscribe(subject, heard); err != nil {
			t.Fatal(err)
		}
	}
	honest := connect(t, first.URL(), holder(t, dir, "worker-second.nk"))
	told := make(chan *nats.Msg, 100)
	for _, subject := range []string{"sy.r.theta", "sy.r.all"} {
		if _, err := honest.ChanSubscribe(subject, told); err != nil {
			t.Fatal(err)
		}
	}
	if err := errors.Join(outcome(t, lead), outcome(t, honest)); err != nil {
		t.Fatal(err)
	}
	thief := connect(t, second.URL(), holder(t, dir, cluster.WorkerKey))
	until(t, "messages cross", func() bool {
		return thief.Publish("sy.r.control."+key, []byte("mine")) == nil && thief.Flush() == nil && len(heard) > 0
	})
	for _, subject := range []string{"sy.r.theta", "sy.r.all", "sy.r.control." + keyName(t, dir, "worker-second.nk"), wire.BansSubject} {
		if err := thief.Publish(subject, []byte("forged")); err != nil {
			t.Fatal(err)
		}
	}
	if err := thief.FlushTimeout(10 * time.Second); err != nil {
		t.Fatal(err)
	}
	if err := thief.Publish("sypool.seek."+key, []byte("last")); err != nil { // behind all the others
		t.Fatal(err)
	}
	for m := range heard {
		if string(m.Data) == "forged" {
			t.Errorf("heard on %s", m.Subject)
		}
		if string(m.Data) == "last" {
			break
		}
	}
	if len(told) > 0 {
		t.Errorf("heard on %s", (<-told).Subject)
	}
	checkSubscribe(t, second.URL(), holder(t, dir, cluster.WorkerKey), "sy.r.control.*", false)
	if err := lead.Publish(wire.BansSubject, []byte(`["`+key+`"]`)); err != nil {
		t.Fatal(err)
	}
	until(t, "the other server closes the connection of a banned key", thief.IsClosed)
}

// Servers take the certificate of routes anew when its files change: who has the old one goes.
func TestCluster_ReplacedCertificate(t *testing.T) {
	t.Parallel()
	dir, log := keyFolder(t), hclog.NewNullLogger()
	old := t.TempDir()
	if err := os.CopyFS(old, os.DirFS(dir)); err != nil {
		t.Fatal(err)
	}
	seed := startServer(t, dir, "127.0.0.1:0", routes(dir), log)
	stays, goes := startServer(t, dir, "", routes(dir, seed.Routes()), log), startServer(t, old, "", routes(old, seed.Routes()), log)
	for _, b := range []*cluster.Broker{seed, stays, goes} {
		until(t, "all are joined", func() bool { return b.Joined() == 2 })
	}
	for _, name := range []string{cluster.Route, cluster.RouteKey} {
		if err := os.Remove(filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := cluster.Init(cluster.InitConfig{Dir: dir, BrokerDir: dir}, time.Now()); err != nil {
		t.Fatal(err)
	}
	until(t, "the one with the old key is left out, and the others find together", func() bool {
		return goes.Joined() == 0 && seed.Joined() == 1 && stays.Joined() == 1
	})
}

// A server of the official configuration and ones of ours are one cluster.
func TestCluster_WithTheImage(t *testing.T) {
	dir, log := keyFolder(t), hclog.NewNullLogger()
	data, err := os.ReadFile(filepath.Join("..", "deploy", "nats", "cluster.conf"))
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "cluster.conf"), data, 0o600); err != nil {
		t.Fatal(err)
	}
	options, err := server.ProcessConfigFile(filepath.Join(dir, "cluster.conf"))
	if err != nil {
		t.Fatal(err)
	}
	options.Cluster.Host, options.Cluster.Port = "127.0.0.1", server.RANDOM_PORT
	seed := startImageWith(t, options)
	address := seed.ClusterAddr().String()
	first, second := startServer(t, dir, "", routes(dir, address), log), startServer(t, dir, "", routes(dir, address), log)
	until(t, "all are joined", func() bool { return first.Joined() == 2 && second.Joined() == 2 && seed.NumRemotes() == 2 })
}

// A run whose servers die goes on to the same bits: first a worker's, which then connects to the seed, and then the seed,
// which comes back.
func TestCluster_ServersDie(t *testing.T) {
	t.Parallel()
	dir, text := keyFolder(t), &logged{}
	log := hclog.New(&hclog.LoggerOptions{Output: text, Level: hclog.Info})
	servers := startCluster(t, dir, 2, log)
	s := &site{t, dir, servers[0].URL(), log}
	_, port, err := net.SplitHostPort(strings.TrimPrefix(servers[0].URL(), "nats://"))
	if err != nil {
		t.Fatal(err)
	}
	again := routes(dir)
	again.Listen = servers[0].Routes()
	cfg := toyConfig(t, 40, 8)
	want := undisturbed(t, cfg, hostileSize)
	cfg.Exchange, cfg.Chunk, cfg.FailureDetection = coordinator.Sharded, 8192, time.Second
	c, err := coordinator.New(cfg, initial(hostileSize), s.connect(cluster.CoordinatorKey), nil, log)
	if err != nil {
		t.Fatal(err)
	}
	reached := make(chan uint64, 1000)
	for i, key := range []string{cluster.WorkerKey, "worker-second.nk"} {
		w := s.member(local(t, dir, key, s.url, servers[1+i], log), fmt.Sprint("w", i), func() *toy {
			return &toy{size: hostileSize, before: func(step uint64) {
				select {
				case reached <- step:
				default:
				}
			}}
		})
		s.serve(fmt.Sprint("w", i), w)
	}
	await := func(step uint64) {
		for at := range reached {
			if at >= step {
				return
			}
		}
	}
	ended := make(chan error, 1)
	go func() { ended <- c.Run(t.Context()) }()
	await(8)
	servers[1].Shutdown()
	await(16)
	servers[0].Shutdown()
	startServer(t, dir, "127.0.0.1:"+port, again, log)
	select {
	case err := <-ended:
		if err != nil {
			t.Fatal(err)
		}
	case <-time.After(3 * time.Minute):
		t.Fatalf("the run does not end:\n%s", text)
	}
	if got := hash(c); got != want {
		t.Errorf("SHA-256 %s, want %s", got, want)
	}
}

// What is no address, and a port that is taken, are told as such.
func TestCluster_Refusals(t *testing.T) {
	for _, seed := range []string{"", "nats://host:4222", "host:0", "host:70000", "host:", ":6222", "nats-route://a:b@host:6222", "http://host"} {
		if _, err := cluster.SeedURL(seed); !errors.Is(err, cluster.ErrSeed) || strings.Contains(fmt.Sprint(err), "a:b@") {
			t.Errorf("%q: %v", seed, err)
		}
	}
	for seed, want := range map[string]string{
		"host": "nats-route://host:6222", "10.0.0.7:6223": "nats-route://10.0.0.7:6223", "[::1]:6222": "nats-route://[::1]:6222",
		" nats-route://host ": "nats-route://host:6222",
	} {
		if got, err := cluster.SeedURL(seed); err != nil || got != want {
			t.Errorf("%q: %q, %v", seed, got, err)
		}
	}
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	_, err = cluster.Start(cluster.Config{Listen: "127.0.0.1:0", Cluster: cluster.Cluster{Name: "x", Listen: taken.Addr().String()}, Log: hclog.NewNullLogger()})
	if !errors.Is(err, cluster.ErrStart) || !strings.Contains(err.Error(), taken.Addr().String()) || !strings.Contains(err.Error(), "in use") {
		t.Errorf("a port that is taken: %v", err)
	}
}

// Bytes that cross each link of a host: three hosts, of which the first has the coordinator and the others a worker and
// a server each. What workers say to each other crosses no third host, and with workers that sum one gradient comes to
// the coordinator, where it is one for each block in a star.
func TestCluster_BytesOfEachLink(t *testing.T) {
	t.Parallel()
	const steps, size = 40, 20_000
	for _, exchange := range []coordinator.Exchange{coordinator.Star, coordinator.Sharded} {
		dir, log := keyFolder(t), hclog.NewNullLogger()
		servers := startCluster(t, dir, 2, log)
		s := &site{t, dir, "", log}
		cfg := toyConfig(t, steps, 2)
		cfg.Exchange, cfg.Chunk = exchange, 8192
		c, err := coordinator.New(cfg, initial(size), local(t, dir, cluster.CoordinatorKey, "", servers[0], log), nil, log)
		if err != nil {
			t.Fatal(err)
		}
		s.runOver(c, servers[1:], func() *toy {
			// Long enough for the other to have its block of nearly every step.
			return &toy{size: size, before: func(uint64) { time.Sleep(5 * time.Millisecond) }}
		})
		var links [3][3]float64 // gradients per step from one server to another
		for i, b := range servers {
			list, err := b.Server().Routez(nil)
			if err != nil {
				t.Fatal(err)
			}
			for _, r := range list.Routes {
				to := slices.IndexFunc(servers, func(o *cluster.Broker) bool { return o.Server().ID() == r.RemoteID })
				links[i][to] += float64(r.OutBytes) / steps / (4 * size)
			}
		}
		t.Logf("exchange %d, gradients per step from server to server: %.2f", exchange, links)
		between := (links[1][2] + links[2][1]) / 2
		in := links[1][0] + links[2][0]
		// A worker that is slow for a moment may leave its block to the other.
		blocks := 0.0
		for _, m := range c.Stats().Members {
			blocks += float64(m.Accepted) / steps
		}
		if exchange == coordinator.Star && (between > 0.05 || in < 0.85*blocks || blocks <= 1) || exchange == coordinator.Sharded && (between < 0.05 || in > 1.6) {
			t.Errorf("exchange %d: %.2f between workers, %.2f to the coordinator", exchange, between, in)
		}
		if out := max(links[0][1], links[0][2]); out > 1.5 {
			t.Errorf("exchange %d: the coordinator's host sends %.2f gradients to a worker's, more than the parameters: it passes on", exchange, out)
		}
	}
}

// A client sees one cluster, whichever server it is connected to.
func TestCluster_ClientsSeeIt(t *testing.T) {
	dir := keyFolder(t)
	servers := startCluster(t, dir, 1, hclog.NewNullLogger())
	conn := connect(t, servers[0].URL(), holder(t, dir, cluster.OperatorKey))
	if conn.ConnectedClusterName() != cluster.ClusterName {
		t.Errorf("the cluster is called %q", conn.ConnectedClusterName())
	}
	if a, b := servers[0].Server().Name(), servers[1].Server().Name(); a == b || !bytes.HasPrefix([]byte(a), []byte("switchyard-")) {
		t.Errorf("servers are called %q and %q", a, b)
	}
}
