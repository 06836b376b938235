package figure

import (
	"image/color"
	"math"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/vg/draw"

	"github.com/switchyard-ml/switchyard/envs/planar"
)

// area is a polygon in data coordinates, clipped to the axes. Its outline closes by itself.
type area struct {
	outline []point
	fill    color.Color    // nil: not filled
	line    draw.LineStyle // drawn if it has a width
}

// Plot implements plot.Plotter.
func (a area) Plot(c draw.Canvas, p *plot.Plot) {
	at := points(c, p, a.outline)
	if a.fill != nil {
		c.FillPolygon(a.fill, c.ClipPolygonXY(at))
	}
	if a.line.Width > 0 && len(at) > 0 {
		c.StrokeLines(a.line, c.ClipLinesXY(append(at, at[0]))...)
	}
}

// box is the outline of a rectangle.
func box(left, bottom, right, top float64) []point {
	return []point{{left, bottom}, {right, bottom}, {right, top}, {left, top}}
}

const arcSteps = 24 // corners of a half circle

// circle is the outline of a disc.
func circle(centre point, radius float64) []point { return capsule(centre, centre, radius) }

// capsule is the outline of all points within radius of the line from a to b. The outline runs counter-clockwise,
// half a circle about each end with arcSteps corners.
func capsule(a, b point, radius float64) []point {
	direction := math.Atan2(b.y-a.y, b.x-a.x)
	var outline []point
	half := func(centre point, from float64) {
		for i := range arcSteps + 1 {
			sin, cos := math.Sincos(from + math.Pi*float64(i)/arcSteps)
			outline = append(outline, point{centre.x + radius*cos, centre.y + radius*sin})
		}
	}
	half(b, direction-math.Pi/2)
	half(a, direction+math.Pi/2)
	return outline
}

// plane is the square [−1, 1]² that bodies move in, with its inner walls in grey.
func plane(walls []planar.Box) *plot.Plot {
	p := newPlot(axis{"x", -1.04, 1.04, 5}, axis{"y", -1.04, 1.04, 5})
	for _, w := range walls {
		p.Add(area{box(w.Min.X, w.Min.Y, w.Max.X, w.Max.Y), grey, draw.LineStyle{}})
	}
	p.Add(area{box(-1, -1, 1, 1), nil, line(grey, 2)})
	return p
}
