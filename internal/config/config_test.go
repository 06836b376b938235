package config

import (
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"
)

func resolve(t *testing.T, s Sources) Config {
	t.Helper()
	r, err := Resolve(s)
	if err != nil {
		t.Fatal(err)
	}
	return r.Config
}

func TestPresets_Resolve(t *testing.T) {
	for _, p := range Presets() {
		c := resolve(t, Sources{Preset: p.Name})
		if c.Preset != p.Name {
			t.Errorf("preset %s calls itself %q", p.Name, c.Preset)
		}
		if p.Title == "" || strings.Contains(p.Title, ": ") == strings.HasPrefix(p.Title, "preset:") {
			t.Errorf("preset %s has no title on its first line: %q", p.Name, p.Title)
		}
	}
}

func TestDefaultPreset_SetsEveryKey(t *testing.T) {
	settings, problems := presetSettings(DefaultPreset)
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	for _, k := range Keys() {
		if k.Path != presetKey && !slices.ContainsFunc(settings, func(s setting) bool { return s.path == k.Path }) {
			t.Errorf("preset %s does not set %s", DefaultPreset, k.Path)
		}
	}
}

// freeText are the keys that take any text: paths and what a run fills in.
var freeText = []string{presetKey, "env.files", "env.normalise", "env.hash"}

func TestKeys_AreDescribed(t *testing.T) {
	for _, k := range Keys() {
		if k.Doc == "" {
			t.Errorf("%s has no doc", k.Path)
		}
		if k.Type == "text" && len(k.Values) == 0 && !slices.Contains(freeText, k.Path) {
			t.Errorf("%s takes any text", k.Path)
		}
		if k.Type == "number" && k.Want == "" {
			t.Errorf("%s has no range", k.Path)
		}
		if _, err := parseInterval(k.Want); k.Want != "" && err != nil {
			t.Errorf("%s: %v", k.Path, err)
		}
	}
}

func TestResolve_LaterLayersWin(t *testing.T) {
	s := Sources{
		Preset: "fhn",
		Files: []File{
			{Name: "a.yaml", Data: []byte("optim: {rate: 1e-3, decay: 0.9}\ntrain.steps: 7\nseed: 5\n")},
			{Name: "b.yaml", Data: []byte("optim:\n  decay: 0.8\n  clip: 3\n")},
		},
		Environment: []string{"SWITCHYARD_OPTIM_CLIP=4", "SWITCHYARD_OPTIM_BETA1=0.5", "SWITCHYARD_SERVICE_HOST=10.0.0.1", "HOME=/"},
		Arguments:   []string{"optim.beta1=0.6", "cluster.failure_detection=1m", "train.batch=1_024", "train.validate_every=1e3", "optim.beta1=0.7"},
	}
	c := resolve(t, s)
	want := resolve(t, Sources{})
	want.Seed, want.Train.Steps, want.Train.Batch, want.Train.ValidateEvery = 5, 7, 1024, 1000
	want.Optim.Rate, want.Optim.Decay, want.Optim.Clip, want.Optim.Beta1 = 1e-3, 0.8, 4, 0.7
	want.Cluster.FailureDetection = time.Minute
	if c != want {
		t.Errorf("got\n%s\nwant\n%s", c.YAML(), want.YAML())
	}
}

func TestResolve_FileNamesItsPreset(t *testing.T) {
	c := resolve(t, Sources{Files: []File{{Name: "a.yaml", Data: []byte("seed: 9\npreset: fhn/smoke\n")}}})
	want := resolve(t, Sources{Preset: "fhn/smoke", Arguments: []string{"seed=9"}})
	if c != want {
		t.Errorf("got\n%s\nwant\n%s", c.YAML(), want.YAML())
	}
}

