package cmd

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"testing/iotest"

	"github.com/switchyard-ml/switchyard/envs/files"
)

// folder is where the files of the test are.
func (c *cli) folder() string { return filepath.Dir(c.dir) }

const pendulum = "episode,t,y_angle,u_torque\n0,0,1,0\n0,0.1,,2\n0,0.2,3,4\n1,0,5,0\n1,0.1,5,6\n"

func TestData_GenerateInfoConvert(t *testing.T) {
	t.Parallel()
	c := newCLI(t)
	npz, folder, again := filepath.Join(c.folder(), "a.npz"), filepath.Join(c.folder(), "csv")+"/", filepath.Join(c.folder(), "b.npz")
	c.must("data", "generate", "fhn", "--episodes", "12", "--length", "20", "--seed", "7", "--out", npz)
	c.must("data", "convert", npz, folder)
	c.must("data", "convert", folder, again)
	a, err := os.ReadFile(npz)
	if err != nil {
		t.Fatal(err)
	}
	if b, err := os.ReadFile(again); err != nil || string(a) != string(b) {
		t.Errorf("after CSV and back the file differs (%v)", err)
	}
	var info dataInfo
	if err := json.Unmarshal([]byte(c.must("data", "info", npz, "--json").out), &info); err != nil {
		t.Fatal(err)
	}
	if info.Episodes != 12 || info.Lengths.Max != 20 || info.DT != 0.1 || info.States != 2 || len(info.Channels) != 3 || info.Split != [3]int{10, 1, 1} || info.SplitBy != "seed" {
		t.Errorf("info --json: %+v", info)
	}
	out := c.must("data", "info", npz).out
	for _, want := range []string{"12 of 20 steps", "10 training, 1 validation, 1 test", "labels (silent active)", "env.files=" + npz + " \\\n    env.window=20 ", info.Hash} {
		if !strings.Contains(out, want) {
			t.Errorf("%q is missing in\n%s", want, out)
		}
	}
}

// TestData_ConvertReadsAsInfo: a table that info divides into recordings is not converted as one, and what is left out is
// named.
func TestData_ConvertReadsAsInfo(t *testing.T) {
	t.Parallel()
	c := newCLI(t)
	table := "shop,ds,y,force\n"
	for i := range 80 {
		table += fmt.Sprintf("%c,%d,%d,%d\n", 'a'+i/40, i%40, i*i%7, i%3)
	}
	var info dataInfo
	path, out := c.write("shops.csv", table), filepath.Join(c.folder(), "shops.npz")
	if err := json.Unmarshal([]byte(c.must("data", "info", path, "--json").out), &info); err != nil {
		t.Fatal(err)
	}
	r := c.must("data", "convert", path, out)
	if !strings.Contains(r.out, "2 episodes") || !strings.Contains(r.out, info.Hash) || r.err != "note: column force is not used\n" {
		t.Errorf("%s of %d episodes, %s: convert says\n%s%s", path, info.Episodes, info.Hash, r.out, r.err)
	}
}

// TestData_ConvertSaysTheHashOfTheFile: it is that of what was read, dates included, or that of data without dates if
// these cannot be kept, which a note says.
func TestData_ConvertSaysTheHashOfTheFile(t *testing.T) {
	t.Parallel()
	c := newCLI(t)
	hash := func(path string) string {
		var info dataInfo
		if err := json.Unmarshal([]byte(c.must("data", "info", path, "--json").out), &info); err != nil {
			t.Fatal(err)
		}
		return info.Hash
	}
	table, changing := "date,y\n", "date,y\n"
	for i := range 28 {
		table += fmt.Sprintf("2024-02-%02d,%d.25\n", i+1, 100000000+i*i%7)
		changing += fmt.Sprintf("2024-03-%02d 00:00 +0%d:00,%d.25\n", i+1, 1+i/14, i*i%7)
	}
	for name, text := range map[string]string{"days": table, "changing": changing} {
		path := c.write(name+".csv", text)
		for _, ending := range []string{".npz", ".csv"} {
			out := filepath.Join(c.folder(), name+"_own"+ending)
			r := c.must("data", "convert", path, out)
			if said := hash(out); !strings.Contains(r.out, "sha256 "+said) || (said == hash(path)) != (name == "days") {
				t.Errorf("%s, which has the hash %s, and %s has %s", r.out, said, path, hash(path))
			}
			if noted := strings.Contains(r.err, "note: the times are not kept"); noted != (name == "changing") {
				t.Errorf("%s: %s", out, r.err)
			}
		}
	}
}

