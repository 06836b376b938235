package figure

import (
	"strings"

	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

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
