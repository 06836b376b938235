package cmd

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/switchyard-ml/switchyard/cluster"
	"github.com/switchyard-ml/switchyard/lead/job"
	"github.com/switchyard-ml/switchyard/store"
	"github.com/switchyard-ml/switchyard/web"
	"github.com/switchyard-ml/switchyard/worker"
)

// hosts is a broker on a port of its own, with the folder of a coordinator's runs.
type hosts struct {
	*cli   // the operator
	broker *cluster.Broker
	agents sync.WaitGroup
	pace   *pace // of the workers that are hired; nil: none
}

func newCluster(t *testing.T) *hosts {
	t.Helper()
	b, err := cluster.Start(cluster.Config{Listen: "127.0.0.1:0", Log: hclog.NewNullLogger()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(b.Shutdown)
	c := &hosts{cli: newCLI(t), broker: b}
	c.environ = []string{"SWITCHYARD_NATS=" + b.URL()}
	t.Cleanup(c.agents.Wait)
	return c
}

// process is a command line that runs until a signal ends it.
type process struct {
	t       *testing.T
	signals chan os.Signal
	err     *buffer
	code    chan int
}

// coordinator starts a coordinator on the cluster's folder.
func (c *hosts) coordinator(arguments ...string) *process {
	c.t.Helper()
	return c.start(append([]string{"coordinator", "--web", "none"}, arguments...)...)
}

// start runs a command line until the end of the test, or until it ends.
func (c *cli) start(arguments ...string) *process {
	c.t.Helper()
	p := &process{t: c.t, signals: make(chan os.Signal, 2), err: &buffer{}, code: make(chan int, 1)}
	a := &app{
		kinds: builtin(),
		out:   &buffer{}, err: p.err, environ: append([]string{"SWITCHYARD_RUNS_DIR=" + c.dir}, c.environ...),
		signals: p.signals, invoked: "switchyard", cores: 2,
	}
	go func() { p.code <- a.run(arguments) }()
	c.t.Cleanup(func() {
		p.signals <- os.Interrupt // it may have ended
		<-p.code
		if c.t.Failed() {
			c.t.Logf("%s said\n%s", arguments[0], p.err)
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

// says waits until the coordinator has written a text.
func (p *process) says(text string) {
	p.t.Helper()
	p.t.Logf("waiting for %q", text)
	await(p.t, func() bool { return strings.Contains(p.err.String(), text) })
}

// await waits until a condition holds, up to a time in which it must.
func await(t *testing.T, so func() bool) {
	t.Helper()
	for deadline := time.Now().Add(5 * time.Minute); !so(); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("it does not happen")
		}
	}
}

// hire starts workers of the pool.
func (c *hosts) hire(n int) (dismiss func()) {
	c.t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	c.t.Cleanup(cancel)
	build := job.Build(builtin())
	for i := range n {
		bus, err := cluster.Connect(cluster.BusConfig{Server: c.broker, Name: "worker", Log: hclog.NewNullLogger()})
		if err != nil {
			c.t.Fatal(err)
		}
		agent, err := worker.NewAgent(worker.AgentConfig{
			ID: fmt.Sprint("agent-", i+1), Slots: 1, Info: "test", Token: uint64(i + 1), Numerics: job.Numerics(),
			Build: func(text, data []byte, slots int) (worker.Program, error) {
				return c.pace.hold(build(text, data, slots))
			},
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

// show asks the coordinator for a run.
func (c *hosts) show(name string) web.Run {
	c.t.Helper()
	var r web.Run
	if err := json.Unmarshal([]byte(c.must("runs", "show", name, "--json").out), &r); err != nil {
		c.t.Fatal(err)
	}
	return r
}

// trainedHash returns the parameters' hash of a run that one process trains.
func trainedHash(t *testing.T, arguments ...string) string {
	t.Helper()
	c := newCLI(t)
	c.must(append([]string{"train", "--name", "x", "--quiet"}, arguments...)...)
	return c.info("x").ParametersSHA256
}

// paced is a run that lasts as long as the pace of its workers does: it can be stopped in the middle.
var paced = []string{"noise/smoke", "train.steps=200", "train.checkpoint_every=100", "train.validate_every=100"}

// TestCoordinator_HostsRuns: two runs share four workers. One of them is stopped, continued, and interrupted by the end
// of the coordinator. Both end with the parameters that one process computes.
func TestCoordinator_HostsRuns(t *testing.T) {
	t.Parallel()
	c := newCluster(t)
	c.pace = newPace()
	first := c.coordinator()
	first.says("coordinator ready")
	c.hire(4)
	r := c.must(append([]string{"submit", "--name", "long"}, paced...)...)
	for _, want := range []string{"submitted  long: it is ", "switchyard runs show long", "switchyard runs stop long"} {
		if !strings.Contains(r.out, want) {
			t.Errorf("%q is missing in\n%s", want, r.out)
		}
	}
	if r := c.must(append([]string{"submit", "--name", "long"}, paced...)...); !strings.Contains(r.out, "it is already running") {
		t.Errorf("submitted twice: %s", r.out)
	}
	c.must("submit", "fhn/smoke", "--name", "short")
	await(t, func() bool { return c.show("long").Step > 5 })
	if r := c.must("runs", "stop", "long"); !strings.Contains(r.out, "run long is stopped, with a checkpoint of step ") {
		t.Errorf("got %s", r.out)
	}
	if info := c.info("long"); info.State != store.Interrupted || !info.Stopped || info.Checkpoint != info.Step || info.Step >= 200 {
		t.Errorf("run.json holds %+v", info)
	}
	if r := c.must("submit", "fhn/smoke", "--name", "short", "--wait"); !strings.Contains(r.out, "trained  short: 30 steps, params_sha256 "+trainedHash(t, "fhn/smoke")) {
		t.Errorf("got %s", r.out)
	}
	list := c.must("runs", "ls").out
	if !strings.Contains(list, "long") || !strings.Contains(list, "interrupted") || !strings.Contains(list, "short") || !strings.Contains(list, "finished") {
		t.Errorf("runs ls prints\n%s", list)
	}
	if r := c.must(append([]string{"submit", "--name", "long", "--json"}, paced...)...); !strings.Contains(r.out, `"state": "resumed"`) {
		t.Errorf("got %s", r.out)
	}
	stopped := c.info("long").Checkpoint
	await(t, func() bool { return c.show("long").Step > stopped+5 })
	if code := first.stop(); code != exitInterrupted {
		t.Errorf("exit code %d", code)
	}
	if info := c.info("long"); info.State != store.Interrupted || info.Stopped {
		t.Errorf("run.json holds %+v", info)
	}
	c.pace.finish()
	second := c.coordinator()
	second.says("coordinator ready")
	if r := c.must(append([]string{"submit", "--name", "long", "--wait"}, paced...)...); !strings.Contains(r.out, "trained  long: 200 steps, params_sha256 "+trainedHash(t, paced...)) {
		t.Errorf("got %s", r.out)
	}
	again := c.must(append([]string{"submit", "--name", "long"}, paced...)...)
	if !strings.Contains(again.out, "it is finished already") || strings.Contains(again.out, "runs stop") {
		t.Errorf("got %s", again.out)
	}
	if code := second.stop(); code != exitOK {
		t.Errorf("exit code %d with no run under way", code)
	}
}

// TestCoordinator_ConfigIsOneRun: --config opens a run once, and leaves it alone when it is finished.
func TestCoordinator_ConfigIsOneRun(t *testing.T) {
	t.Parallel()
	c := newCluster(t)
	c.hire(1)
	for _, state := range []string{"started", "finished"} {
		p := c.coordinator("--config", "noise/smoke")
		p.says("run of --config: run=noise-smoke-concrete-1 state=" + state)
		await(t, func() bool { return c.show("noise-smoke-concrete-1").State == store.Finished })
		if code := p.stop(); code != exitOK {
			t.Errorf("exit code %d", code)
		}
	}
	if list := c.must("runs", "ls", "--nats", "").out; strings.Count(list, "noise-smoke") != 1 {
		t.Errorf("there are\n%s", list)
	}
	c.environ = append(c.environ, "SWITCHYARD_SEED=9")
	p := c.coordinator("--config", "noise/smoke")
	if code := p.wait(); code != exitUsage {
		t.Errorf("exit code %d", code)
	}
	p.says("run noise-smoke-concrete-1: there is a run of that name with another configuration: seed is 1 there, 9 here")
	p.says("hint: choose another --name")
}

// TestCoordinator_GoesOnByItself: a run that was under way continues when its coordinator is started again; one that
// was stopped on request does not.
func TestCoordinator_GoesOnByItself(t *testing.T) {
	t.Parallel()
	c := newCluster(t)
	p := c.coordinator()
	p.says("coordinator ready")
	c.must("submit", "noise/smoke", "--name", "one", "--json") // without it, submit waits for a worker
	c.must("submit", "noise/smoke", "--name", "two", "--json")
	c.must("runs", "stop", "two")
	if code := p.stop(); code != exitInterrupted {
		t.Errorf("exit code %d", code)
	}
	p.says("interrupted with a checkpoint: one; they continue when the coordinator is started again")
	p = c.coordinator("--config", "noise/smoke", "--name", "two")
	p.says("the run of --config was stopped on request and is left alone")
	await(t, func() bool {
		one := c.show("one")
		return one.State == store.Running && one.Live != nil && strings.Contains(one.Live.Waiting, "no worker has joined") && !one.Live.WaitingSince.IsZero()
	})
	if two := c.show("two"); two.State != store.Interrupted || two.Live != nil {
		t.Errorf("two is %+v", two)
	}
	c.hire(2)
	r := c.must("submit", "noise/smoke", "--name", "one", "--wait")
	known := strings.Contains(r.out, "it is already running") || strings.Contains(r.out, "it is finished already") // workers may be quicker
	if !known || !strings.Contains(r.out, "params_sha256 "+trainedHash(t, "noise/smoke")) {
		t.Errorf("got %s", r.out)
	}
}

func TestCoordinator_OnlyOneForABroker(t *testing.T) {
	t.Parallel()
	c := newCluster(t)
	first := c.coordinator()
	first.says("coordinator ready")
	second := c.coordinator()
	if code := second.wait(); code != exitFailed {
		t.Errorf("exit code %d", code)
	}
	second.says("a broker can have only one coordinator: another (dev, started ")
	second.says("hint: it leads any number of runs: switchyard submit")
	if code := first.stop(); code != exitOK {
		t.Errorf("exit code %d", code)
	}
	c.coordinator().says("coordinator ready")
}

func TestCoordinator_WaitsForTheBroker(t *testing.T) {
	t.Parallel()
	c := newCluster(t)
	c.broker.Shutdown()
	p := c.coordinator()
	p.says("no connection to the broker yet; trying again")
	if code := p.stop(); code != exitOK {
		t.Errorf("exit code %d", code)
	}
}

// TestCoordinator_AFailedRunTouchesNoOther: an error of one run is reported for this run, at its start as well as at
// its end, and other runs continue.
func TestCoordinator_AFailedRunTouchesNoOther(t *testing.T) {
	t.Parallel()
	c := newCluster(t)
	p := c.coordinator()
	p.says("coordinator ready")
	for _, name := range []string{"whole", "torn"} {
		c.must("submit", "noise/smoke", "--name", name, "--json") // without it, submit waits for a worker
	}
	if code := p.stop(); code != exitInterrupted {
		t.Errorf("exit code %d", code)
	}
	checkpoints, err := filepath.Glob(filepath.Join(c.dir, "torn", "checkpoints", "*.safetensors"))
	if err != nil || len(checkpoints) == 0 {
		t.Fatalf("%v, %v", checkpoints, err)
	}
	for _, path := range checkpoints {
		if err := os.Truncate(path, 10); err != nil {
			t.Fatal(err)
		}
	}
	p = c.coordinator()
	p.says("a run cannot continue: run=torn")
	c.hire(1)
	await(t, func() bool { return c.show("whole").State == store.Finished })
	if r := c.show("torn"); r.State != store.Failed || !strings.Contains(r.ExitReason, "no valid checkpoint") {
		t.Errorf("torn is %+v", r)
	}
	if r := c.run("submit", "noise/smoke", "--name", "torn", "--wait"); r.code != exitUsage || !strings.Contains(r.err, "no valid checkpoint") || !strings.Contains(r.err, "start again with") {
		t.Errorf("exit code %d: %s", r.code, r.err)
	}
}

// TestCoordinator_OtherConfigurationLeavesTheRunResumable: a run whose configuration was changed on disk is not led. It
// continues by itself when the configuration is restored.
func TestCoordinator_OtherConfigurationLeavesTheRunResumable(t *testing.T) {
	t.Parallel()
	c := newCluster(t)
	p := c.coordinator()
	p.says("coordinator ready")
	c.must("submit", "noise/smoke", "--name", "one", "--json") // without it, submit waits for a worker
	p.stop()                                                   // with a checkpoint
	path := filepath.Join(c.dir, "one", "config.yaml")
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(strings.Replace(string(text), "beta1: 0.9", "beta1: 0.8", 1)), 0o644); err != nil {
		t.Fatal(err)
	}
	p = c.coordinator()
	p.says("a run cannot continue: run=one")
	await(t, func() bool { return c.info("one").State == store.Interrupted })
	p.stop()
	if err := os.WriteFile(path, text, 0o644); err != nil {
		t.Fatal(err)
	}
	p = c.coordinator()
	p.says("run opens")
	c.hire(1)
	await(t, func() bool { return c.info("one").State == store.Finished })
	if got, want := c.info("one").ParametersSHA256, trainedHash(t, "noise/smoke"); got != want {
		t.Errorf("params_sha256 %s, want %s", got, want)
	}
}

// recordings makes a folder of own data.
func (c *hosts) recordings() (folder string) {
	c.t.Helper()
	folder = filepath.Join(filepath.Dir(c.dir), "csv")
	c.must("data", "generate", "fhn", "--episodes", "12", "--length", "40", "--out", folder+"/")
	return folder
}

// TestSubmit_BringsOwnData: the coordinator needs the files neither to start a run nor to continue it, and who asks about
// the run in its folder needs them neither.
func TestSubmit_BringsOwnData(t *testing.T) {
	t.Parallel()
	c := newCluster(t)
	first := c.coordinator()
	first.says("coordinator ready")
	folder := c.recordings()
	words := []string{
		"files", "env.files=" + folder, "env.window=20", "train.steps=60", "train.batch=8", "train.shards=4", "train.validation_episodes=4",
		"model.hidden=8", "model.latent=3", "model.switches=2",
	}
	want := trainedHash(t, words...)
	submit := slices.Concat([]string{"submit"}, words, []string{"--name", "own"})
	c.must(append(submit, "--json")...) // without it, submit waits for a worker
	first.says("data set received")
	if r := c.must(submit...); !strings.Contains(r.out, "it is already running") || strings.Count(first.err.String(), "data set received") != 1 {
		t.Errorf("submitted twice: %s", r.out)
	}
	if code := first.stop(); code != exitInterrupted {
		t.Errorf("exit code %d", code)
	}
	if err := os.RemoveAll(folder); err != nil {
		t.Fatal(err)
	}
	c.coordinator().says("coordinator ready")
	c.hire(2)
	await(t, func() bool { return c.show("own").State == store.Finished })
	if got := c.info("own").ParametersSHA256; got != want {
		t.Errorf("got %s, one process %s", got, want)
	}
	for _, line := range []string{"verify own --from 51", "diff own own", "eval own"} {
		c.must(strings.Fields(line)...)
	}
}

// TestSubmit_WaitsForNoRunThatCannotContinue: when the coordinator is started again, the data set of the run is gone.
// Who waits for the run is told.
func TestSubmit_WaitsForNoRunThatCannotContinue(t *testing.T) {
	t.Parallel()
	c := newCluster(t)
	first := c.coordinator()
	first.says("coordinator ready")
	folder := c.recordings()
	submit := c.start("submit", "files", "env.files="+folder, "env.window=20", "train.steps=60", "train.batch=8", "train.shards=4", "model.hidden=8",
		"--name", "own", "--wait")
	first.says("data set received")
	first.says("run opens: run=own")
	if code := first.stop(); code != exitInterrupted {
		t.Errorf("exit code %d", code)
	}
	if err := os.RemoveAll(store.DataFolder(c.dir)); err != nil {
		t.Fatal(err)
	}
	c.coordinator().says("a run cannot continue")
	if code := submit.wait(); code != exitFailed {
		t.Errorf("exit code %d", code)
	}
	submit.says("run own cannot continue: ")
	submit.says("the coordinator does not have the data set")
}

// TestShow_NoLabelsOfANamesake: a run of this folder with the name of a coordinator's run has labels of its own.
func TestShow_NoLabelsOfANamesake(t *testing.T) {
	t.Parallel()
	c, here := newCluster(t), newCLI(t)
	c.coordinator().says("coordinator ready")
	c.must("submit", "noise/smoke", "--name", "same", "--json") // without it, submit waits for a worker
	here.must("train", "noise/smoke", "--name", "same", "--quiet")
	here.must("runs", "label", "same", "--tag", "mine")
	if r := here.must("runs", "show", "same"); !strings.Contains(r.out, "tags mine") {
		t.Errorf("here:\n%s", r.out)
	}
	if r := here.must("runs", "show", "same", "--nats", c.broker.URL()); strings.Contains(r.out, "mine") || !strings.Contains(r.out, "at the coordinator") {
		t.Errorf("at the coordinator:\n%s", r.out)
	}
}

func TestSubmit_Errors(t *testing.T) {
	t.Parallel()
	c := newCluster(t)
	for _, test := range []struct {
		line string
		code int
		want []string // parts of what is written to stderr
	}{
		{"submit", exitUsage, []string{"needs a PRESET or FILE.yaml"}},
		{"submit seed=2", exitUsage, []string{"needs a preset or a file", "submit fhn seed=2"}},
		{"submit fhn optim.rat=1", exitUsage, []string{"did you mean optim.rate?"}},
		{"submit noise/smoke --nats http://127.0.0.1:1", exitUsage, []string{"that is the address of a page"}},
		{"submit noise/smoke --nats=", exitUsage, []string{"needs the address of a broker", "--nats nats://127.0.0.1:4222"}},
		{"submit noise/smoke", exitFailed, []string{"no coordinator answers at " + c.broker.URL(), "start one with: switchyard coordinator --nats " + c.broker.URL()}},
		{"runs ls", exitFailed, []string{"no coordinator answers"}},
		{"runs stop x --nats=", exitUsage, []string{"needs the address of a broker"}},
		{"coordinator --name x", exitUsage, []string{"--name needs --config"}},
		{"coordinator --config seed=1", exitUsage, []string{"takes a preset or a file"}},
		{"coordinator --config nothing", exitUsage, []string{`unknown preset "nothing"`}},
		{"coordinator --nats=", exitUsage, []string{"needs the address of a broker"}},
		{"coordinator --web 0.0.0.0:0", exitUsage, []string{"token"}},
		{"coordinator --web 8080", exitUsage, []string{"--web 8080", "missing port"}},
		{"coordinator --runs-dir " + c.write("file", "") + "/x", exitUsage, []string{"the folder of runs", "with --runs-dir"}},
	} {
		r := c.run(strings.Fields(test.line)...)
		if r.code != test.code {
			t.Errorf("%s: exit code %d, want %d\n%s", test.line, r.code, test.code, r.err)
		}
		for _, want := range test.want {
			if !strings.Contains(r.err, want) {
				t.Errorf("%s: %q is missing in\n%s", test.line, want, r.err)
			}
		}
	}
	p := c.coordinator()
	p.says("coordinator ready")
	c.must("submit", "noise/smoke", "--name", "taken", "--json") // without it, submit waits for a worker
	for _, test := range []struct {
		line string
		want []string
	}{
		{"submit noise/smoke --name taken seed=2 train.steps=11", []string{"another configuration: seed is 1 there, 2 here, train.steps is 10 there, 11 here", "choose another --name"}},
		{"submit noise/smoke --name a/b", []string{"not a run name"}},
		{"runs show takn", []string{"no such run: takn\n", "did you mean taken?"}},
		{"runs stop takn", []string{"no such run: takn\n", "did you mean taken?"}},
	} {
		r := c.run(strings.Fields(test.line)...)
		if r.code != exitUsage {
			t.Errorf("%s: exit code %d\n%s", test.line, r.code, r.err)
		}
		for _, want := range test.want {
			if !strings.Contains(r.err, want) {
				t.Errorf("%s: %q is missing in\n%s", test.line, want, r.err)
			}
		}
	}
	c.must("runs", "stop", "taken")
	if r := c.run("runs", "stop", "taken"); r.code != exitUsage || !strings.Contains(r.err, "not running") {
		t.Errorf("stopped twice: exit code %d: %s", r.code, r.err)
	}
	c.broker.Shutdown()
	if r := c.run("runs", "ls"); r.code != exitFailed || !strings.Contains(r.err, "no connection to "+c.broker.URL()) || !strings.Contains(r.err, "switchyard broker") {
		t.Errorf("without a broker: exit code %d: %s", r.code, r.err)
	}
}

// TestCoordinator_ControlsOfThePage: with the token of the page a run of a coordinator gets a checkpoint now, stops, and
// goes on, to the bits of a run that nobody has stopped; without it nothing happens.
func TestCoordinator_ControlsOfThePage(t *testing.T) {
	t.Parallel()
	c := newCluster(t)
	const secret = "0123456789abcdef-test"
	token := c.write("token", secret)
	p := c.start("coordinator", "--web", "127.0.0.1:0", "--web-token-file", token, "--tensorboard=false")
	p.says("coordinator ready")
	p.says("page: url=http://")
	url := regexp.MustCompile(`page: url=(http://127\.0\.0\.1:\d+/)`).FindStringSubmatch(p.err.String())[1]
	ask := func(act, bearer string) int {
		t.Helper()
		request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url+"api/runs/one/"+act, nil)
		if err != nil {
			t.Fatal(err)
		}
		request.Header.Set("Authorization", "Bearer "+bearer)
		response, err := http.DefaultClient.Do(request)
		if err != nil {
			t.Fatal(err)
		}
		if err := response.Body.Close(); err != nil {
			t.Fatal(err)
		}
		return response.StatusCode
	}
	c.pace = newPace()
	c.hire(2)
	run := []string{"noise/smoke", "train.steps=200", "train.checkpoint_every=0", "train.validate_every=0"}
	c.must(slices.Concat([]string{"submit", "--name", "one"}, run)...)
	await(t, func() bool { return c.show("one").Step > 5 })
	for _, act := range []string{"checkpoint", "stop", "resume"} {
		if status := ask(act, "wrong-"+secret); status != http.StatusUnauthorized {
			t.Errorf("%s with another token: %d", act, status)
		}
	}
	if status := ask("checkpoint", secret); status != http.StatusAccepted {
		t.Errorf("checkpoint: %d", status)
	}
	await(t, func() bool { return c.show("one").Checkpoint > 0 })
	if status := ask("stop", secret); status != http.StatusAccepted {
		t.Errorf("stop: %d", status)
	}
	await(t, func() bool { return c.show("one").State == store.Interrupted })
	stopped := c.info("one")
	if !stopped.Stopped || stopped.Checkpoint != stopped.Step || stopped.Step >= 200 {
		t.Errorf("it stopped as %+v", stopped)
	}
	c.pace.finish()
	if status := ask("resume", secret); status != http.StatusAccepted {
		t.Errorf("resume: %d", status)
	}
	await(t, func() bool { return c.show("one").State == store.Finished })
	if got, want := c.info("one").ParametersSHA256, trainedHash(t, run...); got != want {
		t.Errorf("got %s, without the stop %s", got, want)
	}
	if status := ask("resume", secret); status == http.StatusAccepted {
		t.Error("a finished run is resumed")
	}
}
