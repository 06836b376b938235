package cmd

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/switchyard-ml/switchyard/envs/files"
	"github.com/switchyard-ml/switchyard/envs/files/array"
	"github.com/switchyard-ml/switchyard/serving"
	"github.com/switchyard-ml/switchyard/trained"
)

// npz reads arrays of a file: shapes and values by name.
func npz(t *testing.T, path string) (shapes map[string][]int, values map[string][]float64) {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		t.Fatal(err)
	}
	archive, err := array.OpenArchive(f, info.Size())
	if err != nil {
		t.Fatal(err)
	}
	shapes, values = map[string][]int{}, map[string][]float64{}
	for _, name := range archive.Names() {
		x, err := archive.Read(name, files.DefaultLimit)
		if err != nil {
			t.Fatal(err)
		}
		shapes[name], values[name] = x.Shape, x.Float64s()
	}
	return shapes, values
}

func wantShape(t *testing.T, shapes map[string][]int, name string, want ...int) {
	t.Helper()
	got, ok := shapes[name]
	if !ok || len(got) != len(want) {
		t.Errorf("%s has the shape %v, want %v", name, got, want)
		return
	}
	for i, n := range want {
		if got[i] != n {
			t.Errorf("%s has the shape %v, want %v", name, got, want)
		}
	}
}

// TestAsk_EveryQuestionInEveryForm asks a trained model everything, about one recording and about several.
func TestAsk_EveryQuestionInEveryForm(t *testing.T) { asksEverything(t, small) }

// TestAsk_ADiscreteSwitch answers the same questions.
func TestAsk_ADiscreteSwitch(t *testing.T) { asksEverything(t, discrete()) }

// discrete is small with a switch that is summed out.
func discrete() []string {
	settings := slices.DeleteFunc(slices.Clone(small), func(s string) bool { return strings.HasPrefix(s, "model.kl_samples=") })
	return append(settings, "model.switching=categorical")
}

