package figure

import (
	"fmt"
	"image/color"
	"math"
	"slices"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"github.com/switchyard-ml/switchyard/eval"
)

// FHN lays out the figure of the FitzHugh–Nagumo protocol:
//
//	a  the predictive distribution of v and w against what happened
//	b  1 − R² over the horizon, beside the baselines and the published figures
//	c  the state space of the true system, coloured by the model's switch
//
// The keys of a and c stand above their panels, that of b right of it.
func FHN(report eval.FHNReport, picture eval.FHNPicture) Figure {
	r2, curves := r2Panel(report)
	portrait, switches := portraitPanel(picture.Portrait)
	rows := [][]panel{{
		{Plot: fanPanel(picture.Fan, 0), title: "Prediction", above: fanKey()},
		{Plot: r2, title: "Unexplained variance, k steps ahead", beside: curves},
	}, {
		{Plot: fanPanel(picture.Fan, 1)},
		{Plot: portrait, title: "State space by switch", above: switches},
	}}
	return Figure{
		Name: "fhn", width: 11.6 * vg.Inch, height: 7 * vg.Inch,
		draw: page{layout{right: columnWidth(curves, 166), gapX: 26, gapY: 34, letters: true}, rows, ""}.draw,
		tables: []namedTable{
			{"fan", picture.Fan.Table()},
			{"r2", report.CurveTable()},
			{"portrait", picture.Portrait.Table()},
		},
	}
}

// fanKey explains the bands and lines of the fan.
func fanKey() []sample {
	return []sample{
		{text: "truth", line: line(ink, 1.2)},
		{text: "median", line: line(blue, 1.4)},
		{text: "50 %", fill: translucent(blue, 0.45)},
		{text: "90 %", fill: translucent(blue, 0.18)},
	}
}

// fanPanel draws dimension i of the fan, 0 for v and 1 for w, over time steps: bands between the outer and the
// inner quantiles of FHNFan.Levels, the median, and the truth. A dotted line stands at the last step that was
// seen.
func fanPanel(f eval.FHNFan, i int) *plot.Plot {
	var truth []point
	lo, hi := math.Inf(1), math.Inf(-1)
	for k, x := range f.Truth {
		truth = append(truth, point{float64(f.First + k), x[i]})
		lo, hi = min(lo, x[i]), max(hi, x[i])
	}
	quantiles := make([][]point, len(f.Quantiles))
	// All quantiles begin at the last value that was seen.
	origin := truth[f.Start-f.First]
	for q, path := range f.Quantiles {
		quantiles[q] = append(quantiles[q], origin)
		for k, x := range path {
			quantiles[q] = append(quantiles[q], point{float64(f.Start + 1 + k), x[i]})
			// A model that diverged must not squeeze the truth into a line, nor leave the axis without ends.
			if !math.IsNaN(x[i]) {
				lo, hi = min(lo, max(x[i], -4)), max(hi, min(x[i], 4))
			}
		}
	}
	margin := 0.06 * (hi - lo)
	x := axis{"", float64(f.First), float64(f.First + len(f.Truth) - 1), 6}
	y := axis{"v  (membrane potential)", lo - margin, hi + margin, 6}
	if i == 1 {
		x.label, y.label = "time step", "w  (recovery)"
	}
	p := newPlot(x, y)
	p.Add(
		band{quantiles[0], quantiles[4], translucent(blue, 0.18)},
		band{quantiles[1], quantiles[3], translucent(blue, 0.45)},
		curve{[]point{{origin.x, y.min}, {origin.x, y.max}}, line(grey, 0.8, 2, 2)},
		curve{truth, line(ink, 1.2)},
		curve{quantiles[2], line(blue, 1.4)},
	)
	if i == 0 {
		seen := textStyle(textSize, grey)
		p.Add(note{point{origin.x, y.min}, "withheld", seen, 4, 4})
		seen.XAlign = draw.XRight
		p.Add(note{point{origin.x, y.min}, "seen", seen, -4, 4})
	}
	return p
}

