package cmd

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

const remoteSweep = `preset: fhn/smoke
method: random
run_cap: 6
parameters:
  optim.rate: {min: 1e-4, max: 1e-1, distribution: log_uniform_values}
  train.steps: 90
early_terminate: {type: halving, min_iter: 10, cohort: 3}
`

// TestSweep_OverTheBroker: every order about a sweep reaches the coordinator that leads it, and the sweep ends with the
// table of one that a single process has led.
func TestSweep_OverTheBroker(t *testing.T) {
	t.Parallel()
	c := newCluster(t)
	file := c.write("rates.yaml", remoteSweep)
	local := c.folder() + "/local"
	c.must("sweep", file, "--sweeps-dir", local, "--web", "none", "--quiet", "--workers", "1")
	dir := c.folder() + "/led"
	lead := c.coordinator("--sweeps-dir", dir)
	lead.says("coordinator ready")

	said := func(want string, arguments ...string) {
		t.Helper()
		if r := c.must(append([]string{"sweep"}, arguments...)...); !strings.Contains(r.out, want) {
			t.Errorf("%q: %q is missing in\n%s", arguments, want, r.out)
		}
	}
	refused := func(want string, arguments ...string) {
		t.Helper()
		if r := c.run(append([]string{"sweep"}, arguments...)...); r.code != exitUsage || !strings.Contains(r.err, want) {
			t.Errorf("%q: exit %d, %q is missing in\n%s", arguments, r.code, want, r.err)
		}
	}
	said("no sweeps", "ls")
	refused("no such sweep", "show", "rates")
	said("6 trials", "submit", file, "--dry-run")
	said("sweep rates: it is running", "submit", file) // nobody works yet, so it waits
	said("sweep rates: it is running", "submit", file)
	changed := c.write("other.yaml", strings.Replace(remoteSweep, "random", "sobol", 1))
	refused("+ method: sobol", "submit", changed, "--name", "rates")
	said("rates", "ls")
	refused("stop it before you extend it", "extend", "rates", "--trials", "3")

	said("sweep rates is paused: ", "pause", "rates")
	journalHas := func(order string) {
		t.Helper()
		records, err := os.ReadFile(filepath.Join(dir, "rates", "journal.jsonl"))
		if err != nil || !strings.Contains(string(records), order) {
			t.Errorf("%s is missing in the journal, %v\n%s", order, err, records)
		}
	}
	journalHas(`"order":"pause"`)
	said("sweep rates continues: ", "resume", "rates")
	journalHas(`"order":"run"`)
	said("sweep rates is stopped: ", "stop", "rates")
	said("interrupted", "ls")
	refused("not running", "pause", "rates")
	said("continues", "resume", "rates")
	c.hire(2)
	lead.says("sweep done")
	said("done", "ls")
	said("complete", "show", "rates")
	for _, line := range [][]string{{"ls"}, {"show", "rates"}, {"best", "rates"}, {"stop", "rates"}, {"extend", "rates"}} {
		for _, form := range [][]string{nil, {"--json"}} {
			asked := slices.Concat([]string{"sweep"}, line, form)
			there, here := c.run(asked...), c.run(slices.Concat(asked, []string{"--sweeps-dir", dir})...)
			here.err = strings.ReplaceAll(here.err, " --sweeps-dir "+dir, "") // in the command of a hint
			if there.code != here.code || there.out != here.out || there.err != here.err || here.out+here.err == "" {
				t.Errorf("%q: the coordinator answers %d\n%s%s\nand the folder %d\n%s%s",
					asked, there.code, there.out, there.err, here.code, here.out, here.err)
			}
		}
	}
	said("train "+filepath.Join(dir, "rates", "best", "config.yaml"), "best", "rates")
	refused("is done", "stop", "rates")

	table := func(dir string) string {
		text, err := os.ReadFile(filepath.Join(dir, "rates", "trials.csv"))
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	if got, want := table(dir), table(local); got != want {
		journal, err := os.ReadFile(filepath.Join(dir, "rates", "journal.jsonl"))
		t.Errorf("over the broker\n%s\nin one process\n%s\n%s%v", got, want, journal, err)
	}
	said("continues with 3 more trials", "extend", "rates", "--trials", "3")
	await(t, func() bool { return strings.Count(lead.err.String(), "sweep done") == 2 })
	if n := strings.Count(table(dir), "\n"); n != 10 {
		t.Errorf("the table has %d lines after 3 more trials\n%s", n, table(dir))
	}
}

// TestResume_OfATrial: what a sweep has stopped at a comparison is not trained on behind its back.
func TestResume_OfATrial(t *testing.T) {
	t.Parallel()
	c := newCLI(t)
	sweeps := filepath.Join(t.TempDir(), "sweeps")
	c.must("sweep", c.write("rates.yaml", remoteSweep+"keep: all\n"), "--sweeps-dir", sweeps, "--web", "none", "--quiet", "--workers", "1")
	runs := filepath.Join(sweeps, "rates", "runs")
	before := c.must("runs", "ls", "--json", "--runs-dir", runs).out
	refused, one := 0, ""
	for i := range 6 {
		name := fmt.Sprintf("rates-%04d", i+1)
		r := c.run("resume", name, "--runs-dir", runs, "--web", "none", "--quiet")
		if r.code == exitUsage && strings.Contains(r.err, "is a trial of sweep rates, which alone continues it") {
			refused, one = refused+1, name
		} else if r.code != exitOK || !strings.Contains(r.out, "is finished") {
			t.Errorf("trial %d: exit code %d, %s%s", i+1, r.code, r.out, r.err)
		}
	}
	if refused == 0 || refused == 6 {
		t.Errorf("%d of 6 trials are refused, want those that the sweep has stopped", refused)
	}
	if after := c.must("runs", "ls", "--json", "--runs-dir", runs).out; after != before {
		t.Errorf("runs before\n%s\nand after\n%s", before, after)
	}
	// Under another name it is a run of its own.
	c.must("runs", "rename", one, "own", "--runs-dir", runs)
	c.must("resume", "own", "--runs-dir", runs, "--web", "none", "--quiet")
	if out := c.must("runs", "show", "own", "--runs-dir", runs).out; !strings.Contains(out, "finished") {
		t.Error(out)
	}
}

// TestSweep_SubmitOfFilesOfOneName: the coordinator would read one of them in the place of the other.
func TestSweep_SubmitOfFilesOfOneName(t *testing.T) {
	t.Parallel()
	c := newCLI(t)
	for folder, text := range map[string]string{"a": "preset: noise/smoke\n", "b": "optim:\n  rate: 0.5\n"} {
		if err := os.Mkdir(filepath.Join(filepath.Dir(c.dir), folder), 0o755); err != nil {
			t.Fatal(err)
		}
		c.write(filepath.Join(folder, "base.yaml"), text)
	}
	file := c.write("rates.yaml", "config: [a/base.yaml, b/base.yaml]\nmethod: grid\nparameters: {train.batch: [8, 16]}\n")
	r := c.run("sweep", "submit", file, "--dry-run", "--nats", "nats://127.0.0.1:1")
	if r.code != exitUsage || !strings.Contains(r.err, "another file is called base.yaml, too") {
		t.Errorf("exit code %d, %s%s", r.code, r.out, r.err)
	}
}

// sweepCosts is what bench sweep --json prints, in part.
type sweepCosts struct {
	Busy    float64
	InRun   float64 `json:"idle_in_run"`
	Between float64 `json:"idle_between"`
	Ends    float64 `json:"idle_at_ends"`
	Cost    float64
	Shards  int

	Coordinator float64 `json:"cost_of_coordinator"`
	Workers     float64 `json:"cost_of_workers"`
	Broker      float64 `json:"cost_of_broker"`
	Shared      float64 `json:"cost_shared"`
}

// TestBench_Sweep: a measurement of a few trials says where the time of the slots went. Costs come from a hundred samples a
// second, so a measurement in which some part has none is made again, longer.
func TestBench_Sweep(t *testing.T) {
	for steps := 9; ; steps *= 2 {
		r := newCLI(t).must("bench", "sweep", "--preset", "noise/smoke", "--workers", "2", "--trials", "3", "--steps", fmt.Sprint(steps), "--shard", "1ms", "--stop", "none",
			"--cpuprofile", filepath.Join(t.TempDir(), "profile"), "--json")
		oneJSON(t, "bench sweep", r.out)
		var got sweepCosts
		if err := json.Unmarshal([]byte(r.out), &got); err != nil {
			t.Fatalf("%v\n%s", err, r.out)
		}
		if (got.Coordinator == 0 || got.Workers == 0) && steps < 1000 {
			continue
		}
		if sum := got.Busy + got.InRun + got.Between + got.Ends; sum < 0.999 || sum > 1.001 || got.Busy <= 0 || got.Cost <= 0 || got.Shards < 27 {
			t.Errorf("the parts add up to %g: %s", sum, r.out)
		}
		if sum := got.Coordinator + got.Workers + got.Broker + got.Shared; sum < 0.999*got.Cost || sum > 1.001*got.Cost || got.Coordinator == 0 || got.Workers == 0 {
			t.Errorf("the costs add up to %g of %g: %s", sum, got.Cost, r.out)
		}
		return
	}
}

// TestSweep_WithKeys: where a broker asks for keys, the operator's carries every order to the coordinator, and a worker's
// none.
func TestSweep_WithKeys(t *testing.T) {
	t.Parallel()
	c := newCLI(t)
	at := c.guarded()
	lead := c.start(append([]string{"coordinator", "--web", "none", "--sweeps-dir", t.TempDir()}, at("coordinator.nk")...)...)
	lead.says("coordinator ready")
	file := c.write("rates.yaml", remoteSweep)
	for _, step := range []struct{ line, want string }{
		{"submit " + file, "it is running"},
		{"show rates", "/6 trials"},
		{"pause rates", "sweep rates is paused"},
		{"resume rates", "sweep rates continues"},
		{"stop rates", "sweep rates is stopped"},
		{"ls", "interrupted"},
		{"extend rates --trials 3", "3 more trials\n"},
		{"show rates", "/9 trials"},
		{"stop rates", "sweep rates is stopped"},
		{"extend rates --trials 1", "1 more trial\n"},
		{"stop rates", "sweep rates is stopped"},
	} {
		r := c.must(append(append([]string{"sweep"}, strings.Fields(step.line)...), at("operator.nk")...)...)
		if !strings.Contains(r.out, step.want) {
			t.Errorf("sweep %s: %q is missing in\n%s", step.line, step.want, r.out)
		}
	}
	for _, line := range []string{"ls", "stop rates", "submit " + file} {
		r := c.run(append(append([]string{"sweep"}, strings.Fields(line)...), at("worker.nk")...)...)
		if r.code != exitUsage || !strings.Contains(r.err, "operator.nk") {
			t.Errorf("sweep %s with the key of a worker: exit code %d\n%s", line, r.code, r.err)
		}
	}
}

// TestSweep_MetricsAndExitCodes: a metric that no trial can have is a fault of the file, before anything is trained; a
// sweep without any result has failed.
func TestSweep_MetricsAndExitCodes(t *testing.T) {
	t.Parallel()
	c, dir := newCLI(t), t.TempDir()
	sweeps := filepath.Join(dir, "sweeps")
	sweep := func(metric string, more ...string) result {
		file := filepath.Join(dir, "s.yaml")
		text := "preset: fhn/smoke\nmethod: grid\nmetric: {name: " + metric + ", goal: maximize}\n" +
			"parameters:\n  optim.rate: [1e-3, 1e-2]\n  train.steps: {value: 4}\n  eval.samples: {value: 1}\n"
		if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		return c.run(append([]string{"sweep", file, "--sweeps-dir", sweeps, "--workers", "2", "--web", "none"}, more...)...)
	}
	for _, more := range [][]string{{"--dry-run"}, {"--dry-run", "--json"}, nil} {
		r := sweep("eval/fhn/r2_drawn.0", more...)
		if r.code != exitUsage || !strings.Contains(r.err, "eval/fhn/r2_drawn/1") {
			t.Errorf("%v: exit code %d\n%s", more, r.code, r.err)
		}
	}
	if r := sweep("eval/fhn/r2_drawn/1", "--dry-run"); r.code != exitOK {
		t.Errorf("exit code %d\n%s", r.code, r.err)
	}
	if _, err := os.Stat(sweeps); err == nil {
		t.Error("something was begun")
	}
	if r := sweep("eval/table1/calibration/1"); r.code != exitFailed || !strings.Contains(r.err, "0 failed and 2 diverged") {
		t.Errorf("exit code %d\n%s", r.code, r.err)
	}
}
