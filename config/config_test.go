package config_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/switchyard-ml/switchyard/config"
	"github.com/switchyard-ml/switchyard/internal/setting"
)

func kinds() *config.Kinds { return config.Builtin().Kinds() }

func resolve(t *testing.T, s config.Sources) config.Config {
	t.Helper()
	r, err := kinds().Resolve(s)
	if err != nil {
		t.Fatal(err)
	}
	return r.Config
}

func TestPresets_Resolve(t *testing.T) {
	for _, p := range config.Presets() {
		c := resolve(t, config.Sources{Preset: p.Name})
		if c.Preset != p.Name {
			t.Errorf("preset %s calls itself %q", p.Name, c.Preset)
		}
		if p.Title == "" || strings.Contains(p.Title, ": ") == strings.HasPrefix(p.Title, "preset:") {
			t.Errorf("preset %s has no title on its first line: %q", p.Name, p.Title)
		}
	}
}

func TestBasePreset_SetsEveryKey(t *testing.T) {
	set := kinds().PresetPaths(config.BasePreset)
	for _, k := range mustResolve(t, config.Sources{}).Keys() {
		if k.Path != "preset" && !slices.Contains(set, k.Path) {
			t.Errorf("preset %s does not set %s", config.BasePreset, k.Path)
		}
	}
}

// freeText are the keys that take any text: paths, names of columns, and what a run fills in.
var freeText = []string{
	"preset", "env.files", "env.normalise", "env.hash", "env.observe", "env.control", "env.label", "env.time", "env.id", "env.rename",
	"env.resample", "env.transform", "optim.factors", "model.bodies",
}

func TestKeys_AreDescribed(t *testing.T) {
	docs := map[string]string{}
	for _, k := range kinds().Keys() {
		docs[k.Path] = k.Doc
	}
	for _, k := range kinds().Keys() {
		if k.Ends != "" && !regexp.MustCompile(regexp.QuoteMeta(k.Path)+`\b`).MatchString(docs[k.Ends]) {
			t.Errorf("what is said of %s leaves out that %s ends there", k.Ends, k.Path)
		}
		usual := regexp.MustCompile(`default is (\w+)`).FindStringSubmatch(k.Doc)
		if usual != nil && len(k.Values) > 0 && !slices.Contains(k.Values, usual[1]) {
			t.Errorf("%s cannot have the default %s", k.Path, usual[1])
		}
		if k.Doc == "" {
			t.Errorf("%s has no doc", k.Path)
		}
		if k.Type == "text" && len(k.Values) == 0 && !slices.Contains(freeText, k.Path) {
			t.Errorf("%s takes any text", k.Path)
		}
		if k.Type == "number" && k.Want == "" {
			t.Errorf("%s has no range", k.Path)
		}
		if _, err := setting.ParseInterval(k.Want); k.Want != "" && err != nil {
			t.Errorf("%s: %v", k.Path, err)
		}
	}
}

func TestResolve_LaterLayersWin(t *testing.T) {
	s := config.Sources{
		Preset: "fhn/smoke",
		Files: []config.File{
			{Name: "a.yaml", Data: []byte("optim: {rate: 1e-3, decay: 0.9}\ntrain.steps: 7\nseed: 5\n")},
			{Name: "b.yaml", Data: []byte("optim:\n  decay: 0.8\n  clip: 3\n")},
		},
		Environment: []string{"SWITCHYARD_OPTIM_CLIP=4", "SWITCHYARD_OPTIM_BETA1=0.5", "SWITCHYARD_SERVICE_HOST=10.0.0.1", "HOME=/"},
		Arguments:   []string{"optim.beta1=0.6", "cluster.failure_detection=1m", "train.batch=1_024", "train.validate_every=1e3", "optim.beta1=0.7"},
	}
	c := resolve(t, s)
	want := resolve(t, config.Sources{Preset: "fhn/smoke"})
	want.Seed, want.Train.Steps, want.Train.Batch, want.Train.ValidateEvery = 5, 7, 1024, 1000
	want.Optim.Rate, want.Optim.Decay, want.Optim.Clip, want.Optim.Beta1 = 1e-3, 0.8, 4, 0.7
	want.Cluster.FailureDetection = time.Minute
	if !c.Equal(want) {
		t.Errorf("got\n%s\nwant\n%s", c.YAML(), want.YAML())
	}
}

