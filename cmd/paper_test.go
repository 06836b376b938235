package cmd

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestPaper: a part of the paper is trained, measured and reported; the second time everything exists; a wrong flag is
// refused with what it takes.
func TestPaper(t *testing.T) {
	t.Parallel()
	c := newCLI(t)
	out := filepath.Join(t.TempDir(), "report")
	r := c.must("paper", "--size", "smoke", "--seeds", "1", "--only", paperPart, "-o", out, "--parallel", "2")
	if !strings.Contains(r.out, paperClaim) || !strings.Contains(r.out, "index.html") {
		t.Errorf("stdout:\n%s", r.out)
	}
	page, err := os.ReadFile(filepath.Join(out, "index.html"))
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range paperPage {
		if !strings.Contains(string(page), want) {
			t.Errorf("%q is missing in index.html", want)
		}
	}
	if r := c.must("paper", "--size", "smoke", "--seeds", "1", "--only", paperPart, "-o", out); !strings.Contains(r.err, "all are trained") {
		t.Errorf("the second time:\n%s", r.err)
	}
	again, err := os.ReadFile(filepath.Join(out, "index.html"))
	if err != nil || string(again) != string(page) {
		t.Errorf("the second report differs: %v", err)
	}
	own := t.TempDir()
	if err := os.WriteFile(filepath.Join(own, "runs.csv"), []byte("mine"), 0o600); err != nil {
		t.Fatal(err)
	}
	if r := c.run("paper", "--size", "smoke", "--only", paperPart, "-o", own); r.code != exitUsage || !strings.Contains(r.err, "runs.csv, which no earlier report wrote") {
		t.Errorf("a file of the user: %+v", r)
	}
	numbers, err := os.ReadFile(filepath.Join(out, "numbers.csv"))
	if err != nil {
		t.Fatal(err)
	}
	if err := os.RemoveAll(filepath.Join(out, "runs")); err != nil {
		t.Fatal(err)
	}
	r = c.must("paper", "--size", "smoke", "--seeds", "1", "--only", paperPart, "-o", out)
	kept, err := os.ReadFile(filepath.Join(out, "numbers.csv"))
	if err != nil || string(kept) != string(numbers) || !strings.Contains(r.err, "all are trained") {
		t.Errorf("without the runs the kept numbers do not count: %v\n%s", err, r.err)
	}
	if page, err = os.ReadFile(filepath.Join(out, "index.html")); err != nil || !strings.Contains(string(page), "kept from earlier") || !strings.Contains(string(page), paperPage[len(paperPage)-1]) {
		t.Errorf("the report does not say which numbers were kept, or lost a figure: %v", err)
	}
	other := filepath.Join(t.TempDir(), "report")
	r = c.must("paper", "--size", "smoke", "--seeds", "1", "--only", "ball/ball/kvae,table1/reacher", "-o", other, "--as-is")
	if !strings.Contains(r.out, "no claim of the paper can be judged") {
		t.Errorf("nothing is measured:\n%s", r.out)
	}
	if text, err := os.ReadFile(filepath.Join(other, "runs.csv")); err != nil || !strings.Contains(string(text), "ball-kvae-1,") || !strings.Contains(string(text), "reacher-lstm-1,") ||
		strings.Contains(string(text), "maze") || strings.Count(string(text), ",not run,") != 14 {
		t.Errorf("runs.csv: %v\n%s", err, text)
	}
	for _, args := range [][]string{{"--only", "table1/fhn"}, {"--size", "big"}, {"--only", "table9"}, {"--seeds", "0"}, {"--parallel", "0"}} {
		if r := c.run(append([]string{"paper", "-o", out}, args...)...); r.code != 2 || !strings.Contains(r.err, args[1]) {
			t.Errorf("%v: code %d\n%s", args, r.code, r.err)
		}
	}
}
