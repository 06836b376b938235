package figure

import (
	"image/color"
	"math"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
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

// equalScales shrinks the place of a plot until a unit is as long on both axes. The place keeps its middle.
func equalScales(at draw.Canvas, p *plot.Plot) draw.Canvas {
	data := p.DataCanvas(at).Size()
	perX, perY := float64(data.X)/(p.X.Max-p.X.Min), float64(data.Y)/(p.Y.Max-p.Y.Min)
	if perX > perY {
		excess := vg.Length((perX - perY) * (p.X.Max - p.X.Min))
		return draw.Crop(at, excess/2, -excess/2, 0, 0)
	}
	excess := vg.Length((perY - perX) * (p.Y.Max - p.Y.Min))
	return draw.Crop(at, 0, 0, excess/2, -excess/2)
}

// drawScenes draws plots of equal scales, each with a title, and a caption below all. plots are rows of equal
// length; nil stands for an empty place.
func drawScenes(c draw.Canvas, plots [][]*plot.Plot, titles []string, words string) {
	whiten(c)
	tiles := draw.Tiles{
		Rows: len(plots), Cols: len(plots[0]),
		PadTop: 24, PadBottom: captionHeight(c, words), PadLeft: 6, PadRight: 12, PadX: 22,
		PadY: 26,
	}
	for i, row := range plot.Align(plots, tiles, c) {
		for j, at := range row {
			if plots[i][j] == nil { // the last row is not full
				continue
			}
			at = equalScales(at, plots[i][j])
			plots[i][j].Draw(at)
			data := plots[i][j].DataCanvas(at)
			c.FillText(textStyle(titleSize, ink), vg.Point{X: data.Min.X, Y: data.Max.Y + 8}, titles[i*len(row)+j])
		}
	}
	caption(c, words)
}
