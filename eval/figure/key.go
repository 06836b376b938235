package figure

import (
	"image/color"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/text"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// A sample explains one sign of a panel: a line, a filled patch or a glyph, and its meaning. Line, patch and glyph
// may be there together.
type sample struct {
	text  string
	line  draw.LineStyle  // drawn if it has a width
	fill  color.Color     // drawn if not nil
	glyph draw.GlyphStyle // drawn if it has a shape
}

const (
	// Width of a line or patch, space before the text, and distance of two rows, in points.
	sampleWidth = vg.Length(14)
	sampleGap   = vg.Length(3.5)
	rowHeight   = vg.Length(11)
	// Space between a panel and a column of samples beside it.
	columnGap = vg.Length(14)
)

// width returns the space that the sample takes, up to where a next one may begin.
func (s sample) width() vg.Length {
	return s.signWidth() + sampleGap + textStyle(textSize, ink).Width(s.text) + 9
}

// signWidth is the width of the sign alone: a glyph without line or patch takes less.
func (s sample) signWidth() vg.Length {
	if s.line.Width == 0 && s.fill == nil {
		return 2 * s.glyph.Radius
	}
	return sampleWidth
}

// draw puts the sample with its left end at the baseline position at. The sign is centred on the text.
func (s sample) draw(c draw.Canvas, at vg.Point) {
	w, middle := s.signWidth(), at.Y+textSize*0.34
	if s.fill != nil {
		c.FillPolygon(s.fill, []vg.Point{
			{X: at.X, Y: middle - 3.2},
			{X: at.X + w, Y: middle - 3.2},
			{X: at.X + w, Y: middle + 3.2},
			{X: at.X, Y: middle + 3.2},
		})
	}
	if s.line.Width > 0 {
		c.StrokeLine2(s.line, at.X, middle, at.X+w, middle)
	}
	if s.glyph.Shape != nil {
		c.DrawGlyphNoClip(s.glyph, vg.Point{X: at.X + w/2, Y: middle})
	}
	c.FillText(textStyle(textSize, ink), vg.Point{X: at.X + w + sampleGap, Y: at.Y}, s.text)
}

// drawRow puts samples in a row that ends at the right edge x. y is the baseline of the text.
func drawRow(c draw.Canvas, samples []sample, x, y vg.Length) {
	for i := len(samples) - 1; i >= 0; i-- {
		x -= samples[i].width()
		if i == len(samples)-1 {
			x += 9 // nothing follows the last
		}
		samples[i].draw(c, vg.Point{X: x, Y: y})
	}
}

// columnWidth is the room that a column of samples needs beside a panel, at least as much as least.
func columnWidth(samples []sample, least vg.Length) vg.Length {
	for _, s := range samples {
		least = max(least, columnGap+s.width())
	}
	return least
}

// drawColumn puts samples below each other, from a corner at the upper left on.
func drawColumn(c draw.Canvas, samples []sample, corner vg.Point) {
	for i, s := range samples {
		s.draw(c, vg.Point{X: corner.X, Y: corner.Y - rowHeight*vg.Length(i+1)})
	}
}

// letter is that of panel i of n; a panel alone has none.
func letter(i, n int) string {
	if n < 2 {
		return ""
	}
	return string(rune('a' + i))
}

// title writes a panel's letter, if it has one, and title above its plot, from the left edge of the data to right at
// most.
func title(c draw.Canvas, letter, words string, at vg.Point, right vg.Length) {
	if letter != "" {
		style := boldStyle(letterSize, ink)
		c.FillText(style, at, letter)
		at.X += style.Width(letter) + 6
	}
	style := textStyle(titleSize, ink)
	c.FillText(style, at, fitted(words, style, right-at.X))
}

// fitted are words that take no more than room: those that would have an ellipsis in their middle.
func fitted(words string, style text.Style, room vg.Length) string {
	all := []rune(words)
	for n := len(all) - 1; n > 1 && style.Width(words) > room; n-- {
		words = string(all[:(n+1)/2]) + "…" + string(all[len(all)-n/2:])
	}
	return words
}

// fitLabel shortens the label of a vertical axis to the height of the data and a little more: a longer one would press
// them off the page.
func fitLabel(p *plot.Plot, at draw.Canvas) {
	label := p.Y.Label
	p.Y.Label.Text = ""
	p.Y.Label.Text = fitted(label.Text, label.TextStyle, 1.15*p.DataCanvas(at).Size().Y)
}