func TestResolve_FileNamesItsPreset(t *testing.T) {
	c := resolve(t, config.Sources{Files: []config.File{{Name: "a.yaml", Data: []byte("seed: 9\npreset: fhn/smoke\n")}}})
	want := resolve(t, config.Sources{Preset: "fhn/smoke", Arguments: []string{"seed=9"}})
	if !c.Equal(want) {
		t.Errorf("got\n%s\nwant\n%s", c.YAML(), want.YAML())
	}
}

func TestResolve_ByteOrderMark(t *testing.T) {
	t.Parallel()
	text := []byte("\ufeffpreset: fhn/smoke\nseed: 9\n")
	if c := resolve(t, config.Sources{Files: []config.File{{Name: "a.yaml", Data: text}}}); c.Seed != 9 {
		t.Errorf("a configuration has the seed %d", c.Seed)
	}
	if n, err := config.ReadNodes("a.yaml", text); err != nil || n.Pair("preset") == nil {
		t.Errorf("another file has no first key: %+v, %v", n, err)
	}
}

func TestYAML_ReadsBackAndIsStable(t *testing.T) {
	for _, p := range config.Presets() {
		c := resolve(t, config.Sources{Preset: p.Name, Arguments: []string{"optim.rate=0.1234567890123456789", "seed=18446744073709551615", "cluster.failure_detection=1.5s"}})
		back, err := kinds().Parse("config.yaml", c.YAML())
		if err != nil {
			t.Fatal(err)
		}
		if !back.Equal(c) || back.Digest() != c.Digest() {
			t.Errorf("preset %s: wrote\n%s\nread\n%s", p.Name, c.YAML(), back.YAML())
		}
		asFile := resolve(t, config.Sources{Files: []config.File{{Name: "config.yaml", Data: c.YAML()}}})
		if !asFile.Equal(c) {
			t.Errorf("preset %s: as a file it resolves to\n%s", p.Name, asFile.YAML())
		}
		annotated := mustResolve(t, config.Sources{Files: []config.File{{Name: "config.yaml", Data: c.YAML()}}}).Annotated()
		if again, err := kinds().Parse("shown", annotated); err != nil || !again.Equal(c) {
			t.Errorf("preset %s: the annotated form does not read back: %v\n%s", p.Name, err, annotated)
		}
	}
}

// TestYAML_TextsReadBack: a text is read back as it was, or refused: YAML has no bytes that are not UTF-8, as names of
// files may have.
func TestYAML_TextsReadBack(t *testing.T) {
	for text, refused := range map[string]bool{
		"a b.csv": false, "Größe.csv": false, "a\u2028\u0085b": false, "\ufeff": false, "\x00\x7f\n": false, "1e5": false,
		"Gr\xf6\xdfe.csv": true,
	} {
		r, err := kinds().Resolve(config.Sources{Preset: "files", Arguments: []string{"env.files=" + text}})
		if (err != nil) != refused {
			t.Errorf("%q: %v", text, err)
		}
		if err != nil {
			continue
		}
		back, err := kinds().Parse("config.yaml", r.Config.YAML())
		if err != nil || !back.Equal(r.Config) {
			t.Errorf("%q does not read back: %v\n%s", text, err, r.Config.YAML())
		}
	}
}

