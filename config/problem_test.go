package config_test

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/switchyard-ml/switchyard/config"
)

var update = flag.Bool("update", false, "rewrite testdata/problems, and add what is new to identities.txt and families.txt")

// problemFiles are configuration files with faults of every kind. testdata/problems has the errors of Resolve for each
// of them.
var problemFiles = []struct{ name, text string }{
	{"unknown_key", "optim:\n  decay: 0.95\n  rat: 1e-3\n"},
	{"unknown_section", "optm:\n  rate: 1e-3\n"},
	{"key_of_another_section", "train:\n  rate: 1e-3\n"},
	{"nothing_near", "model:\n  zzzzzzzzzz: 1\nqqqqqqqqqq: 2\n"},
	{"section_as_value", "optim: 3\n"},
	{"value_as_section", "optim:\n  rate:\n    x: 1\n"},
	{"wrong_types", "seed: -1\nenv:\n  length: long\nmodel:\n  gate: yes\noptim:\n  rate: fast\ncluster:\n  failure_detection: 5\n"},
	{"out_of_range", "optim:\n  rate: 0\n  beta1: 1\n  epsilon: 1e-40\n  decay: 1.5\ntrain:\n  steps: 0\nenv:\n  length: 3\n"},
	{"unknown_word", "model:\n  switching: concret\n  weights: hardmax\n"},
	{"twice", "seed: 1\noptim:\n  rate: 1e-3\n  rate: 1e-4\n"},
	{"no_value", "optim:\n  rate:\n"},
	{"list", "optim:\n  rate: [1e-3, 1e-4]\n"},
	{"list_at_top", "- 1\n- 2\n"},
	{"anchor", "optim: &o\n  rate: 1e-3\n"},
	{"not_yaml", "optim:\n  rate: \"1e-3\n"},
	{"tab", "optim:\n\trate: 1e-3\n"},
	{"utf16", "\xff\xfes\x00e\x00e\x00d\x00:\x00 \x001\x00\n\x00"},
	{"two_documents", "seed: 1\n---\nseed: 2\n"},
	{"unknown_preset", "preset: fnh\n"},
	{"rules", "train:\n  batch: 30\n  shards: 4\n  validation_episodes: 6\nenv:\n  length: 40\nmodel:\n  hard: true\n  switching: normal\n"},
	{"rules_shards", "train:\n  shards: 12\n  batch: 24\n  validation_episodes: 24\n"},
	{"rules_env", "env:\n  kind: noise\n  controls: 1\nmodel:\n  emission: bernoulli\n  switches: 1\n"},
	{"rules_env_keys", "env:\n  dt: 0.1\n  variant: b\n  balls: 2\n  walls: true\n"},
	{"rules_gradients", "train:\n  gradients: int16\n  shards: 512\n  batch: 512\n  validation_episodes: 512\n"},
	{"rules_cluster", "cluster:\n  chunk: 4098\n  credit: 2048\neval:\n  filter_window: 2\n"},
	{"rules_diloco", "train:\n  method: diloco\n  replicas: 6\n  local_steps: 16\n  steps: 100\n  validate_every: 40\n  checkpoint_every: 50\n"},
	{"rules_diloco_shards", "train:\n  method: diloco\n  replicas: 8\n  shards: 4\n"},
	{"rules_gradients_int8", "train:\n  gradients: int8\n  shards: 64\n  batch: 64\n  validation_episodes: 64\n"},
	{"rules_diloco_int16", "train:\n  method: diloco\n  replicas: 2\n  local_steps: 16\n  steps: 160\n  validate_every: 0\n  checkpoint_every: 0\n  gradients: int16\n"},
	{"rules_defaults", "preset: reacher/smoke\nmodel:\n  kind: rslds\n  sweeps: 10\n  burn_in: 1\n  exchange: 5\n"},
	{"rules_bodies", "preset: maze/bodies/smoke\nenv:\n  balls: 2\n"},
	{"rules_synchronous", "train:\n  replicas: 4\n  local_steps: 16\n"},
	{"many", "seed: x\noptim:\n  lr: 1e-3\n  decay: 2\ntrain:\n  batch_size: 3\n"},
}