// Every preset with an environment can be simulated into a file that is read again.
func TestData_GenerateEveryEnvironment(t *testing.T) {
	t.Parallel()
	c := newCLI(t)
	for _, preset := range []string{"fhn", "maze", "reacher", "ball", "hopper", "noise/smoke", "modes", "bounce", "sticky", "nascar", "lorenz"} {
		path := filepath.Join(c.folder(), strings.ReplaceAll(preset, "/", "_")+".npz")
		c.must("data", "generate", preset, "--episodes", "3", "--length", "6", "--out", path)
		if out := c.must("data", "info", path).out; !strings.Contains(out, "3 of 6 steps") {
			t.Errorf("%s:\n%s", preset, out)
		}
	}
}

// The true regimes of a simulator are in the file as modes. They are no channel, so no model sees them.
func TestData_GenerateWithRegimes(t *testing.T) {
	t.Parallel()
	c := newCLI(t)
	for preset, modes := range map[string]int{"modes": 3, "bounce": 2} {
		var hash string
		for _, ending := range []string{".npz", ".csv"} {
			path := filepath.Join(c.folder(), preset+ending)
			c.must("data", "generate", preset, "--episodes", "9", "--length", "60", "--out", path)
			var info dataInfo
			if err := json.Unmarshal([]byte(c.must("data", "info", path, "--json").out), &info); err != nil {
				t.Fatal(err)
			}
			if info.Modes != modes || len(info.Channels) != modes-1 || len(info.Labels) != 0 || info.States != modes-1 {
				t.Errorf("info --json of %s%s: %+v", preset, ending, info)
			}
			if hash != "" && info.Hash != hash {
				t.Errorf("%s: npz and csv hold different data", preset)
			}
			hash = info.Hash
		}
	}
}

func TestData_Info(t *testing.T) {
	t.Parallel()
	c := newCLI(t)
	path := c.write("pendulum.csv", pendulum)
	out := c.must("data", "info", path).out
	for _, want := range []string{"2 of 2 to 3 steps, median 3", "1 of 5 values (20 %)", "y_angle", "u_torque", "cannot be divided", "suggested: nothing yet", "5 steps are too few"} {
		if !strings.Contains(out, want) {
			t.Errorf("%q is missing in\n%s", want, out)
		}
	}
	var info dataInfo
	if err := json.Unmarshal([]byte(c.must("data", "info", path, "--json").out), &info); err != nil {
		t.Fatal(err)
	}
	if info.Split != [3]int{} || info.SplitBy != "" || !strings.Contains(info.SplitProblem, "cannot be divided") {
		t.Errorf("info --json of data that cannot be divided: %+v", info)
	}
	flat := c.write("flat.csv", "y1,y2\n1,2\n1,3\n")
	if out := c.must("data", "info", flat).out; !strings.Contains(out, "note: y1 never changes") {
		t.Errorf("no note about a constant channel in\n%s", out)
	}
	unobserved := c.write("unobserved.csv", "y1,y2\n1,\n2,\n")
	out = c.must("data", "info", unobserved).out
	for _, want := range []string{"y2         –    –     –    –        2  never observed", "note: y2 is never observed"} {
		if !strings.Contains(out, want) {
			t.Errorf("%q is missing in\n%s", want, out)
		}
	}
}

func TestData_Show(t *testing.T) {
	t.Parallel()
	c := newCLI(t)
	path := c.write("pendulum.csv", pendulum)
	for _, test := range []struct {
		args []string
		want string
	}{
		{[]string{path}, "trajectories"},
		{[]string{"maze", "env.balls=1"}, "maze"},
		{[]string{"ball"}, "images"},
	} {
		dir := filepath.Join(c.folder(), "pictures", test.want)
		c.must(append(append([]string{"data", "show"}, test.args...), "-o", dir, "--episodes", "1")...)
		for _, ending := range []string{".png", ".svg"} {
			if _, err := os.Stat(filepath.Join(dir, test.want+ending)); err != nil {
				t.Error(err)
			}
		}
	}
}

