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
