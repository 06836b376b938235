package config_test

import (
	"bufio"
	"os"
	"strings"
	"testing"

	"github.com/switchyard-ml/switchyard/config"
	"github.com/switchyard-ml/switchyard/eval"
)

// TestIdentity_Golden pins the identity of every preset by value. The lines were written by the release before families
// of models were registered; a line is changed only with a decision that older checkpoints are not to be resumed. Where a
// preset has other settings since, the line names those of its time, as the configuration in a run's folder does; behind
// was: stand those that the family has no use for.
func TestIdentity_Golden(t *testing.T) {
	f, err := os.Open("testdata/identities.txt")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	pinned := map[string]bool{}
	for lines := bufio.NewScanner(f); lines.Scan(); {
		fields := strings.Split(lines.Text(), "|")
		if len(fields) != 3 {
			t.Fatalf("bad line %q", lines.Text())
		}
		preset, arguments, want := fields[0], strings.Fields(fields[1]), fields[2]
		pinned[preset] = true
		if got := readBack(t, preset, arguments).Identity(); got != want {
			t.Errorf("%s %v: the identity is %s, want %s: checkpoints of before would not resume", preset, arguments, got, want)
		}
	}
	for _, p := range config.Presets() {
		switch identity := resolve(t, config.Sources{Preset: p.Name}).Identity(); {
		case pinned[p.Name]:
		case *update:
			addLine(t, "testdata/identities.txt", p.Name+"||"+identity)
		default:
			t.Errorf("preset %s is not pinned: -update adds its line to testdata/identities.txt", p.Name)
		}
	}
}

// readBack resolves a configuration, and reads it as it is in the folder of a run, with the values behind was:.
func readBack(t *testing.T, preset string, arguments []string) config.Config {
	t.Helper()
	var settings []string
	was := map[string]string{}
	for _, a := range arguments {
		if key, value, cut := strings.Cut(strings.TrimPrefix(a, "was:"), "="); cut && strings.HasPrefix(a, "was:") {
			was[key] = value
		} else {
			settings = append(settings, a)
		}
	}
	c := resolve(t, config.Sources{Preset: preset, Arguments: settings})
	lines, section := strings.Split(string(c.YAML()), "\n"), ""
	for i, line := range lines {
		key, _, _ := strings.Cut(strings.TrimSpace(line), ":")
		if !strings.HasPrefix(line, " ") {
			section = key
		} else if value, ok := was[section+"."+key]; ok {
			lines[i] = "  " + key + ": " + value
		}
	}
	read, err := kinds().Parse("config.yaml", []byte(strings.Join(lines, "\n")))
	if err != nil {
		t.Fatal(err)
	}
	return read
}

func TestIdentity(t *testing.T) {
	base := mustResolve(t, config.Sources{Preset: "fhn/smoke"})
	for argument, decides := range map[string]bool{
		"seed=2": true, "optim.rate=1e-3": true, "model.hidden=17": true, "train.batch=32": true, "train.gradients=int16": true, "train.gradients=float32": false,
		"train.parameters=delta8": true, "train.parameters=delta16": true, "train.parameters=float32": false, "env.length=61": true,
		"train.steps=31": false, "train.checkpoint_every=3": false, "cluster.chunk=2048": false, "eval.samples=5": false, "eval.rollout=mean": false,
	} {
		other := mustResolve(t, config.Sources{Preset: "fhn/smoke", Arguments: []string{argument}})
		if differs := base.Config.Identity() != other.Config.Identity(); differs != decides {
			t.Errorf("%s: the identity differs: %v, want %v", argument, differs, decides)
		}
		if d := config.Differences(base.Config, other.Config); (len(d) == 1) != decides {
			t.Errorf("%s: differences %v", argument, d)
		}
	}
}

func TestIdentity_LocalSteps(t *testing.T) {
	identity := func(arguments ...string) string {
		return resolve(t, config.Sources{Preset: "fhn/smoke", Arguments: arguments}).Identity()
	}
	synchronous := resolve(t, config.Sources{Preset: "fhn/smoke"})
	synchronous.Train.OuterRate = 0.5 // as files of older releases may have it; an argument is refused
	if synchronous.Identity() != identity() {
		t.Error("the outer rate changes the identity of a synchronous run")
	}
	local := []string{"train.method=diloco", "train.replicas=4", "train.local_steps=5"}
	seen := map[string]string{identity(): "synchronous", identity(local...): "diloco"}
	for _, argument := range []string{"train.replicas=2", "train.local_steps=10", "train.outer_rate=0.5", "train.outer_momentum=0.5"} {
		got := identity(append(local, argument)...)
		if other, ok := seen[got]; ok {
			t.Errorf("%s has the identity of %s", argument, other)
		}
		seen[got] = argument
	}
	if len(seen) != 6 {
		t.Errorf("%d identities, want 6: %v", len(seen), seen)
	}
	if d := config.Differences(resolve(t, config.Sources{Preset: "fhn/smoke"}), resolve(t, config.Sources{Preset: "fhn/smoke", Arguments: local})); len(d) != 3 {
		t.Errorf("differences %v, want method, replicas and local_steps", d)
	}
}

