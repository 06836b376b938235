package trials

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/switchyard-ml/switchyard/config"
	"github.com/switchyard-ml/switchyard/ops"
	"github.com/switchyard-ml/switchyard/store"
	"github.com/switchyard-ml/switchyard/sweep"
)

// Operations are what can be asked of sweeps. Those of a folder (Sweeps) and those of a coordinator at a broker
// (Remote) give the same answers, which are also JSON for programs.
type Operations interface {
	// List returns the sweeps, the last begun first.
	List() ([]Summary, error)
	// Show returns all that a sweep has found so far.
	Show(name string) (*Shown, error)
	// Best returns the best trials, with an error while none is complete.
	Best(name string) (*Best, error)
	// Order returns when the sweep has obeyed.
	Order(name string, o sweep.Order) (*Summary, error)
	// Extend lets a sweep that has ended go on with more trials.
	Extend(name string, more int) (*Shown, error)
}

// Summary is a sweep in a list.
type Summary struct {
	Name   string               `json:"name"`
	State  string               `json:"state"`  // as in the report, or interrupted: nobody leads it
	Trials int                  `json:"trials"` // proposed so far
	Counts map[sweep.Status]int `json:"counts"` // of the trials
	Cap    int                  `json:"run_cap"`
	Metric string               `json:"metric"`
	Best   *float64             `json:"best,omitempty"`        // value of the first of the best trials
	Leads  []int                `json:"best_trials,omitempty"` // one, or a Pareto front
	Began  time.Time            `json:"began"`
}

// interrupted is the state of a sweep that is not done and that nobody leads.
const interrupted = "interrupted"

// status is the status of a trial: where a process was killed, nobody has written that its trials do not run any more.
func (u Summary) status(s sweep.Status) sweep.Status {
	if u.State == interrupted && s == sweep.StatusRunning {
		return sweep.StatusInterrupted
	}
	return s
}

// Summary says in short where a sweep stands.
func (f Folder) Summary(s *sweep.State) Summary {
	u := Summary{
		Name: f.Name, State: s.Word(), Trials: len(s.Trials), Counts: map[sweep.Status]int{}, Cap: s.Spec.Trials,
		Metric: s.Spec.Metrics[0].Name, Began: s.Began,
	}
	if !s.Done && !f.Led() {
		u.State = interrupted
	}
	for _, t := range s.Trials {
		u.Counts[u.status(t.Status)]++
	}
	best, _ := s.Best()
	for i, t := range best {
		if v, ok := s.Value(t, s.Spec.Metrics[0]); ok && i == 0 {
			u.Best = &v
		}
		u.Leads = append(u.Leads, t.ID)
	}
	return u
}

// summaries lists the sweeps of a folder, the last begun first. The error is about those that cannot be read.
func summaries(dir string) ([]Summary, error) {
	list := []Summary{}
	var bad error
	for _, f := range List(dir) {
		state, err := f.State()
		switch {
		case errors.Is(err, ErrNotFound) || err == nil && state.Spec == nil: // it has just begun
		case err != nil:
			bad = errors.Join(bad, err)
		default:
			list = append(list, f.Summary(state))
		}
	}
	slices.SortStableFunc(list, func(a, b Summary) int { return b.Began.Compare(a.Began) })
	return list, bad
}

// Shown is all that a sweep has found.
type Shown struct {
	*sweep.Report
	Summary Summary  `json:"summary"`
	Ranked  []int    `json:"ranked"`          // the trials, the best first
	Files   []string `json:"files,omitempty"` // page, table and the folder of the best trial, once there is one
}

// Shown collects what a sweep has found.
func (f Folder) Shown(s *sweep.State) *Shown {
	v := &Shown{Report: f.Report(s), Summary: f.Summary(s), Ranked: []int{}}
	v.Live = f.Led()
	for i := range v.Trials {
		v.Trials[i].State = v.Summary.status(v.Trials[i].State)
	}
	for _, t := range s.Ranked() {
		v.Ranked = append(v.Ranked, t.ID)
	}
	if len(v.Report.Best) > 0 {
		v.Files = []string{f.Path(PageFile), f.Path(TableFile), f.Path(BestFolder)}
	}
	return v
}

