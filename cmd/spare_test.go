package cmd

import (
	"os"
	"path/filepath"
	"testing"
)

// No question to a run, and no table of its metrics, replaces what the run or the question reads, by whatever path.
func TestOutputs_SpareInputs(t *testing.T) {
	t.Parallel()
	c := newCLI(t)
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
	if _, err := os.Stat(filepath.Join(folder, "new.png")); err == nil {
		t.Error("one of two files was written before the other was refused")
	}
	c.must("forecast", "mine", "--horizon", "2", "--out", filepath.Join(folder, "next.csv"))
	c.must("forecast", "mine", "--horizon", "2", "--out", filepath.Join(folder, "next.csv")) // answers are replaced
}
