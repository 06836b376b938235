package sweep

import (
	"fmt"
	"math"
	"slices"
	"time"
)

// Status says where a trial stands.
type Status string

// The statuses. The last four are final.
const (
	StatusWaiting     Status = "waiting" // for a worker, or for the others of its cohort
	StatusRunning     Status = "running"
	StatusPreempted   Status = "preempted"
	StatusInterrupted Status = "interrupted"
	StatusComplete    Status = "complete"
	StatusPruned      Status = "pruned"
	StatusDiverged    Status = "diverged"
	StatusFailed      Status = "failed"
)

// Final reports whether nothing happens to the trial any more.
func (s Status) Final() bool {
	return slices.Contains([]Status{StatusComplete, StatusPruned, StatusDiverged, StatusFailed}, s)
}

// Trial is a configuration that is tried. It waits and runs in turn until it is judged at a rung; then it waits
// again, or has a final status, which stays.
//
// Invariant: each run has the results of at least Passed rungs, and of Passed+1 at most.
type Trial struct {
	ID       int // from 1
	Cohort   int
	First    int // rung at which it is judged first
	Of       int // the trial that it confirms; 0: none
	Settings Settings
	Steps    []uint64 // updates at each rung
	Seeds    []uint64 // of its runs, in order
	Runs     []Run
	Status   Status
	Passed   int    // rungs at which it was judged, and went on; counted from First
	Reason   string // why it failed
	draw     uint64
}

// Run is one replicate of a trial.
type Run struct {
	Seed    uint64
	Results []Result // at the rungs from Trial.First
	Fate    Fate     // of the last leg that did not reach its rung; empty: none
	Reason  string
	Faults  int  // legs in a row that failed
	Leading bool // a leg was started and has not ended
	Began   time.Time
}

// rung is the next rung of the trial.
func (t *Trial) rung() int { return t.First + t.Passed }

// last reports whether a rung is the end of the training.
func (t *Trial) last(rung int) bool { return rung == len(t.Steps)-1 }

// settled reports whether each run has reached the rung or cannot.
func (t *Trial) settled() bool {
	return !slices.ContainsFunc(t.Runs, func(r Run) bool { return len(r.Results) <= t.Passed && !r.lost() })
}

// lost reports whether a run will get no further.
func (r *Run) lost() bool { return r.Fate == Diverged || r.Fate == Failed && r.Faults > retries }

// retries is how often a leg that failed is tried again.
const retries = 2

// Reached is the number of rungs, from First, that all runs have reached.
func (t *Trial) Reached() int {
	n := math.MaxInt
	for _, r := range t.Runs {
		n = min(n, len(r.Results))
	}
	return n
}

// Step is the number of updates at the last rung that all runs have reached, of the longest run if some have ended
// before it; 0: none.
func (t *Trial) Step() uint64 {
	most := uint64(0)
	if n := t.Reached(); n > 0 {
		for _, r := range t.Runs {
			most = max(most, r.Results[n-1].Step)
		}
	}
	return most
}

// Values are the values of a metric in the runs, after n rungs from First.
func (t *Trial) Values(metric string, n int) []float64 {
	var list []float64
	for _, r := range t.Runs {
		if n > 0 && n <= len(r.Results) {
			if v, ok := r.Results[n-1].Values[metric]; ok {
				list = append(list, v)
			}
		}
	}
	return list
}

// Seconds is the time of a core that the trial has taken, about.
func (t *Trial) Seconds() float64 {
	sum := 0.0
	for _, r := range t.Runs {
		for _, o := range r.Results {
			sum += o.Seconds
		}
	}
	return sum
}

// State is what the records of a journal say. It is changed by apply alone, record by record.
type State struct {
	Spec      *Spec // nil: the journal is empty
	Base      *Spec // as the sweep began, before it was extended
	Trials    []*Trial
	Exhausted bool
	Order     Order
	Done      bool
	Began     time.Time
	Ended     time.Time

	done map[int]bool // cohorts of the search all of whose trials are final
}

// NewState folds records into a state. It returns ErrJournal, with the number of the record, for one that cannot
// follow on those before it.
func NewState(records []Record) (*State, error) {
	s := &State{Order: Proceed, done: map[int]bool{}}
	for i, r := range records {
		if err := s.apply(r); err != nil {
			return nil, fmt.Errorf("%w: record %d: %w", ErrJournal, i+1, err)
		}
	}
	return s, nil
}

