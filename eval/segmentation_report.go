package eval

import (
	"fmt"
	"math"
	"strconv"
)

// ScoreTable shows how each division agrees with the labels. A row for regimes that predict alike is there if
// there are any.
func (r SegmentationReport) ScoreTable() Table {
	t := Table{Title: r.Title + ", regimes against labels", Corner: "", Decimals: 3}
	for _, name := range scoreNames {
		t.Columns = append(t.Columns, name.column, "± SE")
	}
	found, _ := r.model()
	for _, s := range r.Rows {
		if s.Key == byMerged && s.Used.Value == found.Used.Value {
			continue // no two are alike
		}
		row := Row{Name: s.Name}
		for _, e := range s.scores() {
			row.Values = append(row.Values, e.Value, e.SE)
		}
		t.Rows = append(t.Rows, row)
	}
	t.Notes = append([]string{
		fmt.Sprintf("%d held-out recordings, %d steps. Each label is assigned its own regime so that as many steps as "+
			"possible agree.", r.Recordings, r.Steps),
		fmt.Sprintf("Boundary F1 is that of the changes, within ±%d steps; in use is the perplexity of the regimes' shares. "+
			"Standard errors are over recordings.", BoundaryTolerance),
	}, r.Notes...)
	return t
}

// Table shows, for each label, its regime and its recall. Regimes are counted from 1; a dash stands for a label
// that no regime is left for.
func (r SegmentationReport) Table() Table {
	t := Table{
		Title: "by true regime", Corner: "label", Columns: []string{"share"}, Decimals: 3,
		Whole: []string{"regime"},
	}
	if s, ok := r.model(); ok {
		t.Columns = append(t.Columns, "regime", "recall", "± SE")
		t.Notes = s.notes()
	}
	// A column is there only if its division is.
	hmm, compared := r.row(byMarkov)
	if compared {
		t.Columns = append(t.Columns, "recall of the HMM")
	}
	for i, label := range r.Labels {
		row := Row{Name: strconv.Itoa(label), Values: []float64{r.share(i)}}
		if s, ok := r.model(); ok {
			regime := math.NaN()
			if s.Match[i] >= 0 {
				regime = float64(s.Match[i] + 1)
			}
			row.Values = append(row.Values, regime, s.Recall[i].Value, s.Recall[i].SE)
		}
		if compared {
			row.Values = append(row.Values, hmm.Recall[i].Value)
		}
		t.Rows = append(t.Rows, row)
	}
	return t
}

// share is that of a label among the steps. The division into a single regime counts the steps of each label.
func (r SegmentationReport) share(label int) float64 {
	single, _ := r.row(bySingleLabel)
	return float64(single.Counts[label][0]) / float64(r.Steps)
}

// row is the score of the division with this key; false if there is none.
func (r SegmentationReport) row(key string) (SegmentationScore, bool) {
	for _, s := range r.Rows {
		if s.Key == key {
			return s, true
		}
	}
	return SegmentationScore{}, false
}

// model is the score of the model; false if it does not divide time.
func (r SegmentationReport) model() (SegmentationScore, bool) { return r.row(byTheModel) }

// notes say how many of the regimes are used.
func (s SegmentationScore) notes() []string {
	_, steps, _ := margins(s.Counts)
	n, largest := Used(steps)
	return []string{
		fmt.Sprintf("%d of %d regimes have at least 1 %% of the steps, the largest %.0f %%. Regimes are numbered by their "+
			"share of the time.", n, s.Regimes, 100*largest),
	}
}

// CurveTable holds, for each label, what the table has and the steps of each regime.
func (r SegmentationReport) CurveTable() Table {
	t := Table{Corner: "label", Columns: []string{"share"}, Decimals: 6}
	for _, s := range r.Rows {
		t.Columns = append(t.Columns, suffixed("recall", s.Key), suffixed("recall", s.Key)+"_se")
	}
	s, _ := r.model()
	for k := range s.Regimes {
		t.Columns = append(t.Columns, "regime_"+strconv.Itoa(k+1))
	}
	for i, label := range r.Labels {
		row := Row{Name: strconv.Itoa(label), Values: []float64{r.share(i)}}
		for _, s := range r.Rows {
			row.Values = append(row.Values, s.Recall[i].Value, s.Recall[i].SE)
		}
		for k := range s.Regimes {
			row.Values = append(row.Values, float64(s.Counts[i][k]))
		}
		t.Rows = append(t.Rows, row)
	}
	return t
}

// scoreNames are the scores of a division, for scripts and for people.
var scoreNames = []struct{ name, column string }{
	{"accuracy", "accuracy"}, {"nmi", "NMI"}, {"ari", "ARI"}, {"boundary_f1", "boundary F1"}, {"regimes_used", "in use"},
}

// scores are in the order of scoreNames.
func (s SegmentationScore) scores() []Estimate {
	return []Estimate{s.Accuracy, s.NMI, s.ARI, s.BoundaryF1, s.Used}
}

// Report returns the figures in the form that scripts read. The names of what is not the model's end in _arhmm and
// _majority, those of the model with regimes that predict alike as one in _merged.
func (r SegmentationReport) Report() Report {
	out := Report{Protocol: "segmentation", Metrics: []Metric{
		count("episodes", r.Recordings), count("steps", r.Steps), count("labels", len(r.Labels)),
		count("boundary_tolerance", BoundaryTolerance),
	}}
	var labels, names []string
	for _, label := range r.Labels {
		labels = append(labels, strconv.Itoa(label))
	}
	for _, n := range scoreNames {
		names = append(names, n.name)
	}
	for _, s := range r.Rows {
		if s.Key == bySingleLabel { // all else is 0 or 1
			out.Metrics = append(out.Metrics, value(suffixed("accuracy", s.Key), s.Accuracy.Value),
				value(suffixed("accuracy", s.Key)+"_standard_error", s.Accuracy.SE))
			continue
		}
		out.Metrics = append(out.Metrics, count(suffixed("regimes", s.Key), s.Regimes))
		for i, e := range s.scores() {
			out.Metrics = append(out.Metrics, value(suffixed(names[i], s.Key), e.Value))
		}
		out.Metrics = append(out.Metrics,
			object(suffixed("standard_error", s.Key), "score", names, errorsOf(s.scores())),
			object(suffixed("recall", s.Key), "label", labels, values(s.Recall)),
			object(suffixed("recall_standard_error", s.Key), "label", labels, errorsOf(s.Recall)))
	}
	return out
}
