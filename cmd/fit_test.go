package cmd

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/switchyard-ml/switchyard/config"
	"github.com/switchyard-ml/switchyard/sweep/trials"
)

// writeMonths writes a table of monthly sales with a season that grows, and a column of shops.
func writeMonths(t *testing.T, months int) string {
	t.Helper()
	var b strings.Builder
	b.WriteString("month,sales,shop\n")
	for i := range months {
		noise := math.Mod(math.Abs(math.Sin(float64(i+1))*43758.5453), 1) - 0.5
		sales := math.Exp(4 + 0.01*float64(i) + 0.3*math.Sin(2*math.Pi*float64(i)/12) + 0.1*noise)
		fmt.Fprintf(&b, "%d-%02d,%.4f,north\n", 1990+i/12, 1+i%12, sales)
	}
	path := filepath.Join(t.TempDir(), "sales.csv")
	if err := os.WriteFile(path, []byte(b.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// fitted is what fit --json prints.
type fitted struct {
	Run, Family, Verdict string
	Hash                 string `json:"params_sha256"`
	Candidates           []struct {
		Family   string
		Settings []string
		Score    *float64
	}
}

// TestFit_FromFileToForecast: one command takes a table to a run that predicts better than the simple rules, says so,
// and goes on where it was. Another number of workers gives the same bits. The same fit again leaves its run alone, with
// what was added to it, and a fit of other data does not get its name.
func TestFit_FromFileToForecast(t *testing.T) {
	t.Parallel()
	c := newCLI(t)
	data, sweeps := writeMonths(t, 120), filepath.Join(c.dir, "sweeps")
	line := []string{"fit", data, "--families", "arhmm", "--budget", "6s", "--sweeps-dir", sweeps, "--horizon", "6", "--seed", "1"}
	fit := func(name, workers string) fitted {
		var f fitted
		out := c.must(append(line, "--name", name, "--workers", workers, "--json", "--quiet")...).out
		if err := json.Unmarshal([]byte(out), &f); err != nil {
			t.Fatalf("%v in\n%s", err, out)
		}
		return f
	}
	plan := c.must(append(line, "--dry-run", "--workers", "1", "--name", "plan")...).out
	for _, want := range []string{"column month: a step is 1 month", "none, log-diff12", "by time: 96 steps", "6 steps"} {
		if !strings.Contains(plan, want) {
			t.Errorf("the plan lacks %q:\n%s", want, plan)
		}
	}
	var planned map[string]any
	text := c.must(append(line, "--dry-run", "--json", "--workers", "1", "--name", "plan")...).out
	if err := json.Unmarshal([]byte(text), &planned); err != nil || planned["decisions"] == nil || planned["candidates"] == nil || planned["seconds"] == nil {
		t.Errorf("%v in the plan\n%s", err, text)
	}
	one := fit("sales", "1")
	if one.Run != "sales" || len(one.Candidates) < 5 || !strings.Contains(one.Verdict, "of the error of the best simple rule (seasonal naive)") {
		t.Errorf("%+v", one)
	}
	c.must("runs", "label", "sales", "--tag", "good")
	c.must("export", "sales")
	told := c.must(append(line, "--name", "sales", "--workers", "2")...) // it is done: the same again
	if want := "sweep show sales --sweeps-dir " + sweeps; !strings.Contains(told.out, want) {
		t.Errorf("%q is missing in\n%s", want, told.out)
	}
	for _, added := range []string{"labels.json", "export"} {
		if _, err := os.Stat(filepath.Join(c.dir, "sales", added)); err != nil {
			t.Errorf("the same fit removes what was added: %v", err)
		}
	}
	other := c.run("fit", writeMonths(t, 60), "--name", "sales", "--sweeps-dir", filepath.Join(c.dir, "theirs"), "--families", "naive")
	if other.code != exitUsage || !strings.Contains(other.err, "is the run of a fit of other data") || !strings.Contains(other.err, "--runs-dir") {
		t.Errorf("a fit of other data under the name: code %d, %s", other.code, other.err)
	}
	for _, want := range []string{"of log-diff12", one.Verdict, "forecast sales"} {
		if !strings.Contains(told.out, want) {
			t.Errorf("told\n%s\nwithout %q", told.out, want)
		}
	}
	c.must("forecast", "sales", "--horizon", "3")
	c.must("backtest", "sales", "--json")

	report := filepath.Join(t.TempDir(), "report")
	c.must("report", "sales", "-o", report)
	if page, err := os.ReadFile(filepath.Join(report, "index.html")); err != nil || !strings.Contains(string(page), "<p>Verdict: Predicts 6 steps ahead") {
		t.Errorf("the report has no verdict: %v", err)
	}

	// The plan of one worker, killed when it has two results, and led to its end by three.
	halted(t, filepath.Join(sweeps, "again", trials.JournalFile), append(line, "--name", "again", "--workers", "1", "--runs-dir", c.dir)...)
	three := fit("again", "3")
	if three.Hash != one.Hash || len(three.Candidates) != len(one.Candidates) {
		t.Errorf("three workers: %s of %d candidates, one: %s of %d", three.Hash, len(three.Candidates), one.Hash, len(one.Candidates))
	}
	for i, a := range one.Candidates {
		if b := three.Candidates[i]; *a.Score != *b.Score || strings.Join(a.Settings, " ") != strings.Join(b.Settings, " ") {
			t.Errorf("candidate %d: %v %v with one worker, %v %v with three", i, a.Settings, *a.Score, b.Settings, *b.Score)
		}
	}
	interruptedAtTheEnd(t, filepath.Join(c.dir, "again"), append(line, "--name", "again", "--workers", "1", "--runs-dir", c.dir)...)
}

// TestFit_NotesOfTheFiles: what data info notes about how files are read, and about values, the plan says, too.
func TestFit_NotesOfTheFiles(t *testing.T) {
	t.Parallel()
	c := newCLI(t)
	var b strings.Builder
	b.WriteString("y_x,site\n")
	for i := range 100 {
		v := math.Sin(float64(i))
		if i%20 == 7 {
			v = -999
		}
		fmt.Fprintf(&b, "%.4f,north\n", v)
	}
	path := filepath.Join(t.TempDir(), "x.csv")
	if err := os.WriteFile(path, []byte(b.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	line := []string{"fit", path, "--families", "naive", "--dry-run"}
	out, asked := c.must(line...).out, c.must(append(line, "--json")...).out
	for _, want := range []string{"column site is not used", "y_x: -999 occurs 5 times, far from all other values"} {
		if !strings.Contains(out, "\nnote: "+want) || !strings.Contains(asked, `"`+want) {
			t.Errorf("%q is missing in\n%s\n%s", want, out, asked)
		}
	}
}

// interruptedAtTheEnd repeats a fit whose run is gone, and interrupts it as it keeps the run: it goes on with the same
// command, and says so. It may have come to its end before.
func interruptedAtTheEnd(t *testing.T, run string, arguments ...string) {
	t.Helper()
	if err := os.RemoveAll(run); err != nil {
		t.Fatal(err)
	}
	var said strings.Builder
	cmd := asProcess(t, arguments...)
	cmd.Stderr = &said
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	for done := false; !done; {
		if _, err := os.Stat(run); err == nil {
			done = true
			if err := cmd.Process.Signal(os.Interrupt); err != nil && !errors.Is(err, os.ErrProcessDone) {
				t.Error(err)
			}
		}
		select {
		case err := <-ended:
			ended <- err
			done = true
		case <-time.After(time.Millisecond):
		}
	}
	err := <-ended
	if code := cmd.ProcessState.ExitCode(); err != nil && (code != exitInterrupted || !strings.Contains(said.String(), "the same command continues it")) {
		t.Errorf("interrupted at the end: exit code %d\n%s", code, said.String())
	}
}

// halted runs a command as a process of its own and kills it when the journal of its sweep has two results.
func halted(t *testing.T, journal string, arguments ...string) {
	t.Helper()
	cmd := asProcess(t, arguments...)
	cmd.Stderr = os.Stderr
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	for {
		text, _ := os.ReadFile(journal) // an error: not there yet
		if strings.Count(string(text), `"kind":"result"`) >= 2 {
			break
		}
		select {
		case err := <-ended:
			t.Fatalf("it ended before it was killed: %v", err)
		case <-time.After(time.Millisecond):
		}
	}
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	<-ended
}

// TestFit_EndsWhenAsked: an interrupt ends a fit that has an hour of candidates to go, with the code of an interrupt and
// with advice, and leaves no run.
func TestFit_EndsWhenAsked(t *testing.T) {
	t.Parallel()
	c := newCLI(t)
	sweeps := filepath.Join(c.dir, "sweeps")
	// What has not ended in time goes on in this process, which does not end: the folder is deleted when nothing is
	// written there any more.
	t.Cleanup(func() {
		for (trials.Folder{Dir: sweeps, Name: "sales"}).Led() || os.RemoveAll(c.dir) != nil {
			time.Sleep(time.Millisecond)
		}
	})
	go func() {
		for {
			if _, err := os.Stat(filepath.Join(sweeps, "sales", trials.JournalFile)); err == nil {
				c.signals <- os.Interrupt
				return
			}
			time.Sleep(time.Millisecond)
		}
	}()
	r := c.run("fit", writeMonths(t, 120), "--budget", "1h", "--workers", "1", "--sweeps-dir", sweeps, "--families", "slds", "--name", "sales")
	if r.code != exitInterrupted || !strings.Contains(r.err, "the same command continues it") {
		t.Errorf("code %d\n%s", r.code, r.err)
	}
	if _, err := os.Stat(filepath.Join(c.dir, "sales")); err == nil {
		t.Error("it kept a run")
	}
}

// TestFit_RefusesWhatItCannot: names of others, settings that candidates decide, and data that are too few.
func TestFit_RefusesWhatItCannot(t *testing.T) {
	t.Parallel()
	c := newCLI(t)
	data := writeMonths(t, 60)
	few := writeMonths(t, 20)
	c.must("train", "noise/smoke", "train.steps=2", "--name", "taken", "--quiet")
	for _, r := range []struct {
		line string
		code int
		want string
	}{
		{"fit " + data + " --name taken", exitUsage, "is a separate run"},
		{"fit " + data + " model.kind=lstm", exitUsage, "fit takes settings of the sections env and eval alone"},
		{"fit " + data + " --families slsd", exitUsage, "did you mean slds?"},
		{"fit " + data + " --budget -1s", exitUsage, "must be positive"},
		{"fit " + few, exitData, "error: " + few + ": 20 steps are too few"},
		{"fit " + data + " --horizon 5 eval.horizon=4", exitUsage, "--horizon 5 and eval.horizon=4: give one of them"},
		{"fit " + data + " --observe price", exitData, "--observe price: there is no such column"},
		{"fit env.split=time", exitUsage, "needs a FILE"},
		{"fit -", exitUsage, "data convert - own.npz"},
		{"fit" + strings.Repeat(" "+data, 1+config.MaxSize/len(data)), exitUsage, "paths: the configuration would have"},
	} {
		if got := c.run(strings.Fields(r.line)...); got.code != r.code || !strings.Contains(got.err, r.want) {
			t.Errorf("%s: code %d, %s\nwant %d, %s", r.line, got.code, got.err, r.code, r.want)
		}
	}
}
