package figure

import (
	"fmt"
	"image/color"
	"math"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"github.com/switchyard-ml/switchyard/envs/files"
	"github.com/switchyard-ml/switchyard/envs/planar"
	"github.com/switchyard-ml/switchyard/eval"
)

// A scene draws the system itself in one episode, and lists the numbers that it shows, a row for each step.
type scene func(e *files.Episode) (*plot.Plot, eval.Table)

// sheet says how scenes share a page.
type sheet struct {
	width, height vg.Length // of one scene, inches
	below         bool      // below each other, not side by side
	caption       string
}

// sceneFigure draws a scene of each of the given episodes. Each episode has a table of its own, named after its
// place in the data.
func sceneFigure(name string, d *files.Dataset, episodes []int, l sheet, s scene) Figure {
	columns, n := len(episodes), vg.Length(len(episodes))
	f := Figure{Name: name, width: (0.3 + n*l.width) * vg.Inch, height: (0.4 + l.height) * vg.Inch}
	if l.below {
		columns = 1
		f.width, f.height = (0.3+l.width)*vg.Inch, (0.4+n*l.height)*vg.Inch
	}
	var panels []panel
	for _, i := range episodes {
		p, table := s(&d.Episodes[i])
		panels = append(panels, panel{Plot: p, title: fmt.Sprintf("episode %d", i)})
		f.tables = append(f.tables, namedTable{fmt.Sprintf("episode%d", i), table})
	}
	f.draw = page{placeLayout(), grids(panels, columns), l.caption}.draw
	return f
}

// Maze draws the walls and the paths of all agents, from an open circle to a filled one; a step
// in which an agent met a wall has a dot, one in which it met another agent a ring. Walls and radius are in the
// units of the square [−1, 1]². Of more than eight agents the paths of eight are drawn, and all are in the tables.
func Maze(name string, d *files.Dataset, episodes []int, walls []planar.Box, radius float64) Figure {
	n := d.Spec.Observation / 2
	l := sheet{width: 3.4, height: 3.5, caption: "open circle: start; filled: end; dot: met a wall during the step; " +
		"ring: met another agent"}
	return sceneFigure(name, d, episodes, l, func(e *files.Episode) (*plot.Plot, eval.Table) {
		p := plane(walls)
		table := eval.Table{Corner: "step"}
		for t := range e.T {
			table.Rows = append(table.Rows, eval.Row{Name: fmt.Sprint(t), Values: float64s(e.Observations[2*n*t : 2*n*(t+1)])})
		}
		for i := range n {
			table.Columns = append(table.Columns, fmt.Sprintf("x%d", i+1), fmt.Sprintf("y%d", i+1))
		}
		for i, c := range categories(min(n, 8)) {
			var path, wall, agent []point
			for t := range e.T {
				at := point{float64(e.Observations[2*(n*t+i)]), float64(e.Observations[2*(n*t+i)+1])}
				path = append(path, at)
				// Labels are four for each agent: any wall, vertical, horizontal, another agent, of all agents one
				// after the other. An agent may meet both in a step.
				labels := e.Labels[4*n*t : 4*n*(t+1)]
				if labels[i] == 1 {
					wall = append(wall, at)
				}
				if labels[3*n+i] == 1 {
					agent = append(agent, at)
				}
			}
			p.Add(
				curve{path, line(c, 1.2)},
				area{circle(path[0], radius), nil, line(c, 1)},
				area{circle(path[e.T-1], radius), translucent(c, 0.6), line(c, 1)},
				markers{wall, draw.GlyphStyle{Color: ink, Radius: 1.6, Shape: draw.CircleGlyph{}}},
				markers{agent, draw.GlyphStyle{Color: ink, Radius: 3, Shape: draw.RingGlyph{}}},
			)
		}
		return p, table
	})
}

// The links of the arm of the environment reacher, in m.
const (
	armLink   = 0.1
	armTip    = 0.11 // of the fingertip from the elbow
	armRadius = 0.01
)

// Arm draws the arm of the environment reacher from its states: its pose from the first step
// (pale) to the last (dark), the path of the tip and the target. A state is [9]: 0 and 1 the target in m, 4 and 5
// cosine and sine of the shoulder, 7 a third of the elbow's angle in rad.
func Arm(name string, d *files.Dataset, episodes []int) Figure {
	l := sheet{width: 3.4, height: 3.5, caption: "arm: pale at the first step, dark at the last; line: path of the tip"}
	return sceneFigure(name, d, episodes, l, func(e *files.Episode) (*plot.Plot, eval.Table) {
		p := newPlot(axis{"x (m)", -0.3, 0.3, 6}, axis{"y (m)", -0.3, 0.3, 6})
		table := eval.Table{Corner: "step", Columns: []string{"elbow x", "elbow y", "tip x", "tip y"}}
		var path []point
		for t := range e.T {
			s := e.States[9*t : 9*t+9]
			elbow := point{armLink * float64(s[4]), armLink * float64(s[5])}
			// The elbow turns against the first link, so the tip's direction is the sum of both angles.
			sin, cos := math.Sincos(math.Atan2(float64(s[5]), float64(s[4])) + 3*float64(s[7]))
			tip := point{elbow.x + armTip*cos, elbow.y + armTip*sin}
			path = append(path, tip)
			table.Rows = append(table.Rows, eval.Row{Name: fmt.Sprint(t), Values: []float64{elbow.x, elbow.y, tip.x, tip.y}})
			if shown(t, e.T, 6) {
				fill := fade(t, e.T)
				p.Add(
					area{capsule(point{}, elbow, armRadius), fill, line(ink, 0.4)},
					area{capsule(elbow, tip, armRadius), fill, line(ink, 0.4)},
				)
			}
		}
		// The target does not move within an episode.
		target := []point{{float64(e.States[0]), float64(e.States[1])}}
		p.Add(
			curve{path, line(vermilion, 1)},
			markers{target, draw.GlyphStyle{Color: green, Radius: 5, Shape: draw.PlusGlyph{}}},
			note{target[0], "target", textStyle(textSize, green), 5, 4},
		)
		return p, table
	})
}

// shown says whether step t of T is one of about n+1 that are drawn, evenly spread, the last among them.
func shown(t, T, n int) bool {
	every := max(1, (T-1)/n)
	return (T-1-t)%every == 0
}

// fade is the colour of a body at step t of T: darker as time goes on.
func fade(t, T int) color.NRGBA {
	return translucent(viridis(0.9-0.8*float64(t)/float64(max(T-1, 1))), 0.75)
}

// float64s are numbers for a table.
func float64s(x []float32) []float64 {
	y := make([]float64, len(x))
	for i, v := range x {
		y[i] = float64(v)
	}
	return y
}
