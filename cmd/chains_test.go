package cmd

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/switchyard-ml/switchyard/coordinator"
	"github.com/switchyard-ml/switchyard/lab/chaos"
	"github.com/switchyard-ml/switchyard/store"
)

// chainRun is a run of six rounds of three chains.
var chainRun = []string{
	"train", "fhn/smoke", "env.episodes=8", "env.length=40", "model.kind=trslds", "model.chains=3", "model.sweeps=30", "model.burn_in=10", "model.draws=4", "model.exchange=5", "train.checkpoint_every=10", "eval.horizon=5",
}

// A run of chains has the same bits for any workers and under audits, counts sweeps everywhere, is recomputed by whole
// rounds, and says how well the chains agree; a lie is found in its chain.
func TestChains_TrainAndVerify(t *testing.T) {
	t.Parallel()
	c := newCLI(t)
	train := func(more ...string) store.Info {
		c.must(append(append([]string{}, chainRun...), more...)...)
		return c.info(more[1])
	}
	a := train("--name", "a", "--quiet", "--workers", "1")
	b := train("--name", "b", "--workers", "3")
	audited := train("--name", "c", "--quiet", "--workers", "2", "--slots", "2", "train.checkpoint_every=5", "cluster.audit=1")
	if a.ParametersSHA256 != b.ParametersSHA256 || a.ParametersSHA256 != audited.ParametersSHA256 || a.Step != 30 || a.Steps != 30 || a.Checkpoint != 30 {
		t.Errorf("step %d of %d: %s with one worker, %s with three, %s audited", a.Step, a.Steps, a.ParametersSHA256, b.ParametersSHA256, audited.ParametersSHA256)
	}
	var steps []uint64
	err := store.ReadMetrics(c.dir, "a", func(r store.Record) error {
		steps = append(steps, r.Step)
		for _, name := range []string{"gradient_norm", "learning_rate"} {
			if _, there := r.Values[name]; there {
				t.Errorf("step %d records %s", r.Step, name)
			}
		}
		return nil
	})
	if err != nil || len(steps) != 6 || steps[0] != 5 || steps[5] != 30 {
		t.Errorf("records of steps %v, %v", steps, err)
	}
	for _, test := range []struct{ line, want string }{
		{"verify a", "steps 1..30: same bits as logged (recomputed from the initial parameters"},
		{"verify a --from 17 --to 23", "steps 16..25: same bits as logged"},
		{"diff a b", "same bits in all 30 steps"},
		{"eval a", "3 chains, R̂"},
		{"eval b --protocol ahead", "3 chains, R̂"},
		{"eval a --json --checkpoint last", `"rhat_transition"`},
		{"eval a --checkpoint last", "Weights of the chains, by how well they forecast"},
		{"eval a --json", `"chain_weights"`},
		{strings.Join(chainRun, " ") + " --dry-run", "chains: each alone, in rounds of 5 sweeps"},
	} {
		if r := c.must(strings.Fields(test.line)...); !strings.Contains(r.out+r.err, test.want) || strings.Contains(r.out, "not in the log") {
			t.Errorf("%s: %q is not in\n%s%s", test.line, test.want, r.out, r.err)
		}
	}
	if text, err := os.ReadFile(filepath.Join(c.dir, "a", "tables", "convergence.csv")); err != nil || !strings.HasPrefix(string(text), "quantity,rhat,ess_bulk,ess_tail,chains,sweeps\ntransition,") {
		t.Errorf("got %q, %v", text, err)
	}
	if _, err := os.Stat(filepath.Join(c.dir, "a", "tables", "regimes.npz")); err != nil {
		t.Error(err)
	}
	c.lie("b", 20, true)
	if r := c.run("verify", "b"); !strings.Contains(r.out+r.err, "liar") {
		t.Errorf("got\n%s\n%s", r.out, r.err)
	}
}

// TestChains_Killed: a run of chains whose process is killed goes on to the same bits.
func TestChains_Killed(t *testing.T) {
	t.Parallel()
	c := newCLI(t)
	run := append(append([]string{}, chainRun...), "model.sweeps=300", "model.burn_in=100", "--quiet")
	c.must(append(run, "--name", "whole")...)
	log := filepath.Join(c.dir, "a", store.Log)
	for i, until := range []uint64{5, 65} {
		arguments := append(append([]string{}, run...), "--name", "a")
		if i > 0 {
			arguments = []string{"resume", "a", "--quiet"}
		}
		cmd := asProcess(t, append(arguments, "--runs-dir", c.dir)...)
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		for {
			if l, err := coordinator.ReadLog(log, 0); err != nil {
				t.Fatal(err)
			} else if l.Last >= until && l.Term > uint64(i) {
				break
			}
			time.Sleep(time.Millisecond)
		}
		if err := cmd.Process.Kill(); err != nil {
			t.Fatal(err)
		}
		_ = cmd.Wait() // it was killed
	}
	c.must("resume", "a", "--quiet")
	if got, want := c.info("a").ParametersSHA256, c.info("whole").ParametersSHA256; got != want {
		t.Errorf("killed twice: %s, in one piece: %s", got, want)
	}
	c.must("diff", "a", "whole")
}

