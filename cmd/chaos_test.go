package cmd

import (
	"encoding/json"
	"os"
	"strings"
	"testing"

	"github.com/switchyard-ml/switchyard/internal/registry"
)

// asCommand makes this test program behave as the command, so that chaos can start it as broker, coordinator and
// worker.
const asCommand = "TEST_AS_COMMAND"

func TestMain(m *testing.M) {
	if os.Getenv(asCommand) != "" {
		Main(registry.Builtin())
	}
	os.Exit(m.Run())
}

// TestChaos_SameBits is a short training of real processes under all faults but those that take long.
func TestChaos_SameBits(t *testing.T) {
	c := newCLI(t)
	c.environ = []string{asCommand + "=1"}
	t.Setenv("TMPDIR", t.TempDir())
	r := c.run("chaos", "fhn/smoke", "train.steps=60", "cluster.failure_detection=1s", "--workers", "3", "--seed", "5", "--json",
		"--kill", "2s", "--coordinator-kill", "4s", "--nats-restart", "5s", "--drop", "1%", "--dup", "2%", "--delay", "50ms", "--corrupt", "1%", "--nan", "2%")
	if r.code != exitOK {
		t.Fatalf("exit code %d\n%s", r.code, r.err)
	}
	var o chaosOutcome
	if err := json.Unmarshal([]byte(r.out), &o); err != nil {
		t.Fatalf("no JSON: %v\n%s", err, r.out)
	}
	if !o.Equal || o.SHA256 != o.Reference || len(o.SHA256) != 64 || o.Step != 60 {
		t.Errorf("not the bits of the run without faults: %+v", o)
	}
	for _, fault := range []string{"drop", "dup", "delay", "corrupt", "nan"} {
		if o.Faults[fault] == 0 {
			t.Errorf("no %s was injected: %v", fault, o.Faults)
		}
	}
	if o.Issued < o.Useful || o.Useful < 60*8 || o.Goodput <= 0 || o.Goodput > 1 {
		t.Errorf("goodput %g: %d useful shards of %d issued", o.Goodput, o.Useful, o.Issued)
	}
}

func TestChaos_Usage(t *testing.T) {
	for _, c := range []struct {
		arguments string
		want      string
	}{
		{"", "needs a PRESET or FILE.yaml"},
		{"fhn/smoke --drop 2x", "2% or 0.02"},
		{"fhn/smoke --drop 120%", "between 0 and 100%"},
		{"fhn/smoke --kill 5", "length of time"},
		{"fhn/smoke --pause 4s/2s", "no time between"},
		{"fhn/smoke --workers 0", "at least one worker"},
		{"fhn/smoke train.step=4", "train.step"},
	} {
		r := newCLI(t).run(append([]string{"chaos"}, strings.Fields(c.arguments)...)...)
		if r.code != exitUsage || !strings.Contains(r.err, c.want) {
			t.Errorf("chaos %s: exit code %d, want %q in\n%s", c.arguments, r.code, c.want, r.err)
		}
	}
}

// A process that should inject faults logs that. It does not start with a specification of faults that it cannot parse.
func TestInjector(t *testing.T) {
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
