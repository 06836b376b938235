package config

import "testing"

// The identity changes with the keys that decide the parameters, and with no other.
func TestIdentity(t *testing.T) {
	base, err := Resolve(Sources{Preset: "fhn/smoke"})
	if err != nil {
		t.Fatal(err)
	}
	for argument, decides := range map[string]bool{
		"seed=2": true, "optim.rate=1e-3": true, "model.hidden=17": true, "train.batch=32": true, "train.gradients=int16": true, "train.gradients=float32": false, "env.length=61": true,
		"train.steps=31": false, "train.checkpoint_every=3": false, "cluster.chunk=2048": false, "eval.samples=5": false,
	} {
		other, err := Resolve(Sources{Preset: "fhn/smoke", Arguments: []string{argument}})
		if err != nil {
			t.Fatal(err)
		}
		if differs := base.Config.Identity() != other.Config.Identity(); differs != decides {
			t.Errorf("%s: the identity differs: %v, want %v", argument, differs, decides)
		}
		if d := Differences(base.Config, other.Config); (len(d) == 1) != decides {
			t.Errorf("%s: differences %v", argument, d)
		}
	}
}

// What local steps are made of decides the bits of a run that has them, and leaves the identity of others as it was.
func TestIdentity_LocalSteps(t *testing.T) {
	identity := func(arguments ...string) string {
		return resolve(t, Sources{Preset: "fhn/smoke", Arguments: arguments}).Identity()
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
	if d := Differences(resolve(t, Sources{Preset: "fhn/smoke"}), resolve(t, Sources{Preset: "fhn/smoke", Arguments: local})); len(d) != 3 {
		t.Errorf("differences %v, want method, replicas and local_steps", d)
	}
}
