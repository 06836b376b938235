package pool

import "slices"

// Run is a run that has work. Limit is the number of slots that it can use at the same time: the shards of a step.
type Run struct {
	Name  string
	Limit int
}

// Worker is a worker as the decision sees it. Run is the run that it serves or is on its way to, empty if it has none.
// One that is Fixed is not sent away from there.
type Worker struct {
	ID    string
	Slots int
	Run   string
	Fixed bool
}

// Move sends a worker to a run.
type Move struct{ Worker, Run string }

// Decide says who is to go where. A worker without a run is sent to one whenever there is one. A worker that has a run
// is sent away only if that makes the whole strictly better, see state.compare, so that a decision that was carried out
// leads to no further one. Where moves are equally good, workers at the end of the list go, to runs at its beginning.
func Decide(runs []Run, workers []Worker) []Move {
	if len(runs) == 0 {
		return nil
	}
	s := state{runs: runs, slots: make([]int, len(runs)), crew: make([]int, len(runs))}
	at := make([]int, len(workers)) // index of the worker's run; -1: none
	for i, w := range workers {
		if at[i] = slices.IndexFunc(runs, func(r Run) bool { return r.Name == w.Run }); at[i] >= 0 {
			s.add(at[i], w.Slots)
		}
	}
	fixed := make([]bool, len(workers))
	for i, w := range workers {
		if fixed[i] = w.Fixed && at[i] >= 0; at[i] < 0 {
			at[i], _ = s.best(-1, w.Slots)
			s.add(at[i], w.Slots)
		}
	}
	for s.improve(workers, at, fixed) {
	}
	var moves []Move
	for i, w := range workers {
		if to := runs[at[i]].Name; to != w.Run {
			moves = append(moves, Move{w.ID, to})
		}
	}
	return moves
}

// improve moves the worker whose move is best, if there is one that makes the state better.
func (s *state) improve(workers []Worker, at []int, fixed []bool) bool {
	mover, target, reached := -1, 0, s.value()
	for i, w := range slices.Backward(workers) {
		if fixed[i] {
			continue
		}
		if to, value := s.best(at[i], w.Slots); value.compare(reached) > 0 {
			mover, target, reached = i, to, value
		}
	}
	if mover < 0 {
		return false
	}
	s.remove(at[mover], workers[mover].Slots)
	s.add(target, workers[mover].Slots)
	at[mover] = target
	return true
}

// state is how slots and workers are shared out among the runs.
type state struct {
	runs  []Run
	slots []int
	crew  []int // workers
}

func (s *state) add(run, slots int)    { s.slots[run] += slots; s.crew[run]++ }
func (s *state) remove(run, slots int) { s.slots[run] -= slots; s.crew[run]-- }

// best is the run to which a worker of run from (-1: none) would go best, and the value of the state then.
func (s *state) best(from, slots int) (int, value) {
	if from >= 0 {
		s.remove(from, slots)
		defer s.add(from, slots)
	}
	to, best := -1, value{}
	for r := range s.runs {
		s.add(r, slots)
		if v := s.value(); to < 0 || v.compare(best) > 0 {
			to, best = r, v
		}
		s.remove(r, slots)
	}
	return to, best
}

// value is how good a state is.
type value struct {
	starved int // runs without a worker
	useful  int // slots that their runs can use
	squares int // sum of the squares of the runs' slots: the smaller, the more even
}

func (s *state) value() value {
	var v value
	for r, n := range s.slots {
		if s.crew[r] == 0 {
			v.starved++
		}
		v.useful += min(n, s.runs[r].Limit)
		v.squares += n * n
	}
	return v
}

// compare is positive if v is better than o: fewer runs starve, or else more slots are of use, or else they are shared
// more evenly.
func (v value) compare(o value) int {
	switch {
	case v.starved != o.starved:
		return o.starved - v.starved
	case v.useful != o.useful:
		return v.useful - o.useful
	}
	return o.squares - v.squares
}
