package figure

import (
	"math"
	"strings"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"github.com/switchyard-ml/switchyard/eval"
)

// Table1 draws the squared error over that of Static against the horizon, with the published figures, and beside it the
// error over the variance that the model predicts.
func Table1(r eval.Table1Report) Figure {
	ratio, samples := ratioPanel(r)
	row := []panel{
		{Plot: ratio, title: r.Environment + ": squared error over Static"},
		{Plot: calibrationPanel(r), title: "Error over predicted variance", beside: samples},
	}
	return Figure{
		Name: "table1", width: 9.6 * vg.Inch, height: 4 * vg.Inch,
		draw:   page{layout{right: columnWidth(samples, 150), gapX: 40, letters: true}, [][]panel{row}, ""}.draw,
		tables: []namedTable{{"errors", r.CurveTable()}},
	}
}

// ratioPanel draws ratios to Static over the horizon on an axis of logarithms, the model with a band of two
// standard errors, and the published ratios as signs. It returns the key.
func ratioPanel(r eval.Table1Report) (*plot.Plot, []sample) {
	// Predictors without a style are not drawn.
	styles := map[string]draw.LineStyle{
		"": line(blue, 1.9), "one_rollout": line(sky, 1.2), "linear": line(grey, 1, 1.2, 1.6), "static": line(ink, 1, 4, 2),
	}
	var samples []sample
	var curves [][]point
	var plotters []plot.Plotter
	for _, row := range r.Rows {
		style, drawn := styles[row.Key]
		if !drawn {
			continue
		}
		data, low, high := estimatePoints(row.Ratio)
		curves = append(curves, data)
		if row.Key == "" {
			plotters = append(plotters, band{logarithms(low), logarithms(high), translucent(blue, 0.25)})
			samples = append(samples, sample{text: "± 2 standard errors", fill: translucent(blue, 0.25)})
		}
		plotters = append(plotters, curve{logarithms(data), style})
		samples = append(samples, sample{text: strings.TrimSpace(row.Name), line: style})
	}
	signs := []draw.GlyphStyle{
		{Color: pale, Radius: 2.6, Shape: draw.BoxGlyph{}},
		{Color: purple, Radius: 3, Shape: draw.TriangleGlyph{}},
		{Color: orange, Radius: 2.6, Shape: draw.BoxGlyph{}},
		{Color: green, Radius: 3, Shape: draw.PyramidGlyph{}},
		{Color: vermilion, Radius: 3, Shape: draw.CircleGlyph{}},
	}
	// Static is the first of the published rows and has no sign: it is 1 everywhere.
	for i, p := range eval.Table1Ratios(r.Environment) {
		if p.Key == "static" {
			continue
		}
		at := published(p)
		curves = append(curves, at)
		plotters = append(plotters, markers{logarithms(at), signs[i-1]})
		samples = append(samples, sample{text: "paper: " + p.Name, glyph: signs[i-1]})
	}
	lo, hi := logRange(1e-6, curves...)
	p := newPlot(axis{"horizon k (steps)", 0, eval.Table1Horizon + 0.5, 6}, axis{"squared error / Static", lo, hi, 6})
	p.Y.Tick.Marker = decades{}
	p.Add(plotters...)
	return p, samples
}

// calibrationPanel draws the squared error over the predicted variance on an axis of logarithms that holds ½ to 2
// at least; dashed where it should be, at 1.
func calibrationPanel(r eval.Table1Report) *plot.Plot {
	data, low, high := estimatePoints(r.Calibration)
	lo, hi := logRange(1e-6, data, []point{{1, 0.5}, {1, 2}})
	p := newPlot(axis{"horizon k (steps)", 0, eval.Table1Horizon + 0.5, 6},
		axis{"squared error / predicted variance", lo, hi, 6})
	p.Y.Tick.Marker = decades{}
	p.Add(
		curve{[]point{{0, 0}, {eval.Table1Horizon + 0.5, 0}}, line(ink, 1, 4, 2)},
		band{logarithms(low), logarithms(high), translucent(blue, 0.25)}, curve{logarithms(data), line(blue, 1.9)},
	)
	return p
}

// estimatePoints are estimates at k = 1, 2, … and the limits of two standard errors about them. The lower limit is
// a hundredth of the value at least, as logarithms need; without a standard error both are the value.
func estimatePoints(list []eval.Estimate) (data, low, high []point) {
	for i, e := range list {
		k, se := float64(i+1), e.SE
		if math.IsNaN(se) {
			se = 0
		}
		data = append(data, point{k, e.Value})
		low, high = append(low, point{k, max(e.Value-2*se, e.Value/100)}), append(high, point{k, e.Value + 2*se})
	}
	return data, low, high
}