// asksEverything asks a model with these settings, whose recordings are of unequal lengths and miss values.
func asksEverything(t *testing.T, settings []string) {
	t.Parallel()
	c := newCLI(t)
	data := filepath.Join(t.TempDir(), "data")
	writeTrajectories(t, data, 12)
	c.must(append([]string{"train", "files", "env.files=" + data, "--name", "own"}, settings...)...)
	one := filepath.Join(data, "e03.csv")
	d, err := files.Read([]string{one}, files.Options{})
	if err != nil {
		t.Fatal(err)
	}
	T, nx, nu := d.Episodes[0].T, d.Spec.Observation, d.Spec.Control
	out := t.TempDir()
	ask := func(question string, arguments ...string) map[string][]int {
		t.Helper()
		var paths []string
		for _, ending := range trained.Endings {
			paths = append(paths, filepath.Join(out, question+ending))
		}
		r := c.must(append([]string{question, "own", "--out", strings.Join(paths, ",")}, arguments...)...)
		if !strings.Contains(r.out, "wrote    "+paths[0]) {
			t.Errorf("%s says\n%s", question, r.out)
		}
		shapes, _ := npz(t, paths[0])
		text, err := os.ReadFile(paths[2])
		if err != nil {
			t.Fatal(err)
		}
		var object map[string]any
		if err := json.Unmarshal(text, &object); err != nil || len(object) != len(shapes) {
			t.Errorf("%s: JSON has %d members, npz %d arrays: %v", question, len(object), len(shapes), err)
		}
		for _, path := range paths[3:] {
			if info, err := os.Stat(path); err != nil || info.Size() < 1000 {
				t.Errorf("%s: %v", path, err)
			}
		}
		if r := c.must(append([]string{question, "own", "--json"}, arguments...)...); r.out != string(text) {
			t.Errorf("%s: --json prints something else than the file", question)
		}
		return shapes
	}
	shapes := ask("forecast", "--data", one, "--horizon", "7", "--quantiles", "0.9,0.1")
	wantShape(t, shapes, "mean", 7, nx)
	wantShape(t, shapes, "quantiles", 2, 7, nx)
	wantShape(t, shapes, "levels", 2)
	_, values := npz(t, filepath.Join(out, "forecast.npz"))
	for i, low := range values["quantiles"][:7*nx] {
		if low >= values["quantiles"][7*nx+i] || values["levels"][0] != 0.1 {
			t.Fatalf("quantiles %v of levels %v cross", values["quantiles"], values["levels"])
		}
	}
	shapes = ask("forecast", "--horizon", "3")
	wantShape(t, shapes, "mean", 12, 3, nx)

	shapes = ask("segment", "--in", one)
	wantShape(t, shapes, "probability", T, 3)
	wantShape(t, shapes, "regime", T)
	wantShape(t, shapes, "A", 3, 3, 3)
	wantShape(t, shapes, "system", 3)
	wantShape(t, shapes, "B", 3, 3, nu)
	wantShape(t, shapes, "transitions", 3, 3)
	shapes = ask("segment", "--part", "training")
	wantShape(t, shapes, "length", 10)

	text, err := os.ReadFile(one)
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSpace(string(text)), "\n")
	for i := range lines {
		lines[i] += map[bool]string{true: ",mode", false: "," + strconv.Itoa(i%2)}[i == 0]
	}
	shapes = ask("segment", "--data", c.write("labelled.csv", strings.Join(lines, "\n")+"\n"), "--truth", "mode")
	wantShape(t, shapes, "truth", T)
	wantShape(t, shapes, "contingency", 2, 3)
	wantShape(t, shapes, "accuracy")

	shapes = ask("filter", "--in", one)
	wantShape(t, shapes, "mean", T, 3)
	shapes = ask("smooth", "--data", one)
	wantShape(t, shapes, "observations", T, nx)
	shapes = ask("linearize", "--data", one)
	wantShape(t, shapes, "A", T, 3, 3)
	wantShape(t, shapes, "B", T, 3, nu)
	wantShape(t, shapes, "C", T, nx, 3)
	shapes = ask("simulate", "--steps", "9")
	wantShape(t, shapes, "y", 9, nx)
	shapes = ask("simulate", "--in", data) // each series is as long as its recording
	all, err := files.Read([]string{data}, files.Options{})
	if err != nil {
		t.Fatal(err)
	}
	longest := 0
	for _, e := range all.Episodes {
		longest = max(longest, e.T)
	}
	wantShape(t, shapes, "states", 12, longest, 3)
	wantShape(t, shapes, "length", 12)
	made, err := files.Read([]string{filepath.Join(out, "simulate.npz")}, files.Options{})
	if err != nil || len(made.Episodes) != 12 {
		t.Fatalf("what was simulated cannot be read as data: %v", err)
	}
	for i, e := range made.Episodes {
		if e.T != all.Episodes[i].T || e.Mask != nil {
			t.Errorf("series %d has %d steps, its recording %d", i, e.T, all.Episodes[i].T)
		}
	}
	if out := c.must("simulate", "own", "--steps", "9").out; !strings.Contains(out, "\nt") {
		t.Errorf("the column of times has no name:\n%s", out)
	}

	plan := c.write("plan.csv", d.ControlName(0)+"\n0.5\n0.5\n0.5\n")
	with := c.must("forecast", "own", "--data", one, "--horizon", "3", "--controls", plan)
	without := c.must("forecast", "own", "--data", one, "--horizon", "3")
	if with.out == without.out || with.err != "" || !strings.Contains(without.err, "are zero after the recording") {
		t.Errorf("controls have no effect, or say so: %q, %q", with.err, without.err)
	}
	if r := c.must("predict", "own", "--in", one, "--horizon", "3"); r.out != without.out {
		t.Error("predict is not forecast")
	}
	for _, format := range []string{"npz", "safetensors", "onnx"} {
		if r := c.must("export", "own", "--format", format, "-o", filepath.Join(out, format)); !strings.Contains(r.out, "model.json") {
			t.Errorf("export as %s says\n%s", format, r.out)
		}
	}
}

