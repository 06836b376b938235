package config_test

import (
	"bufio"
	"os"
	"strings"
	"testing"

	"github.com/switchyard-ml/switchyard/internal/config"
)

// TestIdentity_Golden pins the identity of every preset by value. The lines were written by the release before families
// of models were registered; a line is changed only with a decision that older checkpoints are not to be resumed.
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
		if got := resolve(t, config.Sources{Preset: preset, Arguments: arguments}).Identity(); got != want {
			t.Errorf("%s %v: the identity is %s, want %s: checkpoints of before would not resume", preset, arguments, got, want)
		}
	}
	for _, p := range config.Presets() {
		if !pinned[p.Name] {
			t.Errorf("preset %s is not pinned: add its line to testdata/identities.txt", p.Name)
		}
	}
}

func TestIdentity(t *testing.T) {
	base := mustResolve(t, config.Sources{Preset: "fhn/smoke"})
	for argument, decides := range map[string]bool{
		"seed=2": true, "optim.rate=1e-3": true, "model.hidden=17": true, "train.batch=32": true, "train.gradients=int16": true, "train.gradients=float32": false, "env.length=61": true,
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
	if got := identity("train.outer_rate=0.5"); got != identity() {
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
