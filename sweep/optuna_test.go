package sweep

import (
	"bytes"
	"encoding/json"
	"slices"
	"testing"
	"time"
)

// optunaTrial is a trial as Optuna replays it.
type optunaTrial struct {
	state  int
	params map[string]float64
	values []any
	steps  map[float64]float64
}

// replayOptuna applies a journal by the rules of optuna/storages/journal/_storage.py: unknown operations, operations on
// trials that have ended, and distributions that differ from those of earlier trials are faults.
func replayOptuna(t *testing.T, data []byte) (directions []any, trials []*optunaTrial) {
	t.Helper()
	distributions := map[string]string{}
	number := func(op map[string]any, key string) float64 {
		v, ok := op[key].(float64)
		if !ok {
			t.Fatalf("%s is missing in %v", key, op)
		}
		return v
	}
	for line := range bytes.Lines(data) {
		var op map[string]any
		if err := json.Unmarshal(line, &op); err != nil {
			t.Fatal(err)
		}
		if _, ok := op["worker_id"].(string); !ok {
			t.Fatalf("no worker_id: %s", line)
		}
		code := number(op, "op_code")
		if code == 0 {
			directions = op["directions"].([]any)
			continue
		}
		if code == 3 || code == 4 {
			if number(op, "study_id") != 0 {
				t.Fatalf("another study: %s", line)
			}
			if code == 4 {
				isoTime(t, op["datetime_start"])
				trials = append(trials, &optunaTrial{params: map[string]float64{}, steps: map[float64]float64{}})
			}
			continue
		}
		trial := trials[int(number(op, "trial_id"))]
		if trial.state >= 1 && trial.state <= 3 {
			t.Fatalf("the trial has ended: %s", line)
		}
		switch code {
		case 5:
			name, text := op["param_name"].(string), op["distribution"].(string)
			if old := distributions[name]; old != "" && old != text {
				t.Errorf("%s is %s and %s", name, old, text)
			}
			distributions[name] = text
			var d struct {
				Name       string
				Attributes map[string]any
			}
			if err := json.Unmarshal([]byte(text), &d); err != nil {
				t.Fatal(err)
			}
			v := number(op, "param_value_internal")
			low, high := 0.0, float64(len(listOf(d.Attributes["choices"]))-1)
			if d.Name != "CategoricalDistribution" {
				low, high = d.Attributes["low"].(float64), d.Attributes["high"].(float64)
			}
			if v < low || v > high {
				t.Errorf("%s: %g is not in %s", name, v, text)
			}
			trial.params[name] = v
		case 6:
			if trial.state = int(number(op, "state")); trial.state >= 1 && trial.state <= 3 {
				isoTime(t, op["datetime_complete"])
			}
			trial.values = listOf(op["values"])
		case 7:
			trial.steps[number(op, "step")] = number(op, "intermediate_value")
		case 8:
			if attr, ok := op["user_attr"].(map[string]any); !ok || len(attr) != 1 {
				t.Errorf("one attribute at a time: %s", line)
			}
		default:
			t.Fatalf("operation %g is not one of Optuna's", code)
		}
	}
	return directions, trials
}

func listOf(v any) []any { list, _ := v.([]any); return list }

func isoTime(t *testing.T, v any) {
	t.Helper()
	text, _ := v.(string)
	if _, err := time.Parse("2006-01-02T15:04:05.000000", text); err != nil {
		t.Error(err)
	}
}

// TestOptuna_ReplaysByItsRules: a finished search is a journal that Optuna replays to the same trials.
func TestOptuna_ReplaysByItsRules(t *testing.T) {
	spec := testSpec(TPE, Halving)
	journal, _, err := OpenJournal(t.TempDir() + "/journal")
	if err != nil {
		t.Fatal(err)
	}
	e, err := NewEngine(spec, journal, nil, newFake(spec, 3), Options{})
	if err != nil {
		t.Fatal(err)
	}
	if err := e.Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	if err := e.State().WriteOptuna(&b, "test"); err != nil {
		t.Fatal(err)
	}
	directions, trials := replayOptuna(t, b.Bytes())
	if len(directions) != 1 || directions[0] != 1.0 || len(trials) != len(e.State().Trials) {
		t.Fatalf("got directions %v, %d trials", directions, len(trials))
	}
	states := map[Status]int{StatusComplete: 1, StatusPruned: 2, StatusDiverged: 3, StatusFailed: 3}
	for i, trial := range e.State().Trials {
		got := trials[i]
		if got.state != states[trial.Status] || len(got.params) != len(trial.Settings) || len(got.steps) != trial.Reached() {
			t.Errorf("trial %d is %s with %d settings and %d rungs, there %+v", trial.ID, trial.Status, len(trial.Settings), trial.Reached(), got)
		}
		if v, _ := e.State().Value(trial, spec.Metrics[0]); trial.Status == StatusComplete && (len(got.values) != 1 || got.values[0] != v) {
			t.Errorf("trial %d: got %v, want %g", trial.ID, got.values, v)
		}
	}
}

// TestOptuna_WideRange: six standard deviations of a log-normal law may end beyond all numbers.
func TestOptuna_WideRange(t *testing.T) {
	spec := testSpec(Random, NoStop)
	spec.Parameters[0] = Parameter{Key: "rate", Distribution: LogNormal, Sigma: 200}
	trial := Record{
		Kind: KindTrial, Trial: 1, Cohort: 1, Settings: Settings{{"rate", "2"}}, Steps: []uint64{90}, Seeds: []uint64{1},
	}
	state, err := NewState([]Record{{Kind: KindOpen, Spec: spec}, trial})
	if err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	if err := state.WriteOptuna(&b, "test"); err != nil {
		t.Fatal(err)
	}
	if _, trials := replayOptuna(t, b.Bytes()); trials[0].params["rate"] != 2 {
		t.Errorf("got %v", trials[0].params)
	}
}

// TestCurve_OfATrialThatEndsEarly: train.patience may end a trial before its rung. Curves say at which update.
func TestCurve_OfATrialThatEndsEarly(t *testing.T) {
	spec := testSpec(Random, NoStop)
	spec.Metrics = []Metric{{Name: "loss", Goal: Minimize}}
	result := func(rung int, step uint64) []Record {
		return []Record{
			{Kind: KindStart, Trial: 1, Replicate: 1, Rung: rung},
			{Kind: KindResult, Trial: 1, Replicate: 1, Rung: rung, Result: &Result{Step: step, Values: map[string]float64{"loss": 1}}},
			{Kind: KindDecision, Rung: rung, Kept: []int{1}},
		}
	}
	records := []Record{{Kind: KindOpen, Spec: spec}, {Kind: KindTrial, Trial: 1, Cohort: 1, Seeds: []uint64{1}, Steps: []uint64{10, 40}}}
	s, err := NewState(slices.Concat(records, result(0, 10), result(1, 28)))
	if err != nil {
		t.Fatal(err)
	}
	if got := s.Report("s", func(int, int, int) string { return "" }).Trials[0].Curve; len(got) != 2 || got[0].Update != 10 || got[1].Update != 28 {
		t.Errorf("the curve is %v", got)
	}
	var b bytes.Buffer
	if err := s.WriteOptuna(&b, "s"); err != nil {
		t.Fatal(err)
	}
	if _, trials := replayOptuna(t, b.Bytes()); len(trials[0].steps) != 2 || trials[0].steps[28] != 1 {
		t.Errorf("Optuna has %v", trials[0].steps)
	}
}