func TestProblems_Golden(t *testing.T) {
	for _, f := range problemFiles {
		_, err := kinds().Resolve(config.Sources{Files: []config.File{{Name: "my.yaml", Data: []byte(f.text)}}})
		if err == nil {
			t.Errorf("%s: no problem found", f.name)
			continue
		}
		golden(t, f.name, err.Error())
	}
}

func TestProblems_GoldenOfArguments(t *testing.T) {
	_, err := kinds().Resolve(config.Sources{
		Preset:      "fhn/smoek",
		Environment: []string{"SWITCHYARD_OPTM_RATE=1", "SWITCHYARD_SEED=x", "SWITCHYARD_PRESET=fhn", "SWITCHYARD_SERVICE_PORT=80"},
		Arguments:   []string{"optim.raet=1", "lr=1", "steps=10", "train.steps", "train.batch=-4", "preset=noise/maze", "model=2", "env.length=30"},
	})
	if err == nil {
		t.Fatal("no problem found")
	}
	golden(t, "arguments", err.Error())
}

func TestResolve_TwoBases(t *testing.T) {
	_, err := kinds().Resolve(config.Sources{Preset: "noise/maze", Files: []config.File{{Name: "my.yaml", Data: []byte("preset: fhn\n")}}})
	if err == nil || !strings.Contains(err.Error(), `"noise/maze" is named already`) {
		t.Errorf("got %v", err)
	}
}

// TestProblems_LineEndings: a file with the line ends of Windows has its problems where they are.
func TestProblems_LineEndings(t *testing.T) {
	t.Parallel()
	text := "# mine\npreset: fhn/smoke # small\n# of the optimiser\noptim:\n  # fast\n  rate: quick\n"
	said := func(text string) string {
		_, err := kinds().Resolve(config.Sources{Files: []config.File{{Name: "my.yaml", Data: []byte(text)}}})
		if err == nil || !strings.Contains(err.Error(), "my.yaml:6:9: optim.rate") {
			t.Errorf("%q: %v", text, err)
		}
		return fmt.Sprint(err)
	}
	if unix, windows := said(text), said(strings.ReplaceAll(text, "\n", "\r\n")); unix != windows {
		t.Errorf("got\n%s\nwant\n%s", windows, unix)
	}
}

func TestResolve_FileTooLarge(t *testing.T) {
	_, err := kinds().Resolve(config.Sources{Files: []config.File{{Name: "my.yaml", Data: make([]byte, config.MaxDocument+1)}}})
	if err == nil || !strings.Contains(err.Error(), "more than the 1048576 allowed") {
		t.Errorf("got %v", err)
	}
}

// FuzzResolve: no input panics, and what is accepted reads back to itself.
func FuzzResolve(f *testing.F) {
	for _, p := range problemFiles {
		f.Add([]byte(p.text), "optim.rate=1e-3")
	}
	f.Add([]byte("optim: {rate: 1e-3}\n"), "seed=0x10")
	f.Fuzz(func(t *testing.T, data []byte, argument string) {
		r, err := kinds().Resolve(config.Sources{Files: []config.File{{Name: "f", Data: data}}, Arguments: []string{argument}})
		if err != nil {
			if err.Error() == "" {
				t.Fatal("an empty message")
			}
			return
		}
		for name, text := range map[string][]byte{"YAML": r.Config.YAML(), "Annotated": r.Annotated()} {
			back, err := kinds().Parse(name, text)
			if err != nil || !back.Equal(r.Config) {
				t.Fatalf("%s does not read back: %v\n%s", name, err, text)
			}
		}
	})
}

func golden(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", "problems", name+".txt")
	if *update {
		if err := os.WriteFile(path, []byte(got+"\n"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if fmt.Sprintln(got) != string(want) {
		t.Errorf("%s: got\n%s\nwant\n%s", name, got, want)
	}
}
