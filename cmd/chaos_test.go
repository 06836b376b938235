package cmd

import (
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"runtime/debug"
	"strconv"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"github.com/switchyard-ml/switchyard/config"
	"github.com/switchyard-ml/switchyard/lab/chaos"
)

// asCommand makes this test program behave as the command, so that chaos can start it as broker, coordinator and
// worker.
const asCommand = "TEST_AS_COMMAND"

// asProcess is a command line as a process of its own, which is not started yet.
func asProcess(t *testing.T, arguments ...string) *exec.Cmd {
	t.Helper()
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(program, arguments...)
	cmd.Env = append(os.Environ(), asCommand+"=1")
	return cmd
}

func TestMain(m *testing.M) {
	if os.Getenv(asCommand) != "" {
		Main(config.Builtin())
	}
	flag.Parse()
	chosen := false
	flag.Visit(func(f *flag.Flag) { chosen = chosen || f.Name == "test.parallel" })
	if !chosen { // most tests wait for processes and networks, and leave the processors to others
		if err := flag.Set("test.parallel", strconv.Itoa(3*runtime.GOMAXPROCS(0))); err != nil {
			panic(err)
		}
	}
	debug.SetGCPercent(400) // the tests hold little memory, and every collection costs them time
	os.Exit(m.Run())
}

// tried is the least of what a run under faults has to have met.
type tried func(o chaos.Outcome) bool

// underFaults runs chaos, twice as long each time, until nothing that was asked for was idle and enough was tried: on a busy
// machine a short run meets less. The bits have to be the same every time. length gives a time to the faults.
func (c *cli) underFaults(enough tried, length func(factor int) string, arguments ...string) chaos.Outcome {
	c.t.Helper()
	for factor := 1; ; factor *= 2 {
		r := c.run(append([]string{"chaos", "fhn/smoke", "--json", length(factor)}, arguments...)...)
		short := strings.Contains(r.err, errIdle.Error()) || strings.Contains(r.err, "it has written no checkpoint")
		var o chaos.Outcome
		if err := json.Unmarshal([]byte(r.out), &o); err != nil && !short {
			c.t.Fatalf("no JSON: %v\n%s", err, r.err)
		} else if err == nil {
			oneJSON(c.t, "chaos", r.out)
			if !o.Equal || o.SHA256 != o.Reference || len(o.SHA256) != 64 || o.Step == 0 {
				c.t.Fatalf("not the bits of the run without faults: %+v", o)
			}
		}
		switch {
		case r.code == exitOK && len(o.Idle) == 0 && enough(o):
			return o
		case r.code != exitOK && !short:
			c.t.Fatalf("exit code %d\n%s", r.code, r.err)
		case factor >= 32:
			c.t.Fatalf("not everything was tested: %+v", o)
		}
		c.t.Logf("%s was too short: %+v", length(factor), o)
	}
}

// lasting is how long chaos lasts.
func lasting(n int) func(factor int) string {
	return func(factor int) string { return fmt.Sprintf("--duration=%ds", n*factor) }
}

// TestChaos_SameBits is a short training of real processes under all faults but those that take long.
func TestChaos_SameBits(t *testing.T) {
	t.Parallel()
	c := newCLI(t)
	temporary := t.TempDir()
	c.environ = []string{asCommand + "=1", "TMPDIR=" + temporary}
	enough := func(o chaos.Outcome) bool {
		for _, fault := range []string{"drop", "dup", "delay", "corrupt", "nan"} {
			if o.Faults[fault] == 0 {
				return false
			}
		}
		return o.Effects.Restores > 0 && o.Effects.Reissued+o.Effects.Speculated > 0
	}
	o := c.underFaults(enough, lasting(chaosSeconds), "--keep", "train.steps=1000000", "cluster.failure_detection=1s", "--workers", "3", "--seed", "5",
		"--kill", chaosKill, "--coordinator-kill", chaosKill, "--nats-restart", chaosRestart, "--drop", "1%", "--dup", "2%", "--delay", "50ms", "--corrupt", "1%", "--nan", "2%")
	if kept, err := os.ReadDir(temporary); err != nil || len(kept) == 0 {
		t.Errorf("--keep keeps nothing: %v, %v", kept, err)
	}
	if o.Issued < o.Useful || o.Useful < 8*o.Step || o.Goodput <= 0 || o.Goodput > 1 {
		t.Errorf("goodput %g: %d useful shards of %d issued", o.Goodput, o.Useful, o.Issued)
	}
}

// Workers are killed with the servers that they carry, the broker and the coordinator are killed, too, and a worker is cut
// off with its server (with this seed the first one, soon after it has started): the same bits, whether workers sum or not.
func TestChaos_Servers(t *testing.T) {
	t.Parallel()
	for _, exchange := range []string{"star", "sharded"} {
		t.Run(exchange, func(t *testing.T) {
			t.Parallel()
			c := newCLI(t)
			c.environ = []string{asCommand + "=1", "TMPDIR=" + t.TempDir()}
			enough := func(o chaos.Outcome) bool {
				return o.Effects.Servers > 0 && o.Faults["nats-restart"] > 0 && o.Faults["partition"] > 0
			}
			o := c.underFaults(enough, lasting(serversSeconds), "--servers", "cluster.exchange="+exchange, "train.steps=1000000", "cluster.failure_detection=1s", "--workers", "3", "--seed", "8",
				"--kill", "1s", "--coordinator-kill", "2s", "--nats-restart", "3s", "--partition", "1s/6s", "--drop", "1%", "--dup", "1%", "--delay", serversDelay)
			if o.Effects.Servers > o.Faults["kill"] {
				t.Errorf("%d servers died with %d workers", o.Effects.Servers, o.Faults["kill"])
			}
			if sums := o.Effects.Summed > 0; sums != (exchange == "sharded") {
				t.Errorf("workers summed in %d of %d steps", o.Effects.Summed, o.Step)
			}
		})
	}
}

