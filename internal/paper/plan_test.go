package paper

import (
	"slices"
	"testing"

	"github.com/switchyard-ml/switchyard/internal/names"
	"github.com/switchyard-ml/switchyard/internal/registry"
	"github.com/switchyard-ml/switchyard/internal/study"
)

// TestNewPlan: every part at every size resolves, groups of one configuration share runs, and names are taken once.
func TestNewPlan(t *testing.T) {
	for _, size := range Sizes() {
		p, err := NewPlan(registry.Builtin().Kinds(), size, 2, nil)
		if err != nil {
			t.Fatal(err)
		}
		var taken []string
		for _, trial := range p.Trials {
			if slices.Contains(taken, trial.Name) {
				t.Errorf("%s: two runs are called %s", size, trial.Name)
			}
			if err := names.CheckRun(trial.Name); err != nil {
				t.Error(err)
			}
			taken = append(taken, trial.Name)
			if len(trial.Protocols) == 0 {
				t.Errorf("%s: nothing measures %s", size, trial.Name)
			}
		}
		seeds := 0
		for _, g := range p.Groups {
			seeds += len(g.trials)
			if len(g.trials) != 2 {
				t.Errorf("%s: %s has %d runs, want 2", size, g.Name(), len(g.trials))
			}
		}
		if seeds == len(p.Trials) {
			t.Errorf("%s: no runs are shared", size)
		}
	}
}

// TestNewPlan_Lengths: the updates of parts that a size trains longer or shorter than its preset.
func TestNewPlan_Lengths(t *testing.T) {
	for _, c := range []struct {
		size   Size
		choice Choice
		want   uint64
	}{
		{Quick, "ball/ball/kvae", 3140},
		{Faithful, "ball/ball/kvae", 12500},
		{Quick, "ball/ball/normal", 12000},
		{Quick, "dt", 5000},
		{Quick, "table1/maze/kvae", 10000},
		{Quick, "table1/reacher/kvae", 10000},
		{Quick, "table1/maze/lstm", 30000},
		{Faithful, "table1/maze/kvae", 100000},
		{Faithful, "dt", 100000},
	} {
		p, err := NewPlan(registry.Builtin().Kinds(), c.size, 1, []Choice{c.choice})
		if err != nil {
			t.Fatal(err)
		}
		for _, trial := range p.Trials {
			if got := trial.Config.Train.Steps; got != c.want {
				t.Errorf("%s, %s: %s has %d updates, want %d", c.size, c.choice, trial.Name, got, c.want)
			}
		}
	}
}

// TestNewPlan_Names: a run has the same name whatever is chosen beside it.
func TestNewPlan_Names(t *testing.T) {
	whole, err := NewPlan(registry.Builtin().Kinds(), Quick, 2, nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, choice := range []Choice{"table1/reacher/normal", "ablation", "ablation/maze/concrete-softmax", "dt"} {
		part, err := NewPlan(registry.Builtin().Kinds(), Quick, 2, []Choice{choice})
		if err != nil {
			t.Fatal(err)
		}
		if len(part.Trials) == 0 {
			t.Errorf("%s: no runs", choice)
		}
		for _, trial := range part.Trials {
			if !slices.ContainsFunc(whole.Trials, func(of study.Trial) bool {
				return of.Name == trial.Name && string(of.Config.Effective()) == string(trial.Config.Effective())
			}) {
				t.Errorf("%s: the run %s has another name in the whole plan", choice, trial.Name)
			}
		}
	}
}
