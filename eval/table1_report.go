package eval

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/switchyard-ml/switchyard/envs"
)

// Table1Ratios are the published errors of table 1 over those of Static, which is the first of its rows.
func Table1Ratios(environment string) []Published {
	rows, ratios := Paper("table1", environment), Paper("table1", environment)
	for _, p := range ratios {
		for i := range p.Values {
			p.Values[i] /= rows[0].Values[i]
		}
	}
	return ratios
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
	rows := func(c *Table1Contact, happened, bodies, otherwise string) {
		if c != nil {
			row("model, "+happened, missing(3), values(at(c.Met)), missing(3))
			row("  their share of "+bodies+", of error", values(at(c.Share)), values(at(c.ErrorShare)), missing(3))
			row("model, "+otherwise, missing(3), values(at(c.Free)), missing(3))
		}
	}
	rows(r.Contact, "bodies that met a wall", "bodies", "bodies that did not")
	rows(r.Encounter, "bodies that met another", "bodies", "bodies that did not")
	ranAway := r.Runaway != nil && r.Runaway.Share[Table1Horizon-1].Value > 0
	if ranAway {
		rows(r.Runaway, "episodes with a runaway rollout", "episodes", "episodes without one")
	}
	paper := Paper("table1", r.Environment)
	for i, ratios := range Table1Ratios(r.Environment) {
		paper[i].Values = append(paper[i].Values, ratios.Values...)
	}
	t.paper(paper)
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
	if ranAway {
		t.Notes = append(t.Notes, "Runaway: it left the range of the data by more than the width of the range, up to step "+
			"k; one such rollout can spoil a mean.")
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
	r.Runaway = newRunawaySquares(&trials{}).estimate()
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
	ratios := Table1Ratios(r.Environment)
	for i, p := range Paper("table1", r.Environment) {
		out.Paper = append(out.Paper, object("error_"+p.Key, horizonAxis, keys, p.Values),
			object("ratio_to_static_"+p.Key, horizonAxis, keys, ratios[i].Values))
	}
	return out
}
