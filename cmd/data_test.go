package cmd

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// folder is where the files of the test are.
func (c *cli) folder() string { return filepath.Dir(c.dir) }

const pendulum = "episode,t,y_angle,u_torque\n0,0,1,0\n0,0.1,,2\n0,0.2,3,4\n1,0,5,0\n1,0.1,5,6\n"

func TestData_GenerateInfoConvert(t *testing.T) {
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
	for _, want := range []string{"12 of 20 steps", "10 training, 1 validation, 1 test", "labels (silent active)", "suggested: switchyard train files env.files=" + npz + " env.window=20\n", info.Hash} {
		if !strings.Contains(out, want) {
			t.Errorf("%q is missing in\n%s", want, out)
		}
	}
}

// Every preset with an environment can be simulated into a file that is read again.
func TestData_GenerateEveryEnvironment(t *testing.T) {
	c := newCLI(t)
	for _, preset := range []string{"fhn", "maze", "reacher", "ball", "hopper", "noise/smoke"} {
		path := filepath.Join(c.folder(), strings.ReplaceAll(preset, "/", "_")+".npz")
		c.must("data", "generate", preset, "--episodes", "3", "--length", "6", "--out", path)
		if out := c.must("data", "info", path).out; !strings.Contains(out, "3 of 6 steps") {
			t.Errorf("%s:\n%s", preset, out)
		}
	}
}

func TestData_Info(t *testing.T) {
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
	c := newCLI(t)
	good, bad := c.write("good.csv", pendulum), c.write("bad.csv", "t,y\n0,1\n1,x\n")
	other := c.write("other.csv", "speed,force\n1,2\n")
	out := filepath.Join(c.folder(), "out.npz")
	for _, test := range []struct {
		line string
		code int
		want []string
	}{
		{"data info " + bad, exitData, []string{"error: " + bad + `: line 3, column 3 (y): "x" is no number`, "hint: write decimals"}},
		{"data info " + other, exitData, []string{"no column is an observation", "--rename"}},
		{"data info " + good + " --rename nope=u", exitData, []string{"--rename nope: there is no such column; there are episode, t, y_angle, u_torque"}},
		{"data convert " + bad + " " + out, exitData, []string{"line 3"}},
		{"data show " + bad, exitData, []string{"line 3"}},
		{"data info missing.csv", exitUsage, []string{"missing.csv", "no such file"}},
		{"data info", exitUsage, []string{"FILE"}},
		{"data inof x", exitUsage, []string{"did you mean info?"}},
		{"data info " + good + " --cut 1", exitUsage, []string{"at least 2 steps"}},
		{"data convert " + good + " out.xlsx", exitUsage, []string{"out.xlsx", ".npz or .csv"}},
		{"data convert " + good, exitUsage, []string{"IN OUT"}},
		{"data generate fhn", exitUsage, []string{"--out FILE is needed", ".npz or .csv"}},
		{"data generate files", exitUsage, []string{"--out FILE is needed"}},
		{"data generate files --out " + out, exitUsage, []string{"files has nothing to simulate"}},
		{"data show files", exitUsage, []string{"files has nothing to simulate"}},
		{"data generate fnh --out " + out, exitUsage, []string{"did you mean fhn?"}},
		{"data generate fhn --length 1 --out " + out, exitUsage, []string{"2 steps"}},
		{"data generate fhn --episodes 1000000000 --out " + out, exitUsage, []string{"too many"}},
		{"data show fhn --episodes 9", exitUsage, []string{"fit on a page"}},
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

// What data info suggests runs as it is.
func TestData_Suggestion(t *testing.T) {
	c := newCLI(t)
	t.Chdir(c.folder())
	csv := func(name string, channels int, lengths ...int) {
		var b strings.Builder
		b.WriteString("episode,speed")
		for i := 1; i < channels; i++ {
			fmt.Fprintf(&b, ",y%d", i)
		}
		for e, n := range lengths {
			for step := range n {
				fmt.Fprintf(&b, "\n%d%s", e, strings.Repeat(fmt.Sprintf(",%d", step*(e+2)%7), channels))
			}
		}
		c.write(name, b.String()+"\n")
	}
	csv("own it.csv", 2, 700)
	csv("two.csv", 2, 205, 64)
	csv("short.csv", 2, 60)
	csv("uneven.csv", 8, 5, 90, 95, 100, 4, 80, 77, 66, 60)
	csv("last.csv", 2, 100, 100, 8) // whichever is drawn for validation
	csv("middle.csv", 2, 100, 8, 100)
	csv("first.csv", 2, 8, 100, 100)
	csv("tiny.csv", 20, 3, 3, 3, 3, 3)
	c.must("data", "generate", "ball", "--episodes", "9", "--out", "ball.npz")
	c.must("data", "generate", "maze", "--episodes", "9", "--out", "maze.npz")
	rename := []string{"--rename", "speed=y_speed"}
	for _, test := range []struct {
		args  []string
		lines []string
	}{
		{append(rename, "own it.csv"), []string{"data convert 'own it.csv' own.npz --rename speed=y_speed --cut 70", "train files env.files=own.npz env.window=50"}},
		{append(rename, "own it.csv", "--cut", "500", "--dt", "0.1"), []string{"--rename speed=y_speed --cut 70 --dt 0.1", "env.window=50"}},
		{append(rename, "two.csv"), []string{"--cut 2", "env.window="}},
		{append(rename, "short.csv"), []string{"--cut 20", "env.window=20"}},
		{append(rename, "uneven.csv"), []string{"env.window=", "model.latent=16"}},
		{append(rename, "last.csv"), nil},
		{append(rename, "middle.csv"), nil},
		{append(rename, "first.csv"), nil},
		{append(rename, "tiny.csv"), []string{"model.latent=40", "env.window=3", "model.initial_observations=2"}},
		{[]string{"ball.npz"}, []string{"train files env.files=ball.npz env.window=20", "model.emission=bernoulli"}},
		{[]string{"maze.npz"}, []string{"train files env.files=maze.npz"}},
	} {
		args := append([]string{"data", "info"}, test.args...)
		out := c.must(args...).out
		for _, want := range test.lines {
			if !strings.Contains(out, want) {
				t.Errorf("%q: %q is missing in\n%s", args, want, out)
			}
		}
		var info dataInfo
		if err := json.Unmarshal([]byte(c.must(append(args, "--json")...).out), &info); err != nil {
			t.Fatal(err)
		}
		if convert := info.Suggestion.Convert; convert != nil {
			c.must(convert...)
		}
		c.must(append([]string{"train", info.Suggestion.Preset, "--dry-run"}, info.Suggestion.Settings...)...)
		if err := os.RemoveAll("own.npz"); err != nil {
			t.Fatal(err)
		}
	}
}
