package lead

import "slices"

// Run is a run that has work. Limit is the number of slots that it can use at the same time, which is the number of
// shards of a step.
type Run struct {
	Name  string
	Limit int
}

// Worker is what the decision needs to know of a worker. Run is the run that it serves or goes to; empty if there is
// none. A Fixed worker is not sent away from its run.
type Worker struct {
	ID    string
	Slots int
	Run   string
	Fixed bool
}

// Move sends a worker to a run.
type Move struct{ Worker, Run string }

// Decide decides which workers go to which runs. A worker without a run gets one whenever there is one. A worker with a
// run is sent away only if that makes the state strictly better (see value.compare), so the decision is stable: after
// the moves, Decide makes no further one. Of equally good moves, the last workers of the list go first, to the first
// runs. A Fixed worker whose run has no work counts as one without a run. A move costs time in the order of workers
// times the square of runs.
func Decide(runs []Run, workers []Worker) []Move {
	if len(runs) == 0 {
		return nil
	}
	s := state{runs: runs, slots: make([]int, len(runs)), workers: make([]int, len(runs))}
	at := make([]int, len(workers)) // index of the worker's run; -1: none
	for i, w := range workers {
		if at[i] = slices.IndexFunc(runs, func(r Run) bool { return r.Name == w.Run }); at[i] >= 0 {
			s.add(at[i], w.Slots)
		}
	}
	// Workers without a run come first: each takes the run that is best at that moment, in the order of the list.
	fixed := make([]bool, len(workers))
	for i, w := range workers {
		if fixed[i] = w.Fixed && at[i] >= 0; at[i] < 0 {
			at[i], _ = s.best(-1, w.Slots)
			s.add(at[i], w.Slots)
		}
	}
	// Every move makes the value greater, and there are finitely many states, so this ends.
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

// improve makes the best single move, if some move makes the state better. It reports whether there was one. The
// workers at the end of the list are tried first, so they move if several moves are equally good.
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

// state is how workers and their slots are distributed over the runs.
type state struct {
	runs    []Run
	slots   []int // of each run, which its workers have together
	workers []int // number of workers of each run
}

func (s *state) add(run, slots int)    { s.slots[run] += slots; s.workers[run]++ }
func (s *state) remove(run, slots int) { s.slots[run] -= slots; s.workers[run]-- }

// best is the best run for a worker that leaves run from (-1: it has none), and the value of the state after that
// move. Of equally good runs it is the first one. The state is afterwards what it was before.
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

// value is the quality of a state.
type value struct {
	starved int // runs without a worker
	useful  int // slots that their runs can use
	squares int // sum of the squares of the runs' slots; a smaller sum is more even
}

// value computes the quality of the state as it is.
func (s *state) value() value {
	var v value
	for r, n := range s.slots {
		if s.workers[r] == 0 {
			v.starved++
		}
		v.useful += min(n, s.runs[r].Limit)
		v.squares += n * n
	}
	return v
}

// compare is positive if v is better than o: fewer runs have no worker; or else more slots are useful; or else the
// distribution is more even.
func (v value) compare(o value) int {
	switch {
	case v.starved != o.starved:
		return o.starved - v.starved
	case v.useful != o.useful:
		return v.useful - o.useful
	}
	return o.squares - v.squares
}
