package figure

import (
	"fmt"
	"math"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"github.com/switchyard-ml/switchyard/eval"
)

// columnsFor is how many panels share a row of a page.
func columnsFor(panels int) int { return min(panels, 3) }

// grids lays panels out in rows, with nil where the last row is not full. The panels are taken row by row.
func grids(panels []*plot.Plot, columns int) [][]*plot.Plot {
	var rows [][]*plot.Plot
	for len(panels) > 0 {
		row := make([]*plot.Plot, columns)
		n := copy(row, panels)
		rows, panels = append(rows, row), panels[n:]
	}
	return rows
}

// drawPanels draws panels with a title each, and a caption below all. Panels have letters if there are several.
func drawPanels(c draw.Canvas, panels []*plot.Plot, titles []string, columns int, words string) {
	whiten(c)
	rows := grids(panels, columns)
	tiles := draw.Tiles{
		Rows: len(rows), Cols: columns, PadTop: 24, PadBottom: captionHeight(c, words), PadLeft: 6, PadRight: 12, PadX: 26,
		PadY: 30,
	}
	for i, row := range plot.Align(rows, tiles, c) {
		for j, at := range row {
			k := i*columns + j
			if k >= len(panels) {
				continue
			}
			panels[k].Draw(at)
			data := panels[k].DataCanvas(at)
			title(c, letter(k, len(panels)), titles[k], vg.Point{X: data.Min.X, Y: data.Max.Y + 8})
		}
	}
	caption(c, words)
}

// Velocity draws, for each rate, its read-out from the latent state against the truth, on test steps. A panel is
// square in its ranges, which are those of the truth: read-outs beyond are not drawn.
func Velocity(r eval.VelocityReport) Figure {
	var panels []*plot.Plot
	var titles []string
	var probe eval.VelocityProbe
	// The scatter is that of one probe, whose R² stand in the titles.
	for _, p := range r.Probes {
		if p.Name == r.ScatterName {
			probe = p
		}
	}
	numbers := eval.Table{Corner: "point", Columns: []string{"rate", "truth", "read out"}}
	for j, rate := range r.Rates {
		var data []point
		limit := 0.0
		// The range is that of the truth, symmetric about zero, the same on both axes.
		for i, p := range r.Scatter[j] {
			data = append(data, point{p[0], p[1]})
			limit = max(limit, math.Abs(p[0]))
			numbers.Rows = append(numbers.Rows, eval.Row{Name: fmt.Sprint(i + 1), Values: []float64{float64(j + 1), p[0], p[1]}})
		}
		limit = 1.05*limit + 1e-9
		p := newPlot(axis{"true " + rate.Label(), -limit, limit, 5}, axis{"read out", -limit, limit, 5})
		p.Add(
			curve{[]point{{-limit, -limit}, {limit, limit}}, line(ink, 0.8, 4, 2)},
			markers{data, draw.GlyphStyle{Color: translucent(blue, 0.5), Radius: 1.3, Shape: draw.CircleGlyph{}}},
		)
		panels = append(panels, p)
		titles = append(titles, fmt.Sprintf("%s, R² = %.3f", rate.Name, probe.R2[j].Value))
	}
	columns := columnsFor(len(panels))
	rows := (len(panels) + columns - 1) / columns
	words := fmt.Sprintf("%s: velocities by a linear map of %s, on test episodes; dashed: perfect", r.Environment,
		r.ScatterName)
	return Figure{
		Name: "velocity", width: vg.Length(columns)*3.2*vg.Inch + 0.4*vg.Inch,
		height: vg.Length(rows)*3*vg.Inch + 0.5*vg.Inch,
		draw:   func(c draw.Canvas) { drawPanels(c, panels, titles, columns, words) },
		tables: []namedTable{{"r2", r.CurveTable()}, {"points", numbers}},
	}
}
