package sweep

import (
	"errors"
	"math"
	"slices"
)

// Decisions come in two manners. Where stopping is synchronous, a cohort is judged as a whole, when the last of
// its trials has reached the rung: what is decided does not depend on who came first. The timed types judge each
// trial when it arrives. Nothing here has a clock or draws a number of its own, so that a journal that is folded
// again leads to the same decisions.

// cohortPlan is the size of a cohort, from 1, and the rung at which its trials are judged first.
//
// Hyperband (Li et al. 2018): with rungs r_0 … r_s, brackets s, s−1, …, 0 follow each other in turn; bracket b
// has ⌈(s+1)/(b+1)·ηᵇ⌉ trials, at most a million, and its first rung is r_{s−b}.
// The timed types have cohorts of one trial. With none and halving a cohort has Stop.Cohort trials, and the first
// rung is the lowest.
func (s *Spec) cohortPlan(cohort int) (size, first int) {
	switch s.Stop.Type {
	case Hyperband:
		most := len(s.Stop.Rungs) - 1
		b := most - (cohort-1)%(most+1)
		n := math.Ceil(float64(most+1) / float64(b+1) * math.Pow(float64(s.Stop.Eta), float64(b)))
		return int(math.Min(n, maxCohort)), most - b
	case ASHA, MedianStop:
		return 1, 0
	}
	return s.Stop.Cohort, 0
}

// maxCohort is the largest cohort of hyperband: a power may be beyond all integers.
const maxCohort = 1e6

// apart is how many cohorts before its own a cohort learns from: two before, so that one can run while another is
// proposed. The timed types learn from all results that there are.
const apart = 2

// derive returns the records that follow from the state without any further result: decisions first, since they
// free trials for their next legs, then proposals. want is how many legs can begin: nothing is proposed while as
// many wait already. It is called again after its records were applied, until it returns none. An error is one of
// the runner, about a configuration.
func (e *Engine) derive(want int) ([]Record, error) {
	if list := e.judge(); len(list) > 0 {
		return list, nil
	}
	if len(e.state.legs()) >= want {
		return nil, nil
	}
	return e.propose()
}

// judge returns the next decision that can be made; nil if none can. It is one record at a time, because a
// decision of a timed type changes with what the one before it has written.
func (e *Engine) judge() []Record {
	s := e.state
	if s.Spec.Stop.Type.Timed() {
		for _, t := range s.Trials {
			if !t.Status.Final() && t.settled() {
				return []Record{s.verdict([]*Trial{t}, s.stays(t))}
			}
		}
		return nil
	}
	for _, group := range s.judgeable() {
		return []Record{s.verdict(group, s.survivors(group))}
	}
	return nil
}

// group names trials that are judged together. A cohort of confirmations may have the number of one of the search,
// and has nothing to do with it.
type group struct {
	cohort   int
	confirms bool
}

// judgeable are the trials that can be judged together: all of a group that are not final, settled at the same rung.
func (s *State) judgeable() [][]*Trial {
	groups := map[group][]*Trial{}
	var order []group
	for _, t := range s.Trials {
		if !t.Status.Final() {
			g := group{t.Cohort, t.Of > 0}
			if groups[g] == nil {
				order = append(order, g)
			}
			groups[g] = append(groups[g], t)
		}
	}
	var list [][]*Trial
	for _, g := range order {
		if s.whole(g) && !slices.ContainsFunc(groups[g], func(t *Trial) bool { return !t.settled() }) {
			list = append(list, groups[g])
		}
	}
	return list
}

// whole reports whether all trials of a group are proposed: it is full, or no more will come because the space or
// the cap is exhausted, or a later cohort has begun. Confirmations are proposed at once.
func (s *State) whole(g group) bool {
	size, _ := s.Spec.cohortPlan(g.cohort)
	return g.confirms || s.members(g.cohort) >= size || s.Exhausted || s.regular() >= s.Spec.Trials ||
		s.cohorts() > g.cohort
}

// regular is the number of trials that confirm no other.
func (s *State) regular() int {
	n := 0
	for _, t := range s.Trials {
		if t.Of == 0 {
			n++
		}
	}
	return n
}

