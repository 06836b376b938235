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

	"github.com/switchyard-ml/switchyard/eval"
)

// Timelines are the figure of series over time, of forecasts, filtering, smoothing, regimes and simulations alike:
// a column for each series, a row for each channel, and below them a strip of regimes.

// Timelines are series over time side by side, each with its channels below each other and, if they are known, its
// regimes as a strip. All have the same channels, of which the first are drawn. Steps are laid out over time, in
// the unit of the series if it is known.
type Timelines struct {
	Name    string // of the files
	Columns []Timeline
	Regimes int // how many there are; 0: none are drawn
	Caption string
	Means   string // what the dashed line is; empty: there is none
	Bands   string // what the band is; empty: there is none
}

// Timeline is one series. Steps are numbered from First on, and lists begin there.
type Timeline struct {
	Title   string
	First   int     // time step of the first values
	Unit    float64 // time between two steps; 0: steps are counted
	Of      string  // what Unit is counted in, such as day; empty: unknown
	Tracks  []Track
	Regimes []int   // of each step from First on; nil: unknown
	True    []int   // the regimes that stand for the true ones; −1: none does; nil: unknown
	Others  [][]int // the regimes of further bodies; nil: there is one body
}

// Track is one channel of a series. Mean, Lower and Upper begin at step Start; Truth may end there or go on.
type Track struct {
	Name         string
	Truth        []float64 // from First on; NaN: missing
	Start        int       // the time step, counted from First, of the first of what follows
	Mean         []float64
	Lower, Upper []float64 // a band around the mean; nil: none
}

// shownTimelines and shownTracks are the most columns and rows of a page.
const (
	shownTimelines = 3
	shownTracks    = 8
)

// Figure lays the timelines out. There must be at least one. A page has shownTimelines columns and shownTracks
// rows at most; the table has all steps of what is drawn.
func (t Timelines) Figure() Figure {
	t.Columns = t.Columns[:min(len(t.Columns), shownTimelines)]
	rows := min(len(t.Columns[0].Tracks), shownTracks)
	strip := vg.Length(0)
	if t.Regimes > 0 {
		strip = 0.4
	}
	width := 1.0 + 3.1*vg.Length(len(t.Columns))
	// A series alone is drawn wider.
	if len(t.Columns) == 1 {
		width = 6.4
	}
	return Figure{
		Name: t.Name, width: width * vg.Inch, height: (max(0.85*vg.Length(rows), 1.7) + strip + 1) * vg.Inch,
		draw:   func(c draw.Canvas) { t.draw(c, rows) },
		tables: []namedTable{{"series", t.table(rows)}},
	}
}

// draw lays out the channels, below them the strips of regimes, the keys above and the caption below.
func (t Timelines) draw(c draw.Canvas, rows int) {
	whiten(c)
	top := vg.Length(28) + rowHeight*vg.Length(len(t.keys()))
	panels, places := t.places(draw.Crop(c, 0, 0, captionHeight(c, t.Caption), -top), rows)
	right := vg.Length(0)
	for i, p := range panels {
		right = max(right, rightOf(p.Plot, places[i]))
	}
	for i, p := range panels {
		at := draw.Crop(places[i], 0, rightOf(p.Plot, places[i])-right, 0, 0)
		p.Draw(at)
		data := p.DataCanvas(at)
		title(c, "", p.title, vg.Point{X: data.Min.X, Y: data.Max.Y + 6}, places[i].Max.X)
	}
	for i, samples := range t.keys() {
		drawRow(c, samples, c.Max.X-12, c.Max.Y-10-rowHeight*vg.Length(i))
	}
	caption(c, t.Caption)
}

// places are the panels, and where each stands in a body. Strips have a height of their own; all panels are aligned by
// the width of what stands left of the widest.
func (t Timelines) places(body draw.Canvas, rows int) (all []panel, places []draw.Canvas) {
	panels, left, strips := t.panels(rows), vg.Length(0), vg.Length(0)
	for _, p := range slices.Concat(panels...) {
		left = max(left, leftOf(p.Plot))
	}
	if t.Regimes > 0 {
		strips = 0.55 * vg.Inch
	}
	tiles := draw.Tiles{Rows: rows, Cols: len(t.Columns), PadLeft: 6, PadRight: 14, PadX: 16, PadY: 2}
	for i, row := range panels {
		place, k := draw.Crop(body, 0, 0, strips, 0), i
		if i == rows { // the strips, behind the last channel
			place, k, tiles.Rows = draw.Crop(body, 0, 0, 0, -(body.Max.Y-body.Min.Y-strips)), 0, 1
		}
		for j, p := range row {
			at := draw.Crop(tiles.At(place, j, k), left-leftOf(p.Plot), 0, 0, 0)
			fitLabel(p.Plot, at)
			all, places = append(all, p), append(places, at)
		}
	}
	return all, places
}