// Trial is a trial of the report; nil: there is none of that number.
func (v *Shown) Trial(id int) *sweep.ReportTrial {
	if i := slices.IndexFunc(v.Trials, func(t sweep.ReportTrial) bool { return t.ID == id }); i >= 0 {
		return &v.Trials[i]
	}
	return nil
}

// cut leaves the trials from index from on, as many as have room in a message, by the bytes of their JSON; 0:
// all. At least one stays, if there is one, so that who asks for the next ones gets on.
func (v *Shown) cut(from, room int) error {
	// What the report needs without trials counts first, then each trial with the comma behind it.
	rest := v.Trials[min(max(from, 0), len(v.Trials)):]
	v.Trials = []sweep.ReportTrial{}
	data, err := json.Marshal(v)
	for used := len(data); err == nil && len(v.Trials) < len(rest); {
		t := rest[len(v.Trials)]
		data, err = json.Marshal(t)
		if used += len(data) + 1; room > 0 && used > room && len(v.Trials) > 0 {
			break
		}
		v.Trials = append(v.Trials, t)
	}
	if err != nil {
		return fmt.Errorf("encode the report of the sweep: %w", err)
	}
	return nil
}

// Best is the best trial of a sweep, or its Pareto front.
type Best struct {
	Name      string              `json:"name"`
	Metrics   []sweep.Metric      `json:"metrics"`
	Aggregate sweep.Aggregate     `json:"aggregate,omitempty"` // of the seeds; empty: an older release does not say
	Keys      []string            `json:"keys"`                // of the settings, in order
	Trials    []sweep.ReportTrial `json:"trials"`
	Searched  []sweep.ReportTrial `json:"searched,omitempty"` // the trials of the search that these confirm
	Tried     int                 `json:"tried"`              // trials of the sweep
	Confirmed bool                `json:"confirmed"`
	Command   string              `json:"command,omitempty"` // trains the same again; it is there when the sweep has ended
}

// best is the best trial. Without a complete trial it is an error with a hint. The command that trains the same again
// is in best/, and missing while the sweep has not ended.
func (f Folder) best(s *sweep.State, l Leader) (*Best, error) {
	v := f.Shown(s)
	if len(v.Report.Best) == 0 {
		return nil, config.Hint(fmt.Errorf("no trial of sweep %s is complete yet", f.Name),
			"%s lists what there is", l.line("sweep", "show", f.Name))
	}
	b := &Best{
		Name: f.Name, Metrics: v.Metrics, Aggregate: v.Replicates.Aggregate, Keys: v.Keys(), Tried: len(v.Trials),
		Confirmed: v.Confirmed,
	}
	for _, id := range v.Report.Best {
		t := v.Trial(id)
		b.Trials = append(b.Trials, *t)
		if o := v.Trial(t.Confirms); o != nil {
			b.Searched = append(b.Searched, *o)
		}
	}
	if text, err := store.ReadFile(f.Path(BestFolder, "command.txt")); err == nil {
		b.Command = strings.TrimSpace(string(text))
	}
	return b, nil
}

// Keys are the keys of the parameters, in order.
func (v *Shown) Keys() []string {
	keys := []string{}
	for _, p := range v.Parameters {
		keys = append(keys, p.Key)
	}
	return keys
}

// Remote are the sweeps of a coordinator. Ask sends a request and returns the answer, or the coordinator's error.
type Remote struct {
	Ask func(ops.SweepRequest) (ops.SweepAnswer, error)
}

var _, _ Operations = (*Sweeps)(nil), Remote{}

// remoteActs are the acts of orders.
var remoteActs = map[sweep.Order]ops.SweepAct{
	sweep.Halt: ops.SweepStop, sweep.Pause: ops.SweepPause, sweep.Proceed: ops.SweepResume,
}

