package sweep

import (
	"errors"
	"fmt"
	"time"
)

// Report is a sweep in the form in which the page shows it, and other programs read it.
type Report struct {
	Name        string            `json:"name"`
	Method      Method            `json:"method"`
	Metrics     []Metric          `json:"metrics"`
	Parameters  []ReportParameter `json:"parameters"` // in the order of the spec
	Stop        Stop              `json:"stop"`
	Timed       bool              `json:"timed"` // the result depends on timing
	Cap         int               `json:"run_cap"`
	Replicates  Replicates        `json:"replicates"`
	State       string            `json:"state"` // running, paused, stopped or done
	Began       time.Time         `json:"began"`
	Updated     time.Time         `json:"updated"`       // time of the last record
	CoreSeconds float64           `json:"core_seconds"`  // of all trials
	Trials      []ReportTrial     `json:"trials"`        // in the order of their numbers
	Best        []int             `json:"best"`          // the best trials: one, or the Pareto front
	Confirmed   bool              `json:"confirmed"`     // Best are confirmations, by runs with fresh seeds
	Importance  []ReportImportant `json:"importance"`    // one for each metric
	Notes       []string          `json:"notes"`         // whole sentences for the reader
	Live        bool              `json:"live"`          // a process leads the sweep
	RunPath     string            `json:"run,omitempty"` // beginning of the address of a run
}

// ReportParameter is a parameter with what an axis needs.
type ReportParameter struct {
	Key    string   `json:"key"`
	Text   string   `json:"text"`
	Log    bool     `json:"log"`
	Values []string `json:"values"` // of a choice, in order; nil: numbers
	Min    float64  `json:"min"`
	Max    float64  `json:"max"`
}

// ReportTrial is a trial with its results.
type ReportTrial struct {
	ID       int               `json:"trial"`
	Cohort   int               `json:"cohort"`
	Confirms int               `json:"confirms,omitempty"` // the trial that this one confirms; 0: none
	State    Status            `json:"state"`
	Rung     int               `json:"rung"`   // rungs that it has reached
	First    int               `json:"first"`  // rung at which it was judged first
	Update   uint64            `json:"update"` // at the rung that all its runs have reached
	Settings map[string]string `json:"settings"`
	// Values are the metrics at the last rung, estimated from the runs; nil: there are none yet.
	Values []Estimate `json:"values"`
	// Score are the same metrics, put together as the spec says.
	Score   []float64 `json:"score"`
	Curve   []Point   `json:"curve"` // of the first metric
	Seconds float64   `json:"core_seconds"`
	Runs    []string  `json:"runs"`
	Seeds   []uint64  `json:"seeds"`
	Reason  string    `json:"reason,omitempty"`
}

// Point is the value of the first metric at an update, as the spec puts the runs together.
type Point struct {
	Update uint64  `json:"update"`
	Value  float64 `json:"value"`
}

// ReportImportant is how much the parameters matter to a metric.
type ReportImportant struct {
	Metric    string       `json:"metric"`
	Explained float64      `json:"explained"` // share of the variance that the forest explains on trials it has not seen
	Keys      []Importance `json:"keys"`
}

// Report makes the report of a sweep. run names the run of a replicate of a trial, both from 1. Live and RunPath
// are left to the caller.
func (s *State) Report(name string, run func(trial, replicate, replicates int) string) *Report {
	r := &Report{
		Name: name, Method: s.Spec.Method, Metrics: s.Spec.Metrics, Stop: s.Spec.Stop, Timed: s.Spec.Stop.Type.Timed(),
		Cap:        s.Spec.Trials,
		Replicates: s.Spec.Replicates, Began: s.Began, Updated: s.Ended, Trials: []ReportTrial{}, Best: []int{},
		State: s.Word(), Notes: s.notes(),
	}
	for i := range s.Spec.Parameters {
		r.Parameters = append(r.Parameters, s.axis(&s.Spec.Parameters[i]))
	}
	for _, t := range s.Trials {
		row := s.reportTrial(t, run)
		r.CoreSeconds += row.Seconds
		r.Trials = append(r.Trials, row)
	}
	best, confirmed := s.Best()
	r.Confirmed = confirmed
	for _, t := range best {
		r.Best = append(r.Best, t.ID)
	}
	for _, m := range s.Spec.Metrics {
		keys, explained := s.Importances(m)
		r.Importance = append(r.Importance, ReportImportant{m.Name, explained, keys})
		if keys == nil && len(s.Trials) >= leastTrials {
			r.Notes = append(r.Notes, "Nothing can be said about which parameter matters to "+
				m.Name+": the forest does not explain it.")
		}
	}
	return r
}