func TestData_Errors(t *testing.T) {
	t.Parallel()
	c := newCLI(t)
	good, bad := c.write("good.csv", pendulum), c.write("bad.csv", "t,y\n0,1\n1,x\n")
	other := c.write("other.csv", "speed,force\n1,2\n")
	out := filepath.Join(c.folder(), "out.npz")
	for _, test := range []struct {
		line string
		code int
		want []string
	}{
		{"data info " + bad, exitData, []string{"error: " + bad + `: line 3, column 2 (y): "x" is no number`, "hint: leave missing"}},
		{"data info " + other, exitData, []string{"no column is an observation", "--observe"}},
		{"data info " + good + " --rename nope=u", exitData, []string{"--rename nope: there is no such column; there are episode, t, y_angle, u_torque"}},
		{"data convert " + bad + " " + out, exitData, []string{"line 3"}},
		{"data show " + bad, exitData, []string{"line 3"}},
		{"data info missing.csv", exitUsage, []string{"missing.csv", "no such file"}},
		{"data info", exitUsage, []string{"FILE"}},
		{"data inof x", exitUsage, []string{"did you mean info?"}},
		{"data info " + good + " --cut 1", exitUsage, []string{"at least 2 steps"}},
		{"data convert " + good + " " + out + " --dt inf", exitUsage, []string{"--dt +Inf: must be positive"}},
		{"data convert " + good + " out.xlsx", exitUsage, []string{"out.xlsx", ".npz or .csv"}},
		{"data convert " + good, exitUsage, []string{"IN... OUT"}},
		{"data generate fhn", exitUsage, []string{"--out FILE is needed", ".npz or .csv"}},
		{"data generate files", exitUsage, []string{"--out FILE is needed"}},
		{"data generate files --out " + out, exitUsage, []string{"files has nothing to simulate"}},
		{"data show files", exitUsage, []string{"files has nothing to simulate"}},
		{"data generate fnh --out " + out, exitUsage, []string{"did you mean fhn?"}},
		{"data generate fhn --length 1 --out " + out, exitUsage, []string{"at least 2"}},
		{"data generate fhn --episodes 1000000000 --out " + out, exitUsage, []string{"too many"}},
		{"data show fhn --episodes 9", exitUsage, []string{"fit on a page"}},
		{"data show fhn --observe x", exitUsage, []string{"--observe says how files are read, and a preset is simulated"}},
		{"data show " + good + " --seed 3", exitUsage, []string{"--seed is about a simulation, and files are read"}},
		{"data generate fhn --out nowhere/x.npz", exitUsage, []string{"there is no folder nowhere", "mkdir -p nowhere"}},
		{"data convert " + good + " nowhere/x.npz", exitUsage, []string{"there is no folder nowhere"}},
	} {
		r := c.run(strings.Fields(test.line)...)
		if r.code != test.code {
			t.Errorf("%s: exit code %d, want %d\n%s", test.line, r.code, test.code, r.err)
		}
		for _, want := range test.want {
			if !strings.Contains(r.err, want) {
				t.Errorf("%s: %q is missing in\n%s", test.line, want, r.err)
			}
		}
	}
	if _, err := os.Stat(out); err == nil {
		t.Error("a command that failed left a file")
	}
}

// A file of the user is replaced only with --force, and a file that is read is never replaced.
func TestData_KeepsFiles(t *testing.T) {
	t.Parallel()
	c := newCLI(t)
	if err := os.Mkdir(filepath.Join(c.folder(), "own"), 0o755); err != nil {
		t.Fatal(err)
	}
	one, two := c.write("own/run1.csv", pendulum), c.write("own/run2.csv", pendulum)
	folder := filepath.Dir(one)
	old := c.write("old.npz", "old")
	for _, test := range []struct {
		line string
		want string
	}{
		{"data convert " + one + " " + two, "run2.csv exists; choose another name or --force"},
		{"data convert " + folder + " " + two, "is one of the files to read"},
		{"data convert " + folder + " " + two + " --force", "is one of the files to read"},
		{"data convert " + one + " " + two + " " + filepath.Join(folder, "..", "own", "run1.csv") + " --force", "is one of the files to read"},
		{"data convert " + one + " " + old, "old.npz exists; choose another name or --force"},
		{"data generate fhn --episodes 2 --length 9 --out " + old, "old.npz exists; choose another name or --force"},
		{"data convert " + one + " " + folder + "/", "is not empty"},
		{"data generate fhn --episodes 2 --length 9 --out " + folder + "/", "is not empty"},
		{"data generate fhn --episodes 2 --length 9 --force --out " + folder + "/", "is not empty"},
	} {
		if r := c.run(strings.Fields(test.line)...); r.code != exitUsage || !strings.Contains(r.err, test.want) {
			t.Errorf("%s: exit code %d, want %d and %q in\n%s", test.line, r.code, exitUsage, test.want, r.err)
		}
	}
	for path, want := range map[string]string{one: pendulum, two: pendulum, old: "old"} {
		if got, err := os.ReadFile(path); err != nil || string(got) != want {
			t.Errorf("%s was changed (%v)", path, err)
		}
	}
	c.must("data", "convert", one, old, "--force")
	c.must("data", "generate", "fhn", "--episodes", "2", "--length", "9", "--out", old, "--force")
}

