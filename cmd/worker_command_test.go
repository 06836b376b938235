package cmd

import (
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/switchyard-ml/switchyard/cluster"
	"github.com/switchyard-ml/switchyard/store"
	"github.com/switchyard-ml/switchyard/wire"
)

// worker starts a worker process of the cluster.
func (c *hosts) worker(arguments ...string) *process {
	c.t.Helper()
	p := &process{t: c.t, signals: make(chan os.Signal, 2), err: &buffer{}, code: make(chan int, 1)}
	a := &app{kinds: builtin(), out: &buffer{}, err: p.err, environ: c.environ, signals: p.signals, invoked: "switchyard", cores: 2}
	go func() { p.code <- a.run(append([]string{"worker"}, arguments...)) }()
	c.t.Cleanup(func() {
		p.signals <- os.Interrupt // it may have ended
		<-p.code
		if c.t.Failed() {
			c.t.Logf("a worker said\n%s", p.err)
		}
	})
	return p
}

// A worker that starts before the coordinator serves the coordinator's run to the end, to the bits of train. It then
// waits for more, and ends in order at a signal.
func TestWorker_ServesAndLeaves(t *testing.T) {
	t.Parallel()
	c := newCluster(t)
	w := c.worker("--id", "early", "--slots", "2")
	w.says("worker: id=early")
	p := c.coordinator("--config", "noise/smoke", "--name", "a")
	p.says("run of --config: run=a")
	await(t, func() bool { return c.show("a").State == store.Finished })
	if got, want := c.info("a").ParametersSHA256, trainedHash(t, "noise/smoke"); got != want {
		t.Errorf("got %s, train has %s", got, want)
	}
	w.says("the program is built: worker=early parameters=")
	w.says("memory=\"about ")
	w.says("the run ends: worker=early")
	if code := w.stop(); code != exitOK {
		t.Errorf("exit code %d", code)
	}
	w.says("returning computed results")
	p.says("worker=early")
}

// A worker whose broker accepts a connection and says nothing ends in order at a signal, too: it has nothing to hand
// back.
func TestWorker_LeavesWhileItConnects(t *testing.T) {
	t.Parallel()
	silent, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer silent.Close()
	w := newCluster(t).worker("--nats", "nats://"+silent.Addr().String())
	connection, err := silent.Accept()
	if err != nil {
		t.Fatal(err)
	}
	defer connection.Close()
	if code := w.stop(); code != exitOK {
		t.Errorf("exit code %d", code)
	}
}

// A worker that is stopped in the middle of a run leaves the run, and the run continues with the others.
func TestWorker_LeavesInTheMiddle(t *testing.T) {
	t.Parallel()
	c := newCluster(t)
	p := c.coordinator("--config", "noise/smoke", "--name", "a")
	p.says("coordinator ready")
	c.must("submit", "noise/smoke", "--name", "long", "train.steps=1000000", "--json") // without it, submit waits for a worker
	first := c.worker("--id", "first", "--slots", "1")
	first.says("run=long")
	await(t, func() bool { return c.show("long").Step > 3 })
	if code := first.stop(); code != exitOK {
		t.Errorf("exit code %d", code)
	}
	p.says("worker=first reason=\"said goodbye\"")
	reached := c.show("long").Step
	c.worker("--id", "second", "--slots", "1")
	await(t, func() bool { return c.show("long").Step > reached+3 && c.show("a").State == store.Finished })
	c.must("runs", "stop", "long")
	info := c.info("long")
	if want := trainedHash(t, "noise/smoke", fmt.Sprint("train.steps=", info.Step)); info.Step <= reached || info.ParametersSHA256 != want {
		t.Errorf("at step %d got %s, train has %s", info.Step, info.ParametersSHA256, want)
	}
}

// The refusal of the coordinator is what the worker ends with.
func TestWorker_Refused(t *testing.T) {
	t.Parallel()
	c := newCluster(t)
	bus, err := cluster.Connect(cluster.BusConfig{Server: c.broker, Log: hclog.NewNullLogger()})
	if err != nil {
		t.Fatal(err)
	}
	defer bus.Close()
	sub, err := bus.Hear(wire.SeekSubject, func(_ string, seek []byte) {
		p, err := wire.Peek(seek)
		if err != nil {
			t.Error(err)
		}
		data, err := wire.NewEncoder().Encode(&wire.Refusal{Header: wire.Header{Run: wire.Pool, Token: wire.Mark(p.Token)}, Reason: "its arithmetic differs", Remedy: "use one release"})
		if err == nil {
			err = bus.Publish(wire.AssignSubject("odd"), data)
		}
		if err != nil {
			t.Error(err)
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := sub.Unsubscribe(); err != nil {
			t.Error(err)
		}
	}()
	w := c.worker("--id", "odd")
	if code := w.wait(); code != exitFailed {
		t.Errorf("exit code %d", code)
	}
	w.says("error: worker odd: worker: refused by the coordinator: its arithmetic differs; use one release")
}

func TestWorker_Usage(t *testing.T) {
	t.Parallel()
	c := newCLI(t)
	for line, want := range map[string]string{
		"worker":                             "needs the address of a broker",
		"worker --nats http://x":             "is not the address of a broker",
		"worker --nats nats://x --slots -1":  "--slots -1",
		"worker --nats nats://x --id a.b":    "only letters, digits",
		"worker --nats nats://x --nkey none": "none: no such file",
		"worker x --nats nats://x":           "takes no arguments",
	} {
		r := c.run(strings.Fields(line)...)
		if r.code != exitUsage || !strings.Contains(r.err, want) || strings.Count(r.err, "error: ") != 1 {
			t.Errorf("%s: exit code %d, want %d and %q\n%s", line, r.code, exitUsage, want, r.err)
		}
	}
}

// Names that are made up are valid whatever the machine is called, and different.
func TestWorkerName(t *testing.T) {
	t.Parallel()
	seen := map[string]bool{}
	for host, prefix := range map[string]string{
		"lab-3": "lab-3-", "lab-3.example.org": "lab-3-example-org-", "": "worker-", "...": "worker-", "größe": "gr--e-",
		strings.Repeat("x", 300): strings.Repeat("x", 40) + "-", strings.Repeat("é", 100): "worker-",
	} {
		for range 2 {
			name := workerName(host)
			if err := wire.CheckName(name); err != nil || !strings.HasPrefix(name, prefix) || seen[name] {
				t.Errorf("%q: got %q, %v", host, name, err)
			}
			seen[name] = true
		}
	}
}

// TestHealth_OfAWorker: the file that a worker touches shows whether it is healthy.
func TestHealth_OfAWorker(t *testing.T) {
	t.Parallel()
	c := newCLI(t)
	path := filepath.Join(t.TempDir(), "health")
	if r := c.run("health", "--file", path); r.code != exitFailed || !strings.Contains(r.err, "look for the health file") {
		t.Errorf("without a file: %+v", r)
	}
	w := newCluster(t).worker("--id", "w", "--health-file", path)
	w.says("worker: id=w")
	await(t, func() bool {
		_, err := os.Stat(path)
		return err == nil
	})
	if r := c.must("health", "--file", path); r.out != "well\n" {
		t.Errorf("health: %+v", r)
	}
	if _, err := lately(path, time.Now().Add(time.Minute)); !errors.Is(err, errUnwell) {
		t.Errorf("a minute later: %v", err)
	}
}
