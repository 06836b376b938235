package cmd

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/switchyard-ml/switchyard/sweep"
	"github.com/switchyard-ml/switchyard/sweep/trials"
)

// shellWords are the words that a shell finds in a command.
func shellWords(t *testing.T, command string) []string {
	t.Helper()
	out, err := exec.Command("sh", "-c", "printf '%s\\n' "+command).Output()
	if err != nil {
		t.Fatalf("%s: %v", command, err)
	}
	return strings.Split(strings.TrimSuffix(string(out), "\n"), "\n")
}

// TestCommand_IsForAShell: a shell finds the same words in a command that is offered, whatever characters they have.
func TestCommand_IsForAShell(t *testing.T) {
	t.Parallel()
	a := &app{invoked: "switchyard", runsDir: "/tmp/my own runs"}
	got := shellWords(t, a.command("runs", "show", "it's", "a b"))
	if want := []string{"switchyard", "runs", "show", "it's", "a b", "--runs-dir", "/tmp/my own runs"}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
	got = shellWords(t, a.aboutSweeps("my sweeps", "sweep", "show", "s"))
	if want := []string{"switchyard", "sweep", "show", "s", "--sweeps-dir", "my sweeps"}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
	if got := a.aboutSweeps(usualSweeps, "sweep", "ls"); got != "switchyard sweep ls" {
		t.Errorf("got %q for the usual folder", got)
	}
	a.environ = []string{natsVariable + "=nats://broker:4222"}
	if got := a.aboutSweeps(usualSweeps, "sweep", "ls"); got != "switchyard sweep ls --sweeps-dir sweeps" {
		t.Errorf("got %q, which asks the coordinator", got)
	}
}

