package job

import (
	"reflect"
	"testing"

	"github.com/switchyard-ml/switchyard/config"
)

// TestPlanner_IsNewPlan: whatever was planned before, a plan is that of NewPlan; and a program is built once for runs that
// differ in the optimiser alone.
func TestPlanner_IsNewPlan(t *testing.T) {
	var l Planner
	for _, c := range []struct {
		arguments []string
		built     int // so far
	}{
		{nil, 1},
		{[]string{"optim.rate=0.1", "optim.clip=3"}, 1},
		{[]string{"seed=5"}, 2},
		{[]string{"optim.rate=0.2"}, 2},
		{[]string{"model.hidden=4"}, 3},
		{[]string{"train.batch=32"}, 4},
		{[]string{"anneal.posterior=0.5"}, 5},
		{[]string{"train.method=diloco", "train.replicas=2", "train.local_steps=2"}, 5},
		{[]string{"seed=5", "optim.beta1=0.8"}, 5},
	} {
		r, err := config.Builtin().Kinds().Resolve(config.Sources{Preset: "fhn/smoke", Arguments: c.arguments})
		if err != nil {
			t.Fatal(err)
		}
		want, err := NewPlan(r.Config, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		got, err := l.Plan(r.Config, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		if !reflect.DeepEqual(got, want) {
			t.Errorf("%v: not the plan of NewPlan", c.arguments)
		}
		if len(l.plans) != c.built {
			t.Errorf("%v: %d programs were built, want %d", c.arguments, len(l.plans), c.built)
		}
		clear(got.Theta) // it belongs to the run
	}
	r, err := config.Builtin().Kinds().Resolve(config.Sources{Preset: "fhn/smoke", Arguments: []string{"optim.factors=nobody=2"}})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := l.Plan(r.Config, nil, 0); err == nil {
		t.Error("factors of a group that there is not are accepted")
	}
	l.keep(kept{plan: &Plan{Theta: make([]float32, maxKept/4)}})
	if len(l.plans) != 0 || l.bytes != 0 {
		t.Errorf("%d plans, %d bytes are kept", len(l.plans), l.bytes)
	}
}
