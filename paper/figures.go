package paper

import (
	"fmt"

	"github.com/switchyard-ml/switchyard/eval"
	"github.com/switchyard-ml/switchyard/eval/figure"
)

// comparisons are the figures of a part that join its runs. They may be empty where nothing is measured.
func (r *Results) comparisons(part Part) []figure.Comparison {
	switch part {
	case Table1:
		return []figure.Comparison{r.errors("maze"), r.errors("reacher")}
	case FHN:
		return []figure.Comparison{r.r2()}
	case Ball:
		return []figure.Comparison{r.wrongPixels()}
	case DT:
		return []figure.Comparison{r.overDurations()}
	}
	return nil
}

// upTo are the horizons 1 … n.
func upTo(n int) []float64 {
	x := make([]float64, n)
	for i := range x {
		x[i] = float64(i + 1)
	}
	return x
}

// floats are whole numbers as places on an axis.
func floats(n []int) []float64 {
	var x []float64
	for _, v := range n {
		x = append(x, float64(v))
	}
	return x
}

// errors draws the squared error over that of Static, and the calibration beside it, over the horizon, a line for
// each row of table 1.
func (r *Results) errors(env string) figure.Comparison {
	ratio := figure.ComparisonPanel{
		Name: "ratio", Title: env + ": squared error over Static", X: "steps ahead, k",
		Y: "squared error / Static", LogY: true,
	}
	calibration := figure.ComparisonPanel{
		Name: "calibration", Title: "error over predicted variance", X: "steps ahead, k",
		Y: "squared error / variance", LogY: true,
	}
	for _, g := range r.of(Table1, env) {
		line := figure.ComparisonLine{
			Name: g.Label, X: upTo(eval.Table1Horizon),
			Seeds: r.column(g, "table1", "ratio_to_static"), Reference: g.Key == "static",
			Paper: printed("table1", "", g),
		}
		ratio.Lines = append(ratio.Lines, line)
		if g.Key != "static" {
			calibration.Lines = append(calibration.Lines, figure.ComparisonLine{
				Name: g.Label, X: upTo(eval.Table1Horizon),
				Seeds: r.column(g, "table1", "calibration"),
			})
		}
	}
	return figure.Comparison{Name: "table1-" + env, Panels: []figure.ComparisonPanel{ratio, calibration}}
}

// r2 draws R² over the horizon for each model of the oscillator, and, from the runs of the first one, the true
// equations as a reference.
func (r *Results) r2() figure.Comparison {
	panel := figure.ComparisonPanel{
		Name: "r2", Title: "oscillator: R² of predictions, stimulus unknown",
		X: "steps ahead, k", Y: "R²",
	}
	horizons := eval.FHNHorizons()
	last := horizons[len(horizons)-1]
	for i, g := range r.of(FHN, "fhn") {
		panel.Lines = append(panel.Lines, figure.ComparisonLine{
			Name: g.Label, X: upTo(last), Seeds: cut(r.column(g, "fhn", "model_unknown"), last), Paper: printed("fhn", "", g),
		})
		if i == 0 {
			panel.Lines = append(panel.Lines, figure.ComparisonLine{
				Name: "true equations", X: upTo(last),
				Seeds: cut(r.column(g, "fhn", "true_system"), last), Reference: true,
			})
		}
	}
	return figure.Comparison{Name: "fhn-r2", Panels: []figure.ComparisonPanel{panel}}
}

// cut leaves the first n of each list; shorter lists are left out.
func cut(lists [][]float64, n int) [][]float64 {
	var out [][]float64
	for _, l := range lists {
		if len(l) >= n {
			out = append(out, l[:n])
		}
	}
	return out
}

// wrongPixels draws the share of wrong pixels over the number of predicted images, with a line of its own for what
// a model smooths.
func (r *Results) wrongPixels() figure.Comparison {
	panel := figure.ComparisonPanel{
		Name: "pixels", Title: "ball: wrong pixels in n predicted images", X: "images, n",
		Y: "share of wrong pixels",
	}
	for _, g := range r.of(Ball, "ball") {
		// What is predicted, then what is smoothed; each has a published curve of its own, or none.
		for _, suffix := range []string{"", "_smoothed"} {
			line := figure.ComparisonLine{
				Name: g.Label + inWords(suffix), X: floats(eval.PixelHorizons()),
				Seeds: r.bySeed(g, "pixels", "error"+suffix, eval.PixelHorizons()), Paper: printed("pixels", suffix, g),
			}
			if len(line.Seeds) > 0 {
				panel.Lines = append(panel.Lines, line)
			}
		}
	}
	return figure.Comparison{Name: "ball-pixels", Panels: []figure.ComparisonPanel{panel}}
}

