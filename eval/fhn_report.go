package eval

import (
	"fmt"
	"math"
	"strings"
)

// FHNPublished are the R² that papers print, read off Becker-Ehmck et al. 2019, fig. 5b.
type FHNPublished struct {
	Name string
	R2   []float64 // at FHNHorizons
}

// FHNHorizons are the horizons of the published figures.
func FHNHorizons() []int { return []int{1, 2, 5, 10, 15, 20, 25, 30} }

// FHNPaper returns the published figures: the paper's model and the two that it compares with.
func FHNPaper() []FHNPublished {
	return []FHNPublished{
		{"ours", []float64{.999, .999, .999, .996, .992, .981, .969, .956}},
		{"TrSLDS", []float64{.999, .995, .99, .985, .98, .97, .95, .94}},
		{"rSLDS", []float64{.999, .99, .98, .98, .965, .94, .84, .76}},
	}
}

// Table lays the report out beside the published figures, at the horizons of the paper.
func (r FHNReport) Table() Table {
	t := Table{Title: "FitzHugh–Nagumo, R² of predictions k steps ahead", Corner: "k", Decimals: 3}
	for _, k := range FHNHorizons() {
		if k <= r.Options.Horizon {
			t.Columns = append(t.Columns, fmt.Sprint(k))
		}
	}
	r.AtStart.rows(&t, "")
	t.Rows = append(t.Rows, Row{})
	for _, p := range FHNPaper() {
		t.Rows = append(t.Rows, Row{"paper: " + p.Name, p.R2[:len(t.Columns)]})
	}
	for _, p := range FHNComputedMeans(r.Options.Horizon) {
		row := Row{Name: "computed by Switchyard: " + p.Name}
		for _, k := range FHNHorizons()[:len(t.Columns)] {
			row.Values = append(row.Values, atHorizon(p.R2, k))
		}
		t.Rows = append(t.Rows, row)
	}
	if r.AllStarts != nil {
		t.Rows = append(t.Rows, Row{})
		r.AllStarts.rows(&t, ", all starts")
	}
	kind := "held-out ends of the training trajectories"
	if r.Options.Fresh {
		kind = "trajectories that training never saw"
	}
	t.Notes = []string{
		fmt.Sprintf("%d %s, filtered to step %d; mean of %d rollouts unless it says one draw.",
			r.Options.Training, kind, r.Options.Length, r.Options.Samples),
		"Stimulus unknown: u = 0 at every step. Drawn: draws from N(0,1), after the start others in every rollout; not " +
			"known either.",
		"True system: the true equations at u = 0. The paper's model is its Concrete variant. Computed: means over runs " +
			"of train fhn with model.kind=rslds and trslds.",
	}
	return t
}

// atHorizon returns the value at horizon k, or NaN beyond the last.
func atHorizon(r2 []float64, k int) float64 {
	if k > len(r2) {
		return math.NaN()
	}
	return r2[k-1]
}

func (r FHNReading) rows(t *Table, suffix string) {
	add := func(name string, curve []float64) {
		row := Row{Name: name + suffix}
		for _, k := range FHNHorizons()[:len(t.Columns)] {
			row.Values = append(row.Values, curve[k-1])
		}
		t.Rows = append(t.Rows, row)
	}
	add("model, stimulus unknown", r.Unknown.Mean)
	add("  one draw", r.Unknown.Draw)
	add("model, stimulus drawn", r.Drawn.Mean)
	add("model, stimulus known", r.Known.Mean)
	add("  one draw", r.Known.Draw)
	add("true system", r.Ceiling)
	add("linear least squares", r.Linear)
	add("persistence", r.Persistence)
}

// Metrics is what FHN reports, before it is measured.
func (o FHNOptions) Metrics() []Metric {
	none := missing(o.Horizon)
	r2 := ModelR2{none, none}
	r := FHNReport{Options: o, AtStart: FHNReading{r2, r2, r2, none, none, none}}
	if o.AllStarts {
		r.AllStarts = &r.AtStart
	}
	return r.Report().Metrics
}

// Report returns the figures in the form that scripts read. Lists hold horizons 1 … Horizon.
func (r FHNReport) Report() Report {
	o := r.Options
	out := Report{Protocol: "fhn", Metrics: []Metric{
		count("episodes", o.Training), count("length", o.Length), count("horizon", o.Horizon),
		count("samples", o.Samples), count("window", o.Window), flag("fresh", o.Fresh),
		value("r2_final", r.AtStart.Unknown.Mean[o.Horizon-1]),
	}}
	r.AtStart.metrics(&out, "")
	if r.AllStarts != nil {
		r.AllStarts.metrics(&out, "_all_starts")
	}
	out.Paper = []Metric{integers("horizons", FHNHorizons())}
	for _, p := range FHNPaper() {
		out.Paper = append(out.Paper, list("r2_"+strings.ToLower(p.Name), p.R2))
	}
	return out
}

func (r FHNReading) metrics(out *Report, suffix string) {
	out.Metrics = append(
		out.Metrics,
		list("r2_unknown"+suffix, r.Unknown.Mean),
		list("r2_unknown_draw"+suffix, r.Unknown.Draw),
		list("r2_drawn"+suffix, r.Drawn.Mean),
		list("r2_known"+suffix, r.Known.Mean),
		list("r2_known_draw"+suffix, r.Known.Draw),
		list("r2_true_system"+suffix, r.Ceiling),
		list("r2_linear"+suffix, r.Linear),
		list("r2_persistence"+suffix, r.Persistence),
	)
}

// CurveTable returns every number of the R² figure: one row per horizon, a column per predictor;
// the published figures are missing where the papers print none, and what this program computed for the models of the
// literature has columns of its own.
func (r FHNReport) CurveTable() Table {
	t := Table{Corner: "k", Columns: []string{
		"model_unknown", "model_unknown_draw", "model_drawn", "model_known", "model_known_draw",
		"true_system", "linear", "persistence",
	}, Decimals: 4}
	a := r.AtStart
	columns := [][]float64{
		a.Unknown.Mean, a.Unknown.Draw, a.Drawn.Mean, a.Known.Mean, a.Known.Draw, a.Ceiling, a.Linear, a.Persistence,
	}
	for _, p := range FHNPaper() {
		t.Columns = append(t.Columns, "paper_"+strings.ToLower(p.Name))
		column := make([]float64, r.Options.Horizon)
		for i := range column {
			column[i] = math.NaN()
		}
		for i, k := range FHNHorizons() {
			if k <= len(column) {
				column[k-1] = p.R2[i]
			}
		}
		columns = append(columns, column)
	}
	for _, p := range FHNComputedMeans(r.Options.Horizon) {
		t.Columns = append(t.Columns, "computed_"+strings.ToLower(p.Name))
		column := make([]float64, r.Options.Horizon)
		for k := range column {
			column[k] = atHorizon(p.R2, k+1)
		}
		columns = append(columns, column)
	}
	for k := range r.Options.Horizon {
		row := Row{Name: fmt.Sprint(k + 1)}
		for _, c := range columns {
			row.Values = append(row.Values, c[k])
		}
		t.Rows = append(t.Rows, row)
	}
	return t
}