// r2Panel draws 1 − R², the share of the variance that is not explained, over the horizon: on a logarithmic axis the
// good models can be told apart beside the simple rules. It returns the samples of what is within the axes, too.
// The horizon runs from 0, where nothing is, to the report's.
func r2Panel(r eval.FHNReport) (*plot.Plot, []sample) {
	a := r.AtStart
	type entry struct {
		sample
		data []point
	}
	var all []entry
	add := func(name string, style draw.LineStyle, r2 []float64) {
		all = append(all, entry{sample{text: name, line: style}, unexplained(horizonPoints(r2))})
	}
	add("model, stimulus known", line(sky, 1.4), a.Known.Mean)
	add("true system, stimulus unknown", line(ink, 1, 4, 2), a.Ceiling)
	add("model, stimulus unknown", line(blue, 1.9), a.Unknown.Mean)
	add("linear least squares", line(grey, 1, 1.2, 1.6), a.Linear)
	add("persistence", line(pale, 1.2), a.Persistence)
	// A published model and the same one computed here share a colour.
	colors := map[string]color.NRGBA{"ours": vermilion, "TrSLDS": green, "rSLDS": orange}
	for _, computed := range eval.FHNComputedMeans(r.Options.Horizon) {
		add("Switchyard: "+computed.Name, line(colors[computed.Name], 1.3, 6, 1.5), computed.Values)
	}
	signs := []draw.GlyphStyle{
		{Color: vermilion, Radius: 2.4, Shape: draw.CircleGlyph{}},
		{Color: green, Radius: 2.4, Shape: draw.PyramidGlyph{}},
		{Color: orange, Radius: 2, Shape: draw.BoxGlyph{}},
	}
	for i, p := range eval.Paper("fhn", "fhn") {
		all = append(all, entry{sample{text: "paper: " + p.Name, glyph: signs[i]}, unexplained(published(p))})
	}
	// The range follows the model and the linear rule; what lies outside, as persistence may, is clipped and has
	// no key.
	lo, hi := unexplainedRange(a.Unknown.Mean, a.Linear)
	p := newPlot(axis{"horizon k (steps)", 0, float64(r.Options.Horizon), 6}, axis{"1 − R²", lo, hi, 6})
	p.Y.Tick.Marker = decades{}
	var shown []sample
	for _, e := range all {
		if !slices.ContainsFunc(e.data, func(at point) bool { return at.y >= lo && at.y <= hi }) {
			continue // what is clipped away needs no explanation
		}
		shown = append(shown, e.sample)
		if e.glyph.Shape != nil {
			p.Add(markers{e.data, e.glyph})
		} else {
			p.Add(curve{e.data, e.line})
		}
	}
	return p, shown
}

// unexplained maps R² to the decimal logarithm of 1 − R²; a perfect prediction has none and becomes −∞, which is
// not drawn.
func unexplained(r2 []point) []point {
	mapped := make([]point, len(r2))
	for i, at := range r2 {
		mapped[i] = point{at.x, math.Log10(max(1-at.y, 0))}
	}
	return mapped
}

// unexplainedRange is the range of log(1 − R²): from 0.001, or lower where the model is better, to 1, or higher where
// the model is worse than the mean, up to 10.
func unexplainedRange(model, rule []float64) (lo, hi float64) {
	lo, hi = -3, 0
	for _, at := range append(unexplained(horizonPoints(model)), unexplained(horizonPoints(rule))...) {
		if !math.IsNaN(at.y) && !math.IsInf(at.y, 0) {
			lo, hi = min(lo, at.y), max(hi, at.y)
		}
	}
	return max(lo, -5), min(hi, 1) + 0.05
}

// horizonPoints are R²_k at x = k, k = 1, 2, …
func horizonPoints(r2 []float64) []point {
	var data []point
	for i, v := range r2 {
		data = append(data, point{float64(i + 1), v})
	}
	return data
}