// Options of the trainer leave the identity of a run alone at the values that runs had before, and change it at others.
// Schedules that end with the run write down when they end: train.steps decides no bits for them either.
func TestIdentity_Trainer(t *testing.T) {
	identity := func(arguments ...string) string {
		return resolve(t, config.Sources{Preset: "fhn/smoke", Arguments: arguments}).Identity()
	}
	for _, argument := range []string{
		"optim.schedule=exponential", "optim.warmup=0", "optim.clip_factor=0", "optim.clip_size=0", "optim.outlier=0", "optim.factors=", "optim.average=0",
	} {
		if identity(argument) != identity() {
			t.Errorf("%s changes the identity", argument)
		}
	}
	seen := map[string]string{identity(): "none"}
	for _, arguments := range [][]string{
		{"optim.schedule=cosine"},
		{"optim.schedule=cosine", "optim.final=0.5"},
		{"optim.schedule=cosine", "train.horizon=70"},
		{"optim.schedule=cosine", "train.steps=60"},
		{"optim.warmup=3"},
		{"optim.clip_factor=3"},
		{"optim.clip_size=1"},
		{"optim.outlier=100"},
		{"optim.factors=transition.Q=10"},
		{"optim.average=0.9"},
	} {
		got := identity(arguments...)
		if other, ok := seen[got]; ok {
			t.Errorf("%v has the identity of %s", arguments, other)
		}
		seen[got] = strings.Join(arguments, " ")
	}
	if identity("optim.schedule=cosine", "train.horizon=70", "train.steps=70") != identity("optim.schedule=cosine", "train.horizon=70", "train.steps=35") {
		t.Error("train.steps decides bits although the horizon is given")
	}
	c := resolve(t, config.Sources{Preset: "fhn/smoke", Arguments: []string{"optim.schedule=cosine"}})
	if c.Train.Horizon != c.Train.Steps {
		t.Errorf("the horizon is %d, not written down", c.Train.Horizon)
	}
	back, err := kinds().Parse("run", c.YAML())
	if err != nil || back.Identity() != c.Identity() {
		t.Errorf("read back: %s, want %s, %v", back.Identity(), c.Identity(), err)
	}
}

func TestRateFactors(t *testing.T) {
	of := func(text, parameter string) float64 {
		list, err := resolve(t, config.Sources{Preset: "fhn/smoke", Arguments: []string{"optim.factors=" + text}}).Optim.RateFactors()
		if err != nil {
			t.Fatal(err)
		}
		return config.FactorOf(list, parameter)
	}
	for _, test := range []struct {
		text, parameter string
		want            float64
	}{
		{"", "transition.Q", 1},
		{"transition.Q=10", "transition.Q", 10},
		{"transition.Q=10", "transition.Q_inference", 1},
		{"transition=2, transition.Q=10", "transition.Q", 10},
		{"transition.Q=10,transition=2", "transition.A", 2},
		{"encoder=0,decoder=1e-3", "decoder.0.weight", 1e-3},
	} {
		if got := of(test.text, test.parameter); got != test.want {
			t.Errorf("%q: the factor of %s is %g, want %g", test.text, test.parameter, got, test.want)
		}
	}
	for text, want := range map[string]string{
		"transition.Q": "is not of the form group=factor", "a=b": `the factor "b" is not a number`, "a=-1": "not a number from 0", "a=1,a=2": "a is given twice",
		"a=1e7": "not a number from 0", "=3": "is not of the form", "a=NaN": "is not a number",
	} {
		_, err := kinds().Resolve(config.Sources{Preset: "fhn/smoke", Arguments: []string{"optim.factors=" + text}})
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", text, err, want)
		}
	}
}

// TestIdentity_OfComputedCurves: the curves that stand in the figure of the oscillator are of configurations that this
// program still has: other defaults would make other curves. What a model that fits itself has no use for is left out.
func TestIdentity_OfComputedCurves(t *testing.T) {
	for _, r := range eval.FHNComputedRuns() {
		c := resolve(t, config.Sources{Preset: "fhn", Arguments: strings.Fields(r.Arguments)})
		var unused config.Config
		c.Optim, c.Train, c.Env.Window = unused.Optim, unused.Train, 0
		if got := c.Identity(); got != r.Identity {
			t.Errorf("%s: the identity of train fhn %s is %s, that of the curve %s: compute it again", r.Name, r.Arguments, got, r.Identity)
		}
	}
}
