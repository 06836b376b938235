package config_test

import (
	"strings"
	"testing"

	"github.com/switchyard-ml/switchyard/config"
	"github.com/switchyard-ml/switchyard/envs"
	"github.com/switchyard-ml/switchyard/internal/setting"
	"github.com/switchyard-ml/switchyard/model"
	"github.com/switchyard-ml/switchyard/rng"
)

// pendulum and gru are kinds that a user might add.
type pendulum struct {
	Mass  float64 `yaml:"mass" want:"(0,10]" doc:"of the bob, in kg"`
	Noise float64 `yaml:"noise" want:"[0,1]" doc:"standard deviation of the observations" was:"0"`
}

type gru struct {
	Hidden int `yaml:"hidden" want:"[1,4096]" doc:"width of the state"`
	Extra  struct {
		Peephole bool    `yaml:"peephole" doc:"look at the cell"`
		Depth    float64 `yaml:"depth" want:"[0,1]" only:"extra.peephole=true" doc:"of the look"`
	} `yaml:"extra" doc:"more of it"`
}

func kind(name string, settings func() any) config.Kind {
	return config.Kind{Name: name, Doc: "a " + name, Settings: settings}
}

func (*pendulum) New() (envs.Env, error)                        { return nil, nil }
func (*gru) New(d model.Data, key rng.Key) (model.Model, error) { return nil, nil }
func (*gru) Describe() model.Description                        { return model.Description{} }

func ownKinds(t *testing.T) *config.Kinds {
	t.Helper()
	r, err := config.New(config.Own{
		Environments: []envs.Kind{{Name: "pendulum", Doc: "a bob on a rod", Settings: func() envs.Settings { return &pendulum{Mass: 1} }}},
		Families:     []model.Family{{Name: "gru", Doc: "a gated recurrence", Settings: func() model.Settings { return &gru{Hidden: 16} }}},
	})
	if err != nil {
		t.Fatal(err)
	}
	return r.Kinds()
}

func resolveOwn(t *testing.T, arguments ...string) config.Config {
	t.Helper()
	base := []byte("seed: 1\nenv:\n  kind: pendulum\n  episodes: 10\n  length: 20\n  window: 0\nmodel:\n  kind: gru\n")
	c, err := ownKinds(t).Parse("own.yaml", append(base, []byte(strings.Join(arguments, "\n"))...))
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func TestKinds_HaveTheirOwnKeys(t *testing.T) {
	c := resolveOwn(t, "env.mass: 2", "extra.peephole: true")
	text := string(c.YAML())
	for _, want := range []string{"  kind: pendulum\n", "  mass: 2\n", "  hidden: 16\n", "extra:\n  peephole: true\n"} {
		if !strings.Contains(text, want) {
			t.Errorf("%q is missing in\n%s", want, text)
		}
	}
	if strings.Contains(text, "latent") || strings.Contains(text, "switching") {
		t.Errorf("keys of other kinds in\n%s", text)
	}
	if got := c.Env.Settings.(*pendulum).Mass; got != 2 {
		t.Errorf("the mass is %g, want 2", got)
	}
}

func TestIdentity_OfOwnKinds(t *testing.T) {
	base := resolveOwn(t).Identity()
	for argument, decides := range map[string]bool{
		"env.mass: 2": true, "model.hidden: 17": true, "extra.peephole: true": true,
		"env.mass: 1": false, "env.noise: 0": false, "model.latent: 4": false, "extra.depth: 0.5": false, "train.steps: 3": false,
	} {
		if differs := resolveOwn(t, argument).Identity() != base; differs != decides {
			t.Errorf("%s: the identity differs: %v, want %v", argument, differs, decides)
		}
	}
	if a, b := resolveOwn(t, "env.noise: 0.5"), resolveOwn(t); a.Identity() == b.Identity() {
		t.Error("a younger key at another value than runs had before changes no identity")
	}
}

func TestClone_SharesNoSettings(t *testing.T) {
	c := resolveOwn(t)
	d := c.Clone()
	d.Env.Settings.(*pendulum).Mass = 3
	if c.Env.Settings.(*pendulum).Mass != 1 || c.Equal(d) {
		t.Error("the copy changed the original")
	}
	if got := config.AllDifferences(c, d); len(got) != 1 || got[0] != (config.Difference{Key: "env.mass", A: "1", B: "3"}) {
		t.Errorf("differences %v", got)
	}
}

func TestNewKinds_Refuses(t *testing.T) {
	type twice struct {
		A int `yaml:"length" doc:"of it"`
	}
	type undescribed struct {
		A int `yaml:"a"`
	}
	type strange struct {
		A []int `yaml:"a" doc:"a list"`
	}
	type unbounded struct {
		A float64 `yaml:"a" doc:"a number" want:"0..1"`
	}
	for _, c := range []struct {
		kind config.Kind
		want string
	}{
		{kind("two words", func() any { return new(pendulum) }), "the name must be a word"},
		{kind("a/b", func() any { return new(pendulum) }), "the name must be a word"},
		{config.Kind{Name: "x", Settings: func() any { return new(pendulum) }}, "its doc must be one line"},
		{kind("x", func() any { return pendulum{} }), "a pointer to a struct"},
		{kind("x", func() any { return nil }), "a pointer to a struct"},
		{kind("x", func() any { return new(twice) }), "key env.length exists already"},
		{kind("x", func() any { return new(undescribed) }), "the doc tag is missing"},
		{kind("x", func() any { return new(strange) }), "its type is []int"},
		{kind("x", func() any { return new(unbounded) }), "the want tag"},
	} {
		_, err := config.NewKinds([]config.Kind{c.kind}, nil)
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: got %v, want %q", c.kind.Name, err, c.want)
		}
	}
	same := kind("x", func() any { return new(pendulum) })
	if _, err := config.NewKinds([]config.Kind{same, same}, nil); err == nil {
		t.Error("two kinds of one name are accepted")
	}
}

