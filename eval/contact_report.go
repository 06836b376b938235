package eval

import (
	"fmt"
	"math"
)

// Table shows F1 by label, and the mean over bodies with its standard error. Each classifier has a row for each
// kind of weights; the figure of the paper stands below a rule.
func (r ContactReport) Table() Table {
	t := Table{
		Title: r.Environment + ", F1 of contacts told from the switch", Corner: "classifier",
		Columns: append([]string{"mean", "± SE"}, r.Labels...), Decimals: 3,
	}
	for _, p := range r.Probes {
		t.Rows = append(t.Rows, Row{p.Name, append([]float64{p.Mean.Value, p.Mean.SE}, values(p.F1)...)})
	}
	t.Rows = append(t.Rows, Row{"every step called a contact", append([]float64{r.meanChance(), math.NaN()}, r.Chance...)})
	t.paper(Paper("contact", r.Environment))
	t.Notes = append([]string{
		fmt.Sprintf("Seen: the mixing weights of a step, along one path of draws from the posterior (sample) or averaged "+
			"over %d (mean).", filterPaths),
		fmt.Sprintf("Fitted on %d test episodes, scored on %d others; the mean is over bodies. Standard errors are over "+
			"scored episodes.", r.Fitted, r.Scored),
	}, r.Notes...)
	// There is a probe of each classifier for each kind of weights: the note is about the first classifier of a
	// kind.
	for i, p := range r.Probes {
		if i%len(classifiers) == 0 && r.meet() {
			t.Notes = append(t.Notes, fmt.Sprintf("Meetings of two bodies, %s: F1 %.3f ± %.3f, the mean over bodies.", p.Name,
				p.Encounter.Value, p.Encounter.SE))
		}
	}
	for _, p := range Paper("contact", r.Environment) {
		name := map[string]string{"tree": "tree", "logistic": "logistic regression"}[p.Key]
		t.Notes = append(t.Notes, "The paper's classifier is a "+name+".")
	}
	return t
}

// meet reports whether bodies can meet each other.
func (r ContactReport) meet() bool {
	_, encounters := r.groups()
	return encounters[1] > encounters[0]
}

// meanChance is the mean of Chance over the bodies, as ContactProbe.Mean is of F1.
func (r ContactReport) meanChance() float64 {
	sum, n := 0.0, r.bodies
	for _, c := range r.Chance[:n] {
		sum += c
	}
	return sum / float64(n)
}

// CurveTable holds every number. Behind the probes are chance and share, which have no standard errors.
func (r ContactReport) CurveTable() Table {
	t := Table{Corner: "classifier", Columns: []string{"mean", "mean_se"}, Decimals: 6}
	for _, l := range r.Labels {
		t.Columns = append(t.Columns, l, l+"_se")
	}
	for _, p := range r.Probes {
		t.Rows = append(t.Rows, Row{p.Key, append(withErrors(p.Mean), withErrors(p.F1...)...)})
	}
	chance, share := Row{"chance", []float64{r.meanChance(), math.NaN()}}, Row{"share", []float64{math.NaN(), math.NaN()}}
	for i := range r.Labels {
		chance.Values, share.Values = append(chance.Values, r.Chance[i], math.NaN()),
			append(share.Values, r.Share[i], math.NaN())
	}
	t.Rows = append(t.Rows, chance, share)
	return t
}

// Report returns the figures in the form that scripts read: f1_CLASSIFIER and its standard errors, by label and
// "mean". f1_CLASSIFIER_encounter is there where bodies can meet.
func (r ContactReport) Report() Report {
	out := Report{Protocol: "contact", Metrics: []Metric{
		count("episodes", r.Task.Episodes), count("fitted_episodes", r.Fitted), count("scored_episodes", r.Scored),
		count("paths", filterPaths),
		object("share", "contact", r.Labels, r.Share),
	}}
	keys := append([]string{"mean"}, r.Labels...)
	out.Metrics = append(out.Metrics, object("chance", "contact", keys, append([]float64{r.meanChance()}, r.Chance...)))
	for _, p := range r.Probes {
		all := append([]Estimate{p.Mean}, p.F1...)
		out.Metrics = append(out.Metrics, estimated(object("f1_"+p.Key, "contact", keys, nil), all...)...)
		if r.meet() {
			out.Metrics = append(out.Metrics, estimated(value("f1_"+p.Key+"_encounter", 0), p.Encounter)...)
		}
	}
	for _, p := range Paper("contact", r.Environment) {
		out.Paper = append(out.Paper, value("f1_"+p.Key, p.Values[0]))
	}
	return out
}
