package sweep

import (
	"fmt"
	"slices"
	"time"
)

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
// trials were confirmed, the confirmations of the newest cohort are compared, which have the same seeds, and confirmed
// is set.
func (s *State) Best() (list []*Trial, confirmed bool) {
	ranked := s.complete(true)
	if confirmed = len(ranked) > 0; confirmed {
		newest := ranked[0].Cohort
		ranked = slices.DeleteFunc(ranked, func(t *Trial) bool { return t.Cohort != newest })
	} else {
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

// complete are the complete trials, the best first: those that confirm others, or those that do not. Confirmations of
// a newer cohort come before those of an older one, whose seeds are others.
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
	if confirming {
		slices.SortStableFunc(ranked, func(a, b *Trial) int { return b.Cohort - a.Cohort })
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