// What data info suggests runs as it is, with any seed and any family of models: recordings of every length, one or many,
// equal or not, with the convention's names or others.
func TestData_Suggestion(t *testing.T) {
	c := newCLI(t)
	t.Chdir(c.folder())
	csv := func(name, heading string, channels int, lengths ...int) {
		var b strings.Builder
		b.WriteString("episode," + heading)
		for i := 1; i < channels; i++ {
			fmt.Fprintf(&b, ",%s%d", heading, i)
		}
		for e, n := range lengths {
			for step := range n {
				fmt.Fprintf(&b, "\n%d%s", e, strings.Repeat(fmt.Sprintf(",%d", step*(e+2)%7), channels))
			}
		}
		c.write(name, b.String()+"\n")
	}
	csv("own it.csv", "speed", 2, 700)
	csv("two.csv", "y", 2, 205, 64)
	csv("short.csv", "y", 1, 24)
	csv("uneven.csv", "y", 8, 5, 90, 95, 100, 4, 80, 77, 66, 60)
	csv("last.csv", "y", 2, 100, 100, 8) // whichever is drawn for validation
	csv("tiny.csv", "y", 20, 3, 3, 3, 3, 3)
	c.must("data", "generate", "maze", "--episodes", "9", "--out", "maze.npz")
	for _, test := range []struct{ file, want string }{
		{"own it.csv", "'env.files=own it.csv' env.observe=speed,speed1"},
		{"two.csv", "env.files=two.csv"},
		{"short.csv", "env.validation=0.2"},
		{"uneven.csv", "env.split=time"},
		{"last.csv", "env.split=time"},
		{"tiny.csv", "model.initial_observations=2"},
		{"maze.npz", "env.window=20"},
	} {
		if out := strings.ReplaceAll(c.must("data", "info", test.file).out, " \\\n   ", ""); !strings.Contains(out, test.want) {
			t.Errorf("%s: %q is missing in\n%s", test.file, test.want, out)
		}
		for i, family := range []string{"slds", "fusion", "dvbf", "kvae", "lstm", "static", "linear", "rslds", "trslds", "arhmm", "naive"} {
			var info dataInfo
			if err := json.Unmarshal([]byte(c.must("data", "info", test.file, "--model", family, "--json").out), &info); err != nil {
				t.Fatal(err)
			}
			line := append([]string{"train", info.Suggestion.Preset, "--dry-run"}, info.Suggestion.Settings...)
			for seed := range suggestionSeeds {
				if r := c.run(append(line, fmt.Sprintf("seed=%d", seed+suggestionSeeds*i))...); r.code != exitOK {
					t.Errorf("%s, seed %d: %q: %s", family, seed+suggestionSeeds*i, line, r.err)
				}
			}
		}
	}
	if r := c.run("data", "info", "two.csv", "--model", "sdls"); r.code != exitUsage || !strings.Contains(r.err, "did you mean slds?") {
		t.Errorf("a family that there is not: exit code %d, %s", r.code, r.err)
	}
}

// A recording of any length can be divided, and the suggested window fits.
func TestData_SuggestionForEveryLength(t *testing.T) {
	t.Parallel()
	c := newCLI(t)
	for n := 24; n < 130; n++ {
		path := c.write("a.csv", "y\n"+strings.Repeat("1\n2\n3\n", n)[:2*n])
		var info dataInfo
		if err := json.Unmarshal([]byte(c.must("data", "info", path, "--json").out), &info); err != nil {
			t.Fatal(err)
		}
		if n%11 == 0 || n > 60 && n < 70 {
			c.must(append([]string{"train", "files", "--dry-run"}, info.Suggestion.Settings...)...)
		}
		if info.SplitBy != "time" || info.SplitSteps[0]+info.SplitSteps[1]+info.SplitSteps[2] != n {
			t.Errorf("%d steps: %+v", n, info)
		}
	}
}

