package eval

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/switchyard-ml/switchyard/envs"
)

// Table1Published is a row of the published table 1: squared errors at Table1Horizons.
type Table1Published struct {
	Name, Key string
	Error     []float64
}

// Table1Paper are the published figures for an environment: Becker-Ehmck et al. 2019, table 1. It is nil for all but
// maze and reacher.
func Table1Paper(environment string) []Table1Published {
	switch environment {
	case "maze":
		return []Table1Published{
			{"Static", "static", []float64{1.40e-2, .574, 2.65}},
			{"LSTM", "lstm", []float64{7.20e-3, .158, .260}},
			{"DVBF", "dvbf", []float64{6.20e-3, .136, .182}},
			{"DVBF Fusion", "fusion", []float64{4.33e-3, 2.03e-2, 4.88e-2}},
			{"Ours (Concrete)", "concrete", []float64{2.28e-3, 1.22e-2, 3.40e-2}},
			{"Ours (Normal)", "normal", []float64{1.30e-3, 5.52e-3, 1.38e-2}},
		}
	case "reacher":
		return []Table1Published{
			{"Static", "static", []float64{5.80e-2, .536, 1.25}},
			{"LSTM", "lstm", []float64{3.07e-2, .367, 1.02}},
			{"DVBF", "dvbf", []float64{1.10e-2, .306, .605}},
			{"DVBF Fusion", "fusion", []float64{4.90e-3, 2.97e-2, 8.25e-2}},
			{"Ours (Concrete)", "concrete", []float64{1.06e-2, 5.73e-2, .156}},
			{"Ours (Normal)", "normal", []float64{3.39e-3, 1.85e-2, 4.97e-2}},
		}
	}
	return nil
}

// ratios are a row's errors over those of Static.
func (p Table1Published) ratios(static Table1Published) []float64 {
	r := make([]float64, len(p.Error))
	for i := range r {
		r[i] = p.Error[i] / static.Error[i]
	}
	return r
}

// Table1Ratios are the published errors over the published errors of Static. Static itself is 1.
func Table1Ratios(environment string) []Table1Published {
	paper := Table1Paper(environment)
	var list []Table1Published
	for _, p := range paper {
		list = append(list, Table1Published{p.Name, p.Key, p.ratios(paper[0])})
	}
	return list
}

// at picks the values at Table1Horizons.
func at[T any](list []T) []T {
	var picked []T
	for _, k := range Table1Horizons() {
		picked = append(picked, list[k-1])
	}
	return picked
}

// Table shows the errors and their ratios to Static.
func (r Table1Report) Table() Table {
	t := Table{Title: r.Environment + ", squared error of predictions k steps ahead", Corner: "k", Digits: 3}
	// Three groups of columns: the errors, their ratios to Static, and the ratios of the sums up to k.
	for _, group := range []string{"", "/Static ", "Σ/Static "} {
		for _, k := range Table1Horizons() {
			t.Columns = append(t.Columns, group+strconv.Itoa(k))
		}
	}
	row := func(name string, groups ...[]float64) {
		var v []float64
		for _, g := range groups {
			v = append(v, g...)
		}
		t.Rows = append(t.Rows, Row{name, v})
	}
	// Only the model has a row of standard errors.
	for i, p := range r.Rows {
		point, ratio, cumulative := at(p.Point), at(p.Ratio), at(p.RatioCumulative)
		row(p.Name, values(point), values(ratio), values(cumulative))
		if i == byModel {
			row("  standard error", errorsOf(point), errorsOf(ratio), errorsOf(cumulative))
		}
	}
	// The calibration stands under the first group: it has no ratio to Static.
	row("error / predicted variance", values(at(r.Calibration)), missing(3), missing(3))
	met := func(what string, c *Table1Contact) {
		if c != nil {
			row("model, bodies that met "+what, missing(3), values(at(c.Met)), missing(3))
			row("  their share of bodies, of error", values(at(c.Share)), values(at(c.ErrorShare)), missing(3))
			row("model, bodies that did not", missing(3), values(at(c.Free)), missing(3))
		}
	}
	met("a wall", r.Contact)
	met("another", r.Encounter)
	for i, p := range Table1Paper(r.Environment) {
		if i == 0 {
			t.Rows = append(t.Rows, Row{})
		}
		row("paper: "+p.Name, p.Error, p.ratios(Table1Paper(r.Environment)[0]), missing(3))
	}
	t.Notes = []string{
		r.Task.note(),
		"Errors are summed over dimensions. /Static: over the error of x_P, the last observation seen; Σ: of the sums to " +
			"step k.",
		"Standard errors are over episodes. The paper does not say how its errors add up over steps: compare ratios.",
	}
	if r.Contact != nil {
		t.Notes = append(t.Notes, "Met: between the steps seen and step k. Their share of bodies stands under k, "+
			"of the error under /Static k.")
	}
	return t
}