// Word says in one word where the sweep stands.
func (s *State) Word() string {
	switch {
	case s.Done:
		return "done"
	case s.Order == Pause:
		return "paused"
	case s.Order == Halt:
		return "stopped"
	}
	return "running"
}

// ErrFruitless is returned for a sweep that has ended without a best trial.
var ErrFruitless = errors.New("no trial of the sweep is complete")

// Fruitless returns ErrFruitless, with what became of the trials and the first reason, if the sweep is done and no
// trial is complete; otherwise nil.
func (s *State) Fruitless() error {
	count, first := map[Status]int{}, ""
	for _, t := range s.Trials {
		if first == "" {
			first = t.Reason
		}
		count[t.Status]++
	}
	if !s.Done || len(s.Trials) == 0 || count[StatusComplete] > 0 {
		return nil
	}
	if first != "" { // pruned trials have none
		first = "; the first: " + first
	}
	return fmt.Errorf("%w: %d pruned, %d failed and %d diverged%s", ErrFruitless, count[StatusPruned], count[StatusFailed],
		count[StatusDiverged], first)
}

// notes are what a reader of the results has to know.
func (s *State) notes() []string {
	list := []string{}
	if s.Spec.Stop.Type.Timed() {
		list = append(list, "Early stopping by "+string(s.Spec.Stop.Type)+" depends on the order in which results arrive: "+
			"another sweep of this spec can end otherwise.")
	}
	if best, confirmed := s.Best(); len(best) > 0 && !confirmed && s.Done {
		list = append(list, "The best of many trials is better than it will be with other seeds (the winner's curse). "+
			"confirm: {top: 3, seeds: 5} runs the best again with fresh ones.")
	}
	if len(s.Spec.Replicates.Seeds) < 3 && s.Spec.Confirm.Top == 0 {
		list = append(list, "Trials ran with so few seeds that differences between them may be chance.")
	}
	return list
}

// axis describes a parameter. A normal one has no range: Min and Max are 0.
func (s *State) axis(p *Parameter) ReportParameter {
	a := ReportParameter{Key: p.Key, Text: p.String(), Log: p.Logarithmic(), Min: p.Min, Max: p.Max}
	if p.Distribution == Categorical {
		a.Values = p.Values
	}
	return a
}

// axisValue is the value of a setting as the axis of its parameter has it: a number may be written otherwise.
func (s *Spec) axisValue(o Setting) string {
	for i := range s.Parameters {
		if p := &s.Parameters[i]; p.Key == o.Key {
			if at := p.Index(o.Value); at >= 0 {
				return p.Values[at]
			}
		}
	}
	return o.Value
}

// reportTrial is the row of a trial, with its metrics at the last rung that all runs have reached and the curve
// of the first metric up to there.
func (s *State) reportTrial(t *Trial, run func(trial, replicate, replicates int) string) ReportTrial {
	row := ReportTrial{
		ID: t.ID, Cohort: t.Cohort, Confirms: t.Of, State: t.Status, Rung: t.First + t.Reached(), First: t.First,
		Update:   t.Step(),
		Settings: map[string]string{}, Seconds: t.Seconds(), Seeds: t.Seeds, Reason: t.Reason,
	}
	// Before its first rung it has reached none, also where that is not the lowest.
	if t.Reached() == 0 {
		row.Rung = 0
	}
	for _, o := range t.Settings {
		row.Settings[o.Key] = s.Spec.axisValue(o)
	}
	for i := range t.Runs {
		row.Runs = append(row.Runs, run(t.ID, i+1, len(t.Runs)))
	}
	for _, m := range s.Spec.Metrics {
		if values := t.Values(m.Name, t.Reached()); len(values) > 0 {
			row.Values = append(row.Values, NewEstimate(values))
			row.Score = append(row.Score, s.Spec.Replicates.Aggregate.of(values, m.Goal))
		}
	}
	first := s.Spec.Metrics[0]
	for n := 1; n <= t.Reached(); n++ {
		if values := t.Values(first.Name, n); len(values) > 0 {
			row.Curve = append(row.Curve, Point{t.step(n), s.Spec.Replicates.Aggregate.of(values, first.Goal)})
		}
	}
	return row
}
