package figure

import (
	"fmt"
	"image"
	"image/color"
	stddraw "image/draw"
	"math"
	"slices"

	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"github.com/switchyard-ml/switchyard/envs/files"
	"github.com/switchyard-ml/switchyard/eval"
)

// maxFrames is how many images of an episode fit on a page, side by side.
const maxFrames = 20

// Images lays out the images of the given episodes as strips, time going to the right; long episodes are thinned out
// evenly. Missing pixels are vermilion. The tables hold the mean of each image. Episodes are places in d.Episodes,
// a strip each. d must hold images.
func Images(name string, d *files.Dataset, episodes []int) Figure {
	longest := 0
	f := Figure{Name: name}
	for _, i := range episodes {
		longest = max(longest, min(d.Episodes[i].T, maxFrames))
		f.tables = append(f.tables, namedTable{fmt.Sprintf("episode%d", i), brightness(d, &d.Episodes[i])})
	}
	// In points: around the page, between images, and for the words above a strip.
	const margin, gap, above = 10, 3, 16
	side := vg.Length(34)
	tall := side * vg.Length(d.Image[0]) / vg.Length(d.Image[1])
	f.width = max(2*margin+vg.Length(longest)*(side+gap), 3*vg.Inch)
	f.height = 2*margin + vg.Length(len(episodes))*(tall+above+10)
	f.draw = func(c draw.Canvas) {
		whiten(c)
		for row, i := range episodes {
			e := &d.Episodes[i]
			top := c.Max.Y - margin - vg.Length(row)*(tall+above+10)
			// So many steps lie from one image to the next, so that at most maxFrames are drawn.
			every := (e.T + maxFrames - 1) / maxFrames
			words := fmt.Sprintf("episode %d", i)
			if every > 1 {
				words += fmt.Sprintf(", every %d steps", every)
			}
			c.FillText(textStyle(titleSize, ink), vg.Point{X: c.Min.X + margin, Y: top - 9}, words)
			for k := 0; k*every < e.T; k++ {
				x := c.Min.X + margin + vg.Length(k)*(side+gap)
				drawImage(c, frame(d, e, k*every), x, top-above, side, tall)
			}
		}
	}
	return f
}

// frame is the image of step t, its first row on top, with every pixel enlarged: what shows the picture may smooth it.
func frame(d *files.Dataset, e *files.Episode, t int) image.Image {
	const scale = 4
	h, w, channels := d.Image[0], d.Image[1], d.Image[2]
	return enlarged(image.NewRGBA(image.Rect(0, 0, scale*w, scale*h)), scale, func(x, y int) color.Color {
		return pixel(e, t*d.Spec.Observation+(y*w+x)*channels, channels)
	})
}

// enlarged fills a picture with cells of scale × scale pixels. It returns m.
func enlarged(m stddraw.Image, scale int, cell func(x, y int) color.Color) image.Image {
	size := m.Bounds().Size()
	for y := range size.Y {
		for x := range size.X {
			m.Set(x, y, cell(x/scale, y/scale))
		}
	}
	return m
}

// drawImage draws an image with a thin border, right of x and below top.
func drawImage(c draw.Canvas, m image.Image, x, top, width, height vg.Length) {
	at := vg.Rectangle{Min: vg.Point{X: x, Y: top - height}, Max: vg.Point{X: x + width, Y: top}}
	c.DrawImage(at, m)
	strokeBorder(c, line(pale, 0.4), at)
}

// strokeBorder draws the outline of a rectangle of the page.
func strokeBorder(c draw.Canvas, style draw.LineStyle, at vg.Rectangle) {
	left, right := vg.Point{X: at.Min.X, Y: at.Max.Y}, vg.Point{X: at.Max.X, Y: at.Min.Y}
	c.StrokeLines(style, []vg.Point{at.Min, right, at.Max, left, at.Min})
}

// pixel is grey for one channel, red, green and blue for three or more, red and green for two. i is the place of
// its first channel in the observations, whose values are from 0 to 1.
func pixel(e *files.Episode, i, channels int) color.Color {
	if e.Mask != nil && slices.Contains(e.Mask[i:i+channels], 0) { // of one colour alone, too
		return vermilion
	}
	level := func(c int) uint8 {
		if c >= channels {
			return 0
		}
		return uint8(math.Round(255 * float64(e.Observations[i+c])))
	}
	if channels == 1 {
		return color.Gray{Y: level(0)}
	}
	return color.RGBA{level(0), level(1), level(2), 255}
}

// brightness is the mean over the values of each image that were measured, by step; NaN of none.
func brightness(d *files.Dataset, e *files.Episode) eval.Table {
	t := eval.Table{Corner: "step", Columns: []string{"mean pixel"}}
	n := d.Spec.Observation
	for step := range e.T {
		sum, seen := 0.0, 0.0
		for i := step * n; i < (step+1)*n; i++ {
			if e.Mask == nil || e.Mask[i] != 0 {
				sum, seen = sum+float64(e.Observations[i]), seen+1
			}
		}
		t.Rows = append(t.Rows, eval.Row{Name: fmt.Sprint(step), Values: []float64{sum / seen}})
	}
	return t
}
