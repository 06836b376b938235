package figure

import (
	"image/color"
	"iter"
	"math"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/text"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// A point is a place in data coordinates: the units of the axes, or logarithms on an axis of decades.
type point struct{ x, y float64 }

// points maps data to places on the page by the axes of the plot; what is not finite is left out.
func points(c draw.Canvas, p *plot.Plot, data []point) []vg.Point {
	x, y := p.Transforms(&c)
	var at []vg.Point
	for _, d := range data {
		if !math.IsNaN(d.x) && !math.IsNaN(d.y) && !math.IsInf(d.x, 0) && !math.IsInf(d.y, 0) {
			at = append(at, vg.Point{X: x(d.x), Y: y(d.y)})
		}
	}
	return at
}

// curve is a line through points, clipped to the axes. Points that are not finite are left out. A gap in the data
// needs a curve for each side of it.
type curve struct {
	data  []point
	style draw.LineStyle
}

// Plot implements plot.Plotter.
func (l curve) Plot(c draw.Canvas, p *plot.Plot) {
	c.StrokeLines(l.style, c.ClipLinesXY(points(c, p, l.data))...)
}

// trace is a line with gaps where data are missing. A point between two gaps is a dot.
type trace struct {
	data  []point
	color color.NRGBA
}

// Plot implements plot.Plotter.
func (t trace) Plot(c draw.Canvas, p *plot.Plot) {
	known := func(i int) bool { return !math.IsNaN(t.data[i].y) }
	for from, to := range spans(len(t.data), known) {
		switch run := t.data[from:to]; {
		case !known(from):
		case len(run) == 1:
			markers{run, draw.GlyphStyle{Color: t.color, Radius: 1.2, Shape: draw.CircleGlyph{}}}.Plot(c, p)
		default:
			curve{run, line(t.color, 1.1)}.Plot(c, p)
		}
	}
}

// spans are the stretches of n steps along which a value stays the same: the first step of each, and that behind its
// last.
func spans[T comparable](n int, value func(t int) T) iter.Seq2[int, int] {
	return func(yield func(from, to int) bool) {
		from := 0
		for to := 1; to <= n; to++ {
			if to < n && value(to) == value(from) {
				continue
			}
			if !yield(from, to) {
				return
			}
			from = to
		}
	}
}

// band fills the area between two lines over the same x. The outline runs along the lower edge and back along the
// upper one; an edge may miss points of the other.
type band struct {
	lower, upper []point
	fill         color.Color
}

// Plot implements plot.Plotter.
func (b band) Plot(c draw.Canvas, p *plot.Plot) {
	outline := points(c, p, b.lower)
	upper := points(c, p, b.upper)
	for i := len(upper) - 1; i >= 0; i-- {
		outline = append(outline, upper[i])
	}
	c.FillPolygon(b.fill, c.ClipPolygonXY(outline))
}

// markers puts a glyph on each point inside the axes.
type markers struct {
	data  []point
	style draw.GlyphStyle
}

// Plot implements plot.Plotter.
func (m markers) Plot(c draw.Canvas, p *plot.Plot) {
	for _, at := range points(c, p, m.data) {
		c.DrawGlyph(m.style, at)
	}
}

// dots are filled circles, each of a colour of its own. A point outside the axes has none. colors is as long as data.
type dots struct {
	data   []point
	colors []color.Color
	radius vg.Length
}

// Plot implements plot.Plotter.
func (d dots) Plot(c draw.Canvas, p *plot.Plot) {
	x, y := p.Transforms(&c)
	for i, at := range d.data {
		c.DrawGlyph(
			draw.GlyphStyle{Color: d.colors[i], Radius: d.radius, Shape: draw.CircleGlyph{}},
			vg.Point{X: x(at.x), Y: y(at.y)},
		)
	}
}

// arrows is a vector field on a regular lattice over the axes. Lengths grow with the square root
// of the speed on the page, so that slow places keep a direction that can be seen. field returns the speed in data
// coordinates at a place in them; columns and rows count the arrows.
type arrows struct {
	field   func(at point) (dx, dy float64)
	columns int
	rows    int
	style   draw.LineStyle
}

// Plot implements plot.Plotter.
func (a arrows) Plot(c draw.Canvas, p *plot.Plot) {
	x, y := p.Transforms(&c)
	// Points of the page per unit of each axis: directions must be those that the eye sees.
	scaleX := float64(c.Max.X-c.Min.X) / (p.X.Max - p.X.Min)
	scaleY := float64(c.Max.Y-c.Min.Y) / (p.Y.Max - p.Y.Min)
	type arrow struct {
		at     vg.Point
		dx, dy float64
	}
	var all []arrow
	fastest := 0.0
	for i := range a.columns {
		for j := range a.rows {
			at := point{
				p.X.Min + (p.X.Max-p.X.Min)*(float64(i)+0.5)/float64(a.columns),
				p.Y.Min + (p.Y.Max-p.Y.Min)*(float64(j)+0.5)/float64(a.rows),
			}
			dx, dy := a.field(at)
			dx, dy = dx*scaleX, dy*scaleY
			fastest = max(fastest, math.Hypot(dx, dy))
			all = append(all, arrow{vg.Point{X: x(at.x), Y: y(at.y)}, dx, dy})
		}
	}
	// The fastest arrow just fits between two columns.
	longest := 0.85 * float64(c.Max.X-c.Min.X) / float64(a.columns)
	for _, v := range all {
		if speed := math.Hypot(v.dx, v.dy); speed > 0 {
			length := longest * math.Sqrt(speed/fastest) / speed
			drawArrow(c, a.style, v.at, v.dx*length, v.dy*length)
		}
	}
}

// drawArrow strokes an arrow of the given extent centred on at.
func drawArrow(c draw.Canvas, style draw.LineStyle, at vg.Point, dx, dy float64) {
	tail := vg.Point{X: at.X - vg.Length(dx/2), Y: at.Y - vg.Length(dy/2)}
	tip := vg.Point{X: at.X + vg.Length(dx/2), Y: at.Y + vg.Length(dy/2)}
	const barb = 0.32 // of the length, turned back by 25°
	sin, cos := math.Sincos(25 * math.Pi / 180)
	side := func(sign float64) vg.Point {
		return vg.Point{
			X: tip.X - vg.Length(barb*(cos*dx-sign*sin*dy)),
			Y: tip.Y - vg.Length(barb*(sign*sin*dx+cos*dy)),
		}
	}
	c.StrokeLines(style, []vg.Point{tail, tip}, []vg.Point{side(1), tip, side(-1)})
}

// note writes text beside a point in data coordinates. dx and dy are in points, to the right and up.
type note struct {
	at     point
	text   string
	style  text.Style
	dx, dy vg.Length // shift on the page
}

// Plot implements plot.Plotter.
func (n note) Plot(c draw.Canvas, p *plot.Plot) {
	x, y := p.Transforms(&c)
	c.FillText(n.style, vg.Point{X: x(n.at.x) + n.dx, Y: y(n.at.y) + n.dy}, n.text)
}
