package eval

import (
	"fmt"
	"math"

	"github.com/switchyard-ml/switchyard/envs"
	"github.com/switchyard-ml/switchyard/model"
)

// Table1Horizon is how many steps the protocol Table1 predicts.
const Table1Horizon = 10

// Table1Horizons are the horizons of the published figures.
func Table1Horizons() []int { return []int{1, 5, 10} }

// Table1Row is the squared error of one predictor, summed over the dimensions of an observation, at horizon k = 1,
// 2, … (element k−1), under the aggregations in use: the published table does not say which one is its.
type Table1Row struct {
	Name, Key string
	Point     []Estimate // e_k
	Mean      []Estimate // (1/k) Σ_{j≤k} e_j
	Sum       []Estimate // Σ_{j≤k} e_j
	// Over the error of Static, the last observation that was seen: point values, and both cumulative ones, which are
	// the same.
	Ratio, RatioCumulative []Estimate
	// RatioFirst is the point value over that of predicting the first observation of an episode as long after it.
	RatioFirst []Estimate
}

// Table1Report is the result of the protocol Table1. Lists have an element for each horizon k = 1 … Table1Horizon.
type Table1Report struct {
	Task        Task
	Environment string
	Rows        []Table1Row // the model first
	// Calibration is the squared error of the predictive mean over the variance that the model predicts for it; 1 is
	// right.
	Calibration []Estimate
	Contact     *Table1Contact // nil: nothing moves in the plane
	Encounter   *Table1Contact // of bodies that met another body; nil: there are no others
	Runaway     *Table1Contact // of episodes of which a rollout ran away
}

// The predictors of the protocol, in the order of Table1Report.Rows.
const (
	byModel   = iota
	byRollout // one path of latent states
	byLinear
	byStatic
	byFirst
	predictors
)

// Table1 measures the prediction of a simulated environment as table 1 of Becker-Ehmck et al. 2019 does: the model
// filters the first steps of test episodes and predicts ten that follow, under the controls that were applied. It
// returns ErrOptions or ErrDims, joined, before anything is computed. The baseline of least squares is fitted on
// training episodes of the same length.
func Table1(f model.Forecaster, env envs.Env, task Task) (Table1Report, error) {
	spec := env.Spec()
	if err := task.validate(f.Dims(), spec); err != nil {
		return Table1Report{}, err
	}
	const K = Table1Horizon
	linear, err := fitLinearAhead(task.training(env, task.Prefix+K), task.Prefix, K)
	if err != nil {
		return Table1Report{}, fmt.Errorf("fit the linear baseline: %w", err)
	}
	test := task.test(env, task.Prefix+K)
	// Behind the squares of the predictors stands the variance that the model predicts, K of each.
	squares := newTally(test.N, 1+(predictors+1)*K)
	for n := range test.N {
		baselineSquares(squares.row(n), &test, n, task.Prefix, linear)
	}
	p := probesOf(env)
	contact := newContactSquares(p.Bodies, p.Contacts, test.N)
	encounter := newContactSquares(p.Bodies, p.Encounters, test.N)
	runaway := newRunawaySquares(&test)
	task.forecasts(f, test, K, func(c chunk, a *model.Forecast) {
		for i := range c.n {
			modelSquares(squares.row(c.first+i), &test, c, i, a)
			contact.enter(&test, c, i, a)
			encounter.enter(&test, c, i, a)
			runaway.enter(&test, c, i, a)
		}
	})
	r := table1Report(task, spec.Name, squares)
	r.Contact, r.Encounter, r.Runaway = contact.estimate(), encounter.estimate(), runaway.estimate()
	return r, nil
}

// place is where the squares of a predictor at horizon k are in the row of an episode; the first element counts
// episodes. The variance that the model predicts has the place of predictor number predictors.
func place(predictor, k int) int { return predictor*Table1Horizon + k }

