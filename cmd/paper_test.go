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
	c := newCLI(t)
	out := filepath.Join(t.TempDir(), "report")
	r := c.must("paper", "--size", "smoke", "--seeds", "1", "--only", "ball", "-o", out, "--parallel", "2")
	if !strings.Contains(r.out, "ball-long") || !strings.Contains(r.out, "index.html") {
		t.Errorf("stdout:\n%s", r.out)
	}
	page, err := os.ReadFile(filepath.Join(out, "index.html"))
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"Image ball in a box", "ball-kvae-1", `src="figures/ball-pixels.svg"`, `src="figures/ball-normal-pixels.svg"`} {
		if !strings.Contains(string(page), want) {
			t.Errorf("%q is missing in index.html", want)
		}
	}
	if r := c.must("paper", "--size", "smoke", "--seeds", "1", "--only", "ball", "-o", out); !strings.Contains(r.err, "all are trained") {
		t.Errorf("the second time:\n%s", r.err)
	}
	again, err := os.ReadFile(filepath.Join(out, "index.html"))
	if err != nil || string(again) != string(page) {
		t.Errorf("the second report differs: %v", err)
	}
	for _, args := range [][]string{{"--size", "big"}, {"--only", "table9"}, {"--seeds", "0"}, {"--parallel", "0"}} {
		if r := c.run(append([]string{"paper", "-o", out}, args...)...); r.code != 2 || !strings.Contains(r.err, args[1]) {
			t.Errorf("%v: code %d\n%s", args, r.code, r.err)
		}
	}
}