// portraitPanel returns the plot and the samples of the switches that matter. It draws, over v and w, the field of
// the true system without stimulus, both nullclines, and the observed points coloured by the switch on the step
// into them. Points outside the panel are left out.
func portraitPanel(data eval.FHNPortrait) (*plot.Plot, []sample) {
	p := newPlot(axis{"v  (membrane potential)", -3, 3, 6}, axis{"w  (recovery)", -1.5, 2.5, 5})
	colors, switches := switchColors(data.Weights)
	d := dots{radius: 1.15}
	for i, x := range data.Points {
		if math.Abs(x[0]) <= p.X.Max && x[1] >= p.Y.Min && x[1] <= p.Y.Max {
			d.data = append(d.data, point{x[0], x[1]})
			d.colors = append(d.colors, colors[i])
		}
	}
	// The nullclines, at steps+1 places across the panel.
	var still [2][]point // where dv/dt = 0, where dw/dt = 0
	const steps = 240
	for i := range steps + 1 {
		v := p.X.Min + (p.X.Max-p.X.Min)*float64(i)/steps
		ofV, ofW := data.System.Nullclines(v)
		still[0] = append(still[0], point{v, ofV})
		still[1] = append(still[1], point{v, ofW})
	}
	field := func(at point) (float64, float64) { return data.System.Field(at.x, at.y, 0) }
	italic := textStyle(textSize, ink)
	p.Add(
		arrows{field, 17, 12, line(pale, 0.6)},
		d,
		curve{still[0], line(ink, 1, 4, 2)},
		curve{still[1], line(ink, 1, 1.2, 1.8)},
		note{point{-2.05, 2.2}, "dv/dt = 0", italic, 6, 0},
		note{point{1.1, 2.2}, "dw/dt = 0", italic, 6, 0},
	)
	return p, switches
}

// switchColors gives each point the mixture of the switches' colours by their weights, each weight
// taken relative to the largest that its switch reaches, cubed so that the leading switch shows.
// Switches are coloured and numbered in the order of their total weight; those that ever lead get a sample. Points of a
// model without a switch are grey.
func switchColors(weights [][]float64) ([]color.Color, []sample) {
	if len(weights) == 0 || len(weights[0]) == 0 {
		return slices.Repeat([]color.Color{grey}, len(weights)), nil
	}
	m := len(weights[0])
	total, largest, leads := make([]float64, m), make([]float64, m), make([]int, m)
	for _, w := range weights {
		lead := 0
		for i, v := range w {
			total[i] += v
			largest[i] = max(largest[i], v)
			if v > w[lead] {
				lead = i
			}
		}
		leads[lead]++
	}
	order := make([]int, m)
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(i, j int) int {
		switch {
		case total[i] > total[j]:
			return -1
		case total[i] < total[j]:
			return 1
		}
		return 0
	})
	palette := make([]color.NRGBA, m)
	var samples []sample
	for rank, c := range categories(m) {
		i := order[rank]
		palette[i] = c
		if leads[i]*100 > len(weights) {
			samples = append(samples, sample{
				text:  fmt.Sprint(rank + 1),
				glyph: draw.GlyphStyle{Color: c, Radius: 3, Shape: draw.CircleGlyph{}},
			})
		}
	}
	colors := make([]color.Color, len(weights))
	share := make([]float64, m)
	for n, w := range weights {
		for i, v := range w {
			r := v / max(largest[i], 1/float64(m)) // a switch that is never used stays without colour
			share[i] = r * r * r
		}
		colors[n] = mix(palette, share)
	}
	return colors, samples
}

// mix returns the average of colours with the given weights, in linear light; grey for no weight, or if one is
// NaN.
func mix(colors []color.NRGBA, weights []float64) color.Color {
	var sum, r, g, b float64
	for i, w := range weights {
		if math.IsNaN(w) {
			return grey
		}
		sum += w
		r += w * linearLight(colors[i].R)
		g += w * linearLight(colors[i].G)
		b += w * linearLight(colors[i].B)
	}
	if sum == 0 {
		return grey
	}
	return color.NRGBA{displayed(r / sum), displayed(g / sum), displayed(b / sum), 255}
}

// linearLight is the amount of light of a channel from 0 to 255, between 0 and 1, with a gamma of 2.2; displayed
// is its inverse.
func linearLight(v uint8) float64 { return math.Pow(float64(v)/255, 2.2) }

func displayed(v float64) uint8 { return uint8(math.Round(255 * math.Pow(v, 1/2.2))) }
