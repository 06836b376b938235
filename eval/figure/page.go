package figure

import (
	"image/color"
	"strings"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// A panel is a plot with a title above its data and a key, above them at the right or beside them. A panel without a
// plot is an empty place.
type panel struct {
	*plot.Plot
	title         string
	above, beside []sample
}

// A layout says how panels share a page. Lengths are in points.
type layout struct {
	right      vg.Length // free at the right of the page, as for a key
	gapX, gapY vg.Length // between panels
	letters    bool      // panels with a title have one each if there are several
	square     bool      // a unit is as long on both axes
}

// The layouts that figures share.

// gridLayout is for panels that stand for themselves.
func gridLayout() layout { return layout{right: 12, gapX: 26, gapY: 30, letters: true} }

// placeLayout is for panels of places.
func placeLayout() layout { return layout{right: 12, gapX: 22, gapY: 26, square: true} }

// channelLayout is for panels over the same time.
func channelLayout() layout { return layout{right: 14, gapX: 16, gapY: 2} }

// A page has rows of panels, all of the same length, and below them a caption, if it is not empty.
type page struct {
	layout
	rows  [][]panel
	words string
}

// draw aligns the data of the panels.
func (g page) draw(c draw.Canvas) {
	whiten(c)
	tiles := draw.Tiles{
		Rows: len(g.rows), PadTop: 24, PadBottom: 6, PadLeft: 6, PadRight: g.right, PadX: g.gapX, PadY: g.gapY,
	}
	if g.words != "" {
		tiles.PadBottom = captionHeight(c, g.words)
	}
	plots, titled := make([][]*plot.Plot, len(g.rows)), 0
	for i, row := range g.rows {
		tiles.Cols = len(row)
		for j, p := range row {
			if p.Plot != nil {
				fitLabel(p.Plot, tiles.At(c, j, i))
			}
			plots[i] = append(plots[i], p.Plot)
			if p.title != "" {
				titled++
			}
		}
	}
	next := 0
	for i, row := range plot.Align(plots, tiles, c) {
		for j, at := range row {
			p, mark := g.rows[i][j], ""
			if p.Plot == nil {
				continue
			}
			if g.letters && p.title != "" {
				mark, next = letter(next, titled), next+1
			}
			if g.square {
				at = equalScales(at, p.Plot)
			}
			p.draw(c, at, mark)
		}
	}
	caption(c, g.words)
}

// draw puts the panel at its place on the page. mark is the letter before its title.
func (p panel) draw(c, at draw.Canvas, mark string) {
	p.Draw(at)
	data := p.DataCanvas(at)
	above := vg.Point{X: data.Min.X, Y: data.Max.Y + 8}
	title(c, mark, p.title, above, at.Max.X)
	drawRow(c, p.above, data.Max.X, above.Y)
	drawColumn(c, p.beside, vg.Point{X: data.Max.X + columnGap, Y: data.Max.Y})
}

// grids lays panels out row by row. The last row may have empty places.
func grids(panels []panel, columns int) [][]panel {
	var rows [][]panel
	for len(panels) > 0 {
		row := make([]panel, columns)
		n := copy(row, panels)
		rows, panels = append(rows, row), panels[n:]
	}
	return rows
}

// shareAxes leaves what is written along an axis below the last row and beside the first column alone.
func shareAxes(rows [][]panel) {
	for i, row := range rows {
		for j, p := range row {
			if i < len(rows)-1 {
				p.X.Label.Text, p.X.Tick.Marker = "", unlabelled{p.X.Tick.Marker}
			}
			if j > 0 {
				p.Y.Label.Text = ""
			}
		}
	}
}

// unlabelled keeps the ticks of an axis and drops what is written beside them.
type unlabelled struct{ plot.Ticker }

// Ticks implements plot.Ticker.
func (u unlabelled) Ticks(lo, hi float64) []plot.Tick {
	list := u.Ticker.Ticks(lo, hi)
	for i := range list {
		list[i].Label = " " // an empty one would be a minor tick
	}
	return list
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

// whiten paints the page.
func whiten(c draw.Canvas) {
	c.FillPolygon(color.White, []vg.Point{c.Min, {X: c.Max.X, Y: c.Min.Y}, c.Max, {X: c.Min.X, Y: c.Max.Y}})
}

// captionMargin is left free beside a caption, and below it. It is in points, as all lengths without a unit are.
const captionMargin = vg.Length(8)

// lines breaks words so that no line is wider than width. A word that is wider stands on a line of its own.
func lines(words string, width vg.Length) []string {
	style := textStyle(textSize, grey)
	var list []string
	for _, word := range strings.Fields(words) {
		if n := len(list); n > 0 && style.Width(list[n-1]+" "+word) <= width {
			list[n-1] += " " + word
			continue
		}
		list = append(list, word)
	}
	return list
}

// captionHeight is the room that a caption takes at the bottom of a page. Tiles above a caption leave it free as
// PadBottom.
func captionHeight(c draw.Canvas, words string) vg.Length {
	n := len(lines(words, c.Max.X-c.Min.X-2*captionMargin))
	return captionMargin + rowHeight*vg.Length(n)
}

// caption writes words at the bottom of a page, on as many lines as they need. The page grows upwards: the last
// line stands lowest.
func caption(c draw.Canvas, words string) {
	list := lines(words, c.Max.X-c.Min.X-2*captionMargin)
	for i, text := range list {
		y := c.Min.Y + 6 + rowHeight*vg.Length(len(list)-1-i)
		c.FillText(textStyle(textSize, grey), vg.Point{X: c.Min.X + captionMargin, Y: y}, text)
	}
}