// TestChains_OwnData: recordings of different lengths, with missing values and controls, are fitted whole.
func TestChains_OwnData(t *testing.T) {
	t.Parallel()
	c := newCLI(t)
	data := filepath.Join(t.TempDir(), "data")
	writeTrajectories(t, data, 12)
	train := func(name string, arguments ...string) string {
		c.must(append([]string{
			"train", "files", "env.files=" + data, "model.kind=rslds", "model.leaves=2", "model.chains=2", "model.sweeps=20", "model.burn_in=10", "model.draws=2",
			"model.exchange=10", "--quiet", "--name", name,
		}, arguments...)...)
		return c.info(name).ParametersSHA256
	}
	one := train("one", "--workers", "1")
	if three := train("three", "--workers", "3"); three != one {
		t.Errorf("parameters %s, with one worker %s", three, one)
	}
	if linear := train("linear", "model.observation=linear", "model.latent=3"); linear == one {
		t.Error("another observation model has the same parameters")
	}
	c.must("verify", "one")
	c.must("train", "files", "env.files="+data, "model.kind=trslds", "model.leaves=3", "model.chains=2", "model.sweeps=40", "model.burn_in=20", "model.draws=4", "model.exchange=10", "eval.horizon=4", "--quiet", "--name", "tree")
	for name, quantity := range map[string]string{"one": "density", "tree": "r2_1"} {
		r := c.must("eval", name)
		for _, want := range []string{"2 chains, R̂ with effective sample sizes", quantity, "Weights of the chains"} {
			if !strings.Contains(r.out, want) {
				t.Errorf("%s: %q is not in\n%s", name, want, r.out)
			}
		}
		for _, file := range []string{"convergence.csv", "regimes.npz"} {
			if _, err := os.Stat(filepath.Join(c.dir, name, "tables", file)); err != nil {
				t.Error(err)
			}
		}
	}
}

// What does not fit chains is refused with what to do.
func TestChains_Refused(t *testing.T) {
	t.Parallel()
	c := newCLI(t)
	for _, test := range []struct{ line, want string }{
		{"train.steps=50", "model.sweeps decides it: it is 1000 with model.kind=rslds; leave it out, and set model.sweeps"},
		{"optim.rate=1", "model.kind=rslds has no use for it; leave it out"},
		{"train.method=diloco train.replicas=2 train.local_steps=5", "model.kind=rslds has no use for it"},
		{"model.sweeps=30 model.burn_in=10 model.draws=10", "model.sweeps=30 is not a multiple of the 50 sweeps between two exchanges; e.g. model.exchange=10"},
		{"train.checkpoint_every=70", "70 is not a multiple of model.exchange (50)"},
		{"model.burn_in=1000", "leaves none"},
	} {
		line := "train fhn/smoke model.kind=rslds " + test.line
		if r := c.run(strings.Fields(line)...); r.code != 2 || !strings.Contains(r.err, test.want) {
			t.Errorf("%s: code %d, %q is not in\n%s", line, r.code, test.want, r.err)
		}
	}
	if r := c.run("bench", "step", "fhn/smoke", "model.kind=rslds"); r.code != 2 || !strings.Contains(r.err, "this family has none") {
		t.Errorf("bench step: code %d\n%s", r.code, r.err)
	}
}

// TestChains_SameBitsUnderFaults: processes are killed, the coordinator's too, and messages and gradients are spoilt.
func TestChains_SameBitsUnderFaults(t *testing.T) {
	t.Parallel()
	c := newCLI(t)
	c.environ = []string{asCommand + "=1", "TMPDIR=" + t.TempDir()}
	var sweeps int
	o := c.underFaults(func(chaos.Outcome) bool { return true }, func(factor int) string {
		sweeps = factor * chainSweeps
		return fmt.Sprint("model.sweeps=", sweeps)
	}, slices.Concat([]string{
		"model.kind=rslds", "model.chains=3", "model.exchange=10", "cluster.failure_detection=1s",
		"--workers", "3", "--seed", "5", "--coordinator-kill", "1s", "--drop", "1%", "--corrupt", "1%",
	}, chainSettings)...)
	if o.Step != uint64(sweeps) {
		t.Errorf("it ended at step %d of %d", o.Step, sweeps)
	}
}