// TestSweep_HintsNameTheFolder: commands that are offered about a sweep in another folder work as they are. That for a
// sweep whose process has ended continues it, also where its file names another one beside it.
func TestSweep_HintsNameTheFolder(t *testing.T) {
	t.Parallel()
	c, dir := newCLI(t), t.TempDir()
	sweeps := filepath.Join(dir, "my sweeps")
	for name, text := range map[string]string{
		"base.yaml": "preset: fhn/smoke\ntrain: {steps: 4}\n",
		"s.yaml":    "config: base.yaml\nmethod: grid\nparameters: {optim.rate: [1e-3, 1e-2]}\n",
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	c.must("sweep", filepath.Join(dir, "s.yaml"), "--sweeps-dir", sweeps, "--web", "none", "--workers", "1", "--quiet")
	// offered are the words of the command in the hint of a line that is refused.
	offered := func(after, before string, line ...string) []string {
		t.Helper()
		r := c.run(append(append([]string{"sweep"}, line...), "--sweeps-dir", sweeps)...)
		_, rest, found := strings.Cut(strings.Join(strings.Fields(r.err), " "), after)
		if r.code == exitOK || !found {
			t.Fatalf("%q: exit code %d, %q is missing in\n%s", line, r.code, after, r.err)
		}
		command, _, _ := strings.Cut(rest, before)
		words := shellWords(t, command)
		if i := slices.Index(words, "--sweeps-dir"); i < 0 || words[i+1] != sweeps {
			t.Errorf("%q: the folder is missing in %q", line, words)
		}
		return words
	}
	offered("more trials: ", "\n", "stop", "s")
	changed := c.write("changed.yaml", "preset: fhn/smoke\nmethod: grid\nparameters: {optim.rate: [1e-3, 1e-1]}\n")
	offered("more trials of the same: ", "\n", changed, "--name", "s")

	// As after a kill behind the first record.
	journal := filepath.Join(sweeps, "s", trials.JournalFile)
	whole, err := os.ReadFile(journal)
	if err != nil {
		t.Fatal(err)
	}
	first := bytes.IndexByte(whole, '\n') + 1
	if err := os.WriteFile(journal, whole[:first], 0o644); err != nil {
		t.Fatal(err)
	}
	show := offered("hint: ", " lists what there is", "best", "s")
	c.must(show[1:]...)
	again := offered("does: ", "\n", "resume", "s")
	c.must(append(again[1:], "--web", "none", "--workers", "1", "--quiet")...)
	if r := c.must("sweep", "show", "s", "--sweeps-dir", sweeps); !strings.Contains(r.out, "done") && !strings.Contains(r.out, "complete 2") {
		t.Errorf("the sweep goes on as\n%s", r.out)
	}
	_, rest, _ := strings.Cut(c.must("sweep", "best", "s", "--sweeps-dir", sweeps).out, "to the same bits\n")
	c.must(append(shellWords(t, strings.TrimSpace(rest))[1:], "--dry-run")...)
	if list := trials.List(sweeps); len(list) != 1 {
		t.Errorf("there are %d sweeps", len(list))
	}
}

// TestSweep_FlagsWithoutEffect: flags that the command would not obey are refused, and names of sweeps are ones.
func TestSweep_FlagsWithoutEffect(t *testing.T) {
	t.Parallel()
	c := newCLI(t)
	const there = " --nats nats://127.0.0.1:1"
	for line, want := range map[string]string{
		"sweep extend x --trials 1 --workers -3" + there:                          "--workers means nothing with --nats",
		"sweep extend x --trials 1 --listen foo" + there:                          "--listen means nothing with --nats",
		"sweep extend x --trials 1 --web none" + there:                            "--web means nothing with --nats",
		"runs export a --to csv --url http://127.0.0.1:1":                         "--url is about a server",
		"runs export a --to tensorboard --experiment mine":                        "--experiment is about a server",
		"runs export a --to mlflow --url http://127.0.0.1:1 -o " + t.TempDir():    "--out means nothing with --to mlflow",
		"sweep extend x --trials 1 --workers -3 --sweeps-dir " + t.TempDir():      "-3 workers",
		"sweep extend x --trials 1 --sweeps-dir " + t.TempDir() + " " + there[1:]: "no such sweep",
	} {
		if r := c.run(strings.Fields(line)...); r.code != exitUsage || !strings.Contains(r.err, want) {
			t.Errorf("%s: exit code %d, %q is missing in\n%s", line, r.code, want, r.err)
		}
	}
	// What goes to a coordinator has no folder here.
	r := c.must(strings.Fields("sweep submit -m noise/smoke optim.rate=1e-3,1e-2 --dry-run" + there)...)
	if !strings.Contains(r.out, "noise-smoke-sweep, method grid") || strings.Contains(r.out, "no-sweeps") || strings.Contains(r.out, " here") {
		t.Errorf("the plan is\n%s", r.out)
	}
	file := c.write("my.yaml", "preset: noise/smoke\n")
	r = c.must("sweep", "-m", file, "optim.rate=1e-3,1e-2", "--dry-run")
	if !strings.Contains(r.out, filepath.Join(usualSweeps, "my-sweep")+", method grid") {
		t.Errorf("the plan is\n%s", r.out)
	}
}

// TestStopText: the plan names the updates of trials, and not one number where they differ.
func TestStopText(t *testing.T) {
	for _, c := range []struct {
		stop              sweep.Stop
		shortest, longest []uint64
		want              string
	}{
		{sweep.Stop{Type: sweep.NoStop}, []uint64{3000}, []uint64{3000}, "none: every trial makes 3,000 updates"},
		{sweep.Stop{Type: sweep.NoStop}, []uint64{3000}, []uint64{6000}, "none: trials make 3,000 to 6,000 updates"},
		{sweep.Stop{Type: sweep.ASHA, Eta: 3}, []uint64{10, 30}, []uint64{10, 30}, "asha at updates 10, 30: the best 1/3 continues"},
		{
			sweep.Stop{Type: sweep.ASHA, Eta: 3},
			[]uint64{100, 300},
			[]uint64{10000, 30000},
			"asha at updates 100, 300 of the shortest training and 10,000, 30,000 of the longest: the best 1/3 continues",
		},
	} {
		if got := stopText(c.stop, sweep.Confirm{}, c.shortest, c.longest); got != c.want {
			t.Errorf("got %s, want %s", got, c.want)
		}
	}
}

// TestSweep_ShowsWhatRanks: where trials are ranked by another value than the mean of their runs, that value comes first;
// and what a trial had in the search is of the same metrics.
func TestSweep_ShowsWhatRanks(t *testing.T) {
	t.Parallel()
	metrics := []sweep.Metric{{Name: "bound", Goal: sweep.Maximize}, {Name: "error", Goal: sweep.Minimize}}
	trial := func(id int, confirms int, score ...float64) sweep.ReportTrial {
		return sweep.ReportTrial{
			ID: id, Confirms: confirms, Runs: []string{"a", "b", "c"}, Score: score,
			Values: []sweep.Estimate{sweep.NewEstimate([]float64{-3, -2, -1}), sweep.NewEstimate([]float64{5, 6, 7})},
		}
	}
	all := []sweep.ReportTrial{trial(1, 0, -3, 7), trial(2, 1, -4, 8)}
	for by, want := range map[sweep.Aggregate]string{
		sweep.Worst: "worst -3, mean -2 [", sweep.Median: "median -3, mean -2 [", sweep.Mean: "  -2 [", "": "  -2 [",
	} {
		var out buffer
		v := &trials.Shown{Report: &sweep.Report{Metrics: metrics, Replicates: sweep.Replicates{Aggregate: by}, Trials: all}, Ranked: []int{1}}
		if err := writeSweep(&out, v); err != nil || !strings.Contains(out.String(), want) {
			t.Errorf("%s: %v, %q is missing in\n%s", by, err, want, out.String())
		}
	}
	a := &app{out: &buffer{}}
	best := &trials.Best{Metrics: metrics, Aggregate: sweep.Worst, Trials: all[1:], Searched: all[:1], Confirmed: true}
	if err := a.writeBest(best); err != nil {
		t.Fatal(err)
	}
	text := a.out.(*buffer).String()
	for _, want := range []string{"bound worst -4, mean -2 [", "of 3 seeds, with the 95 % interval of the mean", "in the search it had bound worst -3, mean -2 [", ", error worst 7, mean 6 ["} {
		if !strings.Contains(text, want) {
			t.Errorf("%q is missing in\n%s", want, text)
		}
	}
}
