package sweep

import (
	"encoding/csv"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// extended runs a sweep to its end, extends it and runs it again.
func extended(t *testing.T, spec *Spec, trials, capacity int) *State {
	t.Helper()
	journal, _, err := OpenJournal(filepath.Join(t.TempDir(), "journal"))
	if err != nil {
		t.Fatal(err)
	}
	e, err := NewEngine(spec, journal, nil, newFake(spec, capacity), Options{})
	if err != nil {
		t.Fatal(err)
	}
	if err := e.Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := e.Extend(spec.Trials); !errors.Is(err, ErrSpec) {
		t.Errorf("got %v", err)
	}
	if err := e.Extend(trials); err != nil {
		t.Fatal(err)
	}
	if err := e.Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	return e.State()
}

// searched is the table without confirmations and without the numbers of trials, which confirmations shift.
func searched(t *testing.T, table string) string {
	t.Helper()
	rows, err := csv.NewReader(strings.NewReader(table)).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	for _, row := range rows {
		if row[2] == "" {
			fmt.Fprintln(&b, strings.Join(row[1:], ","))
		}
	}
	return b.String()
}

// TestExtend_IsALongerSweep: a sweep that is extended by whole cohorts has the trials of one that was longer from the
// start, whatever the number of workers; without confirmations it has the same table.
func TestExtend_IsALongerSweep(t *testing.T) {
	for _, method := range []Method{Random, Sobol, TPE} {
		for _, stop := range []StopType{NoStop, Halving} {
			for _, top := range []int{0, 2} {
				long := testSpec(method, stop)
				long.Trials, long.Confirm = 3*long.Stop.Cohort, Confirm{Top: top, Seeds: 2}
				want, first := tableOf(t, long, newFake(long, 3)), ""
				for _, capacity := range []int{1, 3, 11} {
					short := *long
					short.Trials = short.Stop.Cohort
					got := csvOf(t, extended(t, &short, long.Trials, capacity))
					if first == "" {
						first = got
					}
					if searched(t, got) != searched(t, want) || top == 0 && got != want || got != first {
						t.Errorf("%s, %s, %d confirmed, %d legs: got\n%s\nwant\n%s", method, stop, top, capacity, got, want)
					}
				}
			}
		}
	}
}

// TestExtend_ConfirmsOthersAlone: after an extension the best trials are confirmed with further seeds if they are not those
// that were confirmed before, and not again if they are.
func TestExtend_ConfirmsOthersAlone(t *testing.T) {
	confirmed := map[bool]int{} // by whether the best have changed
	for seed := range uint64(12) {
		spec := testSpec(Random, NoStop)
		spec.Seed, spec.Trials, spec.Confirm = seed, 8, Confirm{Top: 1, Seeds: 1}
		state := extended(t, spec, 16, 2)
		best, of := state.complete(false)[0], []int(nil)
		for _, trial := range state.Trials {
			if trial.Of > 0 {
				of = append(of, trial.Of)
			}
		}
		changed := best.ID > 8
		confirmed[changed]++
		if chosen, confirmed := state.Best(); !confirmed || chosen[0].Of != best.ID {
			t.Errorf("seed %d: the best is %+v, confirmed %v, want trial %d, which was confirmed last", seed, chosen[0], confirmed, best.ID)
		}
		if n := len(of); changed && n != 2 || !changed && n != 1 || of[n-1] != best.ID {
			t.Errorf("seed %d: trials %d are confirmed, the best is %d", seed, of, best.ID)
		}
	}
	if len(confirmed) < 2 {
		t.Errorf("the best changed or not: %v", confirmed)
	}
}

// TestBest_IsOfTheNewestConfirmations: those before had other seeds, and lucky ones say nothing of a trial that is no
// longer among the best.
func TestBest_IsOfTheNewestConfirmations(t *testing.T) {
	s := &State{Spec: testSpec(Random, NoStop)}
	for i, c := range []struct {
		of, cohort int
		loss       float64
	}{{0, 1, 3}, {0, 1, 4}, {1, 2, 1}, {2, 2, 2}, {1, 3, 6}, {0, 1, 2}, {6, 3, 5}} {
		s.Trials = append(s.Trials, &Trial{
			ID: i + 1, Of: c.of, Cohort: c.cohort, Status: StatusComplete, Passed: 1, Steps: []uint64{90},
			Runs: []Run{{Results: []Result{{Step: 90, Values: map[string]float64{"loss": c.loss, "time": c.loss}}}}},
		})
	}
	s.Spec.Metrics = append(s.Spec.Metrics, Metric{"time", Minimize})
	if front, _ := s.Best(); len(front) != 1 || front[0].ID != 7 {
		t.Errorf("the front begins with trial %d, want 7", front[0].ID)
	}
	s.Spec.Metrics = s.Spec.Metrics[:1]
	if best, confirmed := s.Best(); !confirmed || len(best) != 1 || best[0].ID != 7 {
		t.Errorf("the best is trial %d, confirmed %v, want 7", best[0].ID, confirmed)
	}
	var order []int
	for _, trial := range s.Ranked()[:4] {
		order = append(order, trial.ID)
	}
	if want := []int{7, 5, 3, 4}; !slices.Equal(order, want) {
		t.Errorf("confirmations in the order %d, want %d", order, want)
	}
}
