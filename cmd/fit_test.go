package cmd

import (
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

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
// and goes on where it was. Another number of workers gives the same bits.
func TestFit_FromFileToForecast(t *testing.T) {
	t.Parallel()
	c := newCLI(t)
	data, sweeps := writeMonths(t, 120), filepath.Join(c.dir, "sweeps")
	line := []string{"fit", data, "--families", "arhmm", "--budget", "4s", "--sweeps-dir", sweeps, "--horizon", "6", "--seed", "1"}
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
	one := fit("sales", "1")
	if one.Run != "sales" || len(one.Candidates) < 5 || !strings.Contains(one.Verdict, "of the error of the best simple rule (seasonal naive)") {
		t.Errorf("%+v", one)
	}
	told := c.must(append(line, "--name", "sales", "--workers", "2")...) // it is done: the same again
	for _, want := range []string{"of log-diff12", one.Verdict, "forecast sales"} {
		if !strings.Contains(told.out, want) {
			t.Errorf("told\n%s\nwithout %q", told.out, want)
		}
	}
	c.must("forecast", "sales", "--horizon", "3")
	c.must("backtest", "sales", "--json")

	// The plan of one worker, led by three, without what the first has found.
	copied := filepath.Join(sweeps, "again")
	for _, name := range []string{"fit.json", trials.SpecFile} {
		text, err := os.ReadFile(filepath.Join(sweeps, "sales", name))
		if err == nil {
			err = os.MkdirAll(copied, 0o755)
		}
		if err == nil {
			err = os.WriteFile(filepath.Join(copied, name), text, 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	three := fit("again", "3")
	if three.Hash != one.Hash || len(three.Candidates) != len(one.Candidates) {
		t.Errorf("three workers: %s of %d candidates, one: %s of %d", three.Hash, len(three.Candidates), one.Hash, len(one.Candidates))
	}
	for i, a := range one.Candidates {
		if b := three.Candidates[i]; *a.Score != *b.Score || strings.Join(a.Settings, " ") != strings.Join(b.Settings, " ") {
			t.Errorf("candidate %d: %v %v with one worker, %v %v with three", i, a.Settings, *a.Score, b.Settings, *b.Score)
		}
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
		{"fit " + data + " --name taken", exitUsage, "is a run of its own"},
		{"fit " + data + " model.kind=lstm", exitUsage, "fit takes settings of the sections env and eval alone"},
		{"fit " + data + " --families slsd", exitUsage, "did you mean slds?"},
		{"fit " + data + " --budget -1s", exitUsage, "they are positive"},
		{"fit " + few, exitData, "20 steps are too few"},
		{"fit " + data + " --observe price", exitData, "no column is an observation"},
		{"fit env.split=time", exitUsage, "needs a FILE"},
		{"fit -", exitUsage, "data convert - own.npz"},
	} {
		if got := c.run(strings.Fields(r.line)...); got.code != r.code || !strings.Contains(got.err, r.want) {
			t.Errorf("%s: code %d, %s\nwant %d, %s", r.line, got.code, got.err, r.code, r.want)
		}
	}
}
