package cmd

import (
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// A worker whose only connection is its own server, and which knows the seed alone, serves a training whose broker is that
// seed, to the same bits.
func TestWorker_CarriesAServer(t *testing.T) {
	t.Parallel()
	c, dir := newCLI(t), t.TempDir()
	c.must("init", "--dir", dir, "--hand-out", "route="+filepath.Join(dir, "route"))
	train := c.start("train", "noise/smoke", "cluster.exchange=sharded", "--name", "a", "--workers", "0", "--listen", "127.0.0.1:0", "--keys", dir, "--cluster", "127.0.0.1:0")
	train.says("the broker takes routes of other servers: address=")
	address := regexp.MustCompile(`routes of other servers: address=(\S+)`).FindStringSubmatch(train.err.String())[1]
	for _, id := range []string{"w1", "w2"} {
		w := c.start("worker", "--id", id, "--slots", "1", "--nkey", filepath.Join(dir, "worker.nk"),
			"--cluster", "127.0.0.1:0", "--cluster-seed", address, "--keys", filepath.Join(dir, "route"))
		w.says("the worker carries a server: routes=127.0.0.1:")
		w.says("servers of the cluster: reached=1")
	}
	if code := <-train.code; code != exitOK {
		t.Fatalf("exit code %d", code)
	}
	train.code <- exitOK // for the end of the test
	if got, want := c.info("a").ParametersSHA256, trainedHash(t, "noise/smoke"); got != want {
		t.Errorf("got %s, train has %s", got, want)
	}
}

func TestCluster_FlagsThatDoNotFit(t *testing.T) {
	t.Parallel()
	c, dir := newCLI(t), t.TempDir()
	c.must("init", "--dir", dir, "--hand-out", "worker="+filepath.Join(dir, "worker"))
	for line, want := range map[string]string{
		"broker --cluster-seed a:6222":                                                "--cluster-seed without --cluster",
		"broker --cluster nowhere":                                                    "missing port",
		"broker --cluster 127.0.0.1:0 --cluster-seed nats://a:4222":                   "is for clients",
		"broker --cluster 127.0.0.1:0 --listen 127.0.0.1:0 --keys " + dir + "/worker": "route.pem",
		"worker --nats nats://a --listen 127.0.0.1:0":                                 "which --cluster asks for",
		"worker --nats nats://a --cluster-seed a:6222":                                "--cluster-seed without --cluster",
		"worker --cluster 127.0.0.1:0 --cluster-seed x://a":                           "does not begin with nats-route://",
		"worker --cluster 127.0.0.1:0 --nats http://a":                                "that is the address of a page",
		"worker": "needs the address of a broker",
		"train noise/smoke --cluster 127.0.0.1:0":                 "without --listen",
		"train noise/smoke --listen 127.0.0.1:0 --cluster-seed a": "--cluster-seed without --cluster",
	} {
		if r := c.run(strings.Fields(line)...); r.code != exitUsage || !strings.Contains(r.err, want) {
			t.Errorf("%s: exit code %d, want %q\n%s", line, r.code, want, r.err)
		}
	}
}
