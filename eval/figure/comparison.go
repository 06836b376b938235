package figure

import (
	"cmp"
	"fmt"
	"image/color"
	"math"
	"slices"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"github.com/switchyard-ml/switchyard/eval"
)

// Comparison is a figure of several models, each trained with several seeds, beside published figures: one panel
// beside the other, with one key for all.
type Comparison struct {
	Name   string // of the files
	Panels []ComparisonPanel
}

// ComparisonPanel is one panel of a Comparison. Values are those of the data on both axes, in logarithms or not;
// on an axis of logarithms only what is positive is drawn.
type ComparisonPanel struct {
	Name, Title string // Name: of its CSV file
	X, Y        string // labels of the axes, with units
	LogX, LogY  bool
	Lines       []ComparisonLine
}

// ComparisonLine is a model: its mean over the seeds is a line, their range a band.
type ComparisonLine struct {
	Name      string
	X         []float64
	Seeds     [][]float64    // [seed][len(X)]; not finite: the seed has none
	Reference bool           // what the models are compared with: a dashed line
	Paper     eval.Published // drawn as rings of the same colour
}

// spread returns mean, lowest and highest value over the seeds, at each x, and how many seeds count there: those
// whose value is finite. An x without any is left out.
func (l ComparisonLine) spread() (mean, low, high []point, counts []int) {
	for i, x := range l.X {
		sum, n, lo, hi := 0.0, 0, math.Inf(1), math.Inf(-1)
		for _, seed := range l.Seeds {
			if v := seed[i]; eval.Finite(v) {
				sum, n, lo, hi = sum+v, n+1, min(lo, v), max(hi, v)
			}
		}
		if n > 0 {
			mean, counts = append(mean, point{x, sum / float64(n)}), append(counts, n)
			low, high = append(low, point{x, lo}), append(high, point{x, hi})
		}
	}
	return mean, low, high, counts
}

// partial are the points of the mean where some seeds do not count: it is that of the others, which may be better.
func (l ComparisonLine) partial() []point {
	mean, _, _, counts := l.spread()
	var list []point
	for i, n := range counts {
		if n < len(l.Seeds) {
			list = append(list, mean[i])
		}
	}
	return list
}

// published are the values of a published row as points.
func published(p eval.Published) []point {
	var data []point
	for i, x := range p.At {
		data = append(data, point{x, p.Values[i]})
	}
	return data
}

// Figure draws the comparison. The same name has the same colour in every panel. A panel is 3.9 inches wide, and
// as high at least; the key is as wide and as high as the names need. Every panel has a CSV file.
func (c Comparison) Figure() Figure {
	var names []string // of lines that are no reference, for their colours
	var samples []sample
	// Whether any panel has published values, means of some seeds alone, or several seeds, which the key then explains.
	printed, partial, ranged := false, false, false
	for _, p := range c.Panels {
		for _, l := range p.Lines {
			if !l.Reference && !slices.Contains(names, l.Name) {
				names = append(names, l.Name)
			}
			printed, partial = printed || len(l.Paper.At) > 0, partial || len(l.partial()) > 0
			ranged = ranged || len(l.Seeds) > 1 && !l.Reference
		}
	}
	colors := categories(len(names))
	for i, name := range names {
		samples = append(samples, sample{text: name, line: line(colors[i], 1.7)})
	}
	f := Figure{Name: c.Name}
	var row []panel
	for _, p := range c.Panels {
		drawn, references := p.plot(names, colors)
		row = append(row, panel{Plot: drawn, title: p.Title})
		for _, s := range references {
			if !slices.ContainsFunc(samples, func(o sample) bool { return o.text == s.text }) {
				samples = append(samples, s)
			}
		}
		f.tables = append(f.tables, namedTable{p.Name, p.table()})
	}
	if printed {
		samples = append(samples, sample{text: "the paper", glyph: paperSign(ink)})
	}
	if partial {
		samples = append(samples, sample{text: "finite seeds alone", glyph: partialSign(ink)})
	}
	if ranged {
		samples = append(samples, sample{text: "range of seeds", fill: translucent(grey, 0.3)})
	}
	row[len(row)-1].beside = samples
	right := columnWidth(samples, 132)
	f.height = max(3.9*vg.Inch, rowHeight*vg.Length(len(samples)+3))
	f.width = vg.Length(len(c.Panels))*3.9*vg.Inch + right + 4.8
	f.draw = page{layout{right: right, gapX: 34, letters: true}, [][]panel{row}, ""}.draw
	return f
}

// paperSign is the sign of published figures, a ring.
func paperSign(c color.Color) draw.GlyphStyle {
	return draw.GlyphStyle{Color: c, Radius: 3, Shape: draw.RingGlyph{}}
}