// Trial returns the trial of that number; nil if there is none.
func (s *State) Trial(id int) *Trial {
	if id < 1 || id > len(s.Trials) {
		return nil
	}
	return s.Trials[id-1]
}

// apply adds one record to the state. An error is about a record that contradicts the state, which is undefined
// then.
func (s *State) apply(r Record) error {
	if s.Spec == nil && r.Kind != KindOpen {
		return fmt.Errorf("%s comes before open", r.Kind)
	}
	s.Ended = r.At
	switch r.Kind {
	case KindOpen:
		if r.Spec == nil {
			return fmt.Errorf("there is no spec")
		}
		base, spec := *r.Spec, *r.Spec
		s.Base, s.Spec, s.Began = &base, &spec, r.At
	case KindExtend:
		s.Spec.Trials, s.Done, s.Exhausted = r.Trials, false, false
	case KindTrial:
		return s.propose(r)
	case KindStart, KindResult, KindFault:
		return s.leg(r)
	case KindDecision:
		return s.decide(r)
	case KindExhausted:
		s.Exhausted = true
	case KindOrder:
		s.Order = r.Order
	case KindDone:
		s.Done = true
	default:
		return fmt.Errorf("%q is no kind of record: it was written by a newer release", r.Kind)
	}
	return nil
}

// propose adds the trial of a record.
func (s *State) propose(r Record) error {
	if r.Trial != len(s.Trials)+1 {
		return fmt.Errorf("trial %d follows trial %d", r.Trial, len(s.Trials))
	}
	if len(r.Steps) == 0 || r.First >= len(r.Steps) || len(r.Seeds) == 0 {
		return fmt.Errorf("trial %d has no rungs or no seeds", r.Trial)
	}
	t := &Trial{
		ID: r.Trial, Cohort: r.Cohort, First: r.First, Of: r.Of, Settings: r.Settings, Steps: r.Steps, Seeds: r.Seeds,
		Status: StatusWaiting, draw: r.Draw,
	}
	for _, seed := range r.Seeds {
		t.Runs = append(t.Runs, Run{Seed: seed})
	}
	s.Trials = append(s.Trials, t)
	return nil
}

// leg notes the beginning or the end of a leg. Its rung has to be the next one of the run.
func (s *State) leg(r Record) error {
	t := s.Trial(r.Trial)
	if t == nil || r.Replicate < 1 || r.Replicate > len(t.Runs) {
		return fmt.Errorf("there is no trial %d with replicate %d", r.Trial, r.Replicate)
	}
	run := &t.Runs[r.Replicate-1]
	if r.Rung != t.First+len(run.Results) {
		return fmt.Errorf("trial %d is at rung %d, not %d", r.Trial, t.First+len(run.Results), r.Rung)
	}
	run.Leading = r.Kind == KindStart
	switch r.Kind {
	case KindStart:
		run.Began = r.At
	case KindResult:
		if r.Result == nil {
			return fmt.Errorf("a result is missing")
		}
		run.Results, run.Fate, run.Faults = append(run.Results, *r.Result), "", 0
	case KindFault:
		run.Fate, run.Reason = r.Fate, r.Reason
		if r.Fate == Failed {
			run.Faults++
		}
	}
	t.refresh()
	return nil
}

// refresh sets the status of a trial that is not final.
func (t *Trial) refresh() {
	t.Status = StatusWaiting
	for _, r := range t.Runs {
		switch {
		case r.Leading:
			t.Status = StatusRunning
			return
		case r.Fate == Preempted:
			t.Status = StatusPreempted
		case r.Fate == Interrupted:
			t.Status = StatusInterrupted
		}
	}
}

// decide concludes the trials of a decision, and closes their cohorts, which TPE waits for.
func (s *State) decide(r Record) error {
	for _, id := range slices.Concat(r.Kept, r.Pruned) {
		t := s.Trial(id)
		if t == nil || !t.settled() || t.Status.Final() {
			return fmt.Errorf("trial %d cannot be judged", id)
		}
		t.conclude(slices.Contains(r.Kept, id))
	}
	for _, id := range slices.Concat(r.Kept, r.Pruned) {
		if t := s.Trial(id); t.Of == 0 {
			s.close(t.Cohort)
		}
	}
	return nil
}

