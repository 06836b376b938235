package eval

import (
	"fmt"
	"slices"
	"strconv"

	"github.com/switchyard-ml/switchyard/envs"
	"github.com/switchyard-ml/switchyard/model"
)

// Limits of the protocol Trajectories: episodes that are shown, and steps that are predicted.
const (
	shownTrajectories   = 4
	longestTrajectories = 60
)

// Trajectory is one test episode as it was and as it is predicted. Values are in the units of an observation.
type Trajectory struct {
	Episode int           // index among the test episodes
	Truth   [][]float64   // [Prefix+Horizon][channel]
	Mean    [][]float64   // [Horizon][channel] average of the rollouts
	Paths   [][][]float64 // [Samples][Horizon][channel]
}

// TrajectoryReport is the result of the protocol Trajectories. Bodies and DT say how to draw it.
type TrajectoryReport struct {
	Task        Task
	Environment string
	Bodies      [][2]int // columns of x and y of bodies; nil: nothing moves in the plane
	DT          float64
	Horizon     int
	Shown       []Trajectory
}

// Trajectories predicts the first few test episodes from their prefix to the length of a training episode, to be
// looked at beside the truth. The episodes are not chosen. It returns ErrOptions or ErrDims, joined, before
// anything is computed.
func Trajectories(f model.Forecaster, env envs.Env, task Task) (TrajectoryReport, error) {
	spec := env.Spec()
	task.Episodes = shownTrajectories
	if err := task.validate(f.Dims(), spec); err != nil {
		return TrajectoryReport{}, err
	}
	r := TrajectoryReport{
		Task: task, Environment: spec.Name, Bodies: probesOf(env).Bodies, DT: spec.DT,
		Horizon: task.trajectory(),
		Shown:   make([]Trajectory, task.Episodes),
	}
	test := task.test(env, task.Prefix+r.Horizon)
	task.forecasts(f, test, r.Horizon, func(c chunk, a *model.Forecast) {
		for i := range c.n {
			// Every call has trials of its own: no two write to the same element.
			s := &r.Shown[c.first+i]
			s.Episode = c.first + i
			for t := range test.T {
				s.Truth = append(s.Truth, widen(test.at(c.first+i, t)))
			}
			step := func(buffer []float32, k int) []float64 { return widen(buffer[(k*c.n+i)*test.NX:][:test.NX]) }
			for k := range r.Horizon {
				s.Mean = append(s.Mean, step(a.Mean, k))
			}
			for p := range a.Samples {
				var path [][]float64
				for k := range r.Horizon {
					path = append(path, step(a.Paths[p*r.Horizon*c.n*test.NX:], k))
				}
				s.Paths = append(s.Paths, path)
			}
		}
	})
	return r, nil
}

// trajectory is how many steps are shown after the prefix: the rest of a training episode, at least Table1Horizon
// and at most longestTrajectories.
func (t Task) trajectory() int {
	return min(max(t.Length-t.Prefix, Table1Horizon), longestTrajectories)
}

// TrajectoryMetrics is what Trajectories reports, before it is measured. The values mean nothing.
func TrajectoryMetrics(task Task) []Metric {
	r := TrajectoryReport{Task: task}
	r.Task.Episodes = shownTrajectories
	for i := range shownTrajectories {
		r.Shown = append(r.Shown, Trajectory{Episode: i, Mean: make([][]float64, task.trajectory())})
	}
	return r.Report().Metrics
}

// Quantile is that of the rollouts at the given step after the prefix, from 0: the nearest of the sorted ones.
func (t Trajectory) Quantile(level float64, step, channel int) float64 {
	v := make([]float64, len(t.Paths))
	for i, p := range t.Paths {
		v[i] = p[step][channel]
	}
	slices.Sort(v)
	return v[int(level*float64(len(v)-1)+0.5)]
}

// error is the squared error of the mean at the given step after the prefix, from 0. It is summed over channels.
func (t Trajectory) error(prefix, step int) float64 {
	sum := 0.0
	for i, v := range t.Mean[step] {
		d := v - t.Truth[prefix+step][i]
		sum += d * d
	}
	return sum
}

// Table shows the squared errors of the episodes that are drawn.
func (r TrajectoryReport) Table() Table {
	t := Table{Title: r.Environment + ", squared error of single episodes k steps ahead", Corner: "k", Digits: 3}
	// The horizons of table 1, and the last one that is shown.
	horizons := slices.Compact(append(Table1Horizons(), r.Horizon))
	for _, k := range horizons {
		t.Columns = append(t.Columns, strconv.Itoa(k))
	}
	for _, s := range r.Shown {
		row := Row{Name: fmt.Sprintf("test episode %d", s.Episode)}
		for _, k := range horizons {
			row.Values = append(row.Values, s.error(r.Task.Prefix, k-1))
		}
		t.Rows = append(t.Rows, row)
	}
	t.Notes = []string{fmt.Sprintf("The first %d test episodes, %d steps seen; mean of %d rollouts. Single episodes "+
		"measure nothing: see table1.", r.Task.Episodes, r.Task.Prefix, r.Task.Samples)}
	return t
}

// CurveTable holds truth, mean and the quantiles of the rollouts. A row is a step of an episode; steps of the
// prefix have no prediction. Quantiles are those of 5 and 95 %.
func (r TrajectoryReport) CurveTable() Table {
	t := Table{Corner: "step", Columns: []string{"episode"}, Decimals: 6}
	for i := range r.Shown[0].Truth[0] {
		for _, what := range []string{"truth", "mean", "q05", "q95"} {
			t.Columns = append(t.Columns, fmt.Sprintf("x%d_%s", i+1, what))
		}
	}
	for _, s := range r.Shown {
		for step, x := range s.Truth {
			row := Row{strconv.Itoa(step), []float64{float64(s.Episode)}}
			for i, v := range x {
				predicted := missing(3)
				if k := step - r.Task.Prefix; k >= 0 {
					predicted = []float64{s.Mean[k][i], s.Quantile(0.05, k, i), s.Quantile(0.95, k, i)}
				}
				row.Values = append(append(row.Values, v), predicted...)
			}
			t.Rows = append(t.Rows, row)
		}
	}
	return t
}

// Report returns the figures in the form that scripts read.
func (r TrajectoryReport) Report() Report {
	m := r.Task.metrics()
	for _, s := range r.Shown {
		var errors []float64
		for k := range s.Mean {
			errors = append(errors, s.error(r.Task.Prefix, k))
		}
		m = append(m, in(squaredUnit, list(fmt.Sprintf("error_episode_%d", s.Episode), errors))...)
	}
	return Report{Protocol: "trajectories", Metrics: m}
}