func TestChaos_Usage(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		arguments string
		want      string
	}{
		{"", "needs a PRESET or FILE.yaml"},
		{"fhn/smoke --drop 2x", "2% or 0.02"},
		{"fhn/smoke --drop 120%", "between 0 and 100%"},
		{"fhn/smoke --kill 5", "length of time"},
		{"fhn/smoke --pause 4s/2s", "no time between"},
		{"fhn/smoke --workers 0", "must be at least 1"},
		{"fhn/smoke --workers 65", "at most 64"},
		{"fhn/smoke --drop 60%", "--drop 60%: at most 50%"},
		{"fhn/smoke --corrupt 60%", "--corrupt 60%: at most 50%"},
		{"fhn/smoke --nan 60%", "--nan 60%: at most 50%"},
		{"fhn/smoke --kill 1ms", "--kill 1ms: at least 200ms"},
		{"fhn/smoke --coordinator-kill 100ms", "--coordinator-kill 100ms: at least 1s"},
		{"fhn/smoke --nats-restart 100ms", "--nats-restart 100ms: at least 1s"},
		{"fhn/smoke --delay 1m", "--delay 1m0s: at most 10s"},
		{"fhn/smoke --pause 1h", "--pause 1h0m0s: at most 5m0s"},
		{"fhn/smoke --pause 3s/4s", "type --pause=3s/6s or more"},
		{"fhn/smoke --partition 3s/4s", "type --partition=3s/6s or more"},
		{"fhn/smoke --disk-full 6s/9s", "type --disk-full=6s/12s or more"},
		{"fhn/smoke --disk-full=6s/9s", "type --disk-full=6s/12s or more"},
		{"fhn/smoke --measure 1001", "between 0 and 1000"},
		{"fhn/smoke --coordinator-kill 2s train.checkpoint_every=0", "omit that setting"},
		{"fhn/smoke train.step=4", "train.step"},
	} {
		r := newCLI(t).run(append([]string{"chaos"}, strings.Fields(c.arguments)...)...)
		if r.code != exitUsage || !strings.Contains(r.err, c.want) {
			t.Errorf("chaos %s: exit code %d, want %q in\n%s", c.arguments, r.code, c.want, r.err)
		}
	}
}

// A fault that was asked for and cannot happen in so short a run is an error, although the bits are equal.
func TestChaos_Vacuous(t *testing.T) {
	t.Parallel()
	c := newCLI(t)
	c.environ = []string{asCommand + "=1", "TMPDIR=" + t.TempDir()}
	r := c.run("chaos", "fhn/smoke", "train.steps=4", "--workers", "1", "--json", "--nats-restart", "10m")
	var o chaos.Outcome
	if err := json.Unmarshal([]byte(r.out), &o); err != nil {
		t.Fatalf("no JSON: %v\n%s\n%s", err, r.out, r.err)
	}
	if r.code != exitFailed || !o.Equal || len(o.Idle) != 1 || !strings.Contains(r.err, "nats-restart: the run was over before it happened") {
		t.Errorf("exit code %d, %+v\n%s", r.code, o, r.err)
	}
	for _, want := range []string{"hint: give the run more steps (train.steps=16)", "runs, logs and samples are in "} {
		if !strings.Contains(r.err, want) {
			t.Errorf("%q is missing in\n%s", want, r.err)
		}
	}
}

// --disk-full takes its value with and without an equals sign.
func TestChaos_DiskFullIsUnderstood(t *testing.T) {
	t.Parallel()
	for line, want := range map[string]string{
		"fhn --disk-full":                  "3s/1m0s",
		"fhn --disk-full=2s/9s":            "2s/9s",
		"fhn --disk-full 2s/9s":            "2s/9s",
		"--disk-full 2s/9s fhn":            "2s/9s",
		"fhn --disk-full 2s train.steps=7": "2s/20s",
	} {
		var flags chaosFlags
		c := &cobra.Command{Use: "chaos"}
		flags.add(c)
		if err := c.ParseFlags(strings.Fields(line)); err != nil {
			t.Fatal(err)
		}
		args := flags.detached(c, c.Flags().Args())
		if got := flags.plan.Faults.DiskFull.String(); got != want || args[0] != "fhn" || len(args) > 2 || len(args) == 2 && args[1] != "train.steps=7" {
			t.Errorf("%s: %s, arguments %q", line, got, args)
		}
	}
}

// A process that should inject faults logs that. It does not start with a specification of faults that it cannot parse.
func TestInjector(t *testing.T) {
	t.Parallel()
	var errs buffer
	a := &app{err: &errs, environ: []string{"SWITCHYARD_FAULTS=seed=1,drop=2%"}}
	log := a.logger(&errs, 0)
	i, err := a.injector("w", log)
	if err != nil || i.Spec().Drop != 0.02 || !strings.Contains(errs.String(), "FAULTS ARE INJECTED") {
		t.Errorf("%+v, %v\n%s", i.Spec(), err, errs.String())
	}
	a.environ = []string{"SWITCHYARD_FAULTS=drop=2x"}
	if _, err := a.injector("w", log); exitCode(err) != exitUsage {
		t.Errorf("exit code %d for %v", exitCode(err), err)
	}
	a.environ = nil
	if i, err := a.injector("w", log); i != nil || err != nil {
		t.Errorf("%v, %v without the variable", i, err)
	}
}
