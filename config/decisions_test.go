package config_test

import (
	"strings"
	"testing"

	"github.com/switchyard-ml/switchyard/config"
)

// rslds resolves a configuration of a family whose models fit themselves.
func rslds(arguments ...string) (*config.Resolved, error) {
	return config.Builtin().Kinds().Resolve(config.Sources{Preset: "fhn/smoke", Arguments: append([]string{"model.kind=rslds"}, arguments...)})
}

// TestDecides: a family decides common keys, against a preset and not against a user, who is told.
func TestDecides(t *testing.T) {
	for _, test := range []struct {
		arguments         string
		steps, checkpoint uint64
		fault             string
	}{
		{"", 1000, 50, ""},
		{"model.sweeps=2000", 2000, 50, ""},
		{"train.steps=1000", 1000, 50, ""},
		{"train.steps=2000 model.sweeps=2000", 2000, 50, ""},
		{"train.steps=2000", 0, 0, "train.steps: model.sweeps decides it: it is 1000"},
		{"train.steps=many", 0, 0, "train.steps: "},
		{"train.checkpoint_every=200", 1000, 200, ""},
		{"train.checkpoint_every=0", 1000, 0, ""},
		{"train.checkpoint_every=10", 0, 0, "train.checkpoint_every: 10 is not a multiple"},
		{"train.batch=16", 1000, 50, ""}, // as the preset has it
		{"train.batch=32", 0, 0, "train.batch: model.kind=rslds has no use for it"},
		{"optim.clip=2", 0, 0, "optim.clip: model.kind=rslds has no use for it"},
	} {
		r, err := rslds(strings.Fields(test.arguments)...)
		if test.fault != "" {
			if err == nil || strings.Count(err.Error(), "\n") > 0 || !strings.Contains(err.Error(), test.fault) {
				t.Errorf("%s: got %v, want one problem with %q", test.arguments, err, test.fault)
			}
			continue
		}
		if err != nil {
			t.Errorf("%s: %v", test.arguments, err)
			continue
		}
		c := r.Config
		if c.Train.Steps != test.steps || c.Train.CheckpointEvery != test.checkpoint {
			t.Errorf("%s: %d steps with a checkpoint every %d, want %d and %d", test.arguments, c.Train.Steps, c.Train.CheckpointEvery, test.steps, test.checkpoint)
		}
		back, err := c.Kinds().Parse("config.yaml", c.YAML())
		if err != nil || !back.Equal(c) || back.Identity() != c.Identity() || string(back.YAML()) != string(c.YAML()) {
			t.Errorf("%s: read back: %v", test.arguments, err)
		}
		shown := string(r.Annotated())
		for _, key := range []string{"optim:", "  batch:", "  method:", "  window:"} {
			if strings.Contains(shown, "\n"+key) && !strings.Contains(test.arguments, strings.Trim(key, " :")) {
				t.Errorf("%s: %s is shown, and has no effect", test.arguments, key)
			}
		}
	}
}

// TestUnused_DiffersInNothing: keys without effect are no difference between configurations, and another family has
// them.
func TestUnused_DiffersInNothing(t *testing.T) {
	a, err := rslds()
	if err != nil {
		t.Fatal(err)
	}
	b := a.Config.Clone()
	b.Train.Batch, b.Optim.Rate = 64, 1
	if d := config.Differences(a.Config, b); len(d) > 0 || !b.Equal(a.Config) {
		t.Errorf("got %v", d)
	}
	if _, err := config.Builtin().Kinds().Resolve(config.Sources{Preset: "fhn/smoke", Arguments: []string{"train.batch=32", "train.steps=7"}}); err != nil {
		t.Error(err)
	}
}

// TestChoose: a family withholds the controls of the oscillator alone, another predicts images by one rollout, a user's
// word counts, and a run of before the
// key keeps what it did.
func TestChoose(t *testing.T) {
	for arguments, want := range map[string]string{
		"": "withheld", "model.controls=given": "given", "env.kind=noise env.observations=2 env.controls=1": "given",
		"env.kind=noise env.observations=2 env.controls=1 model.controls=withheld": "withheld",
	} {
		r, err := rslds(strings.Fields(arguments)...)
		if err != nil {
			t.Fatal(err)
		}
		if line := "\n  controls: " + want + " "; !strings.Contains(string(r.Annotated()), line) {
			t.Errorf("%q: no line %q in\n%s", arguments, line, r.Annotated())
		}
	}
	for arguments, want := range map[string]int{"": 1, "eval.samples=32": 32, "env.kind=fhn": 4} {
		r, err := config.Builtin().Kinds().Resolve(config.Sources{Preset: "ball/smoke", Arguments: append([]string{"model.kind=kvae", "model.emission=gaussian", "model.convolutions=0"}, strings.Fields(arguments)...)})
		if err != nil {
			t.Fatal(err)
		}
		if r.Config.Eval.Samples != want {
			t.Errorf("kvae, %q: %d rollouts, want %d", arguments, r.Config.Eval.Samples, want)
		}
	}
	r, err := rslds("model.controls=given", "model.keep=parameters", "model.combine=equal")
	if err != nil {
		t.Fatal(err)
	}
	before := string(r.Config.YAML())
	for _, line := range []string{"  controls: given\n", "  keep: parameters\n", "  combine: equal\n"} {
		if !strings.Contains(before, line) {
			t.Errorf("no line %q in\n%s", line, before)
		}
		before = strings.Replace(before, line, "", 1)
	}
	back, err := r.Config.Kinds().Parse("config.yaml", []byte(before))
	if err != nil || back.Identity() != r.Config.Identity() || !back.Equal(r.Config) {
		t.Errorf("a configuration of before the keys is another run, %v:\n%s", err, before)
	}
}
