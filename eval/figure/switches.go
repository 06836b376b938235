package figure

import (
	"fmt"
	"image"
	"image/color"
	"math"

	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"github.com/switchyard-ml/switchyard/envs"
	"github.com/switchyard-ml/switchyard/envs/planar"
	"github.com/switchyard-ml/switchyard/eval"
)

// wallsOf are the inner walls of an environment in the square [−1, 1]²; nil where it has none.
func wallsOf(env envs.Env) []planar.Box {
	if e, ok := env.(interface{ Walls() []planar.Box }); ok {
		return e.Walls()
	}
	return nil
}

// mapColumns is how many maps share a row.
const mapColumns = 8

// Switches draws, for each body and mixing weight, its mean where the body was. Each map has a scale of its own, from 0
// to the number in its title. The square is [−1, 1]², x to the right and y up, with walls in grey.
func Switches(r eval.SwitchReport, walls []planar.Box) Figure {
	columns := min(mapColumns, r.M)
	rows := (r.M + columns - 1) / columns * len(r.Maps)
	// Side of a map, and room for its title.
	const side, above = 1.25 * vg.Inch, 15
	f := Figure{
		Name: "switches", width: vg.Length(columns)*(side+6) + 70, height: vg.Length(rows)*(side+above+4) +
			vg.Length(len(r.Maps))*16 + 24 + rowHeight,
		tables: []namedTable{{"systems", r.CurveTable()}, {"maps", r.MapTable()}},
	}
	f.draw = func(c draw.Canvas) {
		whiten(c)
		top := c.Max.Y - 4
		for _, m := range r.Maps {
			top -= 14
			c.FillText(textStyle(titleSize, ink), vg.Point{X: c.Min.X + 8, Y: top}, fmt.Sprintf("body %d", m.Body+1))
			for i := range r.M {
				if i%columns == 0 && i > 0 {
					top -= side + above + 4
				}
				left := c.Min.X + 8 + vg.Length(i%columns)*(side+6)
				at := vg.Rectangle{Min: vg.Point{X: left, Y: top - above - side}, Max: vg.Point{X: left + side, Y: top - above}}
				highest := drawMap(c, at, m, i, r.M, walls)
				c.FillText(textStyle(textSize, ink), vg.Point{X: left, Y: at.Max.Y + 3},
					fmt.Sprintf("%s: 0 to %.2g", weightName(r, i), highest))
			}
			top -= side + above + 6
		}
		drawScale(c, vg.Point{X: c.Max.X - 48, Y: c.Max.Y - 30 - side}, side)
		words := "mean mixing weight of each base system where the body was, over x (right) and y (up) in [−1, 1]; " +
			"grey: walls; white: not visited"
		if r.M > r.Systems {
			words += "; numbers: switch, system"
		}
		if columns < 4 {
			words = "mean mixing weight over x and y in [−1, 1]"
		}
		caption(c, words)
	}
	return f
}

// weightName is the base system of a mixing weight, behind the number of the switch if each body has its own.
func weightName(r eval.SwitchReport, i int) string {
	if r.M == r.Systems {
		return fmt.Sprintf("system %d", i+1)
	}
	return fmt.Sprintf("%d, system %d", i/r.Systems+1, i%r.Systems+1)
}

// drawMap draws the bins of one system into a rectangle of the page and returns the weight at the top of its
// scale: the mean of a cell is noisy, so maps are smoothed over the eight neighbours by the steps in them. A cell
// that no step fell into stays empty, and so does one whose mean is not finite, as of a model that diverges.
func drawMap(c draw.Canvas, at vg.Rectangle, m eval.SwitchMap, system, systems int, walls []planar.Box) float64 {
	const B = eval.MapBins
	smooth := make([]float64, B*B)
	highest := 0.0
	for y := range B {
		for x := range B {
			sum, n := 0.0, 0
			for j := max(y-1, 0); j <= min(y+1, B-1); j++ {
				for i := max(x-1, 0); i <= min(x+1, B-1); i++ {
					if v := m.Mean[(j*B+i)*systems+system]; eval.Finite(v) {
						sum += float64(m.Count[j*B+i]) * v
						n += m.Count[j*B+i]
					}
				}
			}
			// Cells without a mean stay empty, even beside others.
			smooth[y*B+x] = math.NaN()
			if n > 0 && eval.Finite(m.Mean[(y*B+x)*systems+system]) {
				smooth[y*B+x] = sum / float64(n)
				highest = max(highest, smooth[y*B+x])
			}
		}
	}
	place := func(x, y float64) vg.Point {
		size := at.Size()
		return vg.Point{X: at.Min.X + vg.Length((x+1)/2)*size.X, Y: at.Min.Y + vg.Length((y+1)/2)*size.Y}
	}
	rectangle := func(left, bottom, right, top float64, fill color.Color) {
		c.FillPolygon(fill, []vg.Point{place(left, bottom), place(right, bottom), place(right, top), place(left, top)})
	}
	c.DrawImage(at, mapImage(smooth, highest))
	for _, w := range walls {
		rectangle(w.Min.X, w.Min.Y, w.Max.X, w.Max.Y, grey)
	}
	strokeBorder(c, line(grey, 0.8), at)
	return highest
}

// mapImage is a picture of B × B cells, its first row on top; a cell without a value is white. cells are rows of y
// from −1 on, as in eval.SwitchMap.
func mapImage(cells []float64, highest float64) image.Image {
	const B, scale = eval.MapBins, 3
	return enlarged(image.NewRGBA(image.Rect(0, 0, B*scale, B*scale)), scale, func(x, y int) color.Color {
		if v := cells[(B-1-y)*B+x]; !math.IsNaN(v) {
			return viridis(v / (highest + 1e-12))
		}
		return color.White
	})
}

// drawScale explains the colours, from 0 at the bottom up to the largest weight of a map, with the lower left
// corner at at.
func drawScale(c draw.Canvas, at vg.Point, height vg.Length) {
	const steps = 32
	for i := range steps {
		bottom := at.Y + height*vg.Length(i)/steps
		c.FillPolygon(viridis((float64(i)+0.5)/steps), []vg.Point{
			{X: at.X, Y: bottom},
			{X: at.X + 10, Y: bottom},
			{X: at.X + 10, Y: bottom + height/steps + 0.3},
			{X: at.X, Y: bottom + height/steps + 0.3},
		})
	}
	c.FillText(textStyle(textSize, ink), vg.Point{X: at.X + 14, Y: at.Y}, "0")
	c.FillText(textStyle(textSize, ink), vg.Point{X: at.X + 14, Y: at.Y + height - textSize*0.7}, "max")
}
