package trained

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/switchyard-ml/switchyard/envs/files"
	"github.com/switchyard-ml/switchyard/eval"
	"github.com/switchyard-ml/switchyard/eval/figure"
)

// longest is the number of steps of the longest of some recordings, and the steps of all.
func longest(list []Recording) (steps int, lengths []int) {
	for _, r := range list {
		steps = max(steps, len(r.Observations))
		lengths = append(lengths, len(r.Observations))
	}
	return steps, lengths
}

// numbered are names with numbers from 1 on.
func numbered(word string, n int) []string {
	var list []string
	for i := range n {
		list = append(list, word+strconv.Itoa(i+1))
	}
	return list
}

// observed are the names of so many observed channels; pixels are numbered.
func observed(c Columns, nx int) []string {
	if len(c.Observations) == 0 {
		return numbered("y", nx)
	}
	return c.Observations
}

// states adds rows for CSV: a recording's label, the time, the step and the values of several lists side by side.
// Each list is [steps][width]; widths together are as many as the columns behind the step.
func (a *Answer) states(of label, times *files.Times, steps int, lists ...[][]float64) {
	for t := range steps {
		row := eval.Row{Name: of.name, Values: []float64{float64(t)}}
		for _, list := range lists {
			if list != nil { // weights of a family without a switch
				row.Values = append(row.Values, list[t]...)
			}
		}
		a.Rows.Rows, a.Rows.Marked = append(a.Rows.Rows, row), append(a.Rows.Marked, of.marks(times, t))
	}
}

// short is a table of some rows of what CSV has; corner names their first column, a step or a time, unless there are
// columns of a clock. It is of the first recording, with at most eight columns and shownRows rows.
func (a *Answer) short(title, corner string, clock []string) {
	n := 1
	for n < len(a.Rows.Rows) && a.Rows.Rows[n].Values[0] > 0 { // the steps of the next one begin anew
		n++
	}
	// The step, which names the row, and eight columns.
	columns := min(len(a.Rows.Columns), 9)
	if clock != nil {
		corner = strings.Join(clock, " ")
	}
	a.Table = eval.Table{Title: title, Corner: corner, Columns: a.Rows.Columns[1:columns], Digits: 4}
	for _, t := range shown(n) {
		row := a.Rows.Rows[t]
		name := strconv.FormatFloat(row.Values[0], 'g', -1, 64)
		if marks := a.Rows.Marked[t]; clock != nil && len(marks) == len(a.Rows.Marks) {
			name = strings.Join(marks[len(marks)-len(clock):], " ")
		}
		a.Table.Rows = append(a.Table.Rows, eval.Row{Name: name, Values: row.Values[1:columns]})
	}
	if columns < len(a.Rows.Columns) || n > shownRows {
		a.Table.Notes = append(a.Table.Notes, fmt.Sprintf("%d of %d steps, %d of %d columns; --out has all.",
			min(n, shownRows), n, columns-1, len(a.Rows.Columns)-1))
	}
}

// Filterings are what recordings tell about the latent state as they go on. Arrays are mean and sd [T,nz] and weights
// [T,M].
func Filterings(of []Recording, list []Filtering) *Answer {
	nz, m := len(list[0].Mean[0]), width(list[0].Weights)
	T, lengths := longest(of)
	a := &Answer{Rows: headed(of)}
	a.Rows.Columns = slices.Concat(a.Rows.Columns, numbered("z", nz), numbered("sd_z", nz), numbered("w", m))
	all := stack{series: len(list)}
	lines := figure.Timelines{
		Name: "filter", Caption: caption(of), Regimes: m / (1 + len(list[0].Others)), Means: "latent state",
		Bands: "± 2 standard deviations",
	}
	called := labels(of)
	for i, f := range list {
		all.add(i, "mean", f.Mean, T, nz)
		all.add(i, "sd", f.SD, T, nz)
		all.add(i, "weights", f.Weights, T, m)
		a.states(called[i], of[i].Times, len(f.Mean), f.Mean, f.SD, f.Weights)
		line := latent(of[i].Name, f.Mean, f.SD)
		line.Regimes, line.Others = f.Regime, f.Others
		lines.Columns = append(lines.Columns, line)
	}
	a.Arrays = append(all.finish(lengths), within(of)...)
	a.short("latent state and mixing weights of "+of[0].Name, "step", clock(of))
	drawn := lines.Figure()
	a.Figure = &drawn
	return a
}

// width is that of rows, 0 without any: the weights of a family without a switch.
func width(rows [][]float64) int {
	if len(rows) == 0 {
		return 0
	}
	return len(rows[0])
}

