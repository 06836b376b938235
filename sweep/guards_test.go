package sweep

import (
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// TestOpenJournal_CutsTheTornEnd: what a killed process has left of a record is gone before the next one is written,
// also where that is shorter.
func TestOpenJournal_CutsTheTornEnd(t *testing.T) {
	path := filepath.Join(t.TempDir(), "journal")
	journal, _, err := OpenJournal(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(journal.Append(Record{Kind: KindOpen, Spec: testSpec(Random, NoStop)}), journal.Close()); err != nil {
		t.Fatal(err)
	}
	whole, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, append(slices.Clone(whole), whole[:len(whole)-1]...), 0o644); err != nil {
		t.Fatal(err)
	}
	journal, records, err := OpenJournal(path)
	if err != nil || len(records) != 1 {
		t.Fatalf("%d records, %v", len(records), err)
	}
	if err := errors.Join(journal.Append(Record{Kind: KindDone}), journal.Close()); err != nil {
		t.Fatal(err)
	}
	if records, err = ReadJournal(path); err != nil || len(records) != 2 {
		t.Errorf("%d records, %v", len(records), err)
	}
	if info, err := os.Stat(path); err != nil || info.Size() > int64(len(whole))+200 {
		t.Errorf("%d bytes after %d, %v", info.Size(), len(whole), err)
	}
}

// TestNewState_Impossible: records that do not follow from those before them are damage.
func TestNewState_Impossible(t *testing.T) {
	spec := testSpec(Random, Halving)
	open := Record{Kind: KindOpen, Spec: spec}
	trial := func(id int) Record {
		return Record{Kind: KindTrial, Trial: id, Cohort: 1, Steps: spec.Stop.Rungs, Seeds: []uint64{1}}
	}
	result := func(id, rung int) Record {
		return Record{Kind: KindResult, Trial: id, Replicate: 1, Rung: rung, Result: &Result{Values: map[string]float64{"loss": 1}}}
	}
	pruned := Record{Kind: KindDecision, Cohort: 1, Pruned: []int{1}}
	possible := []Record{open, trial(1), trial(2), result(1, 0), pruned}
	if _, err := NewState(possible); err != nil {
		t.Fatal(err)
	}
	for name, list := range map[string][]Record{
		"nothing was opened":             {trial(1)},
		"a trial is missing":             {open, trial(2)},
		"a trial is there twice":         {open, trial(1), trial(1)},
		"a rung was left out":            {open, trial(1), result(1, 1)},
		"a result is there twice":        {open, trial(1), result(1, 0), result(1, 0)},
		"a result of no trial":           {open, trial(1), result(2, 0)},
		"judged without a result":        {open, trial(1), pruned},
		"judged twice":                   append(slices.Clone(possible), pruned),
		"a kind that there is not":       {open, {Kind: "later"}},
		"a result that says nothing":     {open, trial(1), {Kind: KindResult, Trial: 1, Replicate: 1}},
		"a replicate that there is not":  {open, trial(1), {Kind: KindStart, Trial: 1, Replicate: 2}},
		"a trial that begins at no rung": {open, {Kind: KindTrial, Trial: 1, Seeds: []uint64{1}}},
	} {
		if _, err := NewState(list); !errors.Is(err, ErrJournal) {
			t.Errorf("%s: got %v", name, err)
		}
	}
}

// TestRun_NothingTwice: where there are fewer configurations than trials, each is tried once, and the sweep ends.
func TestRun_NothingTwice(t *testing.T) {
	for _, method := range []Method{Random, TPE, Sobol} {
		spec := testSpec(method, NoStop)
		spec.Parameters = []Parameter{
			{Key: "rate", Distribution: Categorical, Values: []string{"1e-3", "1e-2", "1e-1"}},
			{Key: "kind", Distribution: Categorical, Values: []string{"a", "c"}},
		}
		state, seen := runAll(t, spec, newFake(spec, 3)), map[string]bool{}
		for _, trial := range state.Trials {
			key := fmt.Sprint(trial.Settings)
			if seen[key] {
				t.Errorf("%s: %s is tried twice", method, key)
			}
			seen[key] = true
		}
		if len(seen) != 6 || !state.Exhausted || !state.Done {
			t.Errorf("%s: %d configurations of 6, exhausted: %t, done: %t", method, len(seen), state.Exhausted, state.Done)
		}
	}
}

// TestHalving_KeepsTheBest: at each rung a third of a cohort goes on, and none that was stopped there was better.
func TestHalving_KeepsTheBest(t *testing.T) {
	spec := testSpec(Random, Halving)
	spec.Trials = 27
	state, kept, stopped := runAll(t, spec, newFake(spec, 4)), 0, 0
	for _, a := range state.Trials {
		for _, b := range state.Trials {
			if a.Cohort != b.Cohort || a.Status != StatusPruned || b.Reached() <= a.Reached() {
				continue
			}
			n := a.Reached()
			if x, y := a.Values("loss", n)[0], b.Values("loss", n)[0]; x < y {
				t.Errorf("rung %d: trial %d with %g was stopped, and %d with %g goes on", n, a.ID, x, b.ID, y)
			}
		}
		switch a.Status {
		case StatusComplete:
			kept++
		case StatusPruned:
			stopped++
		}
	}
	if kept != 3 || stopped < 20 {
		t.Errorf("%d trials are complete, %d were stopped", kept, stopped)
	}
}

// TestHistory_LeavesACohortOut: what is proposed for a cohort does not depend on the cohort before it, so that both run at
// the same time.
func TestHistory_LeavesACohortOut(t *testing.T) {
	spec := testSpec(TPE, Halving)
	state := runAll(t, spec, newFake(spec, 4))
	for cohort := 1; cohort <= 4; cohort++ {
		for _, o := range state.history(cohort).ranked {
			if of := state.Trial(o.trial).Cohort; of > cohort-2 {
				t.Errorf("cohort %d knows trial %d of cohort %d", cohort, o.trial, of)
			}
		}
		if n := len(state.history(cohort).ranked); (n > 0) != (cohort > 2) {
			t.Errorf("cohort %d knows %d results", cohort, n)
		}
	}
}

// frail is a runner whose legs fail so many times before they succeed.
type frail struct {
	*fake
	failures int
	with     error
}

func (f *frail) Lead(ctx context.Context, l Leg) (Result, error) {
	name := fmt.Sprintf("frail %d-%d@%d", l.Trial, l.Replicate, l.Rung)
	f.mu.Lock()
	f.legs[name]++
	fails := f.legs[name] <= f.failures
	f.mu.Unlock()
	if fails {
		return Result{}, f.with
	}
	return f.fake.Lead(ctx, l)
}

// TestRun_FailedLegs: a leg that fails twice, or is stopped again and again, changes nothing; one that fails a third time
// ends its trial, and no other.
func TestRun_FailedLegs(t *testing.T) {
	spec := testSpec(Random, Halving)
	spec.Trials = 9
	want := csvOf(t, runAll(t, spec, newFake(spec, 2)))
	disk := errors.New("the disk is full")
	for _, c := range []struct {
		failures int
		with     error
		same     bool
	}{{2, disk, true}, {3, disk, false}, {5, ErrPreempted, true}} {
		state := runAll(t, spec, &frail{newFake(spec, 2), c.failures, c.with})
		if got := csvOf(t, state); (got == want) != c.same {
			t.Errorf("%v, %d times: the table is\n%s\nundisturbed\n%s", c.with, c.failures, got, want)
		}
		if c.same {
			continue
		}
		for _, trial := range state.Trials {
			if trial.Status != StatusFailed || trial.Reason != disk.Error() || trial.Runs[0].Faults != 3 {
				t.Errorf("trial %d is %s after %d legs: %s", trial.ID, trial.Status, trial.Runs[0].Faults, trial.Reason)
			}
		}
	}
}

// empty is a runner whose results are no numbers, or are missing.
type empty struct {
	*fake
	values map[string]float64
}

func (f empty) Lead(context.Context, Leg) (Result, error) { return Result{Values: f.values}, nil }

// TestRun_MedianHasNoEta: it is not asked for, and not needed.
func TestRun_MedianHasNoEta(t *testing.T) {
	spec := testSpec(Random, MedianStop)
	spec.Stop.Eta = 0
	if list := spec.Faults(); list != nil {
		t.Fatal(list)
	}
	runAll(t, spec, newFake(spec, 2))
}

// TestRun_WithoutNumbers: a metric that is not finite is a divergence, and one that is missing a failure; neither ends the
// sweep with an error, and none is the best.
func TestRun_WithoutNumbers(t *testing.T) {
	spec := testSpec(Random, Halving)
	spec.Trials = 9
	for _, c := range []struct {
		values map[string]float64
		want   Status
	}{{map[string]float64{"loss": math.NaN()}, StatusDiverged}, {map[string]float64{"loss": math.Inf(-1)}, StatusDiverged}, {map[string]float64{}, StatusFailed}} {
		state := runAll(t, spec, empty{newFake(spec, 2), c.values})
		for _, trial := range state.Trials {
			if trial.Status != c.want {
				t.Errorf("%v: trial %d is %s", c.values, trial.ID, trial.Status)
			}
		}
		if best, _ := state.Best(); len(best) > 0 || len(state.Trials) != 9 || !state.Done {
			t.Errorf("%v: the best is %v of %d, done: %t", c.values, best, len(state.Trials), state.Done)
		}
	}
}

// TestRun_Pause: while the order is to pause no leg begins, and those under way are interrupted; then all goes on.
func TestRun_Pause(t *testing.T) {
	spec := testSpec(Random, NoStop)
	spec.Trials = 4
	f := newFake(spec, 2)
	looks, begun := 0, -1
	f.stop = func() bool { return looks == 0 } // the first legs wait for the end of the shift
	order := func() Order {
		f.mu.Lock()
		defer f.mu.Unlock()
		legs := 0
		for _, n := range f.legs {
			legs += n
		}
		switch {
		case looks == 0 && legs < 2:
			return Proceed
		case looks < 6:
			if looks++; looks == 3 {
				begun = legs
			}
			if looks > 3 && legs != begun {
				t.Errorf("%d legs began during the pause", legs-begun)
			}
			return Pause
		}
		return Proceed
	}
	journal, _, err := OpenJournal(filepath.Join(t.TempDir(), "journal"))
	if err != nil {
		t.Fatal(err)
	}
	e, err := NewEngine(spec, journal, nil, f, Options{Order: order})
	if err != nil {
		t.Fatal(err)
	}
	e.orders = time.Millisecond
	if err := e.Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got, want := csvOf(t, e.State()), tableOf(t, spec, newFake(spec, 2)); got != want || begun < 2 {
		t.Errorf("after a pause with %d legs the table is\n%s\nwant\n%s", begun, got, want)
	}
}

// TestImportances_OfNoise: where the values have nothing to do with the settings, no share is said to matter.
func TestImportances_OfNoise(t *testing.T) {
	spec := testSpec(Random, NoStop)
	records := []Record{{Kind: KindOpen, Spec: spec}}
	for id := 1; id <= 14; id++ {
		rate := fmt.Sprintf("%g", math.Pow(10, -4+float64(id*7%14)/4))
		records = append(records,
			Record{Kind: KindTrial, Trial: id, Cohort: 1, Steps: []uint64{90}, Seeds: []uint64{1}, Settings: Settings{{"rate", rate}, {"kind", "a"}}},
			Record{Kind: KindResult, Trial: id, Replicate: 1, Result: &Result{Step: 90, Values: map[string]float64{"loss": math.Sin(float64(id * id))}}})
	}
	state, err := NewState(records)
	if err != nil {
		t.Fatal(err)
	}
	report := state.Report("s", func(int, int, int) string { return "" })
	if keys := report.Importance[0].Keys; keys != nil {
		t.Errorf("%v mattered", keys)
	}
	if !slices.ContainsFunc(report.Notes, func(n string) bool { return strings.Contains(n, "the forest does not explain it") }) {
		t.Errorf("the notes are %q", report.Notes)
	}
}

// TestConfirm_FreshSeeds: the best are run again with seeds that no trial of the search had, the same for all of them.
func TestConfirm_FreshSeeds(t *testing.T) {
	spec := testSpec(Random, Halving)
	spec.Trials, spec.Replicates.Seeds, spec.Confirm = 9, []uint64{2, 5}, Confirm{Top: 2, Seeds: 3}
	confirmed := 0
	for _, trial := range runAll(t, spec, newFake(spec, 2)).Trials {
		if want := []uint64{6, 7, 8}; trial.Of > 0 && !slices.Equal(trial.Seeds, want) {
			t.Errorf("trial %d confirms with the seeds %d, want %d", trial.ID, trial.Seeds, want)
		} else if trial.Of > 0 {
			confirmed++
		}
	}
	if confirmed == 0 {
		t.Error("nothing is confirmed")
	}
}

// fullDisk takes half of one write, and everything after it.
type fullDisk struct {
	*os.File
	full bool
}

func (f *fullDisk) Write(b []byte) (int, error) {
	if !f.full {
		return f.File.Write(b)
	}
	f.full = false
	n, err := f.File.Write(b[:len(b)/2])
	return n, errors.Join(err, errors.New("no space left"))
}

// TestJournal_WritesNothingBehindATornLine: where a record could not be written, later ones are refused, also when the
// disk has room again; behind a torn line they could not be read.
func TestJournal_WritesNothingBehindATornLine(t *testing.T) {
	path := filepath.Join(t.TempDir(), "journal")
	file, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	disk := &fullDisk{File: file}
	journal := &Journal{file: disk, now: time.Now}
	if err := journal.Append(Record{Kind: KindOpen, Spec: testSpec(Random, NoStop)}); err != nil {
		t.Fatal(err)
	}
	disk.full = true
	first := journal.Append(Record{Kind: KindOrder, Order: Pause})
	for range 2 {
		if err := journal.Append(Record{Kind: KindDone}); err == nil || first == nil || err.Error() != first.Error() {
			t.Errorf("after %v: got %v", first, err)
		}
	}
	if err := journal.Close(); err != nil {
		t.Fatal(err)
	}
	if records, err := ReadJournal(path); err != nil || len(records) != 1 {
		t.Errorf("%d records, %v", len(records), err)
	}
}

// TestWork_LargeCohortsOfHyperband: a cohort has an end, also where the power of eta is beyond all integers.
func TestWork_LargeCohortsOfHyperband(t *testing.T) {
	rungs := []uint64{5, 10, 15, 20}
	s := Spec{
		Trials: 3_000_000, Replicates: Replicates{Seeds: []uint64{1}},
		Stop: Stop{Type: Hyperband, Eta: 100_000, Rungs: rungs, Cohort: 8},
	}
	if w := s.Work([][]uint64{rungs}); w.Trials != s.Trials || w.Updates <= 0 || w.Updates > w.Most {
		t.Errorf("%+v", w)
	}
	if size, _ := s.cohortPlan(1); size != 1e6 {
		t.Errorf("the first cohort has %d trials", size)
	}
}

// TestWork_FewerThanAsked: a grid or a list that is smaller than run_cap is counted as a whole, and not beyond.
func TestWork_FewerThanAsked(t *testing.T) {
	s := testSpec(Grid, NoStop)
	whole := len(s.Combinations(maxCombinations))
	for _, asked := range []int{1, whole, whole + 5} {
		s.Trials = asked
		if w := s.Work([][]uint64{s.Stop.Rungs}); w.Trials != min(asked, whole) {
			t.Errorf("a grid of %d, asked for %d: %+v", whole, asked, w)
		}
	}
	s.Method, s.List, s.Trials = List, s.Combinations(3), 50
	if w := s.Work([][]uint64{s.Stop.Rungs}); w.Trials != 3 {
		t.Errorf("a list of 3: %+v", w)
	}
}