// bySeed are the members of an object of metrics, for each seed that has them. A list is [len(members)], without
// gaps.
func (r *Results) bySeed(g *Group, protocol, metric string, members []int) [][]float64 {
	var lists [][]float64
	for _, i := range g.trials {
		var list []float64
		for _, m := range members {
			if v, ok := r.found[i][protocol].Numbers[eval.Name(metric, m)]; ok {
				list = append(list, v)
			}
		}
		if len(list) == len(members) {
			lists = append(lists, list)
		}
	}
	return lists
}

// overDurations draws the absolute error over the duration of a step, and the same over that of Static, on axes of
// logarithms: a line for each model joins its groups.
func (r *Results) overDurations() figure.Comparison {
	absolute := figure.ComparisonPanel{
		Name: "error", Title: "one agent: absolute error per dimension",
		X: "duration of a step (s)", Y: "absolute error", LogX: true, LogY: true,
	}
	ratio := figure.ComparisonPanel{
		Name: "ratio", Title: "over that of Static", X: "duration of a step (s)",
		Y: "absolute error / Static", LogX: true, LogY: true,
	}
	byLabel := map[string][]*Group{}
	var labels []string
	for _, g := range r.of(DT, "maze") {
		if byLabel[g.Label] == nil {
			labels = append(labels, g.Label)
		}
		byLabel[g.Label] = append(byLabel[g.Label], g)
	}
	for _, label := range labels {
		for _, panel := range []struct {
			to     *figure.ComparisonPanel
			metric string
		}{{&absolute, "error"}, {&ratio, "ratio_to_static"}} {
			line := figure.ComparisonLine{Name: label, Seeds: make([][]float64, r.Plan.Seeds)}
			for _, g := range byLabel[label] {
				line.X = append(line.X, g.X)
				// A missing value stays as NaN, so that all seeds have a value at each duration.
				for seed, i := range g.trials {
					line.Seeds[seed] = append(line.Seeds[seed], r.found[i]["dt"].Numbers.Get(panel.metric))
				}
			}
			if panel.metric == "error" {
				line.Paper = printed("dt", "", byLabel[label][0])
			}
			panel.to.Lines = append(panel.to.Lines, line)
		}
	}
	return figure.Comparison{Name: "dt", Panels: []figure.ComparisonPanel{absolute, ratio}}
}

// example is a figure of a single run, of the first seed of a group.
type example struct {
	part          Part
	env, key      string
	file, caption string // of the run's figures, without extension
}

// examples are in the order of the report, part by part.
func examples() []example {
	return []example{
		{Table1, "maze", "normal", "trajectories", "Maze, Normal: predicted trajectories beside the true ones"},
		{Table1, "maze", "concrete", "switches", "Maze, Concrete: mean weight of each system over the maze"},
		{Table1, "maze", "fusion", "switches", "Maze, Fusion: mean weight of each system over the maze"},
		{Table1, "maze", "normal", "velocity", "Maze, Normal: velocities read linearly out of z"},
		{Table1, "reacher", "normal", "trajectories", "Reacher, Normal: predicted trajectories beside the true ones"},
		{Table1, "reacher", "normal", "latent", "Reacher, Normal: latent dimensions and rates; weights over the angles"},
		{FHN, "fhn", "concrete", "fhn", "Oscillator, Concrete: a prediction, R², and the state space by switch"},
		{Ball, "ball", "normal", "pixels", "Ball, Normal: test episodes and their prediction"},
		{Ball, "ball", "kvae", "pixels", "Ball, KVAE: test episodes, their prediction and smoothing"},
	}
}

// name is that of the figure's files in the report.
func (e example) name() string { return fmt.Sprintf("%s-%s-%s", e.env, e.key, e.file) }
