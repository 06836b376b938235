package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/switchyard-ml/switchyard/envs/files"
	"github.com/switchyard-ml/switchyard/internal/broker"
	"github.com/switchyard-ml/switchyard/internal/config"
	"github.com/switchyard-ml/switchyard/internal/runs"
	"github.com/switchyard-ml/switchyard/internal/web"
	"github.com/switchyard-ml/switchyard/internal/wire/natsbus"
	"github.com/switchyard-ml/switchyard/worker"
)

// cluster is a broker on a port of its own, with the folder of a coordinator's runs.
type cluster struct {
	*cli   // the operator
	broker *broker.Broker
	agents sync.WaitGroup
}

func newCluster(t *testing.T) *cluster {
	t.Helper()
	b, err := broker.Start(broker.Config{Listen: "127.0.0.1:0", Log: hclog.NewNullLogger()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(b.Shutdown)
	c := &cluster{cli: newCLI(t), broker: b}
	c.environ = []string{"SWITCHYARD_NATS=" + b.URL()}
	t.Cleanup(c.agents.Wait)
	return c
}

// process is a command line that runs until it is told to stop.
type process struct {
	t       *testing.T
	signals chan os.Signal
	err     *buffer
	code    chan int
}

// coordinator starts a coordinator on the cluster's folder.
func (c *cluster) coordinator(arguments ...string) *process {
	c.t.Helper()
	p := &process{t: c.t, signals: make(chan os.Signal, 2), err: &buffer{}, code: make(chan int, 1)}
	a := &app{
		out: &buffer{}, err: p.err, environ: append([]string{"SWITCHYARD_RUNS_DIR=" + c.dir}, c.environ...),
		signals: p.signals, invoked: "switchyard", cores: 2,
	}
	go func() { p.code <- a.run(append([]string{"coordinator", "--web", "none"}, arguments...)) }()
	c.t.Cleanup(func() {
		p.signals <- os.Interrupt // it may have ended
		<-p.code
		if c.t.Failed() {
			c.t.Logf("a coordinator said\n%s", p.err)
		}
	})
	return p
}

// stop ends the coordinator in order and returns its exit code.
func (p *process) stop() int {
	p.t.Helper()
	p.signals <- os.Interrupt
	code := p.wait()
	return code
}

// wait returns the exit code.
func (p *process) wait() int {
	code := <-p.code
	p.code <- code // for who asks next
	return code
}

// says waits until the coordinator has written something.
func (p *process) says(text string) {
	p.t.Helper()
	p.t.Logf("waiting for %q", text)
	await(p.t, func() bool { return strings.Contains(p.err.String(), text) })
}

// await waits until something is so, for a time in which it must be.
func await(t *testing.T, so func() bool) {
	t.Helper()
	for deadline := time.Now().Add(2 * time.Minute); !so(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("it does not happen")
		}
	}
}

// hire starts workers of the pool.
func (c *cluster) hire(n int) (dismiss func()) {
	c.t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	c.t.Cleanup(cancel)
	for i := range n {
		bus, err := natsbus.Connect(natsbus.Config{Server: c.broker, Name: "worker", Log: hclog.NewNullLogger()})
		if err != nil {
			c.t.Fatal(err)
		}
		agent, err := worker.NewAgent(worker.AgentConfig{
			ID: fmt.Sprint("agent-", i+1), Slots: 1, Info: "test", Token: uint64(i + 1), Numerics: numerics(), Build: buildJob,
		}, bus, hclog.NewNullLogger())
		if err != nil {
			c.t.Fatal(err)
		}
		c.agents.Go(func() {
			defer bus.Close()
			if err := agent.Run(ctx); err != nil {
				c.t.Errorf("agent %d: %v", i+1, err)
			}
		})
	}
	return cancel
}

// buildJob makes the program of a job as a worker process does.
func buildJob(job, data []byte, slots int) (worker.Program, error) {
	c, err := config.Parse("job", job)
	if err != nil {
		return nil, err
	}
	var set *files.Dataset
	if len(data) > 0 {
		if set, err = files.Decode(data); err != nil {
			return nil, err
		}
	}
	return newProgram(c, set, slots)
}

// show asks the coordinator for a run.
func (c *cluster) show(name string) web.Run {
	c.t.Helper()
	var r web.Run
	if err := json.Unmarshal([]byte(c.must("runs", "show", name, "--json").out), &r); err != nil {
		c.t.Fatal(err)
	}
	return r
}

// trained returns the parameters' hash of a run that one process trains.
func trained(t *testing.T, arguments ...string) string {
	t.Helper()
	c := newCLI(t)
	c.must(append([]string{"train", "--name", "x", "--quiet"}, arguments...)...)
	return c.info("x").ParametersSHA256
}

// lengthy is a run that lasts long enough to be stopped.
var lengthy = []string{"noise/smoke", "train.steps=400", "train.checkpoint_every=10", "train.validate_every=100"}

// TestCoordinator_HostsRuns: two runs share four workers; one of them is stopped, gone on with, and interrupted by the end
// of the coordinator, and both have the parameters of the run in one process.
func TestCoordinator_HostsRuns(t *testing.T) {
	c := newCluster(t)
	first := c.coordinator()
	first.says("coordinator ready")
	c.hire(4)
	r := c.must(append([]string{"submit", "--name", "long"}, lengthy...)...)
	for _, want := range []string{"submitted  long: it is started", "switchyard runs show long", "switchyard runs stop long"} {
		if !strings.Contains(r.out, want) {
			t.Errorf("%q is missing in\n%s", want, r.out)
		}
	}
	if r := c.must(append([]string{"submit", "--name", "long"}, lengthy...)...); !strings.Contains(r.out, "it is under way already") {
		t.Errorf("submitted twice: %s", r.out)
	}
	c.must("submit", "fhn/smoke", "--name", "short")
	await(t, func() bool { return c.show("long").Step > 20 })
	if r := c.must("runs", "stop", "long"); !strings.Contains(r.out, "run long is stopped, with a checkpoint of step ") {
		t.Errorf("got %s", r.out)
	}
	if info := c.info("long"); info.State != runs.Interrupted || !info.Stopped || info.Checkpoint != info.Step || info.Step >= 400 {
		t.Errorf("run.json holds %+v", info)
	}
	if r := c.must("submit", "fhn/smoke", "--name", "short", "--wait"); !strings.Contains(r.out, "trained  short: 30 steps, params_sha256 "+trained(t, "fhn/smoke")) {
		t.Errorf("got %s", r.out)
	}
	list := c.must("runs", "ls").out
	if !strings.Contains(list, "long") || !strings.Contains(list, "interrupted") || !strings.Contains(list, "short") || !strings.Contains(list, "finished") {
		t.Errorf("runs ls prints\n%s", list)
	}
	if r := c.must(append([]string{"submit", "--name", "long", "--json"}, lengthy...)...); !strings.Contains(r.out, `"state": "resumed"`) {
		t.Errorf("got %s", r.out)
	}
	stopped := c.info("long").Checkpoint
	await(t, func() bool { return c.show("long").Step > stopped+5 })
	if code := first.stop(); code != exitInterrupted {
		t.Errorf("exit code %d", code)
	}
	if info := c.info("long"); info.State != runs.Interrupted || info.Stopped {
		t.Errorf("run.json holds %+v", info)
	}
	second := c.coordinator()
	if r := c.must(append([]string{"submit", "--name", "long", "--wait"}, lengthy...)...); !strings.Contains(r.out, "trained  long: 400 steps, params_sha256 "+trained(t, lengthy...)) {
		t.Errorf("got %s", r.out)
	}
	if code := second.stop(); code != exitOK {
		t.Errorf("exit code %d with no run under way", code)
	}
}
