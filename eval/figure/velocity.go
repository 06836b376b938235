package figure

import (
	"fmt"
	"math"

	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"github.com/switchyard-ml/switchyard/eval"
)

// Velocity draws, for each rate, its read-out from the latent state against the truth, on test steps. A panel is
// square in its ranges, which are those of the truth: read-outs beyond are not drawn.
func Velocity(r eval.VelocityReport) Figure {
	var panels []panel
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
		panels = append(panels, panel{Plot: p, title: fmt.Sprintf("%s, R² = %.3f", rate.Name, probe.R2[j].Value)})
	}
	columns := min(len(panels), 3)
	rows := grids(panels, columns)
	words := fmt.Sprintf("%s: velocities by a linear map of %s, on test episodes; dashed: perfect", r.Environment,
		r.ScatterName)
	return Figure{
		Name: "velocity", width: vg.Length(columns)*3.2*vg.Inch + 0.4*vg.Inch,
		height: vg.Length(len(rows))*3*vg.Inch + 0.5*vg.Inch,
		draw:   page{gridLayout(), rows, words}.draw,
		tables: []namedTable{{"r2", r.CurveTable()}, {"points", numbers}},
	}
}
