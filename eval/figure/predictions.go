package figure

import (
	"fmt"
	"math"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"github.com/switchyard-ml/switchyard/envs/planar"
	"github.com/switchyard-ml/switchyard/eval"
)

// shownPaths is how many single rollouts are drawn beside their mean.
const shownPaths = 8

// Predictions draws predicted against true trajectories: in the plane where bodies move in it, over time elsewhere.
func Predictions(r eval.TrajectoryReport, walls []planar.Box) Figure {
	if len(r.Bodies) > 0 {
		return planePredictions(r, walls)
	}
	return timePredictions(r)
}

// planePredictions draws each body's true path, the mean of the rollouts and some of them. A panel is an episode
// in the square [−1, 1]², with the walls in grey; bodies have a colour each.
func planePredictions(r eval.TrajectoryReport, walls []planar.Box) Figure {
	var panels []panel
	for _, s := range r.Shown {
		p := plane(walls)
		for b, c := range categories(len(r.Bodies)) {
			at := func(x []float64) point { return point{x[r.Bodies[b][0]], x[r.Bodies[b][1]]} }
			// Predictions begin where the body was seen last.
			last := at(s.Truth[r.Task.Prefix-1])
			for _, path := range s.Paths[:min(shownPaths, len(s.Paths))] {
				single := []point{last}
				for _, x := range path {
					single = append(single, at(x))
				}
				p.Add(curve{single, line(translucent(c, 0.35), 0.7)})
			}
			var truth []point
			mean := []point{last}
			for _, x := range s.Truth {
				truth = append(truth, at(x))
			}
			for _, x := range s.Mean {
				mean = append(mean, at(x))
			}
			p.Add(
				curve{truth, line(ink, 1.2)}, curve{mean, line(c, 1.8, 4, 2)},
				markers{[]point{last}, draw.GlyphStyle{Color: c, Radius: 2.6, Shape: draw.CircleGlyph{}}},
			)
		}
		panels = append(panels, panel{Plot: p, title: fmt.Sprintf("test episode %d", s.Episode)})
	}
	words := fmt.Sprintf("black: truth; dot: the last of %d steps seen; dashed: mean of %d rollouts over %d steps; "+
		"pale: %d of them", r.Task.Prefix, r.Task.Samples, r.Horizon, min(shownPaths, r.Task.Samples))
	rows := grids(panels, 2)
	return Figure{
		Name: "trajectories", width: 7.2 * vg.Inch, height: (0.3 + 3.55*vg.Length(len(rows))) * vg.Inch,
		draw:   page{placeLayout(), rows, words}.draw,
		tables: []namedTable{{"predictions", r.CurveTable()}},
	}
}

// timePredictions draws up to eight channels over time, a column for each episode. Up to three episodes are shown;
// a channel has the same range in all of them, which is that of the truth.
func timePredictions(r eval.TrajectoryReport) Figure {
	channels := min(len(r.Shown[0].Truth[0]), maxObservations)
	shown := r.Shown[:min(3, len(r.Shown))]
	// Time is in the unit of DT, or counted in steps where that is unknown.
	unit, label := r.DT, "time"
	if unit == 0 {
		unit, label = 1, "step"
	}
	var rows [][]panel
	// One range for all episodes of a channel, so that they compare.
	for i := range channels {
		lo, hi := math.Inf(1), math.Inf(-1)
		for _, s := range shown {
			for _, x := range s.Truth {
				lo, hi = min(lo, x[i]), max(hi, x[i])
			}
		}
		margin := 0.12*(hi-lo) + 1e-3
		var row []panel
		for _, s := range shown {
			x := axis{label, 0, unit * float64(len(s.Truth)-1), 6}
			y := axis{fmt.Sprintf("x%d", i+1), lo - margin, hi + margin, 4}
			p := panel{Plot: predictionPanel(s, r.Task.Prefix, i, unit, x, y)}
			if i == 0 {
				p.title = fmt.Sprintf("test episode %d", s.Episode)
			}
			row = append(row, p)
		}
		rows = append(rows, row)
	}
	shareAxes(rows)
	words := fmt.Sprintf("black: truth; %d steps seen, up to the dotted line; dashed: mean of %d rollouts; band: 90 "+
		"%% of them, without the noise of an observation", r.Task.Prefix, r.Task.Samples)
	return Figure{
		Name: "trajectories", width: (1.0 + 3.1*vg.Length(len(shown))) * vg.Inch,
		height: (0.85*vg.Length(channels) + 1) * vg.Inch,
		draw:   page{channelLayout(), rows, words}.draw,
		tables: []namedTable{{"predictions", r.CurveTable()}},
	}
}

// predictionPanel draws one channel of an episode over time, in multiples of unit: the truth, the mean and the
// band of 5 to 95 % of the rollouts, which begin at the last value seen.
func predictionPanel(s eval.Trajectory, prefix, channel int, unit float64, x, y axis) *plot.Plot {
	p := newPlot(x, y)
	var truth []point
	for t, v := range s.Truth {
		truth = append(truth, point{unit * float64(t), v[channel]})
	}
	last := truth[prefix-1]
	mean, low, high := []point{last}, []point{last}, []point{last}
	for k, v := range s.Mean {
		at := unit * float64(prefix+k)
		mean = append(mean, point{at, v[channel]})
		low = append(low, point{at, s.Quantile(0.05, k, channel)})
		high = append(high, point{at, s.Quantile(0.95, k, channel)})
	}
	p.Add(
		band{low, high, translucent(blue, 0.25)},
		curve{[]point{{last.x, y.min}, {last.x, y.max}}, line(grey, 0.8, 2, 2)},
		curve{truth, line(ink, 1.2)}, curve{mean, line(blue, 1.5, 4, 2)},
	)
	return p
}