// conclude ends a trial at its rung, or lets it go on. A run that is lost ends it whatever was decided; one that
// diverged says more than one that failed.
func (t *Trial) conclude(kept bool) {
	for _, r := range t.Runs {
		switch {
		case len(r.Results) > t.Passed:
		case r.Fate == Diverged:
			t.Status, t.Reason = StatusDiverged, r.Reason
			return
		case t.Status != StatusDiverged:
			t.Status, t.Reason = StatusFailed, r.Reason
		}
	}
	switch {
	case t.Status == StatusFailed:
	case !kept:
		t.Status = StatusPruned
	case t.last(t.rung()):
		t.Status = StatusComplete
	default:
		t.Passed++
		t.Status = StatusWaiting
	}
}

// close notes whether all trials of a cohort of the search are final.
func (s *State) close(cohort int) {
	for _, t := range s.Trials {
		if t.Of == 0 && t.Cohort == cohort && !t.Status.Final() {
			return
		}
	}
	s.done[cohort] = true
}

// score is what a trial is worth after n rungs: one number for each metric, smaller is better; nil if a run is missing.
func (s *State) score(t *Trial, n int) score {
	if n < 1 || n > t.Reached() {
		return nil
	}
	var list score
	for _, m := range s.Spec.Metrics {
		values := t.Values(m.Name, n)
		if len(values) < len(t.Runs) {
			return nil
		}
		v := s.Spec.Replicates.Aggregate.of(values, m.Goal)
		if m.Goal == Maximize {
			v = -v
		}
		list = append(list, v)
	}
	return list
}

// of makes one value of several. There is at least one.
func (a Aggregate) of(values []float64, goal Goal) float64 {
	values = slices.Clone(values)
	switch a {
	case Median:
		slices.Sort(values)
		n := len(values)
		return (values[(n-1)/2] + values[n/2]) / 2
	case Worst:
		if goal == Maximize {
			return slices.Min(values)
		}
		return slices.Max(values)
	}
	sum := 0.0
	for _, v := range values {
		sum += v
	}
	return sum / float64(len(values))
}

// Value is the value of a metric of a trial at the last rung that all its runs have reached, and whether there is one.
func (s *State) Value(t *Trial, m Metric) (float64, bool) {
	values := t.Values(m.Name, t.Reached())
	if len(values) == 0 {
		return 0, false
	}
	return s.Spec.Replicates.Aggregate.of(values, m.Goal), true
}

// Best are the best complete trials, the best first: one of them, or the Pareto front if there are several metrics. If
// trials were confirmed, the confirmations are compared, and confirmed is set.
func (s *State) Best() (list []*Trial, confirmed bool) {
	ranked := s.complete(true)
	if confirmed = len(ranked) > 0; !confirmed {
		ranked = s.complete(false)
	}
	if len(ranked) == 0 {
		return nil, false
	}
	if len(s.Spec.Metrics) == 1 {
		return ranked[:1], confirmed
	}
	scores := make([]score, len(ranked))
	for i, t := range ranked {
		scores[i] = s.score(t, t.Reached())
	}
	for i, f := range fronts(scores) {
		if f == 0 {
			list = append(list, ranked[i])
		}
	}
	return list, confirmed
}

// complete are the complete trials, the best first: those that confirm others, or those that do not.
func (s *State) complete(confirming bool) []*Trial {
	var list []*Trial
	var scores []score
	for _, t := range s.Trials {
		if t.Status == StatusComplete && t.Of > 0 == confirming {
			list, scores = append(list, t), append(scores, s.score(t, t.Reached()))
		}
	}
	ranked := make([]*Trial, len(list))
	for place, i := range rank(scores) {
		ranked[place] = list[i]
	}
	return ranked
}

// cohorts is the number of cohorts that have trials, without confirmations.
func (s *State) cohorts() int {
	n := 0
	for _, t := range s.Trials {
		if t.Of == 0 {
			n = max(n, t.Cohort)
		}
	}
	return n
}

// Ranked are all trials, the best first: confirmations, then those that got farther before others, and failed ones
// last.
func (s *State) Ranked() []*Trial {
	var regular []*Trial
	for _, t := range s.Trials {
		if t.Of == 0 {
			regular = append(regular, t)
		}
	}
	list := s.complete(true)
	for _, t := range s.Trials {
		if t.Of > 0 && t.Status != StatusComplete {
			list = append(list, t)
		}
	}
	return append(list, s.rankAll(regular)...)
}
