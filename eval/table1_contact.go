package eval

import (
	"math"

	"github.com/switchyard-ml/switchyard/model"
)

// Table1Contact says how much of the model's error belongs to bodies that meet something between the prefix and
// horizon k = 1, 2, … (element k−1), for environments whose bodies move in the plane and have a label each. A body
// has met something at horizon k if its label was 1 at any step from the first predicted one to step k: once it
// has, it stays so.
type Table1Contact struct {
	Share      []Estimate // of bodies that met something
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
	bodies [][2]int
	labels []int // of each body
	sums   *tally
}

// newContactSquares returns nil where bodies have no labels of their own.
func newContactSquares(bodies [][2]int, labels []int, episodes int) *contactSquares {
	if len(bodies) == 0 || len(bodies) != len(labels) {
		return nil
	}
	return &contactSquares{bodies, labels, newTally(episodes, contactWidth*Table1Horizon)}
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
			met = met || d.label(n, c.start+k)[s.labels[b]] == 1
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

// columns are the lists. what is the kind of contact, free the name of those without.
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

// contacts are the lists of both kinds of contact.
func (r Table1Report) contacts() []table1Column {
	return append(r.Contact.columns("contact", "free"), r.Encounter.columns("encounter", "apart")...)
}
