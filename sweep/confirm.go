package sweep

import "slices"

// finish returns the confirmations when all trials have ended, and then the end. Each confirmation trains to the
// end without a judgement before. All have the same seeds, greater than any that the sweep has used: they are
// fresh, and trials can be compared seed by seed. If a sweep was extended and has other best trials by then, all
// of these are confirmed again. Where the process ended between two records of confirmations, the others follow.
func (s *State) finish() []Record {
	if slices.ContainsFunc(s.Trials, func(t *Trial) bool { return !t.Status.Final() }) {
		return nil
	}
	best := s.complete(false)
	best = best[:min(s.Spec.Confirm.Top, len(best))]
	cohort, seeds := s.confirming(best)
	var list []Record
	for _, t := range best {
		if !slices.ContainsFunc(s.Trials, func(o *Trial) bool { return o.Of == t.ID && o.Cohort == cohort }) {
			list = append(list, Record{
				Kind: KindTrial, Trial: len(s.Trials) + 1 + len(list), Cohort: cohort, First: len(t.Steps) - 1,
				Settings: t.Settings, Steps: t.Steps, Of: t.ID, Seeds: seeds,
			})
		}
	}
	if len(list) == 0 {
		return []Record{{Kind: KindDone}}
	}
	return list
}

// confirming is the cohort that confirms the best trials, with its seeds: the newest that confirms no other, else a new
// one with fresh seeds.
func (s *State) confirming(best []*Trial) (cohort int, seeds []uint64) {
	others := map[int]bool{} // cohorts that confirm a trial that is not among the best
	newest, fresh := 0, uint64(0)
	for _, t := range s.Trials {
		newest = max(newest, t.Cohort)
		for _, seed := range t.Seeds {
			fresh = max(fresh, seed+1)
		}
		if t.Of > 0 && !slices.ContainsFunc(best, func(b *Trial) bool { return b.ID == t.Of }) {
			others[t.Cohort] = true
		}
	}
	for _, t := range slices.Backward(s.Trials) {
		if t.Of > 0 && !others[t.Cohort] {
			return t.Cohort, t.Seeds
		}
	}
	for i := range s.Spec.Confirm.Seeds {
		seeds = append(seeds, fresh+uint64(i))
	}
	return newest + 1, seeds
}
