package cmd

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestReport: two runs, one measured on the way, on one page with their figures; the second time nothing changes.
func TestReport(t *testing.T) {
	t.Parallel()
	c := newCLI(t)
	c.must("train", "fhn/smoke", "--name", "a", "--workers", "1")
	c.must("train", "maze/smoke", "model.kind=linear", "--name", "b", "--workers", "1")
	out := filepath.Join(t.TempDir(), "report")
	c.must("report", "b", "--protocol", "trajectories", "-o", out)
	c.must("report", "a", "b", "-o", out)
	first := map[string]string{}
	for _, name := range []string{"index.html", "report.md", "numbers.csv"} {
		data, err := os.ReadFile(filepath.Join(out, name))
		if err != nil {
			t.Fatal(err)
		}
		first[name] = string(data)
	}
	for _, want := range []string{"Run a", "Run b", "Protocol fhn", "Protocol trajectories", `src="figures/a-fhn.svg"`, `src="figures/training.svg"`, c.info("a").ParametersSHA256} {
		if !strings.Contains(first["index.html"], want) {
			t.Errorf("%q is missing in index.html", want)
		}
	}
	if !strings.Contains(first["numbers.csv"], "a,fhn,r2_unknown/30,") {
		t.Error("numbers.csv lacks a metric of run a")
	}
	c.must("report", "a", "b", "-o", out)
	for name, want := range first {
		if again, err := os.ReadFile(filepath.Join(out, name)); err != nil || string(again) != want {
			t.Errorf("%s has changed: %v", name, err)
		}
	}
	notes := filepath.Join(t.TempDir(), "report.md")
	if err := os.WriteFile(notes, []byte("my notes"), 0o600); err != nil {
		t.Fatal(err)
	}
	if r := c.run("report", "a", "-o", filepath.Dir(notes)); r.code != exitUsage || !strings.Contains(r.err, notes) || !strings.Contains(r.err, "choose another folder") {
		t.Errorf("a file of the user: %+v", r)
	}
	if text, err := os.ReadFile(notes); err != nil || string(text) != "my notes" {
		t.Errorf("the file of the user is %q, %v", text, err)
	}
	for _, args := range [][]string{{"report", "none"}, {"report", "a", "a"}, {"report", "a", "--protocol", "pixels"}} {
		if r := c.run(args...); r.code == 0 {
			t.Errorf("%v is accepted", args)
		}
	}
}

// A signal between two measurements of a report says what signals say elsewhere.
func TestReport_InterruptedBetweenMeasurements(t *testing.T) {
	t.Parallel()
	ctx, signal := context.WithCancel(t.Context())
	signal()
	a := &app{kinds: builtin(), runsDir: t.TempDir()}
	if err := a.evaluateMissing(ctx, []string{"a"}, []string{"fhn"}); !errors.Is(err, errSignal) {
		t.Errorf("got %v, want %v", err, errSignal)
	}
}
