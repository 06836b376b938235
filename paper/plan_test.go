package paper

import (
	"slices"
	"sync"
	"testing"

	"github.com/switchyard-ml/switchyard/config"
	"github.com/switchyard-ml/switchyard/internal/setting"
)

var wholePlans sync.Map // of the function below, by size

// whole is the plan of all parts at a size for two seeds, which tests share and do not change.
func whole(t *testing.T, size Size) *Plan {
	t.Helper()
	once, _ := wholePlans.LoadOrStore(size, sync.OnceValues(func() (*Plan, error) {
		return NewPlan(config.Builtin().Kinds(), size, 2, nil)
	}))
	p, err := once.(func() (*Plan, error))()
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// TestNewPlan: every part at every size resolves, groups of one configuration share runs, and names are taken once.
func TestNewPlan(t *testing.T) {
	for _, size := range Sizes() {
		p := whole(t, size)
		var taken []string
		for _, trial := range p.Trials {
			if slices.Contains(taken, trial.Name) {
				t.Errorf("%s: two runs are called %s", size, trial.Name)
			}
			if err := setting.CheckRun(trial.Name); err != nil {
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
		{Standard, "ball/ball/kvae", 3140},
		{Standard, "table1/maze/kvae", 20000},
		{Standard, "table1/reacher/categorical", 60000},
		{Standard, "dt", 60000},
		{Quick, "ball/ball/normal", 12000},
		{Quick, "dt", 5000},
		{Quick, "table1/maze/kvae", 10000},
		{Quick, "table1/reacher/kvae", 10000},
		{Quick, "table1/maze/lstm", 30000},
		{Faithful, "table1/maze/kvae", 100000},
		{Faithful, "dt", 100000},
	} {
		p, groups := whole(t, c.size), 0
		for _, g := range p.Groups {
			if !c.choice.takes(g) {
				continue
			}
			groups++
			for _, i := range g.trials {
				if trial := p.Trials[i]; trial.Config.Train.Steps != c.want {
					t.Errorf("%s, %s: %s has %d updates, want %d", c.size, c.choice, trial.Name, trial.Config.Train.Steps, c.want)
				}
			}
		}
		if groups == 0 {
			t.Errorf("%s, %s: nothing is chosen", c.size, c.choice)
		}
	}
}

// TestNewPlan_Names: a run has the same name whatever is chosen beside it.
func TestNewPlan_Names(t *testing.T) {
	all := whole(t, Quick)
	for _, choice := range []Choice{"table1/reacher/normal", "ablation", "ablation/maze/concrete-softmax", "dt"} {
		part, err := NewPlan(config.Builtin().Kinds(), Quick, 2, []Choice{choice})
		if err != nil {
			t.Fatal(err)
		}
		if len(part.Trials) == 0 {
			t.Errorf("%s: no runs", choice)
		}
		for _, trial := range part.Trials {
			if !slices.ContainsFunc(all.Trials, func(of Trial) bool {
				return of.Name == trial.Name && string(of.Config.Effective()) == string(trial.Config.Effective())
			}) {
				t.Errorf("%s: the run %s has another name in the whole plan", choice, trial.Name)
			}
		}
	}
}
