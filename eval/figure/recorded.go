package figure

import (
	"fmt"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"github.com/switchyard-ml/switchyard/eval"
)

// Recorded draws the squared error of predictions of recordings against the horizon, beside the baselines.
func Recorded(r eval.RecordedReport) Figure {
	return Figure{
		Name: "recordings", width: 5.6 * vg.Inch, height: 3.9 * vg.Inch,
		draw:   func(c draw.Canvas) { drawRecorded(c, r) },
		tables: []namedTable{{"errors", r.CurveTable()}},
	}
}

func drawRecorded(c draw.Canvas, r eval.RecordedReport) {
	data, low, high := estimatePoints(r.Model)
	persistence, _, _ := estimatePoints(r.Persistence)
	linear, _, _ := estimatePoints(r.Linear)
	lo, hi := logRange(1e-9, data, persistence, linear)
	p := newPlot(axis{"horizon k (steps)", 0, float64(r.Horizon) + 0.5, 6}, axis{"squared error (scaled units²)", lo, hi, 6})
	p.Y.Tick.Marker = decades{}
	p.Add(
		band{logarithms(low), logarithms(high), translucent(blue, 0.25)},
		curve{logarithms(persistence), line(ink, 1, 4, 2)}, curve{logarithms(linear), line(grey, 1, 1.2, 1.6)}, curve{logarithms(data), line(blue, 1.9)},
	)
	samples := []sample{
		{text: "model, ± 2 standard errors", line: line(blue, 1.9), fill: translucent(blue, 0.25)},
		{text: "linear", line: line(grey, 1, 1.2, 1.6)},
		{text: "persistence", line: line(ink, 1, 4, 2)},
	}
	caption := fmt.Sprintf("%d starts in %d test recordings, %d steps seen, mean of %d rollouts", r.Starts, r.Episodes, r.Options.Prefix, r.Options.Samples)
	drawPanels(draw.Crop(c, 0, 0, 0, -rowHeight), []*plot.Plot{p}, []string{"held-out recordings"}, 1, caption)
	drawRow(c, samples, c.Max.X-12, c.Max.Y-10)
}
