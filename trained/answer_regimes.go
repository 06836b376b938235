package trained

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"

	"github.com/switchyard-ml/switchyard/eval"
	"github.com/switchyard-ml/switchyard/eval/figure"
)

// Segmentations are the regimes of recordings, how long they last and what follows what, and the base system of each.
// Arrays are probability [T,M] and regime [T], per regime dwell_mean, dwell_median, visits, steps, A, B, bias, Q,
// eigenvalues (real, imaginary), time_constants and periods, transitions [M,M], system [M], the
// base system of each regime, and regimes_used, their perplexity. If every recording has labels, they are scored too:
// see agree. Each of several bodies counts as a recording. Systems come by base system, as Run.Systems returns
// them, and are put into the order of the regimes.
func Segmentations(of []Recording, list []Segmentation, systems []System, c Columns) *Answer {
	whole := list[0].Bodies == nil
	of, list = apart(of, list)
	m := len(list[0].Probability[0])
	systems = inOrder(list[0].System, systems)
	T, lengths := longest(of)
	a := &Answer{Rows: headed(of)}
	a.Rows.Columns = slices.Concat(a.Rows.Columns, []string{"regime"}, probabilities(m))
	all := stack{series: len(list)}
	lines := figure.Timelines{Name: "segment", Caption: caption(of), Regimes: m}
	// Dwells and transitions are counted over all recordings together.
	var sequences [][]int
	called := labels(of)
	for i, s := range list {
		all.add(i, "probability", s.Probability, T, m)
		all.ints(i, "regime", s.Regime, T)
		if labelled(of) {
			all.ints(i, "truth", of[i].Truth, T)
		}
		sequences = append(sequences, s.Regime)
		regimes := make([][]float64, len(s.Regime))
		for t, k := range s.Regime {
			regimes[t] = []float64{float64(k)}
		}
		a.states(called[i], of[i].Times, len(s.Regime), regimes, s.Probability)
		line := figure.Timeline{Title: of[i].Name, Unit: c.DT, Of: c.TimeUnit, Regimes: s.Regime}
		for j, name := range c.Observations {
			line.Tracks = append(line.Tracks, figure.Track{Name: name, Truth: column(of[i].Observations, j)})
		}
		lines.Columns = append(lines.Columns, line)
	}
	dwells, counts := eval.Dwells(sequences, m), eval.Transitions(sequences, m)
	a.Arrays = slices.Concat(all.finish(lengths), regimeArrays(dwells, counts, systems),
		[]Array{systemsOf(list[0].System, m)}, within(of))
	a.Table = regimeTable(dwells, counts, systems, c)
	v, lags, known := math.NaN(), 0, false
	if whole { // regimes of a body say nothing of the channels of others
		v, lags, known = explained(of, sequences, m)
	}
	if divide := a.use(dwells, v); known {
		a.explain(v, lags, divide)
	}
	stands := a.agree(of, sequences, m)
	for i := range lines.Columns {
		for _, label := range of[i].Truth {
			if stands != nil {
				lines.Columns[i].True = append(lines.Columns[i].True, stands[label])
			}
		}
	}
	if len(c.Observations) > 0 {
		drawn := lines.Figure()
		a.Figure = &drawn
	}
	return a
}

// systemsOf says which base system each regime is, from 0.
func systemsOf(order []int, m int) Array {
	a := Array{Name: "system", Shape: []int{m}}
	for k := range m {
		if order != nil {
			k = order[k]
		}
		a.Ints = append(a.Ints, int64(k))
	}
	return a
}

// probabilities are the headings of the columns of a row of probabilities.
func probabilities(m int) []string {
	var list []string
	for k := range m {
		list = append(list, "p"+strconv.Itoa(k))
	}
	return list
}

