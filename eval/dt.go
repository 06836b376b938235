package eval

import (
	"fmt"
	"math"
	"slices"

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

// DTPaperSteps are the durations of a step of the published curve, in seconds.
func DTPaperSteps() []float64 { return Paper("dt", "maze")[0].At }

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
		t.Rows = append(t.Rows, Row{"paper: " + p.Name, []float64{p.Value(r.DT), math.NaN()}})
	}
	t.Notes = []string{
		r.Task.note(),
		"One run is one point of the curve over the duration of a step; a report joins them.",
	}
	return t
}

// published are the rows of the paper that have a figure at the step of this run, exactly.
func (r DTReport) published() []Published {
	return slices.DeleteFunc(Paper("dt", r.Environment), func(p Published) bool { return math.IsNaN(p.Value(r.DT)) })
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
		out.Paper = append(out.Paper, value("error_"+p.Key, p.Value(r.DT)))
	}
	return out
}
