package trials

import (
	"slices"
	"testing"

	"github.com/switchyard-ml/switchyard/sweep"
)

// TestPlan_LengthsOfTheTrials: updates are those of the configurations, not of the base.
func TestPlan_LengthsOfTheTrials(t *testing.T) {
	const halves = "early_terminate: {type: halving, eta: 3}\n"
	for _, c := range []struct {
		text              string
		updates           float64
		shortest, longest []uint64
	}{
		{"method: list\nconfigurations: [{train.steps: 3000}, {train.steps: 6000}]", 9000, []uint64{3000}, []uint64{6000}},
		{"method: list\nconfigurations: [{train.batch: 8}, {train.batch: 16}]", 60, []uint64{30}, []uint64{30}},
		// On the average six trials to update 1,515, two to 5,050 and one to 15,150.
		{
			"method: grid\nparameters: {train.steps: [300, 30000], train.batch: [8, 16, 32]}\n" + halves, 26_260,
			[]uint64{30, 100, 300},
			[]uint64{3000, 10000, 30000},
		},
	} {
		j, err := prepare(t, t.TempDir(), "preset: fhn/smoke\n"+c.text)
		if err != nil {
			t.Fatal(err)
		}
		p, err := j.Plan()
		if err != nil {
			t.Fatal(err)
		}
		if !slices.Equal(p.Shortest, c.shortest) || !slices.Equal(p.Longest, c.longest) {
			t.Errorf("%s: from %v to %v", c.text, p.Shortest, p.Longest)
		}
		if p.Work.Updates != c.updates {
			t.Errorf("%s: %g updates", c.text, p.Work.Updates)
		}
		if p.Seconds != p.PerStep*p.Work.Updates || p.Seconds <= 0 {
			t.Errorf("%s: %g s for %g updates of %g s", c.text, p.Seconds, p.Work.Updates, p.PerStep)
		}
	}
}

// TestSampled_SpreadsOverALongGrid: neighbours of a grid are alike, so that its beginning says nothing of the rest.
func TestSampled_SpreadsOverALongGrid(t *testing.T) {
	f, b, err := readSpec("preset: fhn/smoke\nmethod: grid\nparameters:\n  train.steps: [300, 30000]\n  optim.rate: [1e-4, 1e-3, 1e-2]\n")
	if err != nil {
		t.Fatal(err)
	}
	steps := map[uint64]int{}
	for _, c := range f.sampled(b, 2) {
		steps[c.config.Train.Steps]++
	}
	if steps[300] != 1 || steps[30000] != 1 {
		t.Errorf("lengths %v", steps)
	}
	if f.Spec.Method = sweep.Random; len(f.sampled(b, 5)) != 5 {
		t.Error("a random sweep of 6 trials has no 5 of them")
	}
}
