package figure

import (
	"math"
	"strconv"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"github.com/switchyard-ml/switchyard/eval"
)

// Eigenvalues draws those of base systems in the complex plane, a colour for each system, with the unit circle: inside of it
// what a system does dies away.
func Eigenvalues(name string, systems [][]eval.Mode) Figure {
	numbers := eval.Table{Corner: "system", Columns: []string{"real", "imaginary", "modulus", "time_constant", "period"}}
	for k, modes := range systems {
		for _, m := range modes {
			numbers.Rows = append(numbers.Rows, eval.Row{Name: strconv.Itoa(k), Values: []float64{m.Real, m.Imaginary, m.Modulus, m.TimeConstant, m.Period}})
		}
	}
	return Figure{
		Name: name, width: 4.6 * vg.Inch, height: 4.9 * vg.Inch,
		draw:   func(c draw.Canvas) { drawEigenvalues(c, systems) },
		tables: []namedTable{{"eigenvalues", numbers}},
	}
}

func drawEigenvalues(c draw.Canvas, systems [][]eval.Mode) {
	limit := 1.1
	for _, modes := range systems {
		for _, m := range modes {
			limit = max(limit, 1.1*math.Abs(m.Real), 1.1*math.Abs(m.Imaginary))
		}
	}
	p := newPlot(axis{"real part", -limit, limit, 5}, axis{"imaginary part", -limit, limit, 5})
	p.Add(area{circle(point{0, 0}, 1), nil, line(grey, 1)})
	var signs []sample
	for k, color := range categories(len(systems)) {
		var at []point
		for _, m := range systems[k] {
			at = append(at, point{m.Real, m.Imaginary})
		}
		glyph := draw.GlyphStyle{Color: translucent(color, 0.85), Radius: 3, Shape: draw.CircleGlyph{}}
		p.Add(markers{at, glyph})
		signs = append(signs, sample{text: strconv.Itoa(k), glyph: glyph})
	}
	if len(signs) > 12 {
		signs = nil
	}
	drawPanels(draw.Crop(c, 0, 0, 0, -rowHeight), []*plot.Plot{p}, []string{"eigenvalues of the base systems"}, 1, "")
	drawRow(c, signs, c.Max.X-12, c.Max.Y-10)
}