// baselineSquares enters the squared errors of the predictors without a model, after the prefix of trial n. Static
// predicts the last observation of the prefix, first the first of the episode; at horizon k that one is scored at
// step k.
func baselineSquares(row []float64, d *trials, n, prefix int, linear linearAhead) {
	row[0] = 1
	start, next := prefix-1, make([]float64, d.NX)
	static, first := widen(d.at(n, start)), widen(d.at(n, 0))
	for k := 1; k <= Table1Horizon; k++ {
		target := d.at(n, start+k)
		linear.predict(next, d, n, start, k, prefix)
		row[place(byLinear, k)] = squaredDistance(target, next)
		row[place(byStatic, k)] = squaredDistance(target, static)
		row[place(byFirst, k)] = squaredDistance(d.at(n, k), first)
	}
}

// modelSquares enters the squared errors of the model for sequence i of a chunk, and the variance that it
// predicts: that of its rollouts, S of which make a mean, and that of the decoder, estimated along the first. The
// mean of S rollouts misses a further one by (1 + 1/S) times their variance:
//
//	spread/(S−1) · (1 + 1/S) + |draw − path|²
func modelSquares(row []float64, d *trials, c chunk, i int, a *model.Forecast) {
	for k := 1; k <= Table1Horizon; k++ {
		target := d.at(c.first+i, c.start+k)
		at := ((k-1)*c.n + i) * d.NX
		mean, path := widen(a.Mean[at:at+d.NX]), widen(a.Paths[at:at+d.NX])
		row[place(byModel, k)] = squaredDistance(target, mean)
		row[place(byRollout, k)] = squaredDistance(target, path)
		spread := 0.0
		for s := range a.Samples {
			from := s*a.Horizon*c.n*d.NX + at
			spread += squaredDistance(a.Paths[from:from+d.NX], mean)
		}
		S := float64(a.Samples)
		row[place(predictors, k)] = spread/(S-1)*(1+1/S) + squaredDistance(a.Draw[at:at+d.NX], path)
	}
}

// squaredDistance is Σ (x − y)² over dimensions.
func squaredDistance(x []float32, y []float64) float64 {
	sum := 0.0
	for i, v := range x {
		d := float64(v) - y[i]
		sum += d * d
	}
	return sum
}

// table1Report makes the estimates of the squares. Of a tally without episodes all is NaN.
func table1Report(task Task, environment string, squares *tally) Table1Report {
	r := Table1Report{Task: task, Environment: environment}
	upTo := func(sums []float64, predictor, k int) float64 {
		total := 0.0
		for j := 1; j <= k; j++ {
			total += sums[place(predictor, j)]
		}
		return total
	}
	names := [predictors][2]string{
		byModel: {"model", ""}, byRollout: {"  one rollout", "one_rollout"}, byLinear: {"linear least squares", "linear"},
		byStatic: {"Static, x_P", "static"}, byFirst: {"Static, x_1", "static_first"},
	}
	for p, name := range names {
		row := Table1Row{Name: name[0], Key: name[1]}
		for k := 1; k <= Table1Horizon; k++ {
			add := func(dst *[]Estimate, statistic func(s []float64) float64) {
				*dst = append(*dst, squares.estimate(statistic))
			}
			add(&row.Point, func(s []float64) float64 { return s[place(p, k)] / s[0] })
			add(&row.Mean, func(s []float64) float64 { return upTo(s, p, k) / s[0] / float64(k) })
			add(&row.Sum, func(s []float64) float64 { return upTo(s, p, k) / s[0] })
			add(&row.Ratio, func(s []float64) float64 { return s[place(p, k)] / s[place(byStatic, k)] })
			add(&row.RatioCumulative, func(s []float64) float64 { return upTo(s, p, k) / upTo(s, byStatic, k) })
			add(&row.RatioFirst, func(s []float64) float64 { return s[place(p, k)] / s[place(byFirst, k)] })
		}
		r.Rows = append(r.Rows, row)
	}
	for k := 1; k <= Table1Horizon; k++ {
		e := Estimate{math.NaN(), math.NaN()}
		if task.Samples > 1 { // one rollout says nothing of their spread
			e = squares.estimate(func(s []float64) float64 {
				if s[place(predictors, k)] == 0 { // the model says that it is certain
					return math.NaN()
				}
				return s[place(byModel, k)] / s[place(predictors, k)]
			})
		}
		r.Calibration = append(r.Calibration, e)
	}
	return r
}
