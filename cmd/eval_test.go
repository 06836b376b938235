package cmd

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// metricsOf are the metrics that eval --json prints.
func metricsOf(t *testing.T, text string) map[string]any {
	t.Helper()
	var report struct{ Metrics map[string]any }
	if err := json.Unmarshal([]byte(text), &report); err != nil {
		t.Fatalf("%v in\n%s", err, text)
	}
	return report.Metrics
}

// TestEval_EveryFlag is used once.
func TestEval_EveryFlag(t *testing.T) {
	t.Parallel()
	c := newCLI(t)
	trained := c.must("train", "maze/smoke", "--name", "m", "--quiet")
	if !strings.Contains(trained.out, "Static, x_P") {
		t.Errorf("training ends without the usual evaluation:\n%s", trained.out)
	}
	for _, folder := range []string{"tables", "figures"} { // whoever copies a run may leave out what is empty or can be made again
		if err := os.RemoveAll(filepath.Join(c.dir, "m", folder)); err != nil {
			t.Fatal(err)
		}
	}
	for _, flags := range [][]string{
		{},
		{"--protocol", "table1"},
		{"--episodes", "20"},
		{"--prefix", "3"},
		{"--checkpoint", "last"},
		{"--protocol", "ahead"},
		{"--protocol", "velocity", "--episodes", "20"},
		{"--protocol", "contact", "--episodes", "20"},
		{"--protocol", "switches", "--episodes", "20"},
		{"--protocol", "latent", "--episodes", "20"},
		{"--protocol", "trajectories"},
		{"--protocol", "dt", "--episodes", "20"},
	} {
		m := metricsOf(t, c.must(append([]string{"eval", "m", "--json"}, flags...)...).out)
		if m["step"] != 30.0 {
			t.Errorf("%q: step %v", flags, m["step"])
		}
		if len(flags) > 0 && flags[0] == "--prefix" && m["prefix"] != 3.0 || len(flags) > 2 && m["episodes"] != 20.0 {
			t.Errorf("%q: prefix %v, %v episodes", flags, m["prefix"], m["episodes"])
		}
	}
	for _, name := range []string{
		"tables/table1.json", "tables/table1.csv", "tables/table1.txt", "figures/table1.svg", "figures/table1.png",
		"tables/table1-prefix3.json", "figures/prefix3/table1.png", "figures/switches.png", "figures/switches_maps.csv",
		"figures/velocity.svg", "figures/latent.svg", "figures/trajectories.svg", "tables/contact.csv", "tables/dt.json",
	} {
		if _, err := os.Stat(filepath.Join(c.dir, "m", name)); err != nil {
			t.Error(err)
		}
	}
	list := c.must("eval", "m", "--list").out
	for _, want := range []string{"table1 ", "(usual)", "switches ", "dt "} {
		if !strings.Contains(list, want) {
			t.Errorf("%q is missing in\n%s", want, list)
		}
	}
	if strings.Contains(list, "pixels") || strings.Contains(list, "fhn") {
		t.Errorf("what does not fit is listed:\n%s", list)
	}
}

// TestEval_CannotBeKept: who may read a run and not write into its folder is told what was measured.
func TestEval_CannotBeKept(t *testing.T) {
	t.Parallel()
	c := newCLI(t)
	c.must("train", "fhn/smoke", "--name", "a", "--quiet")
	numbers, _, _ := strings.Cut(c.must("eval", "a").out, "figure ")
	for _, folder := range []string{"figures", "tables"} {
		path := filepath.Join(c.dir, "a", folder)
		if err := errors.Join(os.RemoveAll(path), os.WriteFile(path, nil, 0o600)); err != nil {
			t.Fatal(err)
		}
		r := c.run("eval", "a")
		if r.code == exitOK || !strings.HasPrefix(r.out, strings.TrimSpace(numbers)) {
			t.Errorf("without %s: exit code %d\n%s", folder, r.code, r.out)
		}
		if !strings.Contains(r.err, folder) || !strings.Contains(r.err, "the numbers are complete") {
			t.Errorf("without %s: %s", folder, r.err)
		}
		if err := os.Remove(path); err != nil { // it is made anew
			t.Fatal(err)
		}
	}
}

// TestEval_FlagsOfTheOscillator: fresh trajectories and all starts, beside the usual measurement.
func TestEval_FlagsOfTheOscillator(t *testing.T) {
	t.Parallel()
	c := newCLI(t)
	c.must("train", "fhn/smoke", "--name", "f", "--quiet")
	for _, flag := range []string{"--fresh", "--all-starts"} {
		m := metricsOf(t, c.must("eval", "f", "--json", flag).out)
		if (m["fresh"] == 1.0) != (flag == "--fresh") || (m["r2_known_all_starts"] != nil) != (flag == "--all-starts") {
			t.Errorf("%s: %v", flag, m)
		}
	}
	for _, name := range []string{"tables/fhn.json", "tables/fhn-fresh.json", "figures/fhn.png", "figures/fresh/fhn.png"} {
		if _, err := os.Stat(filepath.Join(c.dir, "f", name)); err != nil {
			t.Error(err)
		}
	}
}

