package figure

import (
	"fmt"
	"image/color"

	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"github.com/switchyard-ml/switchyard/eval"
)

// Recorded draws the held-out test of a model of recordings: one forecast as a fan beside the truth, with the regimes
// along the series; below it the error against the horizon beside the baselines, and how much the intervals hold.
// Observations that are images have the lower panels alone.
func Recorded(r eval.RecordedReport) Figure {
	panels := 2.6 * vg.Inch
	f := Figure{Name: "recordings", width: 7.2 * vg.Inch, height: panels, tables: []namedTable{{"errors", r.CurveTable()}}}
	if r.Fan == nil || r.Fan.Truth == nil {
		f.draw = func(c draw.Canvas) { drawScores(c, r) }
		return f
	}
	fan := fanOf(r).Figure()
	f.tables = append(f.tables, fan.tables...)
	f.height += fan.height
	f.draw = func(c draw.Canvas) {
		// The fan has the upper part of the page, the scores have the lower one.
		fan.draw(draw.Crop(c, 0, 0, panels, 0))
		drawScores(draw.Crop(c, 0, 0, 0, -(c.Max.Y-c.Min.Y-panels)), r)
	}
	return f
}

// fanOf is the forecast that is shown, in the units of the data.
func fanOf(r eval.RecordedReport) Timelines {
	y := r.Fan
	line := Timeline{
		Title: y.Name, First: y.First, Unit: r.Options.DT, Of: r.Options.TimeUnit, Regimes: y.Regimes, Others: y.Others,
	}
	for c, name := range r.Options.Names {
		of := func(rows [][]float64) []float64 {
			list := make([]float64, len(rows))
			for t, row := range rows {
				list[t] = row[c]
				if y.SD != nil {
					list[t] = float64(list[t]*y.SD[c]) + y.Offset[c]
				}
			}
			return list
		}
		line.Tracks = append(line.Tracks, Track{
			Name: name, Truth: of(y.Truth), Start: y.Start - y.First, Mean: of(y.Mean),
			Lower: of(y.Lower), Upper: of(y.Upper),
		})
	}
	return Timelines{
		Name: "fan", Columns: []Timeline{line}, Regimes: y.M, Means: "mean of the forecast",
		Bands:   "80 % interval",
		Caption: "a held-out recording; the forecast knows what is left of the dotted line",
	}
}

// baselineStyle is the line of a predictor beside the model, by its name.
func baselineStyle(name string) draw.LineStyle {
	switch name {
	case "persistence":
		return line(ink, 1, 4, 2)
	case "linear least squares":
		return line(grey, 1, 1.2, 1.6)
	case "seasonal naive":
		return line(green, 1.1)
	}
	return line(vermilion, 1.1)
}

// drawScores draws the squared error of the model, with a band of two standard errors, and of the baselines over
// the horizon on an axis of logarithms; beside it the coverage of each of eval.Levels in per cent, with a dashed
// line where it should be.
func drawScores(c draw.Canvas, r eval.RecordedReport) {
	var curves [][]point
	samples := []sample{{text: "model", line: line(blue, 1.9), fill: translucent(blue, 0.25)}}
	data, low, high := estimatePoints(r.Model)
	for _, s := range r.Scores[1:] {
		var squares []point
		for k, e := range s.Squared {
			squares = append(squares, point{float64(k + 1), e.Value})
		}
		curves = append(curves, squares)
		samples = append(samples, sample{text: s.Name, line: baselineStyle(s.Name)})
	}
	// The axis holds the curves; the band may be clipped. An error that is nothing beside that of persistence does not
	// stretch it: in the units of the data all errors may be small.
	floor := 0.0
	for _, e := range r.Persistence {
		if eval.Finite(e.Value) {
			floor = max(floor, 1e-9*e.Value)
		}
	}
	lo, hi := logRange(floor, append([][]point{data}, curves...)...)
	label := "squared error (sd²)"
	if !r.Scaled() {
		label = "squared error"
	}
	p := newPlot(axis{"horizon k (steps)", 0.5, float64(r.Horizon) + 0.5, 6}, axis{label, lo, hi, 6})
	p.Y.Tick.Marker = decades{}
	p.Add(band{logarithms(low), logarithms(high), translucent(blue, 0.25)})
	for i, s := range r.Scores[1:] {
		p.Add(curve{logarithms(curves[i]), baselineStyle(s.Name)})
	}
	p.Add(curve{logarithms(data), line(blue, 1.9)})
	// A curve through a single point shows nothing.
	if r.Horizon == 1 {
		p.Add(markers{logarithms(data), draw.GlyphStyle{Color: blue, Radius: 2.5, Shape: draw.CircleGlyph{}}})
	}
	held := newPlot(axis{"horizon k (steps)", 0.5, float64(r.Horizon) + 0.5, 6},
		axis{"observed in interval (%)", 0, 100, 5})
	for l, level := range eval.Levels {
		tone := []color.NRGBA{sky, blue, purple}[l%3]
		var share []point
		for k, v := range r.Scores[0].Coverage[l] {
			share = append(share, point{float64(k + 1), 100 * v})
		}
		held.Add(curve{[]point{{0.5, 100 * level}, {float64(r.Horizon) + 0.5, 100 * level}}, line(tone, 0.8, 2, 2)},
			curve{share, line(tone, 1.5)})
	}
	words := fmt.Sprintf("%d starts in %d held-out recordings, %d steps seen, mean of %d rollouts; right: dashed where "+
		"intervals of 50, 80 and 95 %% should be", r.Starts, r.Episodes, r.Options.Prefix, r.Options.Samples)
	row := []panel{{Plot: p, title: "error beside the baselines"}, {Plot: held, title: "what the model's intervals hold"}}
	page{gridLayout(), [][]panel{row}, words}.draw(draw.Crop(c, 0, 0, 0, -rowHeight))
	drawRow(c, samples, c.Max.X-12, c.Max.Y-10)
}