// TestAsk_ProposesACheckpointThatIsThere: another checkpoint is proposed where the best one is damaged and another is
// whole, and nowhere else.
func TestAsk_ProposesACheckpointThatIsThere(t *testing.T) {
	t.Parallel()
	c := newCLI(t)
	c.must("train", "fhn/smoke", "--name", "a", "--quiet")
	folder := filepath.Join(c.dir, "a")
	paths, err := filepath.Glob(filepath.Join(folder, "checkpoints", "*.safetensors"))
	if err != nil || len(paths) < 2 {
		t.Fatalf("checkpoints %v, %v", paths, err)
	}
	slices.Reverse(paths) // the best one, which is the last, first
	for i, path := range append(paths, filepath.Join(folder, "run.json")) {
		if err := os.WriteFile(path, []byte("{"), 0o644); err != nil {
			t.Fatal(err)
		}
		r := c.run("forecast", "a", "--horizon", "2")
		if proposed := strings.Contains(r.err, "--checkpoint last"); r.code != exitData || proposed != (i < len(paths)-1) {
			t.Errorf("without %s: exit code %d, %s", filepath.Base(path), r.code, r.err)
		}
	}
}

func TestAsk_Refuses(t *testing.T) {
	t.Parallel()
	c := newCLI(t)
	data := filepath.Join(t.TempDir(), "data")
	writeTrajectories(t, data, 12)
	c.must(append([]string{"train", "files", "env.files=" + data, "--name", "own"}, small...)...)
	c.must("train", "fhn/smoke", "model.kind=linear", "train.steps=1", "--name", "linear", "--quiet")
	other := c.write("other.csv", "t,y\n0,1\n1,2\n2,1\n")
	speeds := c.write("speeds.csv", caseTable("t,speed", ",", strconv.Itoa))
	c.must(append([]string{"train", "files", "env.files=" + speeds, "env.observe=speed", "--name", "speeds"}, small...)...)
	alien := c.write("alien.csv", "x\n1\n2\n4\n")
	short := c.write("short.csv", "u_force\n1\n")
	text := c.write("text.csv", "u_force\none\n")
	for _, test := range []struct {
		line string
		code int
		want []string
	}{
		{"forecast nowhere", exitUsage, []string{"nowhere"}},
		{"forecast own --horizon -1", exitUsage, []string{"--horizon -1: must be at least 0"}},
		{"forecast own --samples -2", exitUsage, []string{"--samples -2: must be at least 0"}},
		{"backtest own --stride -1", exitUsage, []string{"--stride -1: must be at least 0"}},
		{"simulate own --steps 0", exitUsage, []string{"--steps 0: must be at least 1"}},
		{"export own --horizon -1", exitUsage, []string{"--horizon -1: must be at least 0"}},
		{"simulate own --in " + data + " --steps 7", exitUsage, []string{"--steps means nothing with --in"}},
		{"simulate own --in " + data + " --controls " + short, exitUsage, []string{"--controls means nothing with --in"}},
		{"simulate own --controls " + short + " --steps 7", exitUsage, []string{"--steps means nothing with --controls"}},
		{"simulate own --observe nope", exitUsage, []string{"--observe says how files are read, and none are given"}},
		{"forecast own --id nope", exitUsage, []string{"--id says how files are read, and none are given"}},
		{"backtest own --cut 9", exitUsage, []string{"--cut says how files are read, and none are given"}},
		{"filter own --in - --out x.csv", exitUsage, []string{"--out means nothing with --in -"}},
		{"filter own --in - --time t", exitUsage, []string{"--time means nothing with --in -"}},
		{"filter own --in - --seed 3", exitUsage, []string{"--seed means nothing with --in -"}},
		{"smooth own --seed 3", exitUsage, []string{"unknown flag: --seed"}},
		{"filter own --begin 3", exitUsage, []string{"--begin is about the lines of --in -"}},
		{"forecast own --out nowhere/x.csv", exitUsage, []string{"there is no folder nowhere", "mkdir -p nowhere"}},
		{"forecast own --out " + short + "/x.csv", exitUsage, []string{"short.csv is no folder"}},
		{"forecast own --out " + filepath.Dir(short), exitUsage, []string{"no such format is written"}},
		{"runs export own -o .", exitUsage, []string{". is a folder; choose another name"}},
		{"runs export own -o nowhere/x.csv", exitUsage, []string{"there is no folder nowhere"}},
		{"forecast own --horizon 1000000000", exitUsage, []string{"take", "GiB", "--samples"}},
		{"simulate own --steps 1000000000", exitUsage, []string{"take", "GiB", "fewer --steps"}},
		{"simulate own --episodes 1000000000 --steps 9", exitUsage, []string{"take", "GiB"}},
		{"forecast own --quantiles 1.5", exitUsage, []string{"a quantile lies between 0 and 1"}},
		{"forecast own --quantiles 0.9,0.5,.5", exitUsage, []string{"--quantiles 0.5: it is there twice"}},
		{"forecast own --quantiles a", exitUsage, []string{`invalid argument "a" for "--quantiles" flag: "a" is no number`}},
		{"forecast own --horizon 1.5", exitUsage, []string{`"1.5" is no whole number`}},
		{"forecast speeds --data " + alien, exitData, []string{"alien.csv: there is no speed, which the run observes; there are x", "name yours with --observe"}},
		{"forecast speeds --data " + alien + " --observe v", exitData, []string{"--observe v: there is no such column; there are x"}},
		{"eval own --episodes -3", exitUsage, []string{"--episodes -3: must be at least 1"}},
		{"keys ls --dir " + filepath.Join(c.dir, "none"), exitUsage, []string{"this is no folder of keys", "create keys with: switchyard init"}},
		{"runs compare own", exitUsage, []string{"runs compare takes 2 arguments, A B; got 1"}},
		{"forecast", exitUsage, []string{"forecast takes 1 argument, NAME; got 0"}},
		{"forecast own --out x.xlsx", exitUsage, []string{"no such format is written", "end the name in .npz"}},
		{"forecast own --checkpoint newest", exitUsage, []string{"must be best or last"}},
		{"forecast own --part holdout", exitUsage, []string{"must be training, validation or test"}},
		{"forecast own --data " + other, exitData, []string{"1 observed column (", "the model takes 2 observed columns ("}},
		{"forecast own --horizon 3 --controls " + short, exitData, []string{"it has no row for step 2 of the forecast", "or a shorter --horizon"}},
		{"forecast own --horizon 1 --controls " + text, exitData, []string{"line 2, column u_force", `"one" is no number`}},
		{"forecast own --horizon 1 --controls " + other, exitData, []string{"there is no column force"}},
		{"forecast linear --part training", exitUsage, []string{"the run has no such recordings"}},
		{"segment own --truth mode", exitData, []string{"--truth mode", "there is no such column; there are"}},
		{"segment linear --truth mode", exitUsage, []string{"--truth mode: env.kind=fhn is simulated"}},
		{"segment linear --data " + other, exitData, []string{"the model takes 2"}},
		{"simulate linear", exitUsage, []string{"model.kind=linear does not make up whole series", "slds, fusion, dvbf, kvae, rslds, trslds and arhmm do"}},
		{"forecast own --data a.csv --in b.csv", exitUsage, []string{"give one of them"}},
	} {
		r := c.run(strings.Fields(test.line)...)
		if r.code != test.code {
			t.Errorf("%s: exit code %d, want %d: %s", test.line, r.code, test.code, r.err)
		}
		for _, want := range test.want {
			if !strings.Contains(r.err, want) {
				t.Errorf("%s: %q is missing in %q", test.line, want, r.err)
			}
		}
	}
}

