package figure

import (
	"fmt"
	"image/color"
	"math"
	"slices"
	"strconv"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"github.com/switchyard-ml/switchyard/envs/files"
	"github.com/switchyard-ml/switchyard/eval"
)

// The largest numbers of channels and labels that a page has room for.
const (
	maxObservations = 8
	maxControls     = 6
	maxLabels       = 16
	labelsPerRow    = 4
)

// A track is one row of panels: a channel over time, with one panel per episode. value is NaN where there is none.
type track struct {
	name  string
	color color.NRGBA
	steps bool // a control is held over a step
	value func(e *files.Episode, t int) float64
}

// Trajectories lays out observations and controls over time: a column for each of the given
// episodes, a row for each channel, and one for labels and modes. Missing values leave gaps on a
// grey ground. Images are left to Images. There must be at least one episode, and something to draw.
func Trajectories(name string, d *files.Dataset, episodes []int) Figure {
	channels := tracks(d)
	rows := trackRows(d, channels, episodes)
	return Figure{
		Name: name, width: (1.0 + 3.1*vg.Length(len(episodes))) * vg.Inch,
		height: (0.8*vg.Length(len(rows)) + 0.75) * vg.Inch,
		draw:   page{channelLayout(), rows, ""}.draw,
		tables: trackTables(d, channels, episodes),
	}
}

// tracks are the channels that are drawn.
func tracks(d *files.Dataset) []track {
	var rows []track
	if !d.Images() {
		for c := range min(d.Spec.Observation, maxObservations) {
			rows = append(rows, track{name: d.ObservationName(c), color: blue, value: func(e *files.Episode, t int) float64 {
				i := t*d.Spec.Observation + c
				if e.Mask != nil && e.Mask[i] == 0 {
					return math.NaN()
				}
				return float64(e.Observations[i])
			}})
		}
	}
	for c := range min(d.Spec.Control, maxControls) {
		rows = append(rows, track{
			name: d.ControlName(c), color: vermilion, steps: true,
			value: func(e *files.Episode, t int) float64 {
				if t == 0 {
					return math.NaN() // the control of the first step acts on nothing
				}
				return float64(e.Controls[t*d.Spec.Control+c])
			},
		})
	}
	return rows
}

// A mark is a line of bars: a label, or the modes. Bars of one colour that follow each other are one.
type mark struct {
	name  string
	color func(e *files.Episode, t int) color.Color // nil: no bar
}

// marks are the labels that are drawn, and the modes if they are known.
func marks(d *files.Dataset) []mark {
	var list []mark
	n := len(d.Spec.Labels)
	for l, name := range d.Spec.Labels[:min(n, maxLabels)] {
		list = append(list, mark{name, func(e *files.Episode, t int) color.Color {
			if e.Labels[t*n+l] == 1 {
				return green
			}
			return nil
		}})
	}
	var modes []int32 // the different ones, each of which has a colour of its own
	for _, e := range d.Episodes {
		modes = append(modes, e.Modes...)
		slices.Sort(modes)
		modes = slices.Compact(modes)
	}
	if palette := categories(len(modes)); len(modes) > 0 {
		list = append(list, mark{"mode", func(e *files.Episode, t int) color.Color {
			if e.Modes == nil {
				return nil
			}
			k, _ := slices.BinarySearch(modes, e.Modes[t])
			return palette[k]
		}})
	}
	return list
}

// trackRows are the channels in rows and the episodes in columns, below them the marks, labelsPerRow lines to a panel.
func trackRows(d *files.Dataset, channels []track, episodes []int) [][]panel {
	var rows [][]panel
	each := func(plotted func(e *files.Episode) *plot.Plot) {
		var row []panel
		for _, i := range episodes {
			p := panel{Plot: plotted(&d.Episodes[i])}
			if len(rows) == 0 {
				p.title = fmt.Sprintf("episode %d", i)
			}
			row = append(row, p)
		}
		rows = append(rows, row)
	}
	for _, r := range channels {
		lo, hi := r.bounds(d, episodes)
		each(func(e *files.Episode) *plot.Plot { return trackPanel(r, e, d.Spec.DT, lo, hi) })
	}
	for group := range slices.Chunk(marks(d), labelsPerRow) {
		each(func(e *files.Episode) *plot.Plot { return markPanel(group, e, d.Spec.DT) })
	}
	shareAxes(rows)
	return rows
}

// bounds are those of a channel over all episodes shown, with a margin; a channel that is constant has room on
// both sides, and one that was never observed runs from −1 to 1.
func (r track) bounds(d *files.Dataset, episodes []int) (lo, hi float64) {
	lo, hi = math.Inf(1), math.Inf(-1)
	for _, i := range episodes {
		e := &d.Episodes[i]
		for t := range e.T {
			if v := r.value(e, t); !math.IsNaN(v) {
				lo, hi = min(lo, v), max(hi, v)
			}
		}
	}
	if lo > hi {
		return -1, 1 // nothing was observed
	}
	margin := 0.08 * (hi - lo)
	if margin <= 1e-6*math.Abs(hi) {
		margin = max(0.5*math.Abs(hi), 1)
	}
	return lo - margin, hi + margin
}

