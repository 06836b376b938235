package sweep

// Work is how much a sweep is expected to compute.
type Work struct {
	Trials  int
	Runs    int     // trials times seeds
	Updates float64 // of all runs
	Whole   int     // runs that make the whole training
	Most    float64 // updates if nothing were stopped early
}

// Work counts what the spec asks for. Lengths are the rungs of configurations that it may try, each with as many as
// Stop.Rungs, which are those of the base: trials are taken to be as long as these on the average. With a timed type
// of stopping it assumes that as many trials go on as with halving, or half of them at each rung for MedianStop. No
// trial is assumed to fail. The spec has to be without faults.
func (s *Spec) Work(lengths [][]uint64) Work {
	w := Work{}
	seeds := len(s.Replicates.Seeds)
	rungs := means(lengths)
	last := len(rungs) - 1
	trials := s.available()
	for cohort := 1; w.Trials < trials; cohort++ {
		size, first := s.cohortPlan(cohort)
		if s.Stop.Type.Timed() {
			size = trials
		}
		size = min(size, trials-w.Trials)
		w.Trials += size
		w.Runs += size * seeds
		// n trials train from one rung to the next, and fewer beyond it.
		n, from := size, 0.0
		for r := first; r <= last; r++ {
			w.Updates += float64(n*seeds) * (rungs[r] - from)
			from = rungs[r]
			if r == last {
				w.Whole += n * seeds
				break
			}
			switch s.Stop.Type {
			case NoStop:
			case MedianStop:
				n = (n + 1) / 2
			default:
				n = max(1, n/s.Stop.Eta)
			}
		}
	}
	w.Most = float64(w.Runs) * rungs[last]
	// Confirmations train to the end, each with fresh seeds.
	top := min(s.Confirm.Top, w.Trials) * s.Confirm.Seeds
	w.Runs += top
	w.Whole += top
	w.Updates += float64(top) * rungs[last]
	w.Most += float64(top) * rungs[last]
	return w
}

// available is how many trials there can be: a list, or a grid, may have fewer than the file asks for.
func (s *Spec) available() int {
	switch {
	case s.Method == List:
		return min(s.Trials, len(s.List))
	case s.Method == Grid && s.Trials <= maxCombinations:
		return len(s.Combinations(s.Trials))
	}
	return s.Trials
}

// means are the means of lists, place by place. There is at least one, and all are as long.
func means(lists [][]uint64) []float64 {
	mean := make([]float64, len(lists[0]))
	for i := range mean {
		for _, l := range lists {
			mean[i] += float64(l[i])
		}
		mean[i] /= float64(len(lists))
	}
	return mean
}

// Sample draws configurations, as the method would without any result. They are valid, and at most n. There are
// fewer if the space is exhausted before.
func (s *Spec) Sample(n int, valid func(Settings) error) []Settings {
	draws := proposer{s, valid}
	var list []Settings
	from := uint64(0)
	for id := 1; id <= n; id++ {
		p, err := draws.next(id, from, history{}, list)
		if err != nil {
			break
		}
		list, from = append(list, p.settings), p.draw+1
	}
	return list
}
