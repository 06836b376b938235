package sweep

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
)

// testSpec is a search of three parameters, one of which exists only beside a value of another.
func testSpec(method Method, stop StopType) *Spec {
	s := &Spec{
		Base: "test", Method: method, Seed: 3, Trials: 30,
		Metrics: []Metric{{"loss", Minimize}},
		Parameters: []Parameter{
			{Key: "rate", Distribution: LogUniform, Min: 1e-4, Max: 1},
			{Key: "kind", Distribution: Categorical, Values: []string{"a", "b", "c"}},
			{Key: "size", Distribution: IntUniform, Min: 1, Max: 12, When: []Condition{{Key: "kind", Values: []string{"b", "c"}}}},
		},
		Replicates: Replicates{Key: "seed", Seeds: []uint64{1}, Aggregate: Mean},
		Stop:       Stop{Type: stop, Rungs: []uint64{10, 30, 90}, Eta: 3, Cohort: 9},
	}
	if stop == NoStop {
		s.Stop.Rungs, s.Stop.Cohort = []uint64{90}, 4
	}
	if method == Grid {
		s.Parameters[0] = Parameter{Key: "rate", Distribution: Categorical, Values: []string{"1e-3", "1e-2", "1e-1"}}
		s.Parameters[2] = Parameter{Key: "size", Distribution: IntUniform, Min: 1, Max: 4, When: s.Parameters[2].When}
	}
	return s
}

// fake is a Runner whose results are functions of settings and step. A leg remembers, as a run does on a disk, how far
// it came; each result says so.
type fake struct {
	spec     *Spec
	capacity int

	mu      sync.Mutex
	reached map[string]uint64
	legs    map[string]int // times that each leg was begun
	stop    func() bool    // called at the start of each leg: true interrupts it
}

func newFake(s *Spec, capacity int) *fake {
	return &fake{spec: s, capacity: capacity, reached: map[string]uint64{}, legs: map[string]int{}, stop: func() bool { return false }}
}

func (f *fake) Check(c Settings) ([]uint64, error) {
	if v, _ := c.Get("size"); v == "7" {
		return nil, errors.New("size 7 is not valid")
	}
	return f.spec.Stop.Rungs, nil
}

func (f *fake) Capacity() int { return f.capacity }

func (f *fake) Drop(int, int, int) {}

