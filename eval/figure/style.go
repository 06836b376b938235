package figure

import (
	"fmt"
	"image/color"
	"math"

	xfont "golang.org/x/image/font"
	"gonum.org/v1/plot"
	"gonum.org/v1/plot/font"
	"gonum.org/v1/plot/text"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// The house style: one font, a few sizes, colours that differ for every kind of eye, and faint grids. A
// figure takes its fonts, lines and colours from here alone.

const (
	// The font of all text and its sizes, in points: of labels and keys, of titles, and of the letters of panels.
	familyName = "Liberation Sans"
	textSize   = vg.Length(8.5)
	titleSize  = vg.Length(9.5)
	letterSize = vg.Length(12)
)

// The colours of Okabe and Ito (2008), which people with any common colour blindness can tell
// apart, the palest last; and greys.
var (
	blue      = rgb(0x0072B2)
	vermilion = rgb(0xD55E00)
	green     = rgb(0x009E73)
	purple    = rgb(0xCC79A7)
	orange    = rgb(0xE69F00)
	sky       = rgb(0x56B4E9)
	yellow    = rgb(0xF0E442)

	ink   = rgb(0x1A1A1A)
	grey  = rgb(0x7F7F7F)
	pale  = rgb(0xB9B9B9)
	faint = rgb(0xE6E6E6)
	brown = rgb(0x8C564B)
)

// rgb is an opaque colour from its hexadecimal form, 0xRRGGBB.
func rgb(hex uint32) color.NRGBA {
	return color.NRGBA{uint8(hex >> 16), uint8(hex >> 8), uint8(hex), 255}
}

// translucent is the colour with an opacity from 0 to 1.
func translucent(c color.NRGBA, alpha float64) color.NRGBA {
	c.A = uint8(math.Round(255 * alpha))
	return c
}

// distinct has the colours of what has no order, such as regimes, on figures and on the page: the set of Okabe and Ito,
// brown, and four that are as far as can be from these and from each other, for eyes of every kind. All are seen on
// white and on black. Regimes have these colours in the order of their numbers.
var distinct = []color.NRGBA{
	blue, orange, green, vermilion, sky, purple, brown, yellow, rgb(0x2DF0F0), rgb(0x4B3C78), rgb(0xA569FF), rgb(0xA5D296),
}

// categories returns n colours that differ as much as they can: those of distinct as far as they go, else n steps
// through viridis. A caller must not write to them.
func categories(n int) []color.NRGBA {
	if n <= len(distinct) {
		return distinct[:n:n]
	}
	set := make([]color.NRGBA, n)
	for i := range set {
		set[i] = viridis(float64(i) / float64(n-1))
	}
	return set
}

// Colours are those of n regimes, in the notation of style sheets. They are #RRGGBB.
func Colours(n int) []string {
	list := make([]string, n)
	for i, c := range categories(n) {
		list[i] = fmt.Sprintf("#%02X%02X%02X", c.R, c.G, c.B)
	}
	return list
}

// viridisAnchors are the colours of matplotlib's viridis at 0, 1/8, … 1.
var viridisAnchors = [9]color.NRGBA{
	rgb(0x440154), rgb(0x472D7B), rgb(0x3B528B), rgb(0x2C728E), rgb(0x21918C),
	rgb(0x28AE80), rgb(0x5EC962), rgb(0xADDC30), rgb(0xFDE725),
}

// viridis maps [0, 1] to a colour whose lightness grows evenly; values outside are clipped.
func viridis(x float64) color.NRGBA {
	x = min(max(x, 0), 1) * float64(len(viridisAnchors)-1)
	i := min(int(x), len(viridisAnchors)-2)
	a, b := viridisAnchors[i], viridisAnchors[i+1]
	between := func(a, b uint8) uint8 {
		return uint8(math.Round(float64(a) + (x-float64(i))*(float64(b)-float64(a))))
	}
	return color.NRGBA{between(a.R, b.R), between(a.G, b.G), between(a.B, b.B), 255}
}

// textStyle is the text of a size in points, aligned left on the baseline.
func textStyle(size vg.Length, c color.Color) text.Style {
	return text.Style{
		Color: c, Handler: plot.DefaultTextHandler,
		Font: font.From(font.Font{Typeface: "Liberation", Variant: "Sans"}, size),
	}
}

// boldStyle is textStyle in bold.
func boldStyle(size vg.Length, c color.Color) text.Style {
	s := textStyle(size, c)
	s.Font.Weight = xfont.WeightBold
	return s
}

// line is a style of the given width in points; dashes are lengths drawn and left out by turns, none for a solid
// line.
func line(c color.Color, width vg.Length, dashes ...vg.Length) draw.LineStyle {
	return draw.LineStyle{Color: c, Width: width, Dashes: dashes}
}

// newPlot returns an empty plot in the house style with the given axes. Ranges are those of the axes: no plotter
// of this package changes them. The background is not painted.
func newPlot(x, y axis) *plot.Plot {
	p := plot.New()
	p.BackgroundColor = nil
	for _, a := range []struct {
		dst *plot.Axis
		axis
	}{{&p.X, x}, {&p.Y, y}} {
		a.dst.Min, a.dst.Max = a.min, a.max
		a.dst.Label.Text = a.label
		a.dst.Label.TextStyle.Font = textStyle(textSize, ink).Font
		a.dst.Label.TextStyle.Color = ink
		a.dst.Label.Padding = 2
		a.dst.LineStyle = line(grey, 0.6)
		a.dst.Padding = 0
		a.dst.Tick.LineStyle = line(grey, 0.6)
		a.dst.Tick.Length = 3
		a.dst.Tick.Label.Font = textStyle(textSize, ink).Font
		a.dst.Tick.Label.Color = ink
		a.dst.Tick.Marker = ticks(a.ticks)
	}
	p.Add(grid{})
	return p
}

// An axis is a range with a label and about as many ticks as wanted. The range is in data coordinates, or in
// logarithms where the marker is decades.
type axis struct {
	label    string
	min, max float64
	ticks    int
}

// grid rules the ticks of both axes off in faint lines.
type grid struct{}

// Plot implements plot.Plotter.
func (grid) Plot(c draw.Canvas, p *plot.Plot) {
	x, y := p.Transforms(&c)
	style := line(faint, 0.5)
	for _, t := range p.X.Tick.Marker.Ticks(p.X.Min, p.X.Max) {
		c.StrokeLine2(style, x(t.Value), c.Min.Y, x(t.Value), c.Max.Y)
	}
	for _, t := range p.Y.Tick.Marker.Ticks(p.Y.Min, p.Y.Max) {
		c.StrokeLine2(style, c.Min.X, y(t.Value), c.Max.X, y(t.Value))
	}
}
