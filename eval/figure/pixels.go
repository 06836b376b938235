package figure

import (
	"fmt"
	"image"
	"image/color"
	"math"

	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"github.com/switchyard-ml/switchyard/eval"
)

// Pixels draws test episodes as strips of images, time going to the right: what happened, the probabilities that the
// model gives, those along one rollout, and what smoothing gives where the family smooths. An episode is a block
// of strips, a strip a row of PixelHorizon images behind the last one that was seen. r.Image is height, width and
// channels.
func Pixels(r eval.PixelReport) Figure {
	// In points: around the page, between images, above a block, and for the names of strips.
	const margin, gap, above, names = 10, 3, 16, 62
	const side = vg.Length(36)
	type strip struct {
		name   string
		images [][]float32
	}
	strips := func(s eval.PixelStrip) []strip {
		list := []strip{{"truth", s.Truth}, {"mean", s.Mean}, {"one rollout", s.Single}}
		if s.Smoothed != nil {
			list = append(list, strip{"smoothed", s.Smoothed})
		}
		return list
	}
	tall := side * vg.Length(r.Image[0]) / vg.Length(r.Image[1])
	f := Figure{
		Name: "pixels", tables: []namedTable{{"errors", r.CurveTable()}},
		width: names + 2*margin + (eval.PixelHorizon+1)*(side+gap) + 6, height: 2*margin + 4,
	}
	for _, s := range r.Strips {
		f.height += vg.Length(len(strips(s)))*(tall+gap) + above + 14
	}
	f.draw = func(c draw.Canvas) {
		whiten(c)
		top := c.Max.Y - margin
		for _, s := range r.Strips {
			c.FillText(textStyle(titleSize, ink), vg.Point{X: c.Min.X + margin, Y: top - 9},
				fmt.Sprintf("test episode %d", s.Episode))
			left := c.Min.X + margin + names
			small := textStyle(textSize, grey)
			small.XAlign = draw.XCenter
			c.FillText(small, vg.Point{X: left + side/2, Y: top - 9}, "seen")
			for k := range s.Truth {
				c.FillText(small, vg.Point{X: left + side/2 + 6 + vg.Length(k+1)*(side+gap), Y: top - 9}, fmt.Sprintf("+%d", k+1))
			}
			top -= above
			for _, row := range strips(s) {
				c.FillText(textStyle(textSize, ink), vg.Point{X: c.Min.X + margin, Y: top - tall/2 - 3}, row.name)
				drawImage(c, grayImage(s.Seen, r.Image), left, top, side, tall)
				for k, pixels := range row.images {
					drawImage(c, grayImage(pixels, r.Image), left+6+vg.Length(k+1)*(side+gap), top, side, tall)
				}
				top -= tall + gap
			}
			top -= 14
		}
		caption(c, "images: black 0, white 1 or certain; seen: the last image before the prediction")
	}
	return f
}

// grayImage is an image of one channel, the first of several, with every pixel enlarged: what shows the picture may
// smooth it. Values are clipped to [0, 1].
func grayImage(pixels []float32, size [3]int) image.Image {
	const scale = 4
	h, w, channels := size[0], size[1], size[2]
	return enlarged(image.NewGray(image.Rect(0, 0, scale*w, scale*h)), scale, func(x, y int) color.Color {
		return color.Gray{Y: uint8(math.Round(255 * min(max(float64(pixels[(y*w+x)*channels]), 0), 1)))}
	})
}