func TestResolve_KeysOfOtherKinds(t *testing.T) {
	for _, c := range []struct{ argument, want string }{
		{"env.walls=true", "env.kind=maze has no such key; leave it out, or choose env.kind=ball"},
		{"env.walls=false", ""}, // as older files have it
		{"env.hash=abc", "choose env.kind=files"},
		{"model.kind=gru", `unknown value "gru"`},
	} {
		_, err := kinds().Resolve(config.Sources{Preset: "maze", Arguments: []string{c.argument}})
		if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%s: got %v, want %q", c.argument, err, c.want)
		}
	}
}

func TestAnnotated_ShowsKeysThatMatter(t *testing.T) {
	shown := func(arguments ...string) string {
		return string(mustResolve(t, config.Sources{Preset: "maze/faithful", Arguments: arguments}).Annotated())
	}
	maze, normal := shown(), shown("model.switching=normal", "anneal.prior=2")
	for _, absent := range []string{"walls", "observations:", "hash", "replicas", "outer_rate"} {
		if strings.Contains(maze, "  "+absent) {
			t.Errorf("%s is shown:\n%s", absent, maze)
		}
	}
	for _, there := range []string{"  variant: a", "  gate: true", "  method: synchronous", "  posterior: 0.75"} {
		if !strings.Contains(maze, there) {
			t.Errorf("%s is missing:\n%s", there, maze)
		}
	}
	if strings.Contains(normal, "  gate:") || strings.Contains(normal, "  posterior:") || !strings.Contains(normal, "  prior: 2") {
		t.Errorf("with normal switches:\n%s", normal)
	}
}

func TestFaults_NameTheirKeys(t *testing.T) {
	check := func(c *config.Config) []setting.Fault {
		return []setting.Fault{setting.Faultf([]string{"model.hidden", "seed"}, "use 4", "%d is odd", c.Model.Settings.(*gru).Hidden)}
	}
	k, err := config.NewKinds([]config.Kind{kind("fhn", func() any { return new(struct{}) })},
		[]config.Kind{{Name: "gru", Doc: "a model", Settings: func() any { return &gru{Hidden: 3} }, Check: check}})
	if err != nil {
		t.Fatal(err)
	}
	_, err = k.Parse("c.yaml", []byte("model:\n  kind: gru\nseed: 3\nenv: {kind: fhn}\n"))
	if want := "model.hidden: 3 is odd; use 4"; err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("got %v, want %q", err, want)
	}
}