// verdict is the record of a decision about a group that stands at one rung. The trials of kept stay, the others
// are pruned.
func (s *State) verdict(group, kept []*Trial) Record {
	r := Record{Kind: KindDecision, Cohort: group[0].Cohort, Rung: group[0].rung()}
	for _, t := range group {
		if slices.Contains(kept, t) {
			r.Kept = append(r.Kept, t.ID)
		} else {
			r.Pruned = append(r.Pruned, t.ID)
		}
	}
	return r
}

// survivors are the trials that stay: at the last rung all, and before it the best 1/eta, at least one. Failed
// ones count as the worst. Without early stopping all stay at every rung.
func (s *State) survivors(group []*Trial) []*Trial {
	t := group[0]
	if t.last(t.rung()) || s.Spec.Stop.Type == NoStop {
		return group
	}
	scores := make([]score, len(group))
	for i, t := range group {
		scores[i] = s.score(t, t.Passed+1)
	}
	order := rank(scores)
	var kept []*Trial
	for _, i := range order[:max(1, len(group)/s.Spec.Stop.Eta)] {
		kept = append(kept, group[i])
	}
	return kept
}

// stays is the trial if it may go on by the rule of a timed type, and otherwise nil. With n scores at the rung,
// its own and those of the other trials that have one there, it goes on if its place, from 0, is
//
//	asha      below max(1, ⌊n/eta⌋)
//	median    below ⌈n/2⌉, or anywhere while fewer than Grace others have been there
//
// A trial that is pruned here is not taken up later, even if others turn out to be worse. Of equal scores its own
// is the better.
func (s *State) stays(t *Trial) []*Trial {
	if t.last(t.rung()) {
		return []*Trial{t}
	}
	scores, at := []score{s.score(t, t.Passed+1)}, 0
	for _, o := range s.Trials {
		if o != t && o.Of == 0 && o.First == t.First && o.Reached() > t.Passed {
			if v := s.score(o, t.Passed+1); v != nil {
				scores = append(scores, v)
			}
		}
	}
	// The trial itself has index 0.
	for place, i := range rank(scores) {
		if i == 0 {
			at = place
		}
	}
	limit := 0
	switch stop := s.Spec.Stop; {
	case stop.Type != MedianStop: // which has no eta
		limit = max(1, len(scores)/stop.Eta)
	case len(scores)-1 < stop.Grace:
		limit = len(scores)
	default:
		limit = (len(scores) + 1) / 2
	}
	if at < limit {
		return []*Trial{t}
	}
	return nil
}

// leg names what a worker can do next: replicate r, from 0, of a trial, up to its next rung.
type leg struct {
	trial     *Trial
	replicate int
}

// legs are the legs that can begin now, the most urgent first: trials that are far before others, then by number.
// A run has a leg if nobody leads it, it can still get further, and it has no result at the rung of its trial:
// replicates that are ahead wait for the others.
func (s *State) legs() []leg {
	var list []leg
	for _, t := range s.Trials {
		if t.Status.Final() {
			continue
		}
		for i := range t.Runs {
			if r := &t.Runs[i]; !r.Leading && !r.lost() && len(r.Results) <= t.Passed {
				list = append(list, leg{t, i})
			}
		}
	}
	slices.SortStableFunc(list, func(a, b leg) int { return b.trial.rung() - a.trial.rung() })
	return list
}

