package cmd

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/switchyard-ml/switchyard/config"
	"github.com/switchyard-ml/switchyard/store"
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
	if got := c.must("runs", "label", "b", "--tag", "wide,good", "--note", "the first try", "--archive").out; got != "b: archived; tags good, wide; note: the first try\n" {
		t.Errorf("got %q", got)
	}
	if got := c.must("runs", "label", "b", "--untag", "wide", "--restore").out; got != "b: tags good; note: the first try\n" {
		t.Errorf("got %q", got)
	}
	for _, bad := range []string{"two words", "a=b"} {
		if r := c.run("runs", "label", "b", "--tag", bad); r.code != exitUsage {
			t.Errorf("tag %q: %d %s", bad, r.code, r.err)
		}
	}
	if r := c.run("runs", "label", "b", "--archive", "--restore"); r.code != exitUsage {
		t.Errorf("both: %d %s", r.code, r.err)
	}
	if got := c.must("runs", "show", "b").out; !strings.Contains(got, "tags good; note: the first try") {
		t.Errorf("runs show says\n%s", got)
	}
	labels := filepath.Join(c.dir, "b", store.LabelsFile)
	writeFile(t, labels, "{")
	if got := c.must("runs", "show", "b").out; !strings.Contains(got, "labels.json: unexpected end of JSON input; remove it") {
		t.Errorf("runs show of damaged labels says\n%s", got)
	}
	if r := c.run("runs", "label", "b", "--tag", "x"); r.code != exitData || !strings.Contains(r.err, labels) || !strings.Contains(r.err, "remove the file") {
		t.Errorf("damaged labels: %d %s", r.code, r.err)
	}
	if err := os.Remove(labels); err != nil {
		t.Fatal(err)
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

// TestRuns_CompareLikeWithLike: an objective is not set beside that of another model, nor a bound beside that of other
// data.
func TestRuns_CompareLikeWithLike(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		keys, metrics []string
		why           string
	}{
		{[]string{"optim.rate", "seed"}, nil, ""},
		{[]string{"anneal.rate", "model.kind", "model.switching"}, []string{"best_validation_objective"}, "model.kind"},
		{[]string{"model.kind", "env.dt"}, []string{"best_validation_objective", "validation_elbo"}, "env.dt"},
	} {
		var list []config.Difference
		for _, k := range test.keys {
			list = append(list, config.Difference{Key: k})
		}
		if metrics, why := incomparable(list); !slices.Equal(metrics, test.metrics) || why != test.why {
			t.Errorf("%v: got %v because of %s, want %v because of %s", test.keys, metrics, why, test.metrics, test.why)
		}
	}
}

// TestRuns_WhatWasDoneBeforeAnError: a command that fails at one run says what it has done to those before.
func TestRuns_WhatWasDoneBeforeAnError(t *testing.T) {
	t.Parallel()
	for line, want := range map[string]string{
		"runs rm a none b":                   `"run": "a"`,
		"runs label a none b --tag x":        "a: tags x",
		"runs label a none b --tag=x --json": `"name": "a"`,
	} {
		c := newCLI(t)
		finishedRun(t, c.dir, "a", time.Now())
		finishedRun(t, c.dir, "b", time.Now())
		if strings.Contains(line, " rm ") {
			line += " --json"
		}
		r := c.run(strings.Fields(line)...)
		said := strings.Contains(r.out, want) && !strings.Contains(r.out, `"b"`)
		if r.code == exitOK || !said || !strings.Contains(r.err, "none") {
			t.Errorf("%s: code %d, %s\n%s", line, r.code, r.err, r.out)
		}
	}
}

// finishedRun makes the folder of a run that has ended at a time.
func finishedRun(t *testing.T, dir, name string, at time.Time) {
	t.Helper()
	run, err := store.Create(dir, store.Draft{Name: name, Config: []byte("preset: fhn/smoke\n")})
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(run.End(store.Finished, ""), run.Close()); err != nil {
		t.Fatal(err)
	}
	info := run.Info()
	info.Updated = at.UTC()
	text, err := json.Marshal(info)
	if err != nil {
		t.Fatal(err)
	}
	writeFile(t, filepath.Join(dir, name, "run.json"), string(text))
}

// TestRuns_PrunedIsWhatIsGone: with --json a run that was left alone, because a process has taken it meanwhile, is not
// among those that were removed.
func TestRuns_PrunedIsWhatIsGone(t *testing.T) {
	t.Parallel()
	c := newCLI(t)
	for _, name := range []string{"a", "b"} {
		finishedRun(t, c.dir, name, time.Now().Add(-48*time.Hour))
	}
	taken, err := store.Open(c.dir, "a")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	var got pruned
	r := c.must("runs", "prune", "--older-than", "1d", "--yes", "--json")
	if err := json.Unmarshal([]byte(r.out), &got); err != nil {
		t.Fatal(err)
	}
	gone := len(got.Items) == 1 && got.Items[0].Run == "b" && got.Bytes == got.Items[0].Bytes
	if !strings.Contains(r.err, "left alone") || !gone || !got.Removed {
		t.Errorf("%s\ngot %+v", r.err, got)
	}
}

// TestRuns_UntagBehindAComma: blanks around a tag do not count, whether it is added or removed.
func TestRuns_UntagBehindAComma(t *testing.T) {
	t.Parallel()
	c := newCLI(t)
	finishedRun(t, c.dir, "a", time.Now())
	if got := c.must("runs", "label", "a", "--tag", "good, wide, new").out; got != "a: tags good, new, wide\n" {
		t.Errorf("got %q", got)
	}
	if got := c.must("runs", "label", "a", "--untag", "good, wide").out; got != "a: tags new\n" {
		t.Errorf("got %q", got)
	}
}