// TestBacktest_ShortRecordings: a horizon that no recording is long enough for is cut, and that is said.
func TestBacktest_ShortRecordings(t *testing.T) {
	t.Parallel()
	c := newCLI(t)
	data := filepath.Join(t.TempDir(), "data")
	writeTrajectories(t, data, 12)
	c.must(append([]string{"train", "files", "env.files=" + data, "--name", "own"}, small...)...)
	if r := c.must("backtest", "own", "--horizon", "300", "--prefix", "6"); !strings.Contains(r.err, "warning: --horizon 300: the recordings are long enough for ") {
		t.Errorf("a horizon of 300: %q", r.err)
	}
	if r := c.must("backtest", "own", "--horizon", "3", "--prefix", "6"); r.err != "" {
		t.Errorf("a horizon of 3: %q", r.err)
	}
}

// TestBacktest_Seed: another seed draws other paths; the usual one is that of the run.
func TestBacktest_Seed(t *testing.T) {
	t.Parallel()
	c := newCLI(t)
	data := filepath.Join(t.TempDir(), "data")
	writeTrajectories(t, data, 12)
	c.must(append([]string{"train", "files", "env.files=" + data, "--name", "own", "seed=5"}, small...)...)
	ask := func(flags ...string) string {
		return c.must(append([]string{"backtest", "own", "--horizon", "3", "--prefix", "6", "--json"}, flags...)...).out
	}
	usual := ask()
	if ask("--seed", "5") != usual {
		t.Error("the seed of the run, given, is not the usual one")
	}
	if other := ask("--seed", "6"); other == usual || ask("--seed", "6") != other {
		t.Error("--seed 6 has no effect, or another one each time")
	}
}

