package cmd

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// No command replaces what it or its run reads, or adds to it, by whatever path: links, hard links, other spellings, and
// names that the command itself gives in a folder.
func TestOutputs_SpareInputs(t *testing.T) {
	t.Parallel()
	c := newCLI(t)
	c.dir = filepath.Join(filepath.Dir(c.dir), "runs [1]") // which is no pattern
	folder := c.folder()
	mine := filepath.Join(folder, "mine.csv")
	data := filepath.Join(folder, "data")
	writeTrajectories(t, data, 12)
	text, err := os.ReadFile(filepath.Join(data, "e03.csv"))
	if err != nil {
		t.Fatal(err)
	}
	c.write("mine.csv", string(text))
	c.must(append([]string{"train", "files", "env.files=" + mine, "--name", "mine"}, append(small, "env.window=4", "train.steps=1")...)...)
	c.must(append([]string{"train", "files", "env.files=" + data, "--name", "many"}, append(small, "train.steps=1")...)...)
	link, hard := filepath.Join(folder, "link.csv"), filepath.Join(folder, "hard.csv")
	if err := os.Symlink(mine, link); err != nil {
		t.Fatal(err)
	}
	if err := os.Link(mine, hard); err != nil {
		t.Fatal(err)
	}
	linked := filepath.Join(folder, "linked")
	if err := errors.Join(os.Mkdir(linked, 0o755), os.Symlink(mine, filepath.Join(linked, "weights.npz"))); err != nil {
		t.Fatal(err)
	}
	plan := c.write("plan.csv", "u_force\n1\n1\n")
	for _, line := range [][]string{
		{"forecast", "mine", "--horizon", "2", "--out", mine},
		{"forecast", "mine", "--horizon", "2", "--out", filepath.Join(folder, "new.png") + "," + filepath.Join(folder, "data", "..", "mine.csv")},
		{"smooth", "mine", "--out", link},
		{"filter", "mine", "--out", hard},
		{"backtest", "mine", "--out", mine},
		{"linearize", "mine", "--out", mine},
		{"simulate", "mine", "--out", mine},
		{"segment", "mine", "--out", mine},
		{"forecast", "mine", "--horizon", "2", "--controls", plan, "--out", plan},
		{"forecast", "many", "--data", mine, "--horizon", "2", "--out", mine},
		{"forecast", "mine", "--horizon", "2", "--out", filepath.Join(c.dir, "mine", "run.json")},
		{"forecast", "mine", "--horizon", "2", "--out", filepath.Join(folder, "a.csv") + "," + filepath.Join(folder, ".", "a.csv")},
		{"forecast", "many", "--horizon", "2", "--out", filepath.Join(data, "e01.csv")},
		{"forecast", "many", "--horizon", "2", "--out", filepath.Join(data, "new.csv")}, // it would be data
		{"runs", "export", "mine", "-o", mine},
		{"export", "mine", "-o", linked},
		{"export", "many", "-o", data},
		{"report", "many", "-o", data},
		{"data", "show", data, "-o", data},
		{"data", "show", filepath.Join(data, "*.csv"), "-o", data},
		{"data", "convert", mine, link, "--force"},
		{"data", "convert", mine, hard, "--force"},
		{"data", "convert", mine, filepath.Join(folder, ".", "mine.csv"), "--force"},
		{"export", "mine", "-o", plan}, // no folder
	} {
		if r := c.run(line...); r.code != exitUsage {
			t.Errorf("%v: exit code %d, %s", line, r.code, r.err)
		}
	}
	for _, path := range []string{mine, hard, filepath.Join(data, "e03.csv")} {
		if got, err := os.ReadFile(path); err != nil || string(got) != string(text) {
			t.Errorf("%s was changed (%v)", path, err)
		}
	}
	if list, err := os.ReadDir(data); err != nil || len(list) != 12 {
		t.Errorf("the folder of the data has %d files (%v), want 12", len(list), err)
	}
	if _, err := os.Stat(filepath.Join(folder, "new.png")); err == nil {
		t.Error("one of two files was written before the other was refused")
	}
	c.must("forecast", "mine", "--horizon", "2", "--out", filepath.Join(folder, "next.csv"))
	c.must("forecast", "mine", "--horizon", "2", "--out", filepath.Join(folder, "next.csv")) // answers are replaced
}

// TestOutputs_SpareFilesOfOthers: under names that nobody gave, files that no earlier command wrote stay, and those that
// one did are replaced.
func TestOutputs_SpareFilesOfOthers(t *testing.T) {
	t.Parallel()
	c := newCLI(t)
	c.must("train", "noise/smoke", "--quiet", "--name", "m1", "train.steps=3")
	wave := c.write("w.csv", pendulum)
	for i, test := range []struct{ line, file string }{
		{"data show " + wave, "trajectories.svg"},
		{"data show " + wave, "trajectories.png"},
		{"data show " + wave, "trajectories_episode0.csv"},
		{"export m1", "model.json"},
		{"export m1", "weights.npz"},
	} {
		path := filepath.Join(c.folder(), fmt.Sprint(i), test.file)
		line := append(strings.Fields(test.line), "-o", filepath.Dir(path))
		if err := os.Mkdir(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		writeFile(t, path, `{"format": "mine"}`)
		if r := c.run(line...); r.code != exitUsage || !strings.Contains(r.err, path+", which no earlier") {
			t.Errorf("%v: exit code %d, %s", line, r.code, r.err)
		}
		if text, err := os.ReadFile(path); err != nil || string(text) != `{"format": "mine"}` {
			t.Errorf("%v: %s was changed (%v)", line, test.file, err)
		}
		if err := os.Remove(path); err != nil {
			t.Fatal(err)
		}
		for range 2 { // what the command itself wrote is replaced
			c.must(line...)
		}
	}
}

// TestRunsExport_SparesFilesOfOthers: NAME.csv is replaced if an earlier export wrote it; FILE of -o always.
func TestRunsExport_SparesFilesOfOthers(t *testing.T) {
	c := newCLI(t)
	t.Chdir(c.folder())
	c.must("train", "noise/smoke", "--quiet", "--name", "m1", "train.steps=3")
	mine := c.write("m1.csv", pendulum)
	if r := c.run("runs", "export", "m1"); r.code != exitUsage || !strings.Contains(r.err, "m1.csv exists, and no earlier export wrote it") {
		t.Errorf("exit code %d, %s", r.code, r.err)
	}
	if text, err := os.ReadFile(mine); err != nil || string(text) != pendulum {
		t.Errorf("the file was changed (%v)", err)
	}
	c.must("runs", "export", "m1", "-o", "m1.csv")
	c.must("runs", "export", "m1")
}