// panels are the rows of channels and, if there are regimes, that of their strips.
func (t Timelines) panels(rows int) [][]panel {
	var panels [][]panel
	for i := range rows {
		panels = append(panels, t.row(i))
	}
	if t.Regimes > 0 {
		var row []panel
		for _, s := range t.Columns {
			p := newPlot(s.axis(), axis{"", 0, 1, 1})
			p.Y.Tick.Marker = plot.ConstantTicks(s.stripNames())
			p.Add(strip{s, categories(t.Regimes)})
			strip := panel{Plot: p}
			if rows == 0 { // no channel has the title
				strip.title = s.Title
			}
			row = append(row, strip)
		}
		panels = append(panels, row)
	}
	shareAxes(panels)
	return panels
}

// leftOf is the space between the left edge of a plot and its data: labels and marks. The size of the canvas that it is
// measured on plays no part.
func leftOf(p *plot.Plot) vg.Length {
	return p.DataCanvas(draw.Canvas{Rectangle: vg.Rectangle{Max: vg.Point{X: 400, Y: 200}}}).Min.X
}

// rightOf is the space between the data of a plot and the right edge of its place, as half of a mark takes it.
func rightOf(p *plot.Plot, at draw.Canvas) vg.Length { return at.Max.X - p.DataCanvas(at).Max.X }

// keys explain the signs, row by row: first the lines and the band, then the regimes if there are at most twelve.
func (t Timelines) keys() [][]sample {
	var signs []sample
	// The first channel of the first series stands for all: they have the same lists.
	for _, k := range t.Columns[0].Tracks[:min(len(t.Columns[0].Tracks), 1)] {
		if k.Truth != nil {
			signs = append(signs, sample{text: "data", line: line(ink, 1.2)})
		}
		if t.Means != "" {
			signs = append(signs, sample{text: t.Means, line: k.meanStyle()})
		}
	}
	if t.Bands != "" {
		signs = append(signs, sample{text: t.Bands, fill: translucent(blue, 0.25)})
	}
	rows := [][]sample{signs}
	if t.Regimes > 0 && t.Regimes <= 12 {
		var regimes []sample
		for k, color := range categories(t.Regimes) {
			text := strconv.Itoa(k + 1)
			if k == 0 {
				text = "regime 1"
			}
			regimes = append(regimes, sample{text: text, fill: color})
		}
		rows = append(rows, regimes)
	}
	return rows
}

// row are the panels of a channel, one for each series, over the same range: that of all that is drawn in it, with
// a margin.
func (t Timelines) row(i int) []panel {
	lo, hi := math.Inf(1), math.Inf(-1)
	for _, s := range t.Columns {
		k := s.Tracks[i]
		for _, list := range [][]float64{k.Truth, k.Mean, k.Lower, k.Upper} {
			for _, v := range list {
				if !math.IsNaN(v) && !math.IsInf(v, 0) {
					lo, hi = min(lo, v), max(hi, v)
				}
			}
		}
	}
	if lo > hi {
		lo, hi = -1, 1
	}
	// A series that is constant still needs an axis with two ends.
	margin := 0.08 * (hi - lo)
	if hi-lo <= 1e-12*math.Abs(hi) {
		margin = max(0.5, 0.1*math.Abs(hi))
	}
	var row []panel
	for _, s := range t.Columns {
		p := panel{Plot: s.panel(i, axis{s.Tracks[i].Name, lo - margin, hi + margin, 4})}
		if i == 0 {
			p.title = s.Title
		}
		row = append(row, p)
	}
	return row
}

// length is the number of steps that are drawn.
func (s Timeline) length() int {
	n := len(s.Regimes)
	for _, k := range s.Tracks {
		n = max(n, len(k.Truth), k.Start+len(k.Mean))
	}
	return n
}

// at is the time of a step, counted from First, in multiples of Unit if it is known.
func (s Timeline) at(step int) float64 {
	if s.Unit > 0 {
		return s.Unit * float64(s.First+step)
	}
	return float64(s.First + step)
}

// axis is the axis of time, from the first to the last step that is drawn.
func (s Timeline) axis() axis {
	label, marks := "step", wholeMarks(s.length())
	if s.Unit > 0 {
		label, marks = "time", 6
		if s.Of != "" {
			label = "time (" + s.Of + ")"
		}
	}
	return axis{label, s.at(0), s.at(max(s.length()-1, 1)), marks}
}

// panel draws channel i: the data as a line with gaps where they are missing, and from Start on the band and the
// mean, with a dotted line at the last step before.
func (s Timeline) panel(i int, y axis) *plot.Plot {
	k := s.Tracks[i]
	p := newPlot(s.axis(), y)
	along := func(values []float64, start int) []point {
		var list []point
		for t, v := range values {
			list = append(list, point{s.at(start + t), v})
		}
		return list
	}
	// What is predicted begins at the last value that was seen.
	ahead := func(values []float64) []point {
		if from := k.Start - 1; from >= 0 && from < len(k.Truth) && !math.IsNaN(k.Truth[from]) && len(values) > 0 {
			return append([]point{{s.at(from), k.Truth[from]}}, along(values, k.Start)...)
		}
		return along(values, k.Start)
	}
	if k.Lower != nil {
		p.Add(band{ahead(k.Lower), ahead(k.Upper), translucent(blue, 0.25)})
	}
	if k.Start > 0 && len(k.Mean) > 0 {
		p.Add(curve{[]point{{s.at(k.Start - 1), y.min}, {s.at(k.Start - 1), y.max}}, line(grey, 0.8, 2, 2)})
	}
	p.Add(trace{along(k.Truth, 0), ink}, curve{ahead(k.Mean), k.meanStyle()})
	return p
}