// TestEval_FlagsThatDoNotFit are refused, with what is wrong.
func TestEval_FlagsThatDoNotFit(t *testing.T) {
	t.Parallel()
	c := newCLI(t)
	c.must("train", "noise/smoke", "--name", "n", "--quiet", "train.steps=1")
	c.must("train", "fhn/smoke", "--name", "f", "--quiet", "train.steps=1")
	for _, test := range []struct{ line, want string }{
		{"eval n --all-starts", "--all-starts: protocol ahead"},
		{"eval n --prefix 3", "--prefix: protocol ahead"},
		{"eval f --episodes 20", "--episodes: how many episodes protocol fhn measures is up to the run"},
		{"eval f --fresh --episodes 8", "--episodes: how many episodes protocol fhn measures is up to the run"},
		{"eval n --episodes -1", "at least 1"},
		{"eval n --protocol velocity", `no protocol "velocity"`},
		{"eval n --fresh", "--fresh: protocol ahead"},
		{"eval n --list --episodes 4 --prefix 2", "--episodes means nothing with --list"},
		{"eval n --list --checkpoint last", "--checkpoint means nothing with --list"},
		{"eval nothing --list", "no such run"},
	} {
		if r := c.run(strings.Fields(test.line)...); r.code != exitUsage || !strings.Contains(r.err, test.want) {
			t.Errorf("%s: exit code %d, stderr %q, want %q", test.line, r.code, r.err, test.want)
		}
	}
}

// TestTrain_OwnImages: training on files of images ends with the segments of their regimes, of which there is no picture,
// and suggests none.
func TestTrain_OwnImages(t *testing.T) {
	t.Parallel()
	c := newCLI(t)
	images := filepath.Join(t.TempDir(), "images.npz")
	c.must("data", "generate", "ball/smoke", "--episodes", "10", "--length", "12", "--out", images)
	r := c.must("train", "files", "env.files="+images, "--name", "film", "--quiet", "train.steps=1", "env.window=10", "model.latent=2",
		"model.switches=2", "model.hidden=4", "train.batch=4", "train.validate_every=0", "eval.horizon=2", "eval.samples=2")
	if _, err := os.Stat(filepath.Join(c.dir, "film", "tables", "segments.csv")); err != nil {
		t.Error(err)
	}
	if strings.Contains(r.out, "film.png") || strings.Contains(r.out, "regimes.png") {
		t.Errorf("it tells of a picture:\n%s", r.out)
	}
}

// TestEval_Ball measures images when training ends.
func TestEval_Ball(t *testing.T) {
	t.Parallel()
	c := newCLI(t)
	c.must("train", "ball/smoke", "--name", "b", "--quiet", "train.steps=2", "train.validate_every=0", "train.checkpoint_every=0")
	m := metricsOf(t, c.must("eval", "b", "--json", "--episodes", "30").out)
	for _, name := range []string{"error", "error_static", "standard_error", "error_last"} {
		if wrong, ok := m[name].(map[string]any); !ok || len(wrong) != 4 {
			t.Errorf("%s: %v", name, m[name])
		}
	}
	if _, err := os.Stat(filepath.Join(c.dir, "b", "figures", "pixels.png")); err != nil {
		t.Error(err)
	}
	// Pixels are asked about as channels are, in the run's own episodes and in files.
	images := filepath.Join(t.TempDir(), "images.npz")
	c.must("data", "generate", "ball", "--episodes", "2", "--length", "6", "--out", images)
	for _, flags := range [][]string{{}, {"--data", images}} {
		table := filepath.Join(t.TempDir(), "next.csv")
		var y struct{ Names []string }
		out := c.must(append([]string{"forecast", "b", "--horizon", "2", "--samples", "2", "--json", "--out", table}, flags...)...).out
		if err := json.Unmarshal([]byte(out), &y); err != nil || len(y.Names) != 32*32 {
			t.Errorf("%q: %d names, %v", flags, len(y.Names), err)
		}
		if text, err := os.ReadFile(table); err != nil || !strings.Contains(string(text), ",y1024,y1024_q5,") {
			t.Errorf("%q: %.100s, %v", flags, text, err)
		}
	}
	c.must("filter", "b", "--data", images)
	// A picture that does not exist is refused before anything is written.
	out := filepath.Join(t.TempDir(), "made.csv")
	for _, line := range []string{"forecast b", "smooth b", "segment b", "simulate b", "simulate b --in " + images} {
		r := c.run(append(strings.Fields(line), "--out", out+","+filepath.Join(t.TempDir(), "made.png"))...)
		if r.code != exitUsage || !strings.Contains(r.err, "the data are images") {
			t.Errorf("%s: exit code %d, %q", line, r.code, r.err)
		}
	}
	if _, err := os.Stat(out); err == nil {
		t.Error("a refused question has written a file")
	}
	vectors := c.write("vectors.csv", "t,y\n0,1\n1,2\n2,1\n")
	if r := c.run("filter", "b", "--data", vectors); r.code != exitData || !strings.Contains(r.err, "the model takes images") {
		t.Errorf("vectors: exit code %d, %q", r.code, r.err)
	}
}

