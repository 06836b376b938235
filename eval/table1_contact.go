package eval

import (
	"math"
	"slices"

	"github.com/switchyard-ml/switchyard/model"
)

// Table1Contact says how much of the model's error belongs to bodies to which something happens between the prefix
// and horizon k = 1, 2, … (element k−1). Once it has, it stays so. There are two kinds:
//
//   - a body meets something: its label is 1. That is for environments whose bodies move in the plane and have a label
//     each.
//   - a rollout runs away: it leaves the range of the data by more than the width of that range. One rollout in
//     thousands that does so can make most of the error of a mean. Then the whole observation is the body.
type Table1Contact struct {
	Share      []Estimate // of bodies to which it happened
	ErrorShare []Estimate // of the squared error, on them
	Met, Free  []Estimate // the model's error over that of Static, among them and among the others
}

// Places in a row of the tally, for each horizon.
const (
	allBodies = iota
	metBodies
	modelAll
	modelMet
	staticAll
	staticMet
	contactWidth
)

// contactSquares are the sums of which a Table1Contact is made. A row has contactWidth places for each horizon. A
// nil one enters nothing and estimates nil.
type contactSquares struct {
	bodies [][]int // columns of an observation
	// happens reports whether it happens to a body of sequence i of a chunk at step k ahead.
	happens func(d *trials, c chunk, i int, a *model.Forecast, body, k int) bool
	sums    *tally
}

// newContactSquares is for bodies that meet something. It returns nil where bodies have no labels of their own.
func newContactSquares(bodies [][2]int, labels []int, episodes int) *contactSquares {
	if len(bodies) == 0 || len(bodies) != len(labels) {
		return nil
	}
	s := &contactSquares{sums: newTally(episodes, contactWidth*Table1Horizon)}
	for _, columns := range bodies {
		s.bodies = append(s.bodies, columns[:])
	}
	s.happens = func(d *trials, c chunk, i int, _ *model.Forecast, body, k int) bool {
		return d.label(c.first+i, c.start+k)[labels[body]] == 1
	}
	return s
}

// newRunawaySquares is for rollouts that run away from these trials.
func newRunawaySquares(d *trials) *contactSquares {
	low, high := d.farOut()
	all := make([]int, d.NX)
	for column := range all {
		all[column] = column
	}
	away := func(x []float32) bool {
		for column, v := range x {
			if !(v >= low[column] && v <= high[column]) { // nor is NaN in any range
				return true
			}
		}
		return false
	}
	return &contactSquares{
		bodies: [][]int{all}, sums: newTally(d.N, contactWidth*Table1Horizon),
		happens: func(_ *trials, c chunk, i int, a *model.Forecast, _, k int) bool {
			for s := range a.Samples {
				if away(a.Paths[((s*a.Horizon+k-1)*c.n+i)*d.NX:][:d.NX]) {
					return true
				}
			}
			return false
		},
	}
}

// farOut are the ends of three times the range of each column, around its middle. A column that never changes has no
// width, which the least noise would leave: all numbers are within its range.
func (d *trials) farOut() (low, high []float32) {
	for column := range d.NX {
		least, most := float32(math.Inf(1)), float32(math.Inf(-1))
		for at := column; at < len(d.x); at += d.NX {
			least, most = min(least, d.x[at]), max(most, d.x[at])
		}
		if least == most {
			low, high = append(low, -math.MaxFloat32), append(high, math.MaxFloat32)
			continue
		}
		low, high = append(low, least-(most-least)), append(high, most+(most-least))
	}
	return low, high
}

// enter enters the errors of the model and of Static for sequence i of a chunk, body by body.
func (s *contactSquares) enter(d *trials, c chunk, i int, a *model.Forecast) {
	if s == nil {
		return
	}
	n := c.first + i
	for b, columns := range s.bodies {
		// A body that has met something stays met, so that its error after the contact is counted as one with it.
		met := false
		for k := 1; k <= Table1Horizon; k++ {
			row := s.sums.row(n)[(k-1)*contactWidth:]
			met = met || s.happens(d, c, i, a, b, k)
			byModel, byStatic := 0.0, 0.0
			for _, column := range columns {
				truth := float64(d.at(n, c.start+k)[column])
				e := float64(a.Mean[((k-1)*c.n+i)*d.NX+column]) - truth
				still := float64(d.at(n, c.start)[column]) - truth
				byModel, byStatic = byModel+e*e, byStatic+still*still
			}
			row[allBodies]++
			row[modelAll] += byModel
			row[staticAll] += byStatic
			if met {
				row[metBodies]++
				row[modelMet] += byModel
				row[staticMet] += byStatic
			}
		}
	}
}

// estimate makes the shares and ratios at each horizon; NaN where there is nothing to divide by.
func (s *contactSquares) estimate() *Table1Contact {
	if s == nil {
		return nil
	}
	c := new(Table1Contact)
	for k := range Table1Horizon {
		add := func(dst *[]Estimate, over, under func(s []float64) float64) {
			*dst = append(*dst, s.sums.estimate(func(all []float64) float64 {
				row := all[k*contactWidth:]
				if u := under(row); u > 0 {
					return over(row) / u
				}
				return math.NaN()
			}))
		}
		of := func(place int) func([]float64) float64 { return func(s []float64) float64 { return s[place] } }
		rest := func(all, met int) func([]float64) float64 {
			return func(s []float64) float64 { return s[all] - s[met] }
		}
		add(&c.Share, of(metBodies), of(allBodies))
		add(&c.ErrorShare, of(modelMet), of(modelAll))
		add(&c.Met, of(modelMet), of(staticMet))
		add(&c.Free, rest(modelAll, modelMet), rest(staticAll, staticMet))
	}
	return c
}

// table1Column is a list by horizon, with the name that scripts read.
type table1Column struct {
	name  string
	value []Estimate
}

// columns are the lists. what is what happens, free the name of those to which it does not.
func (c *Table1Contact) columns(what, free string) []table1Column {
	if c == nil {
		return nil
	}
	return []table1Column{
		{what + "_share", c.Share},
		{what + "_error_share", c.ErrorShare},
		{"ratio_to_static_" + what, c.Met},
		{"ratio_to_static_" + free, c.Free},
	}
}

// contacts are the lists of all that may happen.
func (r Table1Report) contacts() []table1Column {
	return slices.Concat(r.Contact.columns("contact", "free"), r.Encounter.columns("encounter", "apart"),
		r.Runaway.columns("runaway", "held"))
}