// missing are n values that are not there: NaN.
func missing(n int) []float64 {
	v := make([]float64, n)
	for i := range v {
		v[i] = math.NaN()
	}
	return v
}

// aggregations are the aggregations of a row over horizons, by the names that scripts read, each [Table1Horizon].
func (p Table1Row) aggregations() []struct {
	name  string
	value []Estimate
} {
	return []struct {
		name  string
		value []Estimate
	}{
		{"error", p.Point},
		{"error_cumulative_mean", p.Mean},
		{"error_cumulative_sum", p.Sum},
		{"ratio_to_static", p.Ratio},
		{"ratio_to_static_cumulative", p.RatioCumulative},
		{"ratio_to_static_first", p.RatioFirst},
	}
}

// CurveTable holds every horizon, predictor and aggregation with its standard error.
func (r Table1Report) CurveTable() Table {
	t := Table{Corner: "k", Decimals: 6}
	for _, p := range r.Rows {
		for _, a := range p.aggregations() {
			t.estimates(suffixed(a.name, p.Key), a.value)
		}
	}
	t.estimates("calibration", r.Calibration)
	for _, c := range r.contacts() {
		t.estimates(c.name, c.value)
	}
	return t
}

// suffixed is NAME_SUFFIX, or the name alone without a suffix.
func suffixed(name, suffix string) string {
	if suffix == "" {
		return name
	}
	return name + "_" + suffix
}

// Table1Metrics is what Table1 reports, before it is measured. The values are NaN.
func Table1Metrics(env envs.Env, task Task) []Metric {
	r := table1Report(task, env.Spec().Name, newTally(0, 1+(predictors+1)*Table1Horizon))
	p := probesOf(env)
	r.Contact = newContactSquares(p.Bodies, p.Contacts, 0).estimate()
	r.Encounter = newContactSquares(p.Bodies, p.Encounters, 0).estimate()
	return r.Report().Metrics
}

// Report returns the figures in the form that scripts read: objects by horizon.
func (r Table1Report) Report() Report {
	out := Report{Protocol: "table1", Metrics: r.Task.metrics()}
	keys := make([]string, 0, len(Table1Horizons()))
	for _, k := range Table1Horizons() {
		keys = append(keys, strconv.Itoa(k))
	}
	add := func(name string, v []float64) {
		m := object(name, horizonAxis, keys, v)
		if strings.HasPrefix(name, "error") || strings.HasPrefix(name, "standard_error") {
			m.Unit = squaredUnit
		}
		out.Metrics = append(out.Metrics, m)
	}
	for _, p := range r.Rows {
		for _, a := range p.aggregations() {
			add(suffixed(a.name, p.Key), values(at(a.value)))
			// The error of the first aggregation has the plain name, the others carry theirs.
			standard := "standard_error"
			if a.name != "error" {
				standard = fmt.Sprintf("%s_%s", a.name, standard)
			}
			add(suffixed(standard, p.Key), errorsOf(at(a.value)))
		}
	}
	add("calibration", values(at(r.Calibration)))
	add("calibration_standard_error", errorsOf(at(r.Calibration)))
	for _, c := range r.contacts() {
		add(c.name, values(at(c.value)))
		add(c.name+"_standard_error", errorsOf(at(c.value)))
	}
	for _, p := range Table1Paper(r.Environment) {
		out.Paper = append(out.Paper, object("error_"+p.Key, horizonAxis, keys, p.Error),
			object("ratio_to_static_"+p.Key, horizonAxis, keys, p.ratios(Table1Paper(r.Environment)[0])))
	}
	return out
}