// TestEval_OwnData measures the recordings that were held out, which have to be those of the run.
func TestEval_OwnData(t *testing.T) {
	t.Parallel()
	c := newCLI(t)
	data := filepath.Join(t.TempDir(), "data")
	writeTrajectories(t, data, 12)
	c.must(append([]string{"train", "files", "env.files=" + data, "env.test=0.25", "--name", "own"}, small...)...)
	for _, flags := range [][]string{{}, {"--prefix", "8"}, {"--prefix", "4"}, {"--protocol", "recordings"}} {
		m := metricsOf(t, c.must(append([]string{"eval", "own", "--json"}, flags...)...).out)
		errors, ok := m["error"].([]any)
		if !ok || float64(len(errors)) != m["horizon"] || m["recordings"] != 3.0 || m["rmse_position"] == nil {
			t.Errorf("%q: %v", flags, m)
		}
	}
	part := []string{"eval", "own", "--protocol", "validation"}
	if r := c.must(append(part, "--json")...); !strings.HasPrefix(r.out, `{"protocol":"validation"`) {
		t.Errorf("the validation part is that of %.40s", r.out)
	}
	if r := c.must(part...); strings.Contains(r.out, "test recordings") || !strings.Contains(r.out, "that training was validated on") {
		t.Errorf("of the validation part it is said:\n%s", r.out)
	}
	if list := c.must("eval", "own", "--list").out; !strings.HasPrefix(list, "recordings ") {
		t.Errorf("listed: %s", list)
	}
	for _, name := range []string{"tables/recordings.csv", "tables/recordings-prefix4.csv", "figures/recordings.png"} {
		if _, err := os.Stat(filepath.Join(c.dir, "own", name)); err != nil {
			t.Error(err)
		}
	}
	writeTrajectories(t, data, 13)
	if r := c.run("eval", "own"); r.code != exitData || !strings.Contains(r.err, "error: the data are not those that the run began with") {
		t.Errorf("other data: exit code %d, %s", r.code, r.err)
	}
}

// TestEval_OwnLabels: regimes of own data are scored against a column that is named, or against z.
func TestEval_OwnLabels(t *testing.T) {
	t.Parallel()
	c := newCLI(t)
	table := func(label string) string {
		lines := []string{"id,y," + label}
		for id := range 10 {
			y := 0.0
			for step := range 40 {
				mode := (step + id) / 8 % 2
				y = 0.5*y + 2*float64(mode) + 0.1*float64((7*step+3*id)%5)
				lines = append(lines, fmt.Sprintf("%d,%.3f,%d", id, y, 4-mode))
			}
		}
		return c.write(label+".csv", strings.Join(lines, "\n")+"\n")
	}
	for label, data := range map[string]string{"mode": table("mode"), "z": table("z")} {
		c.must("train", "files", "env.files="+data, "env.observe=y", "env.id=id", "model.kind=arhmm", "model.switches=2",
			"model.sweeps=20", "model.exchange=20", "--name", label, "--quiet")
	}
	for _, line := range []string{"eval mode --protocol segmentation --truth mode", "eval z --protocol segmentation"} {
		m := metricsOf(t, c.must(append(strings.Fields(line), "--json")...).out)
		recall, _ := m["recall"].(map[string]any)
		if m["accuracy"].(float64) < 0.9 || m["accuracy_arhmm"].(float64) < 0.9 || m["accuracy_majority"].(float64) > 0.7 ||
			m["regimes"] != 2.0 || recall["3"] == nil || recall["4"] == nil || m["standard_error"] == nil {
			t.Errorf("%s: %v", line, m)
		}
	}
	var divided struct{ Steps, System []int }
	if err := json.Unmarshal([]byte(c.must("segment", "z", "--part", "training", "--json").out), &divided); err != nil {
		t.Fatal(err)
	}
	if len(divided.Steps) != 2 || divided.Steps[0] < divided.Steps[1] || len(divided.System) != 2 ||
		divided.System[0]+divided.System[1] != 1 {
		t.Errorf("regimes are not numbered by share: %+v", divided)
	}
	if _, err := os.Stat(filepath.Join(c.dir, "z", "figures", "segmentation.svg")); err != nil {
		t.Error(err)
	}
	for _, test := range []struct{ line, want string }{
		{"eval mode --protocol segmentation", "--truth COLUMN"},
		{"eval mode --truth mode", "--truth: protocol recordings"},
	} {
		if r := c.run(strings.Fields(test.line)...); r.code != exitUsage || !strings.Contains(r.err, test.want) {
			t.Errorf("%s: exit code %d, stderr %q, want %q", test.line, r.code, r.err, test.want)
		}
	}
}
