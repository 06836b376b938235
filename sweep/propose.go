package sweep

import (
	"errors"
	"fmt"
	"slices"

	"github.com/switchyard-ml/switchyard/rng"
)

// The streams of package rng for the purpose Search have a number for each use, which is their last coordinate:
//
//	0  random configurations      by trial and attempt
//	1  the shift of Sobol points  one for the sweep
//	2  Parzen estimators          by trial and attempt
//	3  package trials, which looks for valid configurations
//	4  the forest of importances  by tree
//
// The trials are those of the search, counted without confirmations.
// So a proposal is a function of the seed, the number of the trial and what it may depend on, and no use of
// randomness shifts the numbers of another.

// proposal is a configuration with the place in the method's sequence that it came from.
type proposal struct {
	settings Settings
	draw     uint64 // of grid, list and sobol; the other methods just count
}

// errExhausted is returned when a method finds no further configuration that is valid and was not tried.
var errExhausted = errors.New("sweep: the space is exhausted")

// maxDraws is how often a method draws for one trial before the space counts as exhausted, and maxCombinations how many
// combinations of a grid, or configurations of a list, it passes by: conditions make many of them equal.
const (
	maxDraws        = 1000
	maxCombinations = 1_000_000
)

// proposer draws the configurations of a sweep. valid returns why a configuration cannot be tried; nil if it can.
type proposer struct {
	spec  *Spec
	valid func(Settings) error
}

// next is the configuration of trial id of the search. from is the first draw that was not used; tried are all
// configurations so far. Draws that were tried already, or are not valid, are skipped. The result is a function of
// the arguments. It returns errExhausted at the end of a grid or a list, or when too many draws in a row were
// skipped; the error then says why the last invalid one was.
func (p *proposer) next(id int, from uint64, known history, tried []Settings) (proposal, error) {
	seen := make(map[string]bool, len(tried))
	for _, s := range tried {
		seen[fmt.Sprint(s)] = true
	}
	var last error
	limit := uint64(maxDraws)
	if p.spec.Method == Grid || p.spec.Method == List {
		limit = maxCombinations
	}
	for attempt := range limit {
		s, end := p.draw(id, from+attempt, attempt, known)
		if end {
			break
		}
		if seen[fmt.Sprint(s)] {
			continue
		}
		if err := p.valid(s); err != nil {
			last = err
			continue
		}
		return proposal{s, from + attempt}, nil
	}
	if last != nil {
		return proposal{}, fmt.Errorf("%w; the last that was not tried is not valid: %w", errExhausted, last)
	}
	return proposal{}, errExhausted
}

// draw makes one configuration: draw index of the sequence of a grid, a list or Sobol, and otherwise that of an
// attempt for trial id. end says that there are no more.
func (p *proposer) draw(id int, index, attempt uint64, known history) (s Settings, end bool) {
	switch p.spec.Method {
	case Grid:
		return p.spec.combination(index)
	case List:
		if index >= uint64(len(p.spec.List)) {
			return nil, true
		}
		return slices.Clone(p.spec.List[index]), false
	case Sobol:
		// A digital shift: the digits of all points are changed by one random word for each dimension, which
		// leaves the sequence as even as it is and makes it another one for each seed.
		shift := rng.New(p.spec.Seed, rng.Search).At(0, 0, 1)
		return p.spec.place(func(dimension int) float64 {
			return float64(sobol(index, dimension)^shift.Uint32()) / (1 << sobolBits)
		}), false
	case TPE:
		// With fewer results the draw is random.
		if len(known.ranked) >= startup {
			stream := rng.New(p.spec.Seed, rng.Search).At(uint64(id), uint32(attempt), 2)
			return p.spec.parzen(known, &stream), false
		}
	}
	stream := rng.New(p.spec.Seed, rng.Search).At(uint64(id), uint32(attempt), 0)
	return p.spec.place(func(int) float64 { return stream.Float64() }), false
}

// place is the configuration at a point of the unit cube. coordinate is called once for each parameter, in order,
// also for those that do not exist: a stream then gives every later parameter the same number, whatever the
// conditions.
func (s *Spec) place(coordinate func(dimension int) float64) Settings {
	var list Settings
	for i := range s.Parameters {
		p := &s.Parameters[i]
		u := coordinate(i)
		if p.Exists(list) {
			list = append(list, Setting{p.Key, p.At(u)})
		}
	}
	return list
}

// combination is combination index of a grid, from 0; the last parameter changes fastest. The index is read as a
// number with a digit for each parameter, whose base is the number of its values; end says that it has more
// digits. Combinations that differ only in parameters that do not exist are equal.
func (s *Spec) combination(index uint64) (list Settings, end bool) {
	u := make([]float64, len(s.Parameters))
	for i := range slices.Backward(s.Parameters) {
		n := uint64(s.Parameters[i].Cells())
		// The middle of the cell of the value, or of its probability.
		u[i] = (float64(index%n) + 0.5) / float64(n)
		if w := s.Parameters[i].Weights; w != nil {
			u[i] = s.Parameters[i].Coordinate(s.Parameters[i].Values[index%n])
		}
		index /= n
	}
	if index > 0 {
		return nil, true
	}
	return s.place(func(i int) float64 { return u[i] }), false
}

// Combinations lists the different configurations of a grid, up to limit of them.
func (s *Spec) Combinations(limit int) []Settings {
	var list []Settings
	seen := map[string]bool{}
	for index := uint64(0); len(list) < limit; index++ {
		c, end := s.combination(index)
		if end {
			break
		}
		if key := fmt.Sprint(c); !seen[key] {
			seen[key] = true
			list = append(list, c)
		}
	}
	return list
}
