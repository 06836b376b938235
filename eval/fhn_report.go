package eval

import (
	"fmt"
)

// FHNHorizons are the horizons of the published figures.
func FHNHorizons() []int { return []int{1, 2, 5, 10, 15, 20, 25, 30} }

// Table lays the report out beside the published figures, at the horizons of the paper. Horizons beyond that of
// the report have no column.
func (r FHNReport) Table() Table {
	t := Table{Title: "FitzHugh–Nagumo, R² of predictions k steps ahead", Corner: "k", Decimals: 3}
	for _, k := range FHNHorizons() {
		if k <= r.Options.Horizon {
			t.Columns = append(t.Columns, fmt.Sprint(k))
		}
	}
	r.AtStart.rows(&t, "")
	t.paper(Paper("fhn", "fhn"))
	for _, p := range FHNComputedMeans(r.Options.Horizon) {
		t.pick("computed by Switchyard: "+p.Name, p.Values, FHNHorizons()[:len(t.Columns)])
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

// readingCurve is a curve of a reading by its names in the table, among the metrics and as a column of the figure.
type readingCurve struct {
	name, key, column string
	r2                []float64
}

// curves are the curves of a reading in the order of the rows, each [Horizon].
func (r FHNReading) curves() []readingCurve {
	return []readingCurve{
		{"model, stimulus unknown", "unknown", "model_unknown", r.Unknown.Mean},
		{"  one draw", "unknown_draw", "model_unknown_draw", r.Unknown.Draw},
		{"model, stimulus drawn", "drawn", "model_drawn", r.Drawn.Mean},
		{"model, stimulus known", "known", "model_known", r.Known.Mean},
		{"  one draw", "known_draw", "model_known_draw", r.Known.Draw},
		{"true system", "true_system", "true_system", r.Ceiling},
		{"linear least squares", "linear", "linear", r.Linear},
		{"persistence", "persistence", "persistence", r.Persistence},
	}
}

// rows adds the curves to a table at the horizons that it has columns for. suffix tells one reading from another.
func (r FHNReading) rows(t *Table, suffix string) {
	for _, c := range r.curves() {
		t.pick(c.name+suffix, c.r2, FHNHorizons()[:len(t.Columns)])
	}
}

// Metrics is what FHN reports, before it is measured. The values are NaN; a model is not needed.
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
	for _, p := range Paper("fhn", "fhn") {
		out.Paper = append(out.Paper, list("r2_"+p.Key, p.Values))
	}
	return out
}

// metrics adds r2_KEY of every curve with a suffix for the reading.
func (r FHNReading) metrics(out *Report, suffix string) {
	for _, c := range r.curves() {
		out.Metrics = append(out.Metrics, list("r2_"+c.key+suffix, c.r2))
	}
}

// CurveTable returns every number of the R² figure: one row per horizon, a column per predictor;
// the published figures are missing where the papers print none, and what this program computed for the models of the
// literature has columns of its own.
func (r FHNReport) CurveTable() Table {
	t := Table{Corner: "k", Decimals: 4}
	for _, c := range r.AtStart.curves() {
		t.column(c.column, c.r2)
	}
	add := func(prefix string, rows []Published) {
		for _, p := range rows {
			column := make([]float64, r.Options.Horizon)
			for k := range column {
				column[k] = p.Value(float64(k + 1))
			}
			t.column(prefix+p.Key, column)
		}
	}
	add("paper_", Paper("fhn", "fhn"))
	add("computed_", FHNComputedMeans(r.Options.Horizon))
	return t
}