// The standard input is read like a file, and has to be kept before a run can read it again.
func TestData_StandardInput(t *testing.T) {
	c := newCLI(t)
	t.Chdir(c.folder())
	c.stdin = "time,v\n" + strings.Repeat("1,2\n", 0)
	for i := range 40 {
		c.stdin += fmt.Sprintf("%d,%d\n", i, i*i%11)
	}
	var info dataInfo
	if err := json.Unmarshal([]byte(c.must("data", "info", "-", "--json").out), &info); err != nil {
		t.Fatal(err)
	}
	if info.Steps != 40 || info.Suggestion.Convert == nil || info.DT != 1 {
		t.Fatalf("%+v", info)
	}
	c.must(info.Suggestion.Convert...)
	c.must(append([]string{"train", "files", "--dry-run"}, info.Suggestion.Settings...)...)
	if r := c.run("data", "info", "-", "-"); r.code != exitUsage {
		t.Errorf("twice: exit code %d, %s", r.code, r.err)
	}
	c.stdin = ""
	r := c.run("data", "info", "-")
	if r.code != exitData || !strings.Contains(r.err, "error: the standard input is empty") {
		t.Errorf("empty: exit code %d, %s", r.code, r.err)
	}
	c.stdin = "a,b\n1,2\n3\n"
	for _, line := range []string{"data info -", "data convert - own2.npz"} {
		if r := c.run(strings.Fields(line)...); r.code != exitData || !strings.Contains(r.err, "error: the standard input: line 3") {
			t.Errorf("%s of a torn table: exit code %d, %s", line, r.code, r.err)
		}
	}
	unread := &app{in: iotest.ErrReader(fs.ErrPermission)}
	if _, err := unread.spool(t.TempDir()); !errors.Is(err, fs.ErrPermission) || exitCode(err) != exitFailed {
		t.Errorf("what cannot be read: exit code %d, %v", exitCode(err), err)
	}
}

// TestData_NoPlaceForTemporaryFiles: who has another place for them than there is, is told so.
func TestData_NoPlaceForTemporaryFiles(t *testing.T) {
	c := newCLI(t)
	c.stdin = pendulum
	missing := filepath.Join(c.folder(), "missing")
	t.Setenv("TMPDIR", missing)
	c.environ = []string{"TMPDIR=" + missing}
	if r := c.run("data", "info", "-"); r.code != exitFailed || !strings.Contains(r.err, "hint: $TMPDIR is for temporary") {
		t.Errorf("exit code %d, %s", r.code, r.err)
	}
}

// A signal ends a data command at once and leaves nothing behind. signalsEnd has those that wait for their input.
func TestData_EndsAtOnce(t *testing.T) {
	c := newCLI(t)
	t.Chdir(t.TempDir())
	c.signals <- syscall.SIGTERM
	r := c.run("data", "generate", "fhn", "--episodes", "3000", "--length", "500", "--out", "out.npz")
	if r.code != exitFailed || !strings.Contains(r.err, "interrupted") {
		t.Errorf("exit code %d, %s", r.code, r.err)
	}
	if left, err := filepath.Glob("*"); err != nil || len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
}

// TestData_FoldersAreWrittenAsAWhole: an interruption while episodes are written leaves none of them. A folder that is
// there, as a link, is filled.
func TestData_FoldersAreWrittenAsAWhole(t *testing.T) {
	t.Parallel()
	c := newCLI(t)
	place, link := t.TempDir(), filepath.Join(t.TempDir(), "link")
	if err := os.Symlink(t.TempDir(), link); err != nil {
		t.Fatal(err)
	}
	c.must("data", "generate", "fhn", "--episodes", "3", "--length", "9", "--out", link+"/")
	if entries, err := os.ReadDir(link); err != nil || len(entries) != 3 || entries[2].Name() != "episode_2.csv" {
		t.Errorf("through a link: %v, %v", entries, err)
	}
	go func() {
		for {
			if entries, err := os.ReadDir(place); err != nil || len(entries) > 0 {
				c.signals <- os.Interrupt
				return
			}
		}
	}()
	const episodes = 3000
	r := c.run("data", "generate", "fhn", "--episodes", fmt.Sprint(episodes), "--length", "9", "--out", filepath.Join(place, "many")+"/")
	entries, err := os.ReadDir(filepath.Join(place, "many"))
	// It may have been done before the signal.
	if none := os.IsNotExist(err) && r.code == exitFailed && strings.Contains(r.err, errInterrupted.Error()); !none && len(entries) != episodes {
		t.Errorf("exit code %d, %s: %d episodes are left, %v", r.code, r.err, len(entries), err)
	}
}

