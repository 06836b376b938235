package cmd

import (
	"errors"
	"os"
	"path/filepath"
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