// largest is the place of the largest value of each row. Of equal ones it is the first.
func largest(rows [][]float64) []int {
	list := make([]int, len(rows))
	for t, row := range rows {
		for k, v := range row {
			if v > row[list[t]] {
				list[t] = k
			}
		}
	}
	if len(list) > 1 { // no weights lead to the first step
		list[0] = list[1]
	}
	return list
}

// latent is a timeline of latent states. The band is that of two standard deviations; steps without any are left
// out of it.
func latent(title string, mean, sd [][]float64) figure.Timeline {
	line := figure.Timeline{Title: title}
	for j := range mean[0] {
		k := figure.Track{Name: "z" + strconv.Itoa(j+1), Mean: column(mean, j)}
		for t, m := range k.Mean {
			k.Lower, k.Upper = append(k.Lower, m-2*sd[t][j]), append(k.Upper, m+2*sd[t][j])
		}
		line.Tracks = append(line.Tracks, k)
	}
	return line
}

// Smoothings are what whole recordings tell about each step. Arrays are observations [T,nx], mean and sd [T,nz].
func Smoothings(of []Recording, list []Smoothing, c Columns) *Answer {
	nx, nz := len(list[0].Observations[0]), len(list[0].Mean[0])
	T, lengths := longest(of)
	names := observed(c, nx)
	a := &Answer{Rows: headed(of)}
	a.Rows.Columns = slices.Concat(a.Rows.Columns, names, numbered("z", nz), numbered("sd_z", nz))
	all := stack{series: len(list)}
	lines := figure.Timelines{Name: "smooth", Caption: caption(of), Means: "smoothed"}
	called := labels(of)
	for i, s := range list {
		all.add(i, "observations", s.Observations, T, nx)
		all.add(i, "mean", s.Mean, T, nz)
		all.add(i, "sd", s.SD, T, nz)
		a.states(called[i], of[i].Times, len(s.Mean), s.Observations, s.Mean, s.SD)
		line := figure.Timeline{Title: of[i].Name, Unit: c.DT, Of: c.TimeUnit}
		for j, name := range c.Observations {
			line.Tracks = append(line.Tracks, figure.Track{
				Name: name, Truth: column(of[i].Observations, j),
				Mean: column(s.Observations, j),
			})
		}
		lines.Columns = append(lines.Columns, line)
	}
	a.Arrays = append(append(all.finish(lengths), Array{Name: "names", Text: names}), within(of)...)
	a.short("smoothed "+of[0].Name, "step", clock(of))
	if len(c.Observations) > 0 {
		drawn := lines.Figure()
		a.Figure = &drawn
	}
	return a
}

// Simulations are series that a model made up. Arrays are y and mean [T,nx], states [T,nz] and weights [T,M]. The
// arrays names and, where they differ or are known, length and dt are added.
func Simulations(list []Simulation, c Columns) *Answer {
	nx, nz := len(list[0].Observations[0]), len(list[0].States[0])
	var lengths []int
	for _, s := range list {
		lengths = append(lengths, len(s.Observations))
	}
	T := slices.Max(lengths)
	names := observed(c, nx)
	a := &Answer{Rows: eval.Table{Corner: "episode", Columns: append([]string{"t"}, names...)}}
	all := stack{series: len(list)}
	m := width(list[0].Weights)
	lines := figure.Timelines{Name: "simulation", Regimes: m / (1 + len(list[0].Others))}
	for i, s := range list {
		all.add(i, "y", s.Observations, T, nx)
		all.add(i, "mean", s.Mean, T, nx)
		all.add(i, "states", s.States, T, nz)
		all.add(i, "weights", s.Weights, T, m)
		a.states(label{name: strconv.Itoa(i)}, nil, lengths[i], s.Observations)
		line := figure.Timeline{
			Title: "episode " + strconv.Itoa(i), Unit: c.DT, Of: c.TimeUnit, Regimes: s.Regime, Others: s.Others,
		}
		for j, name := range c.Observations {
			line.Tracks = append(line.Tracks, figure.Track{Name: name, Truth: column(s.Observations, j)})
		}
		lines.Columns = append(lines.Columns, line)
	}
	if slices.Min(lengths) < T {
		all.finish(lengths)
	}
	a.Arrays = append(all.arrays, Array{Name: "names", Text: names})
	time := "step"
	// With a time between two steps the first column is time, not the number of the step.
	if c.DT > 0 {
		if time = "t"; c.TimeUnit != "" {
			time = "t, " + c.timeUnits()
		}
		a.Arrays = append(a.Arrays, Array{Name: "dt", Values: []float64{c.DT}})
		for i, row := range a.Rows.Rows {
			a.Rows.Rows[i].Values[0] = multiple(row.Values[0], c.DT)
		}
	}
	a.short("the first simulated series", time, nil)
	if len(c.Observations) > 0 {
		drawn := lines.Figure()
		a.Figure = &drawn
	}
	return a
}

