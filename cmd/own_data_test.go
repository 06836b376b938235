package cmd

import (
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/switchyard-ml/switchyard/store"
)

// writeTrajectories writes CSV files of a damped oscillator under a control, of unequal lengths, with a
// missing value in each.
func writeTrajectories(t *testing.T, dir string, n int) {
	t.Helper()
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	for i := range n {
		var b strings.Builder
		b.WriteString("t,y_position,y_speed,u_force\n")
		x, v := 1+0.1*float64(i), 0.0
		for step := range 24 + 5*(i%4) {
			u := math.Cos(float64(step + i))
			v += 0.1 * (u - x - 0.2*v)
			x += 0.1 * v
			position := fmt.Sprintf("%.6f", x)
			if step == 10 {
				position = ""
			}
			fmt.Fprintf(&b, "%.1f,%s,%.6f,%.6f\n", 0.1*float64(step), position, v, u)
		}
		if err := os.WriteFile(filepath.Join(dir, fmt.Sprintf("e%02d.csv", i)), []byte(b.String()), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

// small is a model that trains in an instant.
var small = []string{
	"env.window=12", "model.latent=3", "model.switches=3", "model.hidden=8", "model.blocks=0", "model.kl_samples=2",
	"train.steps=20", "train.batch=8", "train.shards=4", "train.validate_every=10", "train.validation_episodes=4", "train.checkpoint_every=10", "--quiet",
}

func TestTrain_OwnData(t *testing.T) {
	t.Parallel()
	c := newCLI(t)
	data := filepath.Join(t.TempDir(), "data")
	writeTrajectories(t, data, 12)
	train := func(name string, arguments ...string) string {
		c.must(append(append([]string{"train", "files", "env.files=" + data, "--name", name}, small...), arguments...)...)
		return c.info(name).ParametersSHA256
	}
	one := train("one", "--workers", "1")
	for name, arguments := range map[string][]string{
		"three":    {"--workers", "3"},
		"portable": {"--workers", "2", "--slots", "2"},
	} {
		if got := train(name, arguments...); got != one {
			t.Errorf("%s: parameters %s, with one worker %s", name, got, one)
		}
	}
	if raw := train("raw", "env.normalise=none"); raw == one {
		t.Error("the normalisation changes nothing")
	}
	given := filepath.Join(c.dir, "one", store.NormalisationFile)
	if got := train("given", "env.normalise="+given); got != one {
		t.Errorf("with the stored normalisation given: parameters %s, want %s", got, one)
	}
}

// TestResume_OwnData: a run continues with the data that it began with, and refuses other data.
func TestResume_OwnData(t *testing.T) {
	t.Parallel()
	c := newCLI(t)
	data := filepath.Join(t.TempDir(), "data")
	writeTrajectories(t, data, 12)
	longer := append(append([]string{"train", "files", "env.files=" + data}, small...), "train.steps=150", "train.validate_every=50")
	c.must(append(longer, "--name", "whole")...)
	if r := c.interrupt("halves", append(longer, "--name", "halves")...); r.code != exitInterrupted {
		t.Fatalf("exit code %d: %s", r.code, r.err)
	}
	changed := filepath.Join(data, "e03.csv")
	text, err := os.ReadFile(changed)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(changed, []byte(strings.Replace(string(text), "0.1,", "0.1,9", 1)), 0o600); err != nil {
		t.Fatal(err)
	}
	if r := c.run("resume", "halves", "--quiet"); r.code != exitData || !strings.Contains(r.err, "not those that the run began with") {
		t.Errorf("resume with changed data: exit code %d, %s", r.code, r.err)
	}
	if err := os.WriteFile(changed, text, 0o600); err != nil {
		t.Fatal(err)
	}
	c.must("resume", "halves", "--quiet")
	if got, want := c.info("halves").ParametersSHA256, c.info("whole").ParametersSHA256; got != want {
		t.Errorf("resumed: parameters %s, in one piece %s", got, want)
	}
}

func TestOwnData_OneErrorAndTheRightCode(t *testing.T) {
	t.Parallel()
	c := newCLI(t)
	data := filepath.Join(t.TempDir(), "data")
	writeTrajectories(t, data, 12)
	bad := filepath.Join(t.TempDir(), "bad.csv")
	if err := os.WriteFile(bad, []byte("t,y\n0,1\n1,two\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		arguments []string
		code      int
		want      string
	}{
		{[]string{}, exitUsage, "env.kind=files needs env.files"},
		{[]string{"env.files=" + data, "env.window=0"}, exitUsage, "they have 24 to 39 steps"},
		{[]string{"env.files=" + data, "env.window=40"}, exitUsage, "env.window=40 is longer than the longest training episode"},
		{[]string{"env.files=" + data, "env.normalise=nowhere.json"}, exitUsage, "env.normalise: open nowhere.json"},
		{[]string{"env.files=" + data, "env.window=39"}, exitUsage, "is longer than all of 1 validation episode"},
		{[]string{"env.files=" + filepath.Join(data, "none.csv")}, exitUsage, "none.csv"},
		{[]string{"env.files=" + bad}, exitData, "bad.csv"},
	} {
		r := c.run(append([]string{"train", "files"}, test.arguments...)...)
		if r.code != test.code || !strings.Contains(r.err, test.want) {
			t.Errorf("%v: exit code %d, want %d; error %q, want %q in it", test.arguments, r.code, test.code, r.err, test.want)
		}
	}
	if r := c.must("train", "files", "env.files="+data, "env.window=29", "--dry-run"); !strings.Contains(r.out, "are shorter than the window and not used") {
		t.Errorf("the plan does not say that short episodes are left out:\n%s", r.out)
	}
	dated := filepath.Join(t.TempDir(), "dated.csv")
	if err := os.WriteFile(dated, []byte("when,shop,y\n"+strings.Repeat("2024-01-01,A,1\n2024-01-02,A,2\n", 40)), 0o600); err != nil {
		t.Fatal(err)
	}
	if r := c.must("train", "files", "env.files="+dated, "env.window=8", "--dry-run"); !strings.Contains(r.out, "column when is not used") {
		t.Errorf("the plan does not say that nobody reads the dates:\n%s", r.out)
	}
	if r := c.run("train", "fhn", "env.files="+data); r.code != exitUsage || !strings.Contains(r.err, "preset files") {
		t.Errorf("files for another environment: exit code %d, %s", r.code, r.err)
	}
}
