package eval

import (
	"fmt"

	"github.com/switchyard-ml/switchyard/envs"
	"github.com/switchyard-ml/switchyard/model"
)

// probeFrom is the first step of an episode that a probe of the latent state looks at: the fourth, as in the paper.
const probeFrom = 3

// VelocityProbe is how well a linear map of some features gives what no single observation shows.
type VelocityProbe struct {
	Name, Key string
	// 1 is a perfect read-out, 0 what the mean of the test steps gives; NaN: the states are not finite.
	R2   []Estimate // for each of VelocityReport.Rates
	Mean Estimate   // over them
}

// VelocityReport is the result of the protocol Velocity.
type VelocityReport struct {
	Task        Task
	Environment string
	Rates       []envs.Column
	Probes      []VelocityProbe
	Fitted      int // training episodes that the maps were fitted on
	// Scatter are pairs of truth and read-out of test steps, for each rate, by the last probe of the latent state.
	Scatter     [][][2]float64
	ScatterName string // of that probe; empty: the model has no latent state
	Notes       []string
}

// scatterPoints is how many pairs of each rate are kept.
const scatterPoints = 600

// features appends what a probe looks at in step t of trial n. A latent one reads f, which is nil where the model
// has no filter.
type features struct {
	name, key string
	of        func(dst []float64, d *trials, f *filtered, n, t int) []float64
	latent    bool
}

// Velocity measures how much of the velocities, which no single observation shows, lies open in the latent state:
// R² on test episodes of a linear map with intercept from the posterior mean of z_t, from the fourth step on,
// given the whole episode; the map is fitted on training episodes. It returns ErrOptions or ErrDims, joined,
// before anything is computed.
func Velocity(f model.Forecaster, env envs.Env, task Task) (VelocityReport, error) {
	spec, probes := env.Spec(), probesOf(env)
	if err := task.validate(f.Dims(), spec); err != nil {
		return VelocityReport{}, err
	}
	training, test := task.training(env, task.Length), task.test(env, task.Length)
	seen, hidden := task.filter(f, training, noiseOfTraining), task.filter(f, test, noiseOfTest)
	r := VelocityReport{Task: task, Environment: spec.Name, Rates: probes.Rates, Fitted: training.N}
	if hidden == nil {
		r.Notes = append(r.Notes, "This family of models infers no latent state: only the baselines are measured.")
	}
	if images(env) {
		r.Notes = append(r.Notes, "Observations are images: there is no baseline from them.")
	}
	// Fitted on training episodes, scored on test episodes: both are filtered alike.
	for _, p := range velocityFeatures(probes, hidden != nil, images(env)) {
		x, y := designMatrix(p, &training, seen, probes.Rates)
		in := len(x) / (len(y) / len(probes.Rates))
		w, err := leastSquares(x, y, in, len(probes.Rates))
		if err != nil && !p.latent {
			return VelocityReport{}, fmt.Errorf("fit %s: %w", p.name, err)
		}
		if err != nil { // states that are not finite: nothing can be read out
			w = affine{in, len(probes.Rates), missing(in * len(probes.Rates)), missing(len(probes.Rates))}
		}
		sums, pairs := readOut(w, p, &test, hidden, probes.Rates)
		r.Probes = append(r.Probes, velocityProbe(p, sums, len(probes.Rates)))
		if p.latent {
			r.Scatter, r.ScatterName = pairs, p.name
		}
	}
	return r, nil
}

// velocityFeatures are the probes that an environment and a model allow. The order is that of the rows. Where
// something turns, features are tried with the angle, too: a rate in a turning frame is linear in their products.
func velocityFeatures(p envs.Probes, latent, pictures bool) []features {
	// The posterior mean, an observation, and two neighbouring ones, from which a difference can be taken.
	z := func(dst []float64, _ *trials, f *filtered, n, t int) []float64 { return append(dst, f.state(n, t)...) }
	x := func(dst []float64, d *trials, _ *filtered, n, t int) []float64 {
		return append(dst, widen(d.at(n, t))...)
	}
	xx := func(dst []float64, d *trials, _ *filtered, n, t int) []float64 {
		return append(append(dst, widen(d.at(n, t))...), widen(d.at(n, t-1))...)
	}
	var list []features
	add := func(f features) {
		list = append(list, f)
		if len(p.Turned) > 0 {
			list = append(list, features{f.name + " × (1, cos θ, sin θ)", f.key + "_turned", turned(f.of, p.Turned), f.latent})
		}
	}
	if latent {
		add(features{"z", "z", z, true})
	}
	if !pictures {
		list = append(list, features{"x_t", "x", x, false})
		add(features{"x_t, x_t−1", "xx", xx, false})
	}
	return list
}

// turned multiplies features by 1 and by observed cosines and sines. It has (1 + len(columns)) times as many
// features as of, and the columns themselves.
func turned(of func([]float64, *trials, *filtered, int, int) []float64, columns []int) func([]float64, *trials,
	*filtered, int, int) []float64 {
	return func(dst []float64, d *trials, f *filtered, n, t int) []float64 {
		from := len(dst)
		dst = of(dst, d, f, n, t)
		for _, v := range dst[from:len(dst):len(dst)] {
			for _, c := range columns {
				dst = append(dst, v*float64(d.at(n, t)[c]))
			}
		}
		for _, c := range columns {
			dst = append(dst, float64(d.at(n, t)[c]))
		}
		return dst
	}
}