// meanStyle is dashed beside the truth.
func (k Track) meanStyle() draw.LineStyle {
	if k.Truth == nil {
		return line(blue, 1.2)
	}
	return line(blue, 1.5, 4, 2)
}

// strips are the rows of regimes, from the top: the true ones where they are known, and those of each body.
func (s Timeline) strips() (rows [][]int, names []string) {
	if s.True != nil {
		return [][]int{s.True, s.Regimes}, []string{"true", "found"}
	}
	rows = append([][]int{s.Regimes}, s.Others...)
	for i := range rows {
		names = append(names, fmt.Sprintf("body %d", i+1))
	}
	return rows, names
}

// stripNames stand beside the rows of regimes, if there are several.
func (s Timeline) stripNames() []plot.Tick {
	rows, names := s.strips()
	if len(rows) < 2 {
		return nil
	}
	var marks []plot.Tick
	for i, name := range names {
		bottom, top := stripOf(i, len(rows))
		marks = append(marks, plot.Tick{Value: (bottom + top) / 2, Label: name})
	}
	return marks
}

// stripOf is the place of row i of n, from the top: rows divide 0 to 1, with gaps of a sixth of a row between them.
func stripOf(i, n int) (bottom, top float64) {
	gap := 0.16 / float64(n)
	height := (1 - gap*float64(n-1)) / float64(n)
	top = 1 - float64(i)*(height+gap)
	return top - height, top
}

// strip colours the steps by their regime, below the true one if it is known, or a row for each body. What leads to a
// step is drawn left of it. Steps without a regime are grey.
type strip struct {
	series  Timeline
	palette []color.NRGBA
}

// Plot implements plot.Plotter.
func (s strip) Plot(c draw.Canvas, p *plot.Plot) {
	rows, _ := s.series.strips()
	for i, regimes := range rows {
		bottom, top := stripOf(i, len(rows))
		s.rows(c, p, regimes, bottom, top)
	}
}

// rows draws regimes as a row of boxes from bottom to top. Bottom and top are between 0 and 1.
func (s strip) rows(c draw.Canvas, p *plot.Plot, regimes []int, bottom, top float64) {
	x, y := p.Transforms(&c)
	for from, to := range spans(len(regimes), func(t int) int { return regimes[t] }) {
		left, right := x(s.series.at(max(from-1, 0))), x(s.series.at(to-1))
		fill := grey
		if k := regimes[from]; k >= 0 {
			fill = s.palette[k%len(s.palette)]
		}
		c.FillPolygon(fill, []vg.Point{
			{X: left, Y: y(bottom)}, {X: right, Y: y(bottom)}, {X: right, Y: y(top)}, {X: left, Y: y(top)},
		})
	}
}

// table holds what is drawn, a row for each step of each series. Series are counted from 0, and so are regimes, as
// the family counts them.
func (t Timelines) table(rows int) eval.Table {
	all := eval.Table{Corner: "series", Columns: []string{"step"}}
	for i := range rows {
		name := t.Columns[0].Tracks[i].Name
		all.Columns = append(all.Columns, name, name+"_mean", name+"_lower", name+"_upper")
	}
	if t.Regimes > 0 {
		all.Columns = append(all.Columns, "regime", "true")
		for i := range t.Columns[0].Others {
			all.Columns = append(all.Columns, fmt.Sprintf("regime_of_body_%d", i+2))
		}
	}
	// Lists begin and end at different steps: outside of one there is no number.
	of := func(values []float64, i int) float64 {
		if i < 0 || i >= len(values) {
			return math.NaN()
		}
		return values[i]
	}
	for j, s := range t.Columns {
		for step := range s.length() {
			row := eval.Row{Name: fmt.Sprint(j), Values: []float64{float64(s.First + step)}}
			for _, k := range s.Tracks[:rows] {
				row.Values = append(row.Values, of(k.Truth, step), of(k.Mean, step-k.Start), of(k.Lower, step-k.Start),
					of(k.Upper, step-k.Start))
			}
			if t.Regimes > 0 {
				row.Values = append(row.Values, regimeAt(s.Regimes, step), regimeAt(s.True, step))
				for _, body := range s.Others {
					row.Values = append(row.Values, regimeAt(body, step))
				}
			}
			all.Rows = append(all.Rows, row)
		}
	}
	return all
}

// regimeAt is the regime of a step, NaN if it is unknown.
func regimeAt(regimes []int, step int) float64 {
	if step >= len(regimes) || regimes[step] < 0 {
		return math.NaN()
	}
	return float64(regimes[step])
}