// multiple is n·unit without the digits that only the product has: 33 steps of 0.1 are 3.3.
func multiple(n, unit float64) float64 {
	v, err := strconv.ParseFloat(strconv.FormatFloat(n*unit, 'g', 15, 64), 64)
	if err != nil {
		return n * unit // it is beyond float64
	}
	return v
}

// Linearizations are the systems along recordings. Arrays are A [T,nz,nz], B [T,nz,nu], bias [T,nz], C [T,nx,nz] and
// state [T,nz]; the first row of A, B, bias and C, to whose step no system leads, is NaN.
func Linearizations(of []Recording, list [][]Linearization, c Columns) *Answer {
	T, lengths := longest(of)
	a := &Answer{Rows: headed(of)}
	all := stack{series: len(list)}
	lines := figure.Timelines{
		Name: "linearize", Caption: "moduli of the eigenvalues of A",
		Means: "modulus of an eigenvalue",
	}
	called := labels(of)
	for i, series := range list {
		l := series[0]
		nz := len(l.A)
		// Lays a matrix of every step out as a row, behind a row of NaN for the first step.
		flat := func(name string, width int, of func(l Linearization) [][]float64) [][]float64 {
			rows := [][]float64{nans(width)}
			for _, l := range series {
				var row []float64
				for _, r := range of(l) {
					row = append(row, r...)
				}
				rows = append(rows, row)
			}
			all.add(i, name, rows, T, width)
			return rows
		}
		A := flat("A", nz*nz, func(l Linearization) [][]float64 { return l.A })
		lists := [][][]float64{A}
		if len(l.B) > 0 {
			lists = append(lists, flat("B", nz*len(l.B[0]), func(l Linearization) [][]float64 { return l.B }))
		}
		lists = append(lists, flat("bias", nz, func(l Linearization) [][]float64 { return [][]float64{l.Bias} }))
		if l.C != nil {
			lists = append(lists, flat("C", nz*len(l.C), func(l Linearization) [][]float64 { return l.C }))
		}
		flat("state", nz, func(l Linearization) [][]float64 { return [][]float64{l.State} })
		moduli := flat("moduli", nz, func(l Linearization) [][]float64 {
			var row []float64
			for _, m := range l.Modes {
				row = append(row, m.Modulus)
			}
			return [][]float64{row}
		})
		if i == 0 {
			for _, w := range []struct {
				word       string
				rows, cols int
			}{{"A", nz, nz}, {"B", min(len(l.B), nz), len(c.Controls)}, {"bias", 1, nz}, {"C", len(l.C), nz}} {
				for r := range w.rows {
					for k := range w.cols {
						a.Rows.Columns = append(a.Rows.Columns, fmt.Sprintf("%s[%d,%d]", w.word, r+1, k+1))
					}
				}
			}
		}
		a.states(called[i], of[i].Times, len(of[i].Observations), lists...)
		line := figure.Timeline{Title: of[i].Name, Unit: c.DT, Of: c.TimeUnit}
		for j := range nz {
			line.Tracks = append(line.Tracks, figure.Track{
				Name: "|λ" + strconv.Itoa(j+1) + "|", Start: 1,
				Mean: column(moduli, j)[1:],
			})
		}
		lines.Columns = append(lines.Columns, line)
	}
	a.Arrays = append(all.finish(lengths), within(of)...)
	unflatten(a.Arrays, list[0][0])
	a.short("the linear system that leads to each step of "+of[0].Name, "step", clock(of))
	drawn := lines.Figure()
	a.Figure = &drawn
	return a
}

// unflatten gives matrices their shapes. They were stacked as rows of numbers.
func unflatten(arrays []Array, l Linearization) {
	nz := len(l.A)
	for i, x := range arrays {
		rows := map[string]int{"A": nz, "B": nz, "C": len(l.C)}[x.Name]
		if n := len(x.Shape); rows > 0 {
			arrays[i].Shape = append(x.Shape[:n-1:n-1], rows, x.Shape[n-1]/rows)
		}
	}
}

// nans are n values that are unknown.
func nans(n int) []float64 {
	list := make([]float64, n)
	for i := range list {
		list[i] = math.NaN()
	}
	return list
}