func mustResolve(t *testing.T, s config.Sources) *config.Resolved {
	t.Helper()
	r, err := kinds().Resolve(s)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func TestParse_AbsentKeyHasItsDefault(t *testing.T) {
	c := resolve(t, config.Sources{Preset: "fhn/smoke"})
	older := strings.Replace(string(c.YAML()), "  rollout: sample\n", "", 1)
	older = strings.Replace(older, "preset: fhn/smoke\n", "preset: gone\n", 1)
	back, err := kinds().Parse("config.yaml", []byte(older))
	if err != nil {
		t.Fatal(err)
	}
	c.Preset = "gone"
	if !back.Equal(c) {
		t.Errorf("got\n%s\nwant\n%s", back.YAML(), c.YAML())
	}
}

// TestParse_ManyFiles: a configuration that lists thousands of paths reads back.
func TestParse_ManyFiles(t *testing.T) {
	paths := make([]string, 2000)
	for i := range paths {
		paths[i] = fmt.Sprintf("/data/recordings of the summer/machine-%d/record-%05d.csv", i%7, i)
	}
	c := resolve(t, config.Sources{Preset: "files", Arguments: []string{"env.files=" + strings.Join(paths, ",")}})
	back, err := kinds().Parse("config.yaml", c.YAML())
	if err != nil || !back.Equal(c) {
		t.Errorf("%d bytes do not read back: %.200s", len(c.YAML()), fmt.Sprint(err))
	}
}

// TestParse_RetiredKey: a file of before names a key that is gone, and is the same run; an argument is told.
func TestParse_RetiredKey(t *testing.T) {
	c := resolve(t, config.Sources{Preset: "fhn/smoke"})
	for _, value := range []string{"shared", "apart"} {
		older := strings.Replace(string(c.YAML()), "  rollout: sample\n", "  rollout: sample\n  inference: "+value+"\n", 1)
		if !strings.Contains(older, "inference") {
			t.Fatal("the key is not in the file")
		}
		back, err := kinds().Parse("config.yaml", []byte(older))
		if err != nil || !back.Equal(c) || back.Identity() != c.Identity() {
			t.Errorf("%s: another run, %v", value, err)
		}
		if _, err := kinds().Resolve(config.Sources{Files: []config.File{{Name: "my.yaml", Data: []byte(older)}}}); err != nil {
			t.Errorf("%s, as a file: %v", value, err)
		}
		_, err = kinds().Resolve(config.Sources{Preset: "fhn/smoke", Arguments: []string{"eval.inference=" + value}})
		if err == nil || !strings.Contains(err.Error(), "each rollout has its own pass of inference") {
			t.Errorf("%s, as an argument: %v", value, err)
		}
	}
}

func TestAnnotated_SaysWhereAValueCameFrom(t *testing.T) {
	shown := string(mustResolve(t, config.Sources{
		Files:     []config.File{{Name: "my.yaml", Data: []byte("optim:\n  clip: 2\n")}},
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
	raw, err := kinds().Schema()
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
	for _, k := range kinds().Keys() {
		if k.Section() == "" {
			if root.Properties[k.Name()].Description == "" {
				t.Errorf("%s is missing", k.Path)
			}
			continue
		}
		if p := root.Properties[k.Section()].Properties[k.Name()]; p.Type == "" || p.Default == nil || len(p.Enum) != len(k.Values) {
			t.Errorf("%s is not described: %+v", k.Path, p)
		}
	}
	if least := root.Properties["train"].Properties["batch"].Minimum; least == nil || *least != 1 {
		t.Errorf("train.batch has minimum %v, want 1", least)
	}
}

func TestResolve_ErrorsAreTyped(t *testing.T) {
	_, err := kinds().Resolve(config.Sources{Preset: "fnh"})
	var fault *config.Error
	if !errors.As(err, &fault) || len(fault.Problems) != 1 {
		t.Fatalf("got %v, want an *Error with one problem", err)
	}
}

// TestConfig_Value: a value is the text of its key, without quotation marks; a key of another kind has none.
func TestConfig_Value(t *testing.T) {
	r, err := config.Builtin().Kinds().Resolve(config.Sources{Preset: "fhn/smoke", Arguments: []string{"optim.factors=encoder=0.5"}})
	if err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]string{"preset": "fhn/smoke", "env.kind": "fhn", "optim.factors": "encoder=0.5"} {
		if got, ok := r.Config.Value(path); !ok || got != want {
			t.Errorf("%s: got %q, %v, want %q", path, got, ok, want)
		}
	}
	for _, path := range []string{"env", "env.walls", "kind"} {
		if got, ok := r.Config.Value(path); ok {
			t.Errorf("%s: got %q, want none", path, got)
		}
	}
}
