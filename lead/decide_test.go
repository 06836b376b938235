package lead

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
)

// parse reads "a:8 b:4" as runs with limits and "w1:2@a w2:1 w3:1@b!" as workers with slots, run and Fixed.
func parse(t *testing.T, runText, workerText string) ([]Run, []Worker) {
	t.Helper()
	var runs []Run
	for _, word := range strings.Fields(runText) {
		var r Run
		name, limit, _ := strings.Cut(word, ":")
		r.Name = name
		if _, err := fmt.Sscan(limit, &r.Limit); err != nil {
			t.Fatalf("%q: %v", word, err)
		}
		runs = append(runs, r)
	}
	var workers []Worker
	for _, word := range strings.Fields(workerText) {
		rest, fixed := strings.CutSuffix(word, "!")
		rest, run, _ := strings.Cut(rest, "@")
		id, slots, _ := strings.Cut(rest, ":")
		w := Worker{ID: id, Run: run, Fixed: fixed}
		if _, err := fmt.Sscan(slots, &w.Slots); err != nil {
			t.Fatalf("%q: %v", word, err)
		}
		workers = append(workers, w)
	}
	return runs, workers
}

func TestDecide(t *testing.T) {
	for _, test := range []struct {
		name, runs, workers, want string
	}{
		{"nothing to do", "", "w1:1 w2:1", ""},
		{"nobody there", "a:8", "", ""},
		{"the first run gets all", "a:8", "w1:1 w2:2", "w1>a w2>a"},
		{"new workers go to the run with fewest slots", "a:8 b:8", "w1:4@a w2:1@b w3:1", "w3>b"},
		{"idle workers are shared out", "a:8 b:8", "w1:1 w2:1 w3:1 w4:1", "w1>a w2>b w3>a w4>b"},
		{"a run without workers gets one from the run with most", "a:8 b:8 c:8", "w1:1@a w2:1@b w3:1@b w4:1@b!", "w3>c"},
		{"the worker that came last goes, of whatever size", "a:8 b:8", "w1:1@a w2:8@a", "w2>b"},
		{"the last worker of a run stays", "a:8 b:8", "w1:1@a", ""},
		{"one slot of difference is even", "a:8 b:8", "w1:1@a w2:1@a w3:1@b", ""},
		{"more is not", "a:8 b:8", "w1:1@a w2:1@a w3:1@a w4:1@b", "w3>b"},
		{"half of the workers go to a new run", "a:8 b:8", "w1:1@a w2:1@a w3:1@a w4:1@a", "w3>b w4>b"},
		{"who is fixed stays", "a:8 b:8", "w1:1@a w2:1@a! w3:1@a! w4:1@a!", "w1>b"},
		{"all fixed", "a:8 b:8", "w1:1@a! w2:1@a!", ""},
		{"slots beyond the limit are of no use", "a:2 b:8", "w1:2@a w2:2@b w3:2", "w3>b"},
		{"they leave a full run", "a:1 b:64", "w1:1@a w2:1@a w3:8@b", "w2>b"},
		{"all full: a spare one goes to the smaller", "a:2 b:2", "w1:2@a w2:2@b w3:1", "w3>a"},
		{"spare ones stay where they are", "a:1", "w1:1@a w2:1@a w3:1@a", ""},
		{"a run that is gone is none", "b:8", "w1:1@a w2:1@a", "w1>b w2>b"},
	} {
		runs, workers := parse(t, test.runs, test.workers)
		var got []string
		for _, m := range Decide(runs, workers) {
			got = append(got, m.Worker+">"+m.Run)
		}
		if text := strings.Join(got, " "); text != test.want {
			t.Errorf("%s: got %q, want %q", test.name, text, test.want)
		}
	}
}

// TestDecide_IsStable: what was decided and carried out leads to no further decision, every worker has a run if there
// is one, nobody is moved twice and who is fixed not at all.
func TestDecide_IsStable(t *testing.T) {
	draws := rand.New(rand.NewPCG(1, 2))
	for trial := range 2000 {
		runs := make([]Run, draws.IntN(6))
		for i := range runs {
			runs[i] = Run{fmt.Sprint("r", i), 1 << draws.IntN(6)}
		}
		workers := make([]Worker, draws.IntN(20))
		for i := range workers {
			workers[i] = Worker{ID: fmt.Sprint("w", i), Slots: 1 + draws.IntN(8)}
			if k := draws.IntN(len(runs) + 2); k < len(runs)+1 {
				workers[i].Run, workers[i].Fixed = fmt.Sprint("r", k), draws.IntN(4) == 0 // r of len(runs) is gone
			}
		}
		moved := map[string]bool{}
		for _, m := range Decide(runs, workers) {
			if moved[m.Worker] {
				t.Fatalf("trial %d: %s is moved twice", trial, m.Worker)
			}
			moved[m.Worker] = true
			w := &workers[slices.IndexFunc(workers, func(w Worker) bool { return w.ID == m.Worker })]
			if w.Fixed && slices.ContainsFunc(runs, func(r Run) bool { return r.Name == w.Run }) {
				t.Fatalf("trial %d: %s is fixed and was moved", trial, w.ID)
			}
			if w.Run == m.Run {
				t.Fatalf("trial %d: %s is sent to where it is", trial, w.ID)
			}
			w.Run = m.Run
		}
		for _, w := range workers {
			if len(runs) > 0 && !slices.ContainsFunc(runs, func(r Run) bool { return r.Name == w.Run }) {
				t.Fatalf("trial %d: %s has no run", trial, w.ID)
			}
		}
		if again := Decide(runs, workers); len(again) > 0 {
			t.Fatalf("trial %d: decided again: %v", trial, again)
		}
	}
}
