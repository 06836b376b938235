package trained

import (
	"bytes"
	"fmt"
	"math"
	"path/filepath"
	"strings"

	"github.com/switchyard-ml/switchyard/config"
	"github.com/switchyard-ml/switchyard/eval"
	"github.com/switchyard-ml/switchyard/model"
	"github.com/switchyard-ml/switchyard/store"
)

// converge says in findings, and in convergence.csv of a folder, how well the chains of a model that fits itself
// agree. A model that does not fit itself by chains writes nothing and says nothing.
func (r *Run) converge(found *eval.Findings, dir string) error {
	m, ok := r.model.(model.Diagnosed)
	if !ok {
		return nil
	}
	sweeps, _ := config.Sweeps(r.config)
	table := eval.Table{Corner: "quantity", Columns: []string{"rhat", "ess_bulk", "ess_tail", "chains", "sweeps"}}
	var parts []string
	for _, d := range m.Diagnose() {
		table.Rows = append(table.Rows, eval.Row{Name: d.Name, Values: []float64{
			d.RHat, d.Bulk, d.Tail,
			float64(sweeps.Chains), float64(d.Size),
		}})
		if !math.IsNaN(d.RHat) {
			parts = append(parts, fmt.Sprintf("%s %.2f, %.0f and %.0f", d.Name, d.RHat, d.Bulk, d.Tail))
		}
	}
	found.Report.Metrics = append(found.Report.Metrics, diagnosed(m)...)
	// Without sweeps after the burn-in there is nothing to compare.
	note := fmt.Sprintf("%d chains: too few sweeps after the burn-in to compare them.", sweeps.Chains)
	if len(parts) > 0 {
		note = fmt.Sprintf("%d chains, R̂ with effective sample sizes of centre and tails: %s (at most 1.01 and at least "+
			"400 are asked for).",
			sweeps.Chains, strings.Join(parts, "; "))
	}
	found.Table.Notes = append(found.Table.Notes, note)
	weigh(found, r.model)
	var text bytes.Buffer
	if err := table.WriteCSV(&text); err != nil {
		return err
	}
	return store.WriteFile(filepath.Join(dir, "convergence.csv"), text.Bytes())
}

// diagnosed says how well the chains of a model that fits itself agree; nil where it has none. For each quantity
// they are rhat_NAME, ess_bulk_NAME and ess_tail_NAME.
func diagnosed(m any) []eval.Metric {
	chains, ok := m.(model.Diagnosed)
	if !ok {
		return nil
	}
	var list []eval.Metric
	for _, d := range chains.Diagnose() {
		for _, v := range []struct {
			name  string
			value float64
		}{{"rhat", d.RHat}, {"ess_bulk", d.Bulk}, {"ess_tail", d.Tail}} {
			list = append(list, eval.Metric{Name: v.name + "_" + d.Name, Values: []float64{v.value}})
		}
	}
	return list
}

// weigh says in findings how much each chain counts.
func weigh(found *eval.Findings, m model.Model) {
	weighted, ok := m.(model.Weighted)
	if !ok || weighted.Weights() == nil {
		return
	}
	var words []string
	for _, w := range weighted.Weights() {
		words = append(words, fmt.Sprintf("%.2f", w))
	}
	found.Report.Metrics = append(found.Report.Metrics, eval.Metric{Name: "chain_weights", Values: weighted.Weights()})
	found.Table.Notes = append(found.Table.Notes, fmt.Sprintf("Weights of the chains, by how well they forecast the "+
		"recordings that they were fitted to: %s.", strings.Join(words, ", ")))
}