// TestFilter_LineByLine: observations on stdin are answered one by one, a missing one too, and a wrong one by its line.
func TestFilter_LineByLine(t *testing.T) {
	t.Parallel()
	c := newCLI(t)
	data := filepath.Join(t.TempDir(), "data")
	writeTrajectories(t, data, 12)
	c.must(append([]string{"train", "files", "env.files=" + data, "--name", "own"}, small...)...)
	ask := func(lines string) (result, []serving.Line) {
		var out, errs buffer
		a := &app{kinds: builtin(), out: &out, err: &errs, in: strings.NewReader(lines), environ: []string{"SWITCHYARD_RUNS_DIR=" + c.dir}, invoked: "switchyard", cores: 1}
		code := a.run([]string{"filter", "own", "--in", "-"})
		var list []serving.Line
		for line := range strings.Lines(out.String()) {
			var y serving.Line
			if err := json.Unmarshal([]byte(line), &y); err != nil {
				t.Fatalf("%v in %s", err, line)
			}
			list = append(list, y)
		}
		return result{code, out.String(), errs.String()}, list
	}
	r, list := ask("[1.0, 0.1]\n\n{\"observation\": [null, 0.2], \"controls\": [0.5]}\n[1.1, 0.1]\n[1, 0]\n[1, 0]\n")
	if r.code != exitOK || len(list) != 5 || list[4].Step != 5 || len(list[4].Mean) != 3 || len(list[4].Expected) != 2 {
		t.Errorf("exit code %d: %+v %s", r.code, list, r.err)
	}
	if r, list := ask("[1.0, 0.1]\n[1.0]\n"); r.code != exitData || len(list) != 1 || !strings.Contains(r.err, "stdin: line 2") {
		t.Errorf("exit code %d: %s", r.code, r.err)
	}
	if r, _ := ask("[1.0, x]\n"); r.code != exitData || !strings.Contains(r.err, "stdin: line 1") {
		t.Errorf("exit code %d: %s", r.code, r.err)
	}
}