// partialSign is the sign of means of some of the seeds, a cross.
func partialSign(c color.Color) draw.GlyphStyle {
	return draw.GlyphStyle{Color: c, Radius: 3, Shape: draw.CrossGlyph{}}
}

// plot makes the panel, and the samples of its references. A line of fewer than eight points has dots at them; a
// band needs two seeds.
func (p ComparisonPanel) plot(names []string, colors []color.NRGBA) (*plot.Plot, []sample) {
	var references []sample
	var plotters []plot.Plotter
	var all [][]point
	for _, l := range p.Lines {
		mean, low, high, _ := l.spread()
		style := line(ink, 1, 4, 2)
		if l.Reference {
			references = append(references, sample{text: l.Name, line: style})
		} else {
			c := colors[slices.Index(names, l.Name)]
			style = line(c, 1.7)
			if len(l.Seeds) > 1 {
				plotters = append(plotters, band{p.scaled(low), p.scaled(high), translucent(c, 0.25)})
			}
			plotters = append(plotters, markers{p.scaled(published(l.Paper)), paperSign(c)})
			// A line of few points has them marked: between them nothing was measured.
			if len(mean) < 8 {
				plotters = append(plotters, markers{p.scaled(mean), draw.GlyphStyle{
					Color: c, Radius: 2,
					Shape: draw.CircleGlyph{},
				}})
			}
		}
		plotters = append(plotters, curve{p.scaled(mean), style}, markers{p.scaled(l.partial()), partialSign(style.Color)})
		all = append(all, mean, low, high, published(l.Paper))
	}
	x, y := p.axes(all)
	drawn := newPlot(x, y)
	if p.LogX {
		drawn.X.Tick.Marker = decades{}
	}
	if p.LogY {
		drawn.Y.Tick.Marker = decades{}
	}
	drawn.Add(plotters...)
	return drawn, references
}

// scaled maps data to the axes, of which some have logarithms. What has no logarithm becomes NaN or an infinity,
// which is not drawn.
func (p ComparisonPanel) scaled(data []point) []point {
	mapped := make([]point, len(data))
	for i, d := range data {
		if p.LogX {
			d.x = math.Log10(d.x)
		}
		if p.LogY {
			d.y = math.Log10(d.y)
		}
		mapped[i] = d
	}
	return mapped
}

// axes hold all data, with a margin; from 0 to 1 if there are none. What is the same everywhere stands in the middle of
// an axis that is wide enough to read it.
func (p ComparisonPanel) axes(all [][]point) (x, y axis) {
	// Axes are in logarithms where the panel is; references and published values count, too.
	x, y = axis{p.X, math.Inf(1), math.Inf(-1), 6}, axis{p.Y, math.Inf(1), math.Inf(-1), 6}
	for _, data := range all {
		for _, d := range p.scaled(data) {
			if !math.IsInf(d.x, 0) && !math.IsInf(d.y, 0) && !math.IsNaN(d.y) {
				x.min, x.max, y.min, y.max = min(x.min, d.x), max(x.max, d.x), min(y.min, d.y), max(y.max, d.y)
			}
		}
	}
	for a, log := range map[*axis]bool{&x: p.LogX, &y: p.LogY} {
		if a.min > a.max {
			a.min, a.max = 0, 1
		}
		margin := 0.04 * (a.max - a.min)
		switch {
		case a.max-a.min > 1e-9*math.Abs(a.max):
		case log:
			margin = math.Log10(2)
		default:
			margin = cmp.Or(0.5*math.Abs(a.max), 1)
		}
		a.min, a.max = a.min-margin, a.max+margin
	}
	return x, y
}

// table holds the numbers of the panel, in the units of the data: a row for each point of a line, whose name says it
// where some seeds are not finite there, and for each published value, which has no range.
func (p ComparisonPanel) table() eval.Table {
	t := eval.Table{Corner: "line", Columns: []string{"x", "mean", "low", "high"}}
	for _, l := range p.Lines {
		mean, low, high, counts := l.spread()
		for i, m := range mean {
			name := l.Name
			if counts[i] < len(l.Seeds) {
				name = fmt.Sprintf("%s, %d of %d seeds finite", name, counts[i], len(l.Seeds))
			}
			t.Rows = append(t.Rows, eval.Row{Name: name, Values: []float64{m.x, m.y, low[i].y, high[i].y}})
		}
		for _, d := range published(l.Paper) {
			t.Rows = append(t.Rows, eval.Row{
				Name:   fmt.Sprintf("%s, the paper", l.Name),
				Values: []float64{d.x, d.y, math.NaN(), math.NaN()},
			})
		}
	}
	return t
}
