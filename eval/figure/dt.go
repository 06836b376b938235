package figure

import (
	"fmt"
	"math"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"github.com/switchyard-ml/switchyard/eval"
)

// DTSeries are runs that differ in the duration of a step alone, in ascending order of it.
type DTSeries struct {
	Name string
	Runs []eval.DTReport
}

// DT draws absolute errors over the duration of a step: beside the published ones, and over those of Static.
func DT(series []DTSeries) Figure {
	numbers := eval.Table{Corner: "series", Columns: []string{"dt", "error", "error_se", "static", "ratio", "ratio_se"}}
	var samples []sample
	errors, ratios := make([][]point, len(series)), make([][]point, len(series))
	for i, s := range series {
		for _, r := range s.Runs {
			errors[i] = append(errors[i], point{math.Log10(r.DT), r.Model.Value})
			ratios[i] = append(ratios[i], point{math.Log10(r.DT), r.Ratio.Value})
			numbers.Rows = append(numbers.Rows, eval.Row{Name: s.Name, Values: []float64{
				r.DT, r.Model.Value, r.Model.SE,
				r.Static.Value, r.Ratio.Value, r.Ratio.SE,
			}})
		}
	}
	var published [][]point
	for _, p := range eval.DTPaper() {
		var data []point
		for i, dt := range eval.DTPaperSteps() {
			data = append(data, point{math.Log10(dt), p.Error[i]})
		}
		published = append(published, data)
	}
	panel := func(label string, curves, marks [][]point) *plot.Plot {
		lo, hi := logRange(1e-9, append(append([][]point{}, curves...), marks...)...)
		p := newPlot(axis{"duration of a step (s)", math.Log10(0.0015), math.Log10(0.15), 6}, axis{label, lo, hi, 6})
		p.X.Tick.Marker, p.Y.Tick.Marker = decades{}, decades{}
		for i, c := range categories(len(curves)) {
			glyph := draw.GlyphStyle{Color: c, Radius: 2.4, Shape: draw.CircleGlyph{}}
			p.Add(curve{logarithms(curves[i]), line(c, 1.5)}, markers{logarithms(curves[i]), glyph})
		}
		for i, data := range marks {
			p.Add(markers{logarithms(data), dtSigns[i]})
		}
		return p
	}
	for i, c := range categories(len(series)) {
		samples = append(samples, sample{text: series[i].Name, line: line(c, 1.5)})
	}
	for i, p := range eval.DTPaper() {
		samples = append(samples, sample{text: "paper: " + p.Name, glyph: dtSigns[i]})
	}
	panels := []*plot.Plot{panel("absolute error per dimension", errors, published), panel("error / Static", ratios, nil)}
	caption := fmt.Sprintf("mean over dimensions and %d steps after the prefix", eval.DTHorizon)
	return Figure{
		Name: "dt", width: 8.6 * vg.Inch, height: 3.9 * vg.Inch, tables: []namedTable{{"runs", numbers}},
		draw: func(c draw.Canvas) {
			drawPanels(draw.Crop(c, 0, 0, 0, -rowHeight), panels, []string{"error", "error over Static"}, 2, caption)
			drawRow(c, samples, c.Max.X-12, c.Max.Y-10)
		},
	}
}

// dtSigns are those of the published lines.
var dtSigns = []draw.GlyphStyle{
	{Color: ink, Radius: 3, Shape: draw.RingGlyph{}},
	{Color: ink, Radius: 3, Shape: draw.TriangleGlyph{}},
}