// designMatrix is x [rows,features] and the true rates y [rows,len(rates)], a row for each step from probeFrom on.
func designMatrix(p features, d *trials, f *filtered, rates []envs.Column) (x, y []float64) {
	for n := range d.N {
		for t := probeFrom; t < d.T; t++ {
			x = p.of(x, d, f, n, t)
			for _, r := range rates {
				y = append(y, float64(d.state(n, t)[r.Index]))
			}
		}
	}
	return x, y
}

// readOut scores a map on test trials. A row of the tally holds the number of steps and, for each rate, the sums
// of y, y² and the squared residual. pairs are truth and read-out of every n-th step: scatterPoints of them or
// more for each rate, if there are as many steps.
func readOut(w affine, p features, d *trials, f *filtered, rates []envs.Column) (*tally, [][][2]float64) {
	sums := newTally(d.N, 1+3*len(rates))
	pairs := make([][][2]float64, len(rates))
	every := max(1, d.N*(d.T-probeFrom)/scatterPoints)
	answer, steps := make([]float64, len(rates)), 0
	var x []float64
	for n := range d.N {
		row := sums.row(n)
		for t := probeFrom; t < d.T; t++ {
			x = p.of(x[:0], d, f, n, t)
			w.apply(answer, x)
			row[0]++
			for j, r := range rates {
				y := float64(d.state(n, t)[r.Index])
				row[1+3*j] += y
				row[2+3*j] += y * y
				row[3+3*j] += (y - answer[j]) * (y - answer[j])
				if steps%every == 0 {
					pairs[j] = append(pairs[j], [2]float64{y, answer[j]})
				}
			}
			steps++
		}
	}
	return sums, pairs
}

// velocityProbe makes R² of the sums: 1 − Σ (y − ŷ)² / Σ (y − ȳ)², with ȳ the mean over all test steps, and its
// mean over the rates.
func velocityProbe(p features, sums *tally, rates int) VelocityProbe {
	r2 := func(s []float64, j int) float64 {
		return 1 - s[3+3*j]/(s[2+3*j]-s[1+3*j]*s[1+3*j]/s[0])
	}
	probe := VelocityProbe{Name: p.name, Key: p.key}
	for j := range rates {
		probe.R2 = append(probe.R2, sums.estimate(func(s []float64) float64 { return r2(s, j) }))
	}
	probe.Mean = sums.estimate(func(s []float64) float64 {
		mean := 0.0
		for j := range rates {
			mean += r2(s, j) / float64(rates)
		}
		return mean
	})
	return probe
}

// Table shows R² by rate, and the mean with its standard error.
func (r VelocityReport) Table() Table {
	t := Table{
		Title: r.Environment + ", R² of velocities read out of the latent state", Corner: "linear in",
		Columns: []string{"mean", "± SE"}, Decimals: 3,
	}
	for _, c := range r.Rates {
		t.Columns = append(t.Columns, c.Name)
	}
	for _, p := range r.Probes {
		t.Rows = append(t.Rows, Row{p.Name, append([]float64{p.Mean.Value, p.Mean.SE}, values(p.R2)...)})
	}
	t.paper(Paper("velocity", r.Environment))
	t.Notes = append([]string{
		fmt.Sprintf("z is the posterior mean given the whole episode (of %d paths of draws), from step %d on; fitted on "+
			"%d training episodes,", filterPaths, probeFrom+1, r.Fitted),
		fmt.Sprintf("scored on %d test episodes that training never saw. Standard errors are over test episodes.",
			r.Task.Episodes),
	}, r.Notes...)
	return t
}

// CurveTable holds every number.
func (r VelocityReport) CurveTable() Table {
	t := Table{Corner: "probe", Columns: []string{"mean", "mean_se"}, Decimals: 6}
	for _, c := range r.Rates {
		t.Columns = append(t.Columns, c.Name, c.Name+"_se")
	}
	for _, p := range r.Probes {
		t.Rows = append(t.Rows, Row{p.Key, append(withErrors(p.Mean), withErrors(p.R2...)...)})
	}
	return t
}

// VelocityMetrics is what Velocity reports, before it is measured. The values mean nothing.
func VelocityMetrics(f model.Forecaster, env envs.Env, task Task) []Metric {
	probes := probesOf(env)
	r := VelocityReport{Task: task, Environment: env.Spec().Name, Rates: probes.Rates}
	for _, p := range velocityFeatures(probes, filters(f), images(env)) {
		r.Probes = append(r.Probes, velocityProbe(p, newTally(0, 1+3*len(r.Rates)), len(r.Rates)))
	}
	return r.Report().Metrics
}

// Report returns the figures in the form that scripts read: r2_PROBE and its standard errors, by rate and "mean".
func (r VelocityReport) Report() Report {
	out := Report{Protocol: "velocity", Metrics: []Metric{
		count("episodes", r.Task.Episodes),
		count("fitted_episodes", r.Fitted), count("paths", filterPaths),
	}}
	keys := []string{"mean"}
	for _, c := range r.Rates {
		keys = append(keys, c.Name)
	}
	for _, p := range r.Probes {
		all := append([]Estimate{p.Mean}, p.R2...)
		out.Metrics = append(out.Metrics, estimated(object("r2_"+p.Key, "velocity", keys, nil), all...)...)
	}
	for _, p := range Paper("velocity", r.Environment) {
		out.Paper = append(out.Paper, value("r2_"+p.Key, p.Values[0]))
	}
	return out
}
