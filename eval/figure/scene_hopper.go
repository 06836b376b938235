package figure

import (
	"fmt"
	"image/color"
	"math"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/vg/draw"

	"github.com/switchyard-ml/switchyard/envs/files"
	"github.com/switchyard-ml/switchyard/eval"
)

// The robot of the environment hopper in m, from the top: lengths and radii of its capsules, where
// the foot reaches behind and before the ankle, and the height at which its torso begins.
const (
	torsoHalf, torsoRadius   = 0.2, 0.05
	thighLength, thighRadius = 0.45, 0.05
	legLength, legRadius     = 0.5, 0.04
	heelX, toeX, footRadius  = -0.13, 0.26, 0.06
	torsoStart               = 1.25
)

// hopperRanges are the ranges of thigh, leg and foot, which states scale to [−1, 1].
var hopperRanges = [3][2]float64{{-150 * math.Pi / 180, 0}, {-150 * math.Pi / 180, 0}, {-math.Pi / 4, math.Pi / 4}}

// A hopperPose holds the joints of the robot, in m, x forward and y up, seen from the side.
type hopperPose struct{ head, hip, knee, ankle, heel, toe point }

// poseOfHopper returns the pose of a state with the torso at (x, z). s has the 15 columns of a state, see package
// hopper; x and z are in m, and the chain of joints is followed from the torso down.
func poseOfHopper(s []float32, x, z float64) hopperPose {
	// Column 7 is the pitch, column 2 the cosine of the angle between heading and target.
	angle := float64(s[7])
	if s[2] < 0 { // turned around
		angle = math.Pi - angle
	}
	// A place at dx along the body and dz up in its frame, turned by the pitch.
	from := func(at point, dx, dz float64) point {
		sin, cos := math.Sincos(angle)
		return point{at.x + dx*cos + dz*sin, at.y - dx*sin + dz*cos}
	}
	turn := func(hinge int) {
		r := hopperRanges[hinge]
		angle -= (float64(s[8+2*hinge])*(r[1]-r[0]) + r[0] + r[1]) / 2
	}
	torso := point{x, z}
	p := hopperPose{head: from(torso, 0, torsoHalf), hip: from(torso, 0, -torsoHalf)}
	turn(0)
	p.knee = from(p.hip, 0, -thighLength)
	turn(1)
	p.ankle = from(p.knee, 0, -legLength)
	turn(2)
	p.heel, p.toe = from(p.ankle, heelX, 0), from(p.ankle, toeX, 0)
	return p
}

// hopperPoses is how many poses of an episode are drawn, hopperSpace their distance on the page in m.
const (
	hopperPoses = 8
	hopperSpace = 1.25
)

// Hopper draws the robot of the environment hopper from its states: poses at equal intervals of
// time, side by side, each at its height and as far forward of its mark as it is of the start.
func Hopper(name string, d *files.Dataset, episodes []int) Figure {
	l := sheet{width: 8.6, height: 2.1, below: true, caption: "black foot: it pressed on the ground during the step"}
	return sceneFigure(name, d, episodes, l, func(e *files.Episode) (*plot.Plot, eval.Table) {
		const states = 15
		first := poseOfHopper(e.States, 0, torsoStart)
		start := torsoStart + max(0, footRadius-min(first.heel.y, first.toe.y)) // the foot stands on the ground
		p := newPlot(axis{"time (s)", -0.8, hopperSpace*(hopperPoses-1) + 0.8, 1}, axis{"height (m)", -0.1, 1.75, 4})
		p.Add(area{box(p.X.Min, p.Y.Min, p.X.Max, 0), faint, draw.LineStyle{}},
			curve{[]point{{p.X.Min, 0}, {p.X.Max, 0}}, line(grey, 1)})
		table := eval.Table{Corner: "step", Columns: []string{"torso x", "torso z", "ankle x", "ankle z"}}
		var times poseTimes
		x, every := 0.0, max(1, (e.T-1)/(hopperPoses-1))
		for t := range e.T {
			s := e.States[states*t : states*(t+1)]
			if t > 0 {
				// Column 3 is 0.3 of the forward velocity, whose sign column 2 turns back.
				x += d.Spec.DT * float64(s[3]) * float64(s[2]) / 0.3
			}
			z := start + float64(s[0])
			pose := poseOfHopper(s, x, z)
			table.Rows = append(table.Rows, eval.Row{Name: fmt.Sprint(t), Values: []float64{x, z, pose.ankle.x, pose.ankle.y}})
			if t%every == 0 && len(times) < hopperPoses {
				pose.add(p, hopperSpace*float64(len(times)), s[14] == 1)
				times = append(times, d.Spec.DT*float64(t))
			}
		}
		p.X.Tick.Marker = times
		return p, table
	})
}

// add draws the pose, moved by dx along x, the foot in black where it pressed on the ground.
func (h hopperPose) add(p *plot.Plot, dx float64, pressed bool) {
	moved := func(at point) point { return point{at.x + dx, at.y} }
	for _, part := range []struct {
		a, b   point
		radius float64
		fill   color.Color
	}{
		{h.heel, h.toe, footRadius, sky},
		{h.knee, h.ankle, legRadius, green},
		{h.hip, h.knee, thighRadius, orange},
		{h.head, h.hip, torsoRadius, blue},
	} {
		if pressed && part.radius == footRadius {
			part.fill = ink
		}
		p.Add(area{capsule(moved(part.a), moved(part.b), part.radius), part.fill, line(ink, 0.4)})
	}
}

// poseTimes writes the time of each pose below it.
type poseTimes []float64

var _ plot.Ticker = poseTimes(nil)

// Ticks implements plot.Ticker.
func (times poseTimes) Ticks(float64, float64) []plot.Tick {
	var marks []plot.Tick
	for i, t := range times {
		marks = append(marks, plot.Tick{Value: hopperSpace * float64(i), Label: fmt.Sprintf("%.2f", t)})
	}
	return marks
}