// List implements Operations.
func (r Remote) List() ([]Summary, error) {
	list, err := asked[[]Summary](r, ops.SweepRequest{Act: ops.SweepList})
	if err != nil {
		return nil, err
	}
	return *list, nil
}

// Show implements Operations. A report that is larger than a message comes in several, which are asked for one
// after the other; all but the trials is that of the first.
func (r Remote) Show(name string) (*Shown, error) {
	q := ops.SweepRequest{Act: ops.SweepShow, Name: name}
	v, err := asked[Shown](r, q)
	for err == nil && len(v.Trials) < v.Summary.Trials {
		q.From = len(v.Trials)
		var next *Shown
		if next, err = asked[Shown](r, q); err == nil && len(next.Trials) == 0 {
			err = fmt.Errorf("read sweep %s: %d of %d trials came", name, q.From, v.Summary.Trials)
		}
		if err == nil {
			v.Trials = append(v.Trials, next.Trials...)
		}
	}
	return v, err
}

// Best implements Operations.
func (r Remote) Best(name string) (*Best, error) {
	return asked[Best](r, ops.SweepRequest{Act: ops.SweepBest, Name: name})
}

// Order implements Operations.
func (r Remote) Order(name string, o sweep.Order) (*Summary, error) {
	return asked[Summary](r, ops.SweepRequest{Act: remoteActs[o], Name: name})
}

// Extend implements Operations. It returns when the sweep goes on. The request says how many trials there are, so that
// it may be sent again if its answer was lost.
func (r Remote) Extend(name string, more int) (*Shown, error) {
	now, err := asked[Shown](r, ops.SweepRequest{Act: ops.SweepShow, Name: name, From: math.MaxInt32}) // without trials
	if err != nil {
		return nil, err
	}
	q := ops.SweepRequest{Act: ops.SweepExtend, Name: name, Trials: more, From: now.Summary.Cap}
	if _, err := asked[Summary](r, q); err != nil {
		return nil, err
	}
	return r.Show(name)
}

// Submit begins a sweep.
func (r Remote) Submit(q ops.SweepRequest) (*Summary, error) {
	q.Act = ops.SweepSubmit
	return asked[Summary](r, q)
}

// asked is the answer to a request, decoded from its JSON.
func asked[A any](r Remote, q ops.SweepRequest) (*A, error) {
	data, err := r.Ask(q)
	if err != nil {
		return nil, err
	}
	answer := new(A)
	if err := json.Unmarshal(data, answer); err != nil {
		return nil, fmt.Errorf("read the answer about sweeps: %w", err)
	}
	return answer, nil
}

// Answer carries out a request of Remote.
func (m *Sweeps) Answer(r ops.SweepRequest) (ops.SweepAnswer, error) {
	answer, err := m.answer(r)
	if err != nil {
		return nil, err
	}
	data, err := json.Marshal(answer)
	if err != nil {
		return nil, fmt.Errorf("encode the answer about sweeps: %w", err)
	}
	return data, nil
}

// answer carries out a request, and returns what is to be encoded.
func (m *Sweeps) answer(r ops.SweepRequest) (any, error) {
	switch r.Act {
	case ops.SweepSubmit:
		return m.submit(Folder{m.Dir, r.Name}, r)
	case ops.SweepList:
		return m.List()
	case ops.SweepShow:
		v, err := m.Show(r.Name)
		if err == nil {
			err = v.cut(r.From, r.Room)
		}
		return v, err
	case ops.SweepBest:
		return m.Best(r.Name)
	case ops.SweepExtend:
		v, err := m.extend(r)
		if err != nil {
			return nil, err
		}
		return v.Summary, nil
	}
	for order, act := range remoteActs {
		if act == r.Act {
			return m.Order(r.Name, order)
		}
	}
	return nil, config.Usagef("%q is nothing that can be asked of a sweep", r.Act)
}
