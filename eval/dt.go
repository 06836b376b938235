package eval

import (
	"fmt"

	"github.com/switchyard-ml/switchyard/envs"
	"github.com/switchyard-ml/switchyard/model"
)

// DTHorizon is how many steps the protocol DT predicts, whatever their duration.
const DTHorizon = 10

// DTReport is what one run contributes to the curve of errors over the duration of a step: its model was trained,
// and is measured, at one DT. Errors are in the units of an observation.
type DTReport struct {
	Task        Task
	Environment string
	DT          float64 // duration of a step
	// Absolute error per dimension, averaged over dimensions and DTHorizon steps: of the model's mean, of one rollout,
	// of the last observation seen, and of the model over that.
	Model, Rollout, Static, Ratio Estimate
	Steps                         []Estimate // the model's at each step
}

// DT measures the absolute error of a model at the duration of a step that it was trained at (figure 5c of
// Becker-Ehmck et al. 2019). As the error depends on how far things move in a step, it is to be compared over that
// of Static. It returns ErrOptions or ErrDims, joined, before anything is computed.
func DT(f model.Forecaster, env envs.Env, task Task) (DTReport, error) {
	spec := env.Spec()
	if err := task.validate(f.Dims(), spec); err != nil {
		return DTReport{}, err
	}
	// K is the paper's number of steps; a prediction of K steps lasts K·DT.
	const K = DTHorizon
	test := task.test(env, task.Prefix+K)
	start := task.Prefix - 1
	// A row counts the episode, then holds the errors of the model at each step, and those of rollout and Static over
	// all.
	sums := newTally(test.N, 1+K+2)
	task.forecasts(f, test, K, func(c chunk, a *model.Forecast) {
		for i := range c.n {
			row := sums.row(c.first + i)
			row[0] = 1
			for k := 1; k <= K; k++ {
				at, truth := ((k-1)*c.n+i)*test.NX, test.at(c.first+i, start+k)
				row[k] = meanDistance(truth, a.Mean[at:at+test.NX])
				row[K+1] += meanDistance(truth, a.Paths[at:at+test.NX]) / K
				row[K+2] += meanDistance(truth, test.at(c.first+i, start)) / K
			}
		}
	})
	// The mean over the steps of a prediction, summed over episodes.
	byModel := func(s []float64) float64 { return sum(s[1:1+K]) / K }
	r := DTReport{
		Task: task, Environment: spec.Name, DT: spec.DT,
		Model:   sums.estimate(func(s []float64) float64 { return byModel(s) / s[0] }),
		Rollout: sums.estimate(func(s []float64) float64 { return s[K+1] / s[0] }),
		Static:  sums.estimate(func(s []float64) float64 { return s[K+2] / s[0] }),
		Ratio:   sums.estimate(func(s []float64) float64 { return byModel(s) / s[K+2] }),
	}
	for k := 1; k <= K; k++ {
		r.Steps = append(r.Steps, sums.estimate(func(s []float64) float64 { return s[k] / s[0] }))
	}
	return r, nil
}

// meanDistance is the mean of |x − y| over dimensions.
func meanDistance(x, y []float32) float64 {
	sum := 0.0
	for i, v := range x {
		sum += max(float64(v)-float64(y[i]), float64(y[i])-float64(v))
	}
	return sum / float64(len(x))
}

// DTPublished is a line of the published curve. It has one value for each of DTPaperSteps, or one alone where the
// step of a run picked it.
type DTPublished struct {
	Name, Key string
	Error     []float64 // at DTPaperSteps
}

// DTPaperSteps are the durations of a step of the published curve, in seconds.
func DTPaperSteps() []float64 { return []float64{.002, .005, .01, .02, .04, .1} }

// DTPaper is the published curve for one agent in the maze: Becker-Ehmck et al. 2019, figure 5c.
func DTPaper() []DTPublished {
	return []DTPublished{
		{"Normal", "normal", []float64{.011, .0184, .0278, .0614, .1531, .205}},
		{"Concrete", "concrete", []float64{.00646, .0132, .046, .1012, .2857, .3318}},
	}
}

// Table shows the contribution of the run.
func (r DTReport) Table() Table {
	t := Table{
		Title:  fmt.Sprintf("%s, absolute error per dimension over %d steps of %g", r.Environment, DTHorizon, r.DT),
		Corner: "", Columns: []string{"error", "± SE"}, Digits: 3,
	}
	for _, row := range []struct {
		name string
		e    Estimate
	}{{"model", r.Model}, {"  one rollout", r.Rollout}, {"Static, x_P", r.Static}, {"model / Static", r.Ratio}} {
		t.Rows = append(t.Rows, Row{row.name, []float64{row.e.Value, row.e.SE}})
	}
	for _, p := range r.published() {
		t.Rows = append(t.Rows, Row{"paper: " + p.Name, append([]float64{p.Error[0]}, missing(1)...)})
	}
	t.Notes = []string{
		r.Task.note(),
		"One run is one point of the curve over the duration of a step; a report joins them.",
	}
	return t
}

// published are the figures of the paper at the step of this run, where it has them. There are none for other
// environments than the maze, or if DT is not exactly one of DTPaperSteps.
func (r DTReport) published() []DTPublished {
	var list []DTPublished
	for i, dt := range DTPaperSteps() {
		if r.Environment != "maze" || dt != r.DT {
			continue
		}
		for _, p := range DTPaper() {
			list = append(list, DTPublished{p.Name, p.Key, p.Error[i : i+1]})
		}
	}
	return list
}

// CurveTable holds the error at each step.
func (r DTReport) CurveTable() Table {
	t := Table{Corner: "k", Decimals: 6}
	t.estimates("error", r.Steps)
	return t
}

// DTMetrics is what DT reports, before it is measured.
func DTMetrics(env envs.Env, task Task) []Metric {
	return DTReport{Task: task, DT: env.Spec().DT}.Report().Metrics
}

// Report returns the figures in the form that scripts read. All but the ratio are in the units of an observation.
func (r DTReport) Report() Report {
	out := Report{Protocol: "dt", Metrics: append(r.Task.metrics(), value("dt", r.DT))}
	for _, m := range []struct {
		name string
		e    Estimate
	}{{"error", r.Model}, {"error_one_rollout", r.Rollout}, {"error_static", r.Static}, {"ratio_to_static", r.Ratio}} {
		pair := estimated(value(m.name, 0), m.e)
		if m.name != "ratio_to_static" {
			pair = in(unit, pair...)
		}
		out.Metrics = append(out.Metrics, pair...)
	}
	for _, p := range r.published() {
		out.Paper = append(out.Paper, value("error_"+p.Key, p.Error[0]))
	}
	return out
}