// TestData_AFolderThatCannotBeWritten: a failure while episodes are written leaves nothing.
func TestData_AFolderThatCannotBeWritten(t *testing.T) {
	t.Parallel()
	place := t.TempDir()
	film := &files.Dataset{Image: [3]int{1, 1, 1}, Episodes: make([]files.Episode, 2)}
	if err := new(app).writeFolder(film, filepath.Join(place, "film")+"/"); err == nil {
		t.Error("images are written as tables")
	}
	if entries, err := os.ReadDir(place); err != nil || len(entries) > 0 {
		t.Errorf("left behind: %v, %v", entries, err)
	}
}

// A file that cannot be opened is a fault of the data.
func TestData_PathsThatCannotBeRead(t *testing.T) {
	t.Parallel()
	c := newCLI(t)
	loop := filepath.Join(c.folder(), "loop.csv")
	if err := os.Symlink(loop, loop); err != nil {
		t.Fatal(err)
	}
	if r := c.run("data", "info", loop); r.code != exitData {
		t.Errorf("a loop of links: exit code %d, %s", r.code, r.err)
	}
	pipe := filepath.Join(c.folder(), "pipe.csv")
	if err := makePipe(pipe); err != nil {
		t.Fatal(err)
	}
	for _, line := range []string{"data info " + pipe, "fit " + pipe, "train files env.files=" + pipe} {
		if r := c.run(strings.Fields(line)...); r.code != exitData || !strings.Contains(r.err, "data convert - own.npz") {
			t.Errorf("%s: exit code %d, %s", line, r.code, r.err)
		}
	}
	own := c.write("own.csv", pendulum)
	if r := c.run("data", "convert", own, pipe, "--force"); r.code != exitUsage || !strings.Contains(r.err, "is a pipe") {
		t.Errorf("a pipe to write: exit code %d, %s", r.code, r.err)
	}
	if os.Getuid() == 0 {
		t.Log("not tested: root may read every file")
		return
	}
	if r := c.run("data", "info", c.write("secret.csv", pendulum)); r.code != exitData {
		t.Errorf("no permission: exit code %d, %s", r.code, r.err)
	}
}

// TestData_InfoOfRegimes: the number of regimes and dimensions that recordings have is in the suggested command.
func TestData_InfoOfRegimes(t *testing.T) {
	t.Parallel()
	c := newCLI(t)
	path := filepath.Join(c.folder(), "sticky.npz")
	c.must("data", "generate", "sticky", "--episodes", "24", "--length", "100", "--out", path)
	var info dataInfo
	if err := json.Unmarshal([]byte(c.must("data", "info", path, "--regimes", "--json").out), &info); err != nil {
		t.Fatal(err)
	}
	if y := info.Regimes; y == nil || y.Regimes != 3 || y.Latent != 2 || y.Open || y.Sure < 0.9 || len(y.Tried) < 4 {
		t.Errorf("%+v", y)
	}
	out := c.must("data", "info", path, "--regimes").out
	for _, want := range []string{
		"model.latent=2", "model.switches=3", "model.start=arhmm", "3 regimes, in 100 %", "the suggested command has this number",
		"A state of 2: 2 of 2 principal components",
	} {
		if !strings.Contains(out, want) {
			t.Errorf("%q is missing in\n%s", want, out)
		}
	}
	few := filepath.Join(c.folder(), "few.npz")
	c.must("data", "generate", "sticky", "--episodes", "2", "--length", "100", "--out", few)
	if r := c.run("data", "info", few, "--regimes"); r.code != 4 || !strings.Contains(r.err, "200 steps") {
		t.Errorf("200 steps: exit code %d, %s", r.code, r.err)
	}
}