func (f *fake) Lead(ctx context.Context, l Leg) (Result, error) {
	name := fmt.Sprintf("%d-%d", l.Trial, l.Replicate)
	f.mu.Lock()
	f.legs[fmt.Sprintf("%s@%d", name, l.Rung)]++
	stopped, before := f.stop(), f.reached[name]
	f.mu.Unlock()
	if l.From != before {
		return Result{}, fmt.Errorf("run %s is said to be at %d, it is at %d", name, l.From, before)
	}
	if stopped {
		<-ctx.Done()
		return Result{}, ErrInterrupted
	}
	v, _ := l.Settings.Get("rate")
	rate, err := strconv.ParseFloat(v, 64)
	if err != nil {
		return Result{}, err
	}
	kind, _ := l.Settings.Get("kind")
	seed, _ := l.Settings.Get("seed")
	noise, _ := strconv.ParseFloat(seed, 64)
	loss := math.Abs(math.Log10(rate)+2) + 3/float64(l.Step) + noise/100
	switch {
	case rate > 0.5:
		return Result{}, fmt.Errorf("%w: rate %s", ErrDiverged, v)
	case kind == "a":
		loss += 0.5
	case kind == "b":
		size, _ := l.Settings.Get("size")
		n, _ := strconv.ParseFloat(size, 64)
		loss += math.Abs(n-6) / 10
	case kind == "c" && rate < 2e-4:
		return Result{}, errors.New("the disk is full")
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.reached[name] > l.Step {
		return Result{}, fmt.Errorf("run %s is at %d already", name, f.reached[name])
	}
	f.reached[name] = l.Step
	return Result{Step: l.Step, Values: map[string]float64{"loss": loss, "rare": math.NaN()}, Hash: fmt.Sprintf("%x", math.Float64bits(loss))}, nil
}

// tableOf runs a sweep to its end and returns its table.
func tableOf(t *testing.T, s *Spec, f *fake) string {
	t.Helper()
	return csvOf(t, runAll(t, s, f))
}

// runAll runs a sweep to its end.
func runAll(t *testing.T, s *Spec, r Runner) *State {
	t.Helper()
	journal, records, err := OpenJournal(filepath.Join(t.TempDir(), "journal"))
	if err != nil {
		t.Fatal(err)
	}
	e, err := NewEngine(s, journal, records, r, Options{})
	if err != nil {
		t.Fatal(err)
	}
	if err := e.Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	return e.State()
}

func csvOf(t *testing.T, s *State) string {
	t.Helper()
	var b bytes.Buffer
	if err := s.WriteCSV(&b); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// TestRun_DependsOnSpecAlone: for each method and each stop that does not say otherwise, the table is the same whatever
// the number of workers.
func TestRun_DependsOnSpecAlone(t *testing.T) {
	for _, method := range []Method{Grid, Random, Sobol, TPE} {
		for _, stop := range []StopType{NoStop, Halving, Hyperband} {
			spec := testSpec(method, stop)
			spec.Confirm = Confirm{Top: 2, Seeds: 3}
			want := tableOf(t, spec, newFake(spec, 1))
			for _, capacity := range []int{2, 11} {
				if got := tableOf(t, spec, newFake(spec, capacity)); got != want {
					t.Fatalf("%s, %s: with %d legs at a time the table is\n%s\nwith one\n%s", method, stop, capacity, got, want)
				}
			}
			if n := strings.Count(want, "\n"); n < 20 {
				t.Errorf("%s, %s: %d lines", method, stop, n)
			}
			if strings.Contains(want, "interrupted") || strings.Contains(want, "waiting") {
				t.Errorf("%s, %s: not all trials have ended:\n%s", method, stop, want)
			}
		}
	}
}

// TestRun_TimedStopsEnd: the types whose result depends on timing bring every trial to an end, too.
func TestRun_TimedStopsEnd(t *testing.T) {
	for _, stop := range []StopType{ASHA, MedianStop} {
		spec := testSpec(TPE, stop)
		spec.Stop.Grace = 3
		table := tableOf(t, spec, newFake(spec, 4))
		if n := strings.Count(table, "\n"); n != 31 || !strings.Contains(table, "pruned") || !strings.Contains(table, "complete") {
			t.Errorf("%s:\n%s", stop, table)
		}
	}
}

// TestRun_KilledAtAnyRecord: a sweep whose process ends at any record, with half of that record on the disk, goes on to
// the same table, and no leg that has a result is begun again.
func TestRun_KilledAtAnyRecord(t *testing.T) {
	spec := testSpec(TPE, Halving)
	spec.Trials, spec.Replicates.Seeds = 13, []uint64{1, 2}
	want := tableOf(t, spec, newFake(spec, 3))
	path := filepath.Join(t.TempDir(), "journal")
	f := newFake(spec, 3)
	for kills := 0; ; kills++ {
		journal, records, err := OpenJournal(path)
		if err != nil {
			t.Fatal(err)
		}
		e, err := NewEngine(spec, journal, records, f, Options{})
		if err != nil {
			t.Fatal(err)
		}
		done := map[string]int{}
		for _, r := range records {
			if r.Kind == KindResult {
				done[fmt.Sprintf("%d-%d@%d", r.Trial, r.Replicate, r.Rung)] = f.legs[fmt.Sprintf("%d-%d@%d", r.Trial, r.Replicate, r.Rung)]
			}
		}
		ctx, cancel := context.WithCancel(t.Context())
		begun := 0
		f.stop = func() bool {
			if begun++; begun > 4 {
				cancel()
				return true
			}
			return false
		}
		err = e.Run(ctx)
		for name, n := range done {
			if f.legs[name] != n {
				t.Fatalf("leg %s has a result and was begun again", name)
			}
		}
		if err == nil {
			if got := csvOf(t, e.State()); got != want {
				t.Fatalf("after %d kills the table is\n%s\nwant\n%s", kills, got, want)
			}
			if kills < 5 {
				t.Fatalf("only %d kills", kills)
			}
			return
		}
		if !errors.Is(err, ErrInterrupted) {
			t.Fatal(err)
		}
		if err := journal.Close(); err != nil {
			t.Fatal(err)
		}
		cut(t, path, kills)
	}
}

// TestRun_KilledBetweenConfirmations: where some of the confirmations are in the journal and some are not, the others
// follow with the same seeds, and none is made twice.
func TestRun_KilledBetweenConfirmations(t *testing.T) {
	spec := testSpec(Random, NoStop)
	spec.Trials, spec.Confirm = 9, Confirm{Top: 3, Seeds: 2}
	var all []Record
	path := filepath.Join(t.TempDir(), "journal")
	journal, _, err := OpenJournal(path)
	if err != nil {
		t.Fatal(err)
	}
	e, err := NewEngine(spec, journal, nil, newFake(spec, 2), Options{})
	if err != nil {
		t.Fatal(err)
	}
	if err := e.Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := journal.Close(); err != nil {
		t.Fatal(err)
	}
	want := csvOf(t, e.State())
	if _, all, err = OpenJournal(path); err != nil {
		t.Fatal(err)
	}
	first := slices.IndexFunc(all, func(r Record) bool { return r.Of > 0 })
	for kept := range 3 {
		journal, _, err := OpenJournal(filepath.Join(t.TempDir(), "journal"))
		if err != nil {
			t.Fatal(err)
		}
		if err := journal.Append(all[:first+kept]...); err != nil {
			t.Fatal(err)
		}
		e, err := NewEngine(spec, journal, all[:first+kept], newFake(spec, 2), Options{})
		if err != nil {
			t.Fatal(err)
		}
		if err := e.Run(t.Context()); err != nil {
			t.Fatal(err)
		}
		if got := csvOf(t, e.State()); got != want {
			t.Errorf("with %d of three confirmations the sweep goes on to\n%s\nwant\n%s", kept, got, want)
		}
	}
}

// cut removes the end of a journal, as if the process had been killed in the middle of its last records.
func cut(t *testing.T, path string, kills int) {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	lines := bytes.SplitAfter(data, []byte("\n"))
	last := len(lines) - 2 // the last one is empty
	for n := 0; n < kills%3 && bytes.Contains(lines[last], []byte(`"kind":"fault"`)); n++ {
		last--
	}
	whole := bytes.Join(lines[:last], nil)
	if !bytes.Contains(lines[last], []byte(`"kind":"fault"`)) { // a result that was written stays
		whole = bytes.Join(lines[:last+1], nil)
	}
	torn := append(whole, lines[last][:len(lines[last])/2]...)
	if err := os.WriteFile(path, torn, 0o644); err != nil {
		t.Fatal(err)
	}
}

// TestJournal_DamageIsNamed: a changed byte before the end is an error that names the line.
func TestJournal_DamageIsNamed(t *testing.T) {
	spec := testSpec(Random, NoStop)
	path := filepath.Join(t.TempDir(), "journal")
	journal, _, err := OpenJournal(path)
	if err != nil {
		t.Fatal(err)
	}
	e, err := NewEngine(spec, journal, nil, newFake(spec, 2), Options{})
	if err != nil {
		t.Fatal(err)
	}
	if err := e.Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	at := bytes.Index(data, []byte(`"kind":"trial"`))
	data[at+9] ^= 1
	if err := os.WriteFile(path, data, 0o644); err != nil {
		t.Fatal(err)
	}
	if _, _, err := OpenJournal(path); !errors.Is(err, ErrJournal) || !strings.Contains(err.Error(), "line 2: its checksum") {
		t.Errorf("got %v", err)
	}
}

// TestFruitless: a sweep without a complete trial has no result, also if some of its trials were pruned: the one that went
// on has failed later.
func TestFruitless(t *testing.T) {
	for _, c := range []struct {
		statuses []Status
		done     bool
		want     string
	}{
		{[]Status{StatusPruned, StatusFailed}, true, "1 pruned, 1 failed and 0 diverged; the first: the disk is full"},
		{[]Status{StatusDiverged, StatusFailed}, true, "0 pruned, 1 failed and 1 diverged; the first: the disk is full"},
		{[]Status{StatusPruned, StatusPruned}, true, "2 pruned, 0 failed and 0 diverged"},
		{[]Status{StatusPruned, StatusFailed, StatusComplete}, true, ""},
		{[]Status{StatusPruned, StatusFailed}, false, ""},
		{nil, true, ""},
	} {
		s := &State{Done: c.done}
		for _, status := range c.statuses {
			trial := &Trial{Status: status}
			if status == StatusFailed {
				trial.Reason = "the disk is full"
			}
			s.Trials = append(s.Trials, trial)
		}
		if err := s.Fruitless(); (err == nil) != (c.want == "") || err != nil && (!errors.Is(err, ErrFruitless) || !strings.HasSuffix(err.Error(), c.want)) {
			t.Errorf("%v: got %v", c.statuses, err)
		}
	}
}

// TestTrial_Seconds: what a run has taken at a rung holds what it took before.
func TestTrial_Seconds(t *testing.T) {
	trial := &Trial{Runs: []Run{{Results: []Result{{Seconds: 1}, {Seconds: 3}, {Seconds: 9}}}, {Results: []Result{{Seconds: 2}}}, {}}}
	if got := trial.Seconds(); got != 11 {
		t.Errorf("%v s, want 11", got)
	}
}