func TestYAML_ReadsBackAndIsStable(t *testing.T) {
	for _, p := range Presets() {
		c := resolve(t, Sources{Preset: p.Name, Arguments: []string{"optim.rate=0.1234567890123456789", "seed=18446744073709551615", "cluster.failure_detection=1.5s"}})
		back, err := Parse("config.yaml", c.YAML())
		if err != nil {
			t.Fatal(err)
		}
		if back != c || back.Digest() != c.Digest() {
			t.Errorf("preset %s: wrote\n%s\nread\n%s", p.Name, c.YAML(), back.YAML())
		}
		asFile := resolve(t, Sources{Files: []File{{Name: "config.yaml", Data: c.YAML()}}})
		if asFile != c {
			t.Errorf("preset %s: as a file it resolves to\n%s", p.Name, asFile.YAML())
		}
		annotated := mustResolve(t, Sources{Files: []File{{Name: "config.yaml", Data: c.YAML()}}}).Annotated()
		if again, err := Parse("shown", annotated); err != nil || again != c {
			t.Errorf("preset %s: the annotated form does not read back: %v\n%s", p.Name, err, annotated)
		}
	}
}

func mustResolve(t *testing.T, s Sources) *Resolved {
	t.Helper()
	r, err := Resolve(s)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func TestParse_AbsentKeyHasItsDefault(t *testing.T) {
	c := resolve(t, Sources{Preset: "fhn/smoke"})
	older := strings.Replace(string(c.YAML()), "  rollout: sample\n", "", 1)
	older = strings.Replace(older, "preset: fhn/smoke\n", "preset: gone\n", 1)
	back, err := Parse("config.yaml", []byte(older))
	if err != nil {
		t.Fatal(err)
	}
	c.Preset = "gone"
	if back != c {
		t.Errorf("got\n%s\nwant\n%s", back.YAML(), c.YAML())
	}
}

func TestAnnotated_SaysWhereAValueCameFrom(t *testing.T) {
	shown := string(mustResolve(t, Sources{
		Files:     []File{{Name: "my.yaml", Data: []byte("optim:\n  clip: 2\n")}},
		Arguments: []string{"optim.rate=1e-3"},
	}).Annotated())
	for _, want := range []string{`set by argument "optim.rate=1e-3"`, "set by my.yaml:2:9", "learning rate of the first update", "concrete | normal", "\n# the optimiser\noptim:\n"} {
		if !strings.Contains(shown, want) {
			t.Errorf("%q is missing in\n%s", want, shown)
		}
	}
	if strings.Contains(shown, "·  ·") || strings.Contains(shown, "· \n") {
		t.Errorf("an empty part in a comment:\n%s", shown)
	}
	if strings.Contains(shown, "set by preset") {
		t.Errorf("values of the preset are marked:\n%s", shown)
	}
}

func TestSchema_DescribesEveryKey(t *testing.T) {
	raw, err := Schema()
	if err != nil {
		t.Fatal(err)
	}
	var root struct {
		Properties map[string]struct {
			Description string
			Properties  map[string]struct {
				Type    string
				Enum    []string
				Minimum *float64
				Default any
			}
		}
	}
	if err := json.Unmarshal(raw, &root); err != nil {
		t.Fatal(err)
	}
	for _, k := range Keys() {
		if k.section() == "" {
			if root.Properties[k.name()].Description == "" {
				t.Errorf("%s is missing", k.Path)
			}
			continue
		}
		if p := root.Properties[k.section()].Properties[k.name()]; p.Type == "" || p.Default == nil || len(p.Enum) != len(k.Values) {
			t.Errorf("%s is not described: %+v", k.Path, p)
		}
	}
	if least := root.Properties["train"].Properties["batch"].Minimum; least == nil || *least != 1 {
		t.Errorf("train.batch has minimum %v, want 1", least)
	}
}

func TestResolve_ErrorsAreTyped(t *testing.T) {
	_, err := Resolve(Sources{Preset: "fnh"})
	var fault *Error
	if !errors.As(err, &fault) || len(fault.Problems) != 1 {
		t.Fatalf("got %v, want an *Error with one problem", err)
	}
}

func TestDistance(t *testing.T) {
	for _, c := range []struct {
		a, b string
		want int
	}{
		{"", "", 0},
		{"", "abc", 3},
		{"rate", "rate", 0},
		{"rat", "rate", 1},
		{"raet", "rate", 1},
		{"optim.lr", "optim.rate", 4},
		{"kitten", "sitting", 3},
		{"ab", "ba", 1},
	} {
		if got := distance(c.a, c.b); got != c.want {
			t.Errorf("distance(%q, %q) = %d, want %d", c.a, c.b, got, c.want)
		}
		if got := distance(c.b, c.a); got != c.want {
			t.Errorf("distance(%q, %q) = %d, want %d", c.b, c.a, got, c.want)
		}
	}
}