// regimeArrays are the arrays of dwells, transitions and, if there are any, systems, in the order of the regimes:
// [M], [M,M] and [M,nz,…].
func regimeArrays(dwells []eval.Dwell, counts [][]int, systems []System) []Array {
	m := len(dwells)
	mean, median := Array{Name: "dwell_mean", Shape: []int{m}}, Array{Name: "dwell_median", Shape: []int{m}}
	visits, steps := Array{Name: "visits", Shape: []int{m}}, Array{Name: "steps", Shape: []int{m}}
	transitions := Array{Name: "transitions", Shape: []int{m, m}}
	for k, d := range dwells {
		mean.Values, median.Values = append(mean.Values, d.Mean), append(median.Values, d.Median)
		visits.Ints, steps.Ints = append(visits.Ints, int64(d.Visits)), append(steps.Ints, int64(d.Steps))
		for _, n := range counts[k] {
			transitions.Ints = append(transitions.Ints, int64(n))
		}
	}
	list := []Array{mean, median, visits, steps, transitions}
	if len(systems) == 0 {
		return list
	}
	// Base systems have these beside: matrices row by row, eigenvalues as pairs.
	nz := len(systems[0].A)
	A, Q := Array{Name: "A", Shape: []int{m, nz, nz}}, Array{Name: "Q", Shape: []int{m, nz, nz}}
	B, bias := Array{Name: "B"}, Array{Name: "bias", Shape: []int{m, nz}}
	values := Array{Name: "eigenvalues", Shape: []int{m, nz, 2}}
	constants, periods := Array{Name: "time_constants", Shape: []int{m, nz}}, Array{Name: "periods", Shape: []int{m, nz}}
	for _, s := range systems {
		for i := range nz {
			A.Values, Q.Values = append(A.Values, s.A[i]...), append(Q.Values, s.Q[i]...)
			if len(s.B) > 0 {
				B.Shape, B.Values = []int{m, nz, len(s.B[0])}, append(B.Values, s.B[i]...)
			}
			values.Values = append(values.Values, s.Modes[i].Real, s.Modes[i].Imaginary)
			constants.Values, periods.Values = append(constants.Values, s.Modes[i].TimeConstant),
				append(periods.Values, s.Modes[i].Period)
		}
		bias.Values = append(bias.Values, s.Bias...)
	}
	list = append(list, A, bias, Q, values, constants, periods)
	if B.Shape != nil {
		list = append(list, B)
	}
	return list
}

// regimeTable has a row for each regime: how much of the time it has, how long it lasts, its slowest and its turning
// mode, and what follows it. The one with most of the time comes first. People count regimes from 1.
func regimeTable(dwells []eval.Dwell, counts [][]int, systems []System, c Columns) eval.Table {
	unit, name := c.DT, cmp.Or(c.timeUnits(), "the unit of dt")
	if unit == 0 {
		unit, name = 1, "steps"
	}
	t := eval.Table{
		Title: "regimes", Corner: "regime", Digits: 3,
		Columns: []string{"share %", "visits", "mean dwell", "longest", "|λ| max", "time constant", "period", "mostly to"},
		Whole:   []string{"visits", "mostly to"},
	}
	// The largest share first; stable, so that equal ones stay in the order of their numbers.
	total := 0
	order := make([]int, len(dwells))
	for k, d := range dwells {
		order[k] = k
		total += d.Steps
	}
	slices.SortStableFunc(order, func(i, j int) int { return dwells[j].Steps - dwells[i].Steps })
	for _, k := range order {
		d := dwells[k]
		row := eval.Row{Name: strconv.Itoa(k + 1), Values: []float64{
			100 * float64(d.Steps) / float64(max(total, 1)), float64(d.Visits), unit * d.Mean, unit * float64(d.Longest),
			math.NaN(), math.NaN(), math.NaN(), math.NaN(),
		}}
		if len(systems) > 0 {
			slow := systems[k].Modes[0]
			row.Values[4], row.Values[5] = slow.Modulus, finite(slow.TimeConstant)
			for _, m := range systems[k].Modes {
				if !math.IsInf(m.Period, 0) {
					row.Values[6] = m.Period
					break
				}
			}
		}
		most := 0
		// What follows most often, other than the regime itself; a dash where nothing does.
		for j, n := range counts[k] {
			if j != k && n > most {
				most, row.Values[7] = n, float64(j+1)
			}
		}
		t.Rows = append(t.Rows, row)
	}
	t.Notes = []string{
		fmt.Sprintf("Dwell, time constant and period in %s. |λ| max: the slowest mode of the base system; a negative time "+
			"constant grows.", name),
	}
	return t
}

// finite is v, or NaN, a dash in a table, for an infinity.
func finite(v float64) float64 {
	if math.IsInf(v, 0) {
		return math.NaN()
	}
	return v
}
