package cmd

import (
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/switchyard-ml/switchyard/config"
	"github.com/switchyard-ml/switchyard/envs/files"
	"github.com/switchyard-ml/switchyard/store"
	"github.com/switchyard-ml/switchyard/trained"
)

// writeTrajectories writes CSV files of a damped oscillator under a control, of unequal lengths. One in four has a gap,
// which is filled in whenever the file is asked about.
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
			if step == 10 && i%4 == 1 {
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

// TestTrain_ReadsAsDataInfoDoes: without a key that says how, a run decides columns, times and recordings as data info
// does, says so in its plan, and keeps the decisions as keys; a key decides otherwise.
func TestTrain_ReadsAsDataInfoDoes(t *testing.T) {
	t.Parallel()
	c := newCLI(t)
	var b strings.Builder
	b.WriteString("when,shop,sold,price\n")
	for day := range 40 {
		for i, shop := range []string{"north", "south", "west"} {
			fmt.Fprintf(&b, "2024-%02d-%02d,%s,%.3f,%.3f\n", 1+day/28, 1+day%28, shop, 10+float64(i)+math.Sin(float64(day)), 5+math.Cos(float64(day*i)))
		}
	}
	path := filepath.Join(t.TempDir(), "shops.csv")
	if err := os.WriteFile(path, []byte(b.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	line := append([]string{"train", "files", "env.files=" + path, "env.window=4", "env.split=time"}, small[1:]...)
	plan := c.must(append(line, "--dry-run")...).out
	for _, want := range []string{"read by   env.observe=sold,price", "env.time=when", "env.id=shop", "2 channels"} {
		if !strings.Contains(plan, want) {
			t.Errorf("the plan lacks %q:\n%s", want, plan)
		}
	}
	c.must(append(line, "--name", "guessed")...)
	c.must(append(line, "env.observe=sold,price", "env.time=when", "env.id=shop", "--name", "said")...)
	if got, want := c.info("guessed").ParametersSHA256, c.info("said").ParametersSHA256; got != want {
		t.Errorf("guessed: parameters %s, with the keys %s", got, want)
	}
	if kept := c.must("config", "show", filepath.Join(c.dir, "guessed", "config.yaml"), "--json").out; !strings.Contains(kept, `"env.time": "when"`) {
		t.Errorf("the run does not keep how its files are read:\n%s", kept)
	}
	if other := c.must(append(line, "env.observe=price", "--dry-run")...).out; !strings.Contains(other, "1 channel and") || strings.Contains(other, "read by   env.observe") {
		t.Errorf("a key does not decide otherwise:\n%s", other)
	}
}

// TestTrain_SaysThatItIsTooShort to be validated on the way, before it begins.
func TestTrain_SaysThatItIsTooShort(t *testing.T) {
	t.Parallel()
	c := newCLI(t)
	data := filepath.Join(t.TempDir(), "data")
	writeTrajectories(t, data, 12)
	line := append([]string{"train", "files", "env.files=" + data, "--dry-run"}, small...)
	if r := c.must(append(line, "train.validate_every=20")...); !strings.Contains(r.out, "20 steps end before a validation is due") {
		t.Errorf("the plan has no warning:\n%s", r.out)
	}
	if r := c.must(line...); strings.Contains(r.out, "before a validation is due") {
		t.Errorf("a warning without need:\n%s", r.out)
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
		{[]string{"env.files=" + data, "env.window=39"}, exitUsage, "is longer than the longest validation episode ("},
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
	if r := c.run("train", "fhn", "env.files="+data); r.code != exitUsage || !strings.Contains(r.err, "preset files") {
		t.Errorf("files for another environment: exit code %d, %s", r.code, r.err)
	}
}

// TestForecast_HasDatesAndIDsOfTheFiles: every row of an answer names its recording and its time as the files do, goes on
// behind their end, and joins the controls of a plan by both, in whatever order they stand there.
func TestForecast_HasDatesAndIDsOfTheFiles(t *testing.T) {
	t.Parallel()
	c := newCLI(t)
	dir := t.TempDir()
	var b, plan strings.Builder
	b.WriteString("shop,when,y,u_price\n")
	plan.WriteString("when,shop,price\n")
	for i, shop := range []string{"north", "south", "west"} {
		for step := range 40 {
			fmt.Fprintf(&b, "%s,%02d/%02d/%d,%.3f,%.3f\n", shop, 1, 1+(step+i)%12, 2020+(step+i)/12, 10+float64(i)+math.Sin(float64(step)), math.Cos(float64(step*i)))
		}
		for _, month := range []string{"06", "05"} { // of 2023, where north goes on; west begins and ends two months later
			fmt.Fprintf(&plan, "01/%s/2023,%s,%d\n", month, shop, i)
		}
	}
	path, next := filepath.Join(dir, "shops.csv"), filepath.Join(dir, "plan.csv")
	for name, text := range map[string]string{path: b.String(), next: plan.String()} {
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	c.must(append([]string{"train", "files", "env.files=" + path, "env.time=when", "env.id=shop", "env.dates=day-first", "env.split=time", "--name", "shops"}, append(small, "env.window=4")...)...)
	rows := func(name string, arguments ...string) []string {
		to := filepath.Join(dir, name+".csv")
		c.must(append([]string{name, "shops", "--out", to}, arguments...)...)
		text, err := os.ReadFile(to)
		if err != nil {
			t.Fatal(err)
		}
		return strings.Split(string(text), "\n")
	}
	for _, name := range []string{"filter", "segment", "smooth", "linearize"} {
		list := rows(name)
		if !strings.HasPrefix(list[0], "shop,when,step,") || !strings.HasPrefix(list[1], "north,01/01/2020,0,") || !strings.HasPrefix(list[41], "south,01/02/2020,0,") {
			t.Errorf("%s: rows are\n%s\n%s\n%s", name, list[0], list[1], list[41])
		}
	}
	list := rows("forecast", "--horizon", "2")
	if !strings.HasPrefix(list[0], "shop,when,step,y1,") || !strings.HasPrefix(list[2], "north,01/06/2023,41,") || !strings.HasPrefix(list[6], "west,01/08/2023,41,") {
		t.Errorf("forecast: rows are\n%s", strings.Join(list, "\n"))
	}
	for _, much := range [][]string{{"--horizon", "1000000000"}, {"--horizon", "2", "--samples", "100000000"}} {
		if r := c.run(append([]string{"forecast", "shops"}, much...)...); r.code != exitUsage || !strings.Contains(r.err, "for 3 recordings with") {
			t.Errorf("%v: exit code %d, %s, want a refusal before anything is computed", much, r.code, r.err)
		}
	}
	if r := c.run("forecast", "shops", "--horizon", "2", "--controls", next); r.code != exitData || !strings.Contains(r.err, "no row for 01/07/2023 of south") {
		t.Errorf("a plan of other months: exit code %d, %s", r.code, r.err)
	}
}

// TestPlan_FilesWithAndWithoutTimes: rows of a plan are joined by their times to recordings that have these, also where
// the first recording has none.
func TestPlan_FilesWithAndWithoutTimes(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	var paths []string
	for name, text := range map[string]string{
		"a.csv": "y,u\n1,1\n2,1\n3,1\n", "b.csv": "date,y,u\n2024-01-01,1,1\n2024-01-02,2,1\n2024-01-03,3,1\n",
		"plan.csv": "date,u\n2024-01-05,5\n2024-01-04,4\n",
	} {
		paths = append(paths, filepath.Join(dir, name))
		if err := os.WriteFile(paths[len(paths)-1], []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	slices.Sort(paths)
	d, err := files.Read(paths[:2], files.Options{Time: "date"})
	if err != nil {
		t.Fatal(err)
	}
	list, columns := trained.RecordingsOf(d)
	if err := plan(paths[2], columns, list, 2); err != nil {
		t.Fatal(err)
	}
	if got := fmt.Sprint(list[0].Coming, list[1].Coming); got != "[[5] [4]] [[4] [5]]" {
		t.Errorf("the controls are %s, want those without times in their order, and the others by date", got)
	}
}

// TestForecast_IntervalsOfLSTM: the intervals of the lstm are those of a distribution: of an autoregression, whose true
// ones are known, they hold about what they say, at every horizon together, and the forecast says what they held.
func TestForecast_IntervalsOfLSTM(t *testing.T) {
	t.Parallel()
	c := newCLI(t)
	dir := t.TempDir()
	data, out := filepath.Join(dir, "ar.csv"), filepath.Join(dir, "f.npz")
	draws, x := rand.New(rand.NewPCG(24, 5)), 0.0
	var b strings.Builder
	b.WriteString("y\n")
	for range 3000 {
		x = 0.9*x + draws.NormFloat64()
		fmt.Fprintf(&b, "%.5f\n", x)
	}
	writeFile(t, data, b.String())
	c.must("train", "files", "env.files="+data, "model.kind=lstm", "model.hidden=16", "env.window=25", "train.batch=32",
		"train.steps=1500", "optim.rate=3e-3", "train.validate_every=300", "env.test=0.3", "eval.horizon=6", "--name", "own", "--quiet")
	said := c.must("forecast", "own", "--horizon", "6", "--samples", "2000", "--quantiles", "0.1,0.9", "--out", out).out
	if !strings.Contains(said, "Of the run on held-out data: its 80 % intervals hold ") || !strings.Contains(said, "about right") {
		t.Errorf("the forecast does not say what its intervals held:\n%s", said)
	}
	_, values := npz(t, out)
	for h, truth := 0, 0.0; h < 6; h++ {
		truth = 0.81*truth + 1
		if got, want := values["quantiles"][6+h]-values["quantiles"][h], 2*1.2816*math.Sqrt(truth); math.Abs(got/want-1) > 0.25 {
			t.Errorf("%d steps ahead the interval is %.2f wide, in truth %.2f", h+1, got, want)
		}
	}
}

// TestTrain_TooManyFiles: a list of paths that no worker could be sent leaves no folder of a run.
func TestTrain_TooManyFiles(t *testing.T) {
	t.Parallel()
	c := newCLI(t)
	data := filepath.Join(t.TempDir(), "data")
	writeTrajectories(t, data, 12)
	one := filepath.Join(data, "e03.csv")
	list := strings.Repeat(one+",", config.MaxSize/len(one)) + data
	if r := c.run("train", "files", "env.files="+list, "--name", "many"); r.code != exitUsage ||
		!strings.Contains(r.err, "more than the 524,288 allowed") || !strings.Contains(r.err, "quote a glob") {
		t.Errorf("exit code %d, %.500s", r.code, r.err)
	}
	if _, err := os.Stat(filepath.Join(c.dir, "many")); err == nil {
		t.Error("the run has a folder")
	}
}

// TestCommas_InPaths: a file with a comma in its name is refused by that name wherever lists are split at commas, and
// nothing is suggested that cannot work; its folder serves.
func TestCommas_InPaths(t *testing.T) {
	t.Parallel()
	c := newCLI(t)
	data := filepath.Join(t.TempDir(), "data")
	writeTrajectories(t, data, 12)
	torn := filepath.Join(data, "a,b.csv")
	if err := os.Rename(filepath.Join(data, "e03.csv"), torn); err != nil {
		t.Fatal(err)
	}
	c.must(append([]string{"train", "files", "env.files=" + data, "--name", "mine"}, append(small, "train.steps=1")...)...)
	for _, line := range [][]string{
		{"fit", torn},
		{"train", "files", "env.files=" + torn},
		{"forecast", "mine", "--data", torn},
		{"backtest", "mine", "--in", torn},
	} {
		r := c.run(line...)
		if r.code != exitUsage || !strings.Contains(r.err, torn+": ") || !strings.Contains(r.err, "folder") {
			t.Errorf("%v: exit code %d, %s", line, r.code, r.err)
		}
	}
	if r := c.must("data", "info", torn); strings.Contains(r.out, "train files") || !strings.Contains(r.out, "rename the file") {
		t.Errorf("data info suggests\n%s", r.out)
	}
}

// A question to a run whose files are gone proposes to name them.
func TestAsk_FilesAreGone(t *testing.T) {
	t.Parallel()
	c := newCLI(t)
	own := c.write("own.csv", "y\n"+strings.Repeat("1\n3\n2\n", 20))
	c.must("train", "files", "env.files="+own, "model.kind=arhmm", "--name", "own", "--quiet")
	moved := filepath.Join(t.TempDir(), "moved.csv")
	if err := os.Rename(own, moved); err != nil {
		t.Fatal(err)
	}
	for _, question := range []string{"forecast", "segment", "smooth", "linearize"} {
		r := c.run(question, "own")
		if r.code != exitUsage || !strings.Contains(r.err, "hint: give the files with --data") {
			t.Errorf("%s: exit code %d\n%s", question, r.code, r.err)
		}
		c.must(question, "own", "--data", moved)
	}
}