// propose returns the next trial, the news that there are no more, or nothing if a decision has to come first.
// The record of a trial holds everything that its runs need, so that a proposal is never computed again.
func (e *Engine) propose() ([]Record, error) {
	s := e.state
	if s.Done {
		return nil, nil
	}
	if s.Exhausted || s.regular() >= s.Spec.Trials {
		return s.finish(), nil
	}
	cohort, id := max(s.cohorts(), 1), len(s.Trials)+1
	size, first := s.Spec.cohortPlan(cohort)
	// The last cohort is full, or was judged short of it before the sweep was extended: the next one begins.
	if s.members(cohort) >= size || s.judged(cohort) {
		cohort++
		_, first = s.Spec.cohortPlan(cohort)
	}
	// The estimator waits for the results that it may use, all of them, so that the proposal does not depend on
	// timing.
	if s.Spec.Method == TPE && !s.Spec.Stop.Type.Timed() && !s.closed(cohort-apart) {
		return nil, nil
	}
	draws := proposer{s.Spec, e.valid}
	// The method goes on behind the last draw that became a trial; a sequence is never drawn from its beginning.
	from, tried := uint64(0), []Settings(nil)
	for _, t := range s.Trials {
		if t.Of == 0 {
			from, tried = t.draw+1, append(tried, t.Settings)
		}
	}
	// Drawn by its place among the trials of the search: confirmations in between shift no draw.
	p, err := draws.next(len(tried)+1, from, s.history(cohort), tried)
	if errors.Is(err, errExhausted) {
		return []Record{{Kind: KindExhausted, Reason: err.Error()}}, nil
	}
	if err != nil {
		return nil, err
	}
	steps, err := e.runner.Check(p.settings)
	if err != nil {
		return nil, err
	}
	return []Record{{
		Kind: KindTrial, Trial: id, Cohort: cohort, First: first, Draw: p.draw, Settings: p.settings, Steps: steps,
		Seeds: s.Spec.Replicates.Seeds,
	}}, nil
}

// valid returns why a configuration cannot be tried; nil if it can.
func (e *Engine) valid(c Settings) error {
	_, err := e.runner.Check(c)
	return err
}

// judged reports whether a cohort was judged before it was full, because the sweep was to end there.
func (s *State) judged(cohort int) bool {
	return slices.ContainsFunc(s.Trials, func(t *Trial) bool {
		return t.Of == 0 && t.Cohort == cohort && (t.Passed > 0 || t.Status.Final())
	})
}

// members is the number of trials of a cohort, without confirmations.
func (s *State) members(cohort int) int {
	n := 0
	for _, t := range s.Trials {
		if t.Of == 0 && t.Cohort == cohort {
			n++
		}
	}
	return n
}

// closed reports whether all cohorts up to this one are done.
func (s *State) closed(cohort int) bool {
	for c := 1; c <= cohort; c++ {
		if !s.done[c] {
			return false
		}
	}
	return true
}

// history is what a proposal for a cohort may depend on: the results of the cohorts that are at least apart
// before it, and with a timed type all that are final. The other trials are pending, even those that are done:
// when a result came in makes no difference. Methods other than TPE depend on nothing.
func (s *State) history(cohort int) history {
	var h history
	if s.Spec.Method != TPE {
		return h
	}
	var known []*Trial
	for _, t := range s.Trials {
		switch {
		case t.Of > 0:
		case t.Status.Final() && (s.Spec.Stop.Type.Timed() || t.Cohort <= cohort-apart):
			known = append(known, t)
		default:
			h.pending = append(h.pending, observation{t.ID, t.Settings})
		}
	}
	for _, t := range s.rankAll(known) {
		h.ranked = append(h.ranked, observation{t.ID, t.Settings})
	}
	return h
}

// rankAll orders trials, the best first: those that got farther before others, and failed ones last. Within a
// rung the scores there decide. Scores of different rungs are not comparable, since training makes them better.
func (s *State) rankAll(list []*Trial) []*Trial {
	level := func(t *Trial) int {
		if t.Status == StatusDiverged || t.Status == StatusFailed {
			return -1
		}
		return t.First + t.Reached()
	}
	groups := map[int][]*Trial{}
	for _, t := range list {
		groups[level(t)] = append(groups[level(t)], t)
	}
	var levels []int
	for l := range groups {
		levels = append(levels, l)
	}
	slices.Sort(levels)
	var all []*Trial
	for _, l := range slices.Backward(levels) {
		scores := make([]score, len(groups[l]))
		for i, t := range groups[l] {
			scores[i] = s.score(t, t.Reached())
		}
		for _, i := range rank(scores) {
			all = append(all, groups[l][i])
		}
	}
	return all
}
