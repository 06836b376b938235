package figure

import (
	"fmt"
	"image/color"
	"math"
	"slices"
	"strconv"
	"strings"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"github.com/switchyard-ml/switchyard/eval"
)

// Latent draws, for each rate, the two dimensions of the latent state that follow it most, coloured by it, and the mean
// weight of each base system over the coordinates that it may depend on. There are at most six planes. The curves
// are one panel each, over the limited coordinates and the angle.
func Latent(r eval.LatentReport) Figure {
	var panels []panel
	for _, p := range r.Planes[:min(len(r.Planes), 6)] {
		panels = append(panels, panel{Plot: planePanel(p), title: p.Rate.Label()})
	}
	for _, c := range r.Curves {
		over := strings.TrimSuffix(c.Over, unitOf(c.Over))
		panels = append(panels, panel{Plot: activationPanel(c, r), title: "switch over " + over})
	}
	// Up to four panels stand in two columns, more in three.
	columns := 2
	if len(panels) > 4 {
		columns = 3
	}
	rows := grids(panels, columns)
	words := r.Environment + ": points from dark (−) to yellow (+) by the rate; lines: mean weight of each base " +
		"system, numbered at its peak"
	if r.M > r.Systems {
		words += "; numbers: switch, system"
	}
	return Figure{
		Name: "latent", width: vg.Length(columns)*3.6*vg.Inch + 0.4*vg.Inch,
		height: vg.Length(len(rows))*3*vg.Inch + 0.5*vg.Inch,
		draw:   page{gridLayout(), rows, words}.draw,
		tables: []namedTable{{"points", r.PointTable()}, {"activation", r.CurveTable()}},
	}
}

// planePanel colours points by a rate, the scale reaching its 98 % on either side. Axes hold all points that have a
// place, as a state that diverged has not; colours are symmetric about a rate of 0, to 2.33 root mean squares, which
// of a normal distribution leave out 1 % on either side.
func planePanel(p eval.LatentPlane) *plot.Plot {
	placed := slices.DeleteFunc(slices.Clone(p.Points), func(at [3]float64) bool {
		return !eval.Finite(at[0]) || !eval.Finite(at[1])
	})
	lo, hi := [2]float64{math.Inf(1), math.Inf(1)}, [2]float64{math.Inf(-1), math.Inf(-1)}
	square := 0.0
	for _, at := range placed {
		for i := range 2 {
			lo[i], hi[i] = min(lo[i], at[i]), max(hi[i], at[i])
		}
		square += at[2] * at[2] / float64(len(placed))
	}
	if len(placed) == 0 {
		lo, hi = [2]float64{-1, -1}, [2]float64{1, 1}
	}
	label := func(i int) string {
		return fmt.Sprintf("z%d  (correlation %s)", p.Dimensions[i]+1, tickLabel(p.Correlations[i], 0.01))
	}
	var bounds [2]axis
	for i := range bounds {
		margin := 0.05*(hi[i]-lo[i]) + 1e-9
		bounds[i] = axis{label(i), lo[i] - margin, hi[i] + margin, 5}
	}
	plane := newPlot(bounds[0], bounds[1])
	d := dots{radius: 1.4}
	// The middle of the colours is a rate of zero; the small number keeps a rate that is always zero from dividing
	// by zero.
	scale := 2.33*math.Sqrt(square) + 1e-12
	for _, at := range placed {
		d.data = append(d.data, point{at[0], at[1]})
		d.colors = append(d.colors, color.Color(viridis(0.5+0.5*at[2]/scale)))
	}
	plane.Add(d)
	return plane
}

// activationPanel draws a line for each system of each switch. A weight stands at the middle of its bin, and the axis
// begins at 0.
func activationPanel(c eval.ActivationCurve, r eval.LatentReport) *plot.Plot {
	m := r.M
	lines := make([][]point, m)
	highest := 0.0
	for i := range m {
		for bin, at := range c.At {
			lines[i] = append(lines[i], point{at, c.Mean[bin][i]})
			if v := c.Mean[bin][i]; v > highest { // NaN is not
				highest = v
			}
		}
	}
	factor, label := plainUnit(c.Over)
	for i := range lines {
		for j := range lines[i] {
			lines[i][j].x *= factor
		}
	}
	width := c.At[1] - c.At[0]
	p := newPlot(axis{label, factor * (c.At[0] - width/2), factor * (c.At[len(c.At)-1] + width/2), 6},
		axis{"mean weight", 0, 1.12*highest + 1e-9, 5})
	palette, numbers := categories(m), make([]string, m)
	for i := range m {
		p.Add(curve{lines[i], line(palette[i], 1.3)})
		if numbers[i] = strconv.Itoa(i + 1); m > r.Systems { // each body has a switch of its own over the same systems
			numbers[i] = fmt.Sprintf("%d, %d", i/r.Systems+1, i%r.Systems+1)
		}
	}
	p.Add(peaks{lines, numbers, 0.08 * highest})
	return p
}

// unitOf is the unit at the end of a label, with its parentheses and the space before them; empty if there is none.
func unitOf(label string) string {
	if i := strings.LastIndex(label, " ("); i >= 0 && strings.HasSuffix(label, ")") {
		return label[i:]
	}
	return ""
}

// plainUnit splits a label in multiples of a unit, such as "angle (3 rad)", into the factor and the label in the unit.
func plainUnit(label string) (factor float64, plain string) {
	unit := strings.Trim(unitOf(label), " ()")
	number, name, found := strings.Cut(unit, " ")
	if factor, err := strconv.ParseFloat(number, 64); err == nil && found {
		return factor, strings.TrimSuffix(label, unitOf(label)) + " (" + name + ")"
	}
	return 1, label
}

// peaks writes the numbers of each line that rises above a height beside its highest point.
type peaks struct {
	lines   [][]point
	numbers []string
	least   float64
}

// Plot implements plot.Plotter.
func (k peaks) Plot(c draw.Canvas, p *plot.Plot) {
	x, y := p.Transforms(&c)
	for i, data := range k.lines {
		top := point{y: k.least}
		for _, at := range data[2 : len(data)-2] { // within the panel
			if at.y > top.y {
				top = at
			}
		}
		if top.y > k.least {
			style := boldStyle(textSize, ink)
			style.XAlign = draw.XCenter
			c.FillText(style, vg.Point{X: x(top.x), Y: y(top.y) + 3}, k.numbers[i])
		}
	}
}
