package cmd

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/switchyard-ml/switchyard/lead"
	"github.com/switchyard-ml/switchyard/store"
)

// localRun is a run of six rounds of local steps.
var localRun = []string{"train", "noise/smoke", "train.steps=30", "train.method=diloco", "train.replicas=2", "train.local_steps=5", "train.validate_every=10", "train.checkpoint_every=10"}

// A run with local steps has the same bits for any workers and under faults, counts updates everywhere, and is
// recomputed by whole rounds; a lie is found in its replica.
func TestLocalSteps_TrainAndVerify(t *testing.T) {
	t.Parallel()
	c := newCLI(t)
	train := func(more ...string) store.Info {
		c.must(append(append([]string{}, localRun...), more...)...)
		return c.info(more[1])
	}
	a := train("--name", "a", "--quiet", "--workers", "1")
	b := train("--name", "b", "--workers", "3")
	twoSlots := train("--name", "c", "--quiet", "--workers", "2", "--slots", "2", "train.checkpoint_every=5", "cluster.audit=1")
	if a.ParametersSHA256 != b.ParametersSHA256 || a.ParametersSHA256 != twoSlots.ParametersSHA256 || a.Step != 30 || a.Checkpoint != 30 {
		t.Errorf("step %d: %s with one worker, %s with three, %s audited", a.Step, a.ParametersSHA256, b.ParametersSHA256, twoSlots.ParametersSHA256)
	}
	c.must("train", "noise/smoke", "train.steps=30", "--name", "synchronous", "--quiet")
	if s := c.info("synchronous").ParametersSHA256; s == a.ParametersSHA256 {
		t.Error("the synchronous run has the same parameters")
	}
	var steps []uint64
	err := store.ReadMetrics(c.dir, "a", func(r store.Record) error {
		if r.Split == "train" {
			steps = append(steps, r.Step)
		}
		return nil
	})
	if err != nil || len(steps) != 6 || steps[0] != 5 || steps[5] != 30 {
		t.Errorf("records of steps %v, %v", steps, err)
	}
	for line, want := range map[string]string{
		"verify a":                   "steps 1..30: same bits as logged (recomputed from the initial parameters",
		"verify a --from 17 --to 23": "steps 16..25: same bits as logged",
		"diff a b":                   "same bits in all 30 steps",
	} {
		if r := c.must(strings.Fields(line)...); !strings.Contains(r.out, want) || strings.Contains(r.out, "not in the log") {
			t.Errorf("%s: %q is not in\n%s", line, want, r.out)
		}
	}
	c.lie("b", 20, true)
	r := c.run("verify", "b", "--json")
	var v lead.Verdict
	if err := json.Unmarshal([]byte(r.out), &v); err != nil || v.Equal || v.Differs == nil || v.Differs.Step != 20 ||
		len(v.Differs.Suspects) != 1 || v.Differs.Suspects[0].Worker != "liar" {
		t.Errorf("got %s, %v", r.out, err)
	}
	if r := c.run("diff", "a", "b"); !strings.Contains(r.out, "part at step 20") || !strings.Contains(r.out, "liar") {
		t.Errorf("got\n%s\n%s", r.out, r.err)
	}
	if r := c.run("diff", "a", "synchronous"); !strings.Contains(r.out, "train.method is diloco in a, synchronous in synchronous") {
		t.Errorf("got\n%s\n%s", r.out, r.err)
	}
}

// What does not fit local steps is refused with what to do.
func TestLocalSteps_Refused(t *testing.T) {
	t.Parallel()
	c := newCLI(t)
	for _, test := range []struct{ line, want string }{
		{"bench step noise/smoke train.method=diloco train.replicas=2 train.local_steps=5", "leave it synchronous"},
		{"train noise/smoke train.method=diloco train.replicas=2 train.local_steps=7", "is not a multiple of train.local_steps (7)"},
	} {
		if r := c.run(strings.Fields(test.line)...); r.code != 2 || !strings.Contains(r.err, test.want) {
			t.Errorf("%s: code %d, %q is not in\n%s", test.line, r.code, test.want, r.err)
		}
	}
}