// timeAxis is the axis of an episode, from its first to its last step, and the time between two: the environment's
// where it is known, else steps.
func timeAxis(e *files.Episode, dt float64) (axis, float64) {
	unit, label, marks := dt, "time", 6
	if dt == 0 {
		unit, label, marks = 1, "step", wholeMarks(e.T)
	}
	return axis{label, 0, unit * float64(e.T-1), marks}, unit
}

// wholeMarks is how many marks an axis of so many steps has: no mark is between two steps.
func wholeMarks(steps int) int { return max(1, min(6, steps-1)) }

// trackPanel draws a channel of an episode between lo and hi, and its gaps as a grey ground.
func trackPanel(r track, e *files.Episode, dt, lo, hi float64) *plot.Plot {
	x, unit := timeAxis(e, dt)
	p := newPlot(x, axis{r.name, lo, hi, 4})
	missing := func(t int) bool { return math.IsNaN(r.value(e, t)) }
	for from, to := range spans(e.T, missing) {
		if missing(from) && !r.steps { // that the first step has no control is no gap
			ground := box(unit*(float64(from)-0.5), lo, unit*(float64(to-1)+0.5), hi)
			p.Add(area{ground, translucent(grey, 0.22), draw.LineStyle{}})
		}
	}
	var data []point
	for t := range e.T {
		if r.steps { // held from the step before to this one
			data = append(data, point{unit * float64(t-1), r.value(e, t)})
		}
		data = append(data, point{unit * float64(t), r.value(e, t)})
	}
	p.Add(trace{data, r.color})
	return p
}

// markPanel draws bars over the steps that are marked, one line for each mark.
func markPanel(group []mark, e *files.Episode, dt float64) *plot.Plot {
	x, unit := timeAxis(e, dt)
	p := newPlot(x, axis{"", 0, float64(len(group)), 1})
	var lines names
	for row, m := range slices.Backward(group) { // the first on top
		row = len(group) - 1 - row
		lines = append(lines, m.name)
		for from, to := range spans(e.T, func(t int) color.Color { return m.color(e, t) }) {
			if fill := m.color(e, from); fill != nil {
				bar := box(unit*(float64(from)-0.5), float64(row)+0.15, unit*(float64(to)-0.5), float64(row)+0.85)
				p.Add(area{bar, fill, draw.LineStyle{}})
			}
		}
	}
	p.Y.Tick.Marker = lines
	return p
}

// names writes a name in the middle of each unit of an axis.
type names []string

var _ plot.Ticker = names(nil)

// Ticks implements plot.Ticker.
func (n names) Ticks(float64, float64) []plot.Tick {
	var marks []plot.Tick
	for i, name := range n {
		marks = append(marks, plot.Tick{Value: float64(i) + 0.5, Label: name})
	}
	return marks
}

// trackTables are the numbers of the panels, one table per episode; t is there where dt is known.
func trackTables(d *files.Dataset, rows []track, episodes []int) []namedTable {
	if d.Spec.DT > 0 {
		time := track{name: "t", value: func(_ *files.Episode, t int) float64 {
			return rounded(d.Spec.DT*float64(t), 12,
				64)
		}}
		rows = append([]track{time}, rows...)
	}
	// Labels and modes are numbers in the table; on the page they are bars.
	rows = append(slices.Clip(rows), truths(d)...)
	var tables []namedTable
	for _, i := range episodes {
		e := &d.Episodes[i]
		t := eval.Table{Corner: "step"}
		for _, r := range rows {
			t.Columns = append(t.Columns, r.name)
		}
		for step := range e.T {
			row := eval.Row{Name: fmt.Sprint(step)}
			for _, r := range rows {
				v := r.value(e, step)
				if r.name != "t" { // data are float32
					v = rounded(v, -1, 32)
				}
				row.Values = append(row.Values, v)
			}
			t.Rows = append(t.Rows, row)
		}
		tables = append(tables, namedTable{fmt.Sprintf("episode%d", i), t})
	}
	return tables
}

// truths are the labels and modes as numbers.
func truths(d *files.Dataset) []track {
	var list []track
	n := len(d.Spec.Labels)
	for l := range n {
		list = append(list, track{name: d.LabelName(l), value: func(e *files.Episode, t int) float64 {
			return float64(e.Labels[t*n+l])
		}})
	}
	if slices.ContainsFunc(d.Episodes, func(e files.Episode) bool { return e.Modes != nil }) {
		list = append(list, track{name: "z", value: func(e *files.Episode, t int) float64 {
			if e.Modes == nil {
				return math.NaN()
			}
			return float64(e.Modes[t])
		}})
	}
	return list
}

// rounded is the number that v is when written with some digits; with -1, as few as tell it from others
// of that many bits.
func rounded(v float64, digits, bits int) float64 {
	short, err := strconv.ParseFloat(strconv.FormatFloat(v, 'g', digits, bits), 64)
	if err != nil {
		return v
	}
	return short
}
