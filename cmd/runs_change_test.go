package cmd

import (
	"strings"
	"testing"
)

// TestRuns_CompareRenameRemove on two runs that differ in a key and the seed.
func TestRuns_CompareRenameRemove(t *testing.T) {
	t.Parallel()
	c := newCLI(t)
	c.must("train", "fhn/smoke", "--name", "a", "--quiet")
	c.must("train", "fhn/smoke", "seed=2", "optim.rate=0.002", "--name", "b", "--quiet")
	got := c.must("runs", "compare", "a", "b").out
	for _, want := range []string{"best objective", "finished", "optim.rate", "0.002", "seed"} {
		if !strings.Contains(got, want) {
			t.Errorf("%q is missing in\n%s", want, got)
		}
	}
	if strings.Contains(got, "model.kind") {
		t.Errorf("what is the same is listed:\n%s", got)
	}
	c.must("runs", "rename", "b", "other")
	if got := c.must("runs", "show", "other").out; !strings.Contains(got, "began as b") {
		t.Errorf("a renamed run does not say so:\n%s", got)
	}
	if r := c.run("runs", "rename", "a", "other"); r.code == exitOK || !strings.Contains(r.err, "taken") {
		t.Errorf("a taken name: %d %s", r.code, r.err)
	}
	if got := c.must("runs", "rm", "other").out; !strings.Contains(got, "removed other") {
		t.Error(got)
	}
	if r := c.run("runs", "rm", "other"); r.code == exitOK {
		t.Error("a run that is gone is removed again")
	}
	if got := c.must("runs", "ls").out; !strings.Contains(got, "disk") || strings.Contains(got, "other") {
		t.Errorf("the list is\n%s", got)
	}
}
