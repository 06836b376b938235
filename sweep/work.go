package sweep

// Work is how much a sweep is expected to compute.
type Work struct {
	Trials  int
	Runs    int     // trials times seeds
	Updates float64 // of all runs
	Whole   int     // runs that make the whole training
	Most    float64 // updates if nothing were stopped early
}

// Work counts what the spec asks for. With a timed type of stopping it assumes that as many trials go on as with
// halving, or half of them at each rung for MedianStop. No trial is assumed to fail. The spec has to be without
// faults.
func (s *Spec) Work() Work {
	w := Work{}
	seeds := len(s.Replicates.Seeds)
	rungs := s.Stop.Rungs
	last := len(rungs) - 1
	for cohort := 1; w.Trials < s.Trials; cohort++ {
		size, first := s.cohortPlan(cohort)
		if s.Stop.Type.Timed() {
			size = s.Trials
		}
		size = min(size, s.Trials-w.Trials)
		w.Trials += size
		w.Runs += size * seeds
		// n trials train from one rung to the next, and fewer beyond it.
		n, from := size, uint64(0)
		for r := first; r <= last; r++ {
			w.Updates += float64(n*seeds) * float64(rungs[r]-from)
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
	w.Most = float64(w.Runs) * float64(rungs[last])
	// Confirmations train to the end, each with fresh seeds.
	top := min(s.Confirm.Top, w.Trials) * s.Confirm.Seeds
	w.Runs += top
	w.Whole += top
	w.Updates += float64(top) * float64(rungs[last])
	w.Most += float64(top) * float64(rungs[last])
	return w
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
