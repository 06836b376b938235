package trained

import (
	"fmt"
	"slices"

	"github.com/switchyard-ml/switchyard/eval"
)

// A regime is in use if it has at least inUse of the steps. One that has dominant of them leaves no segmentation.
const inUse, dominant = 0.01, 0.95

// use says how many regimes are in use, and adds regimes_used, the perplexity of their shares.
func (a *Answer) use(dwells []eval.Dwell) {
	var steps []float64
	total, most, used := 0.0, 0.0, 0
	for _, d := range dwells {
		steps = append(steps, float64(d.Steps))
		total += float64(d.Steps)
		most = max(most, float64(d.Steps))
	}
	for _, n := range steps {
		if n >= inUse*total {
			used++
		}
	}
	a.Arrays = append(a.Arrays, scalar("regimes_used", eval.InUse(steps)))
	if len(dwells) < 2 {
		return
	}
	verb := "are"
	if used == 1 {
		verb = "is"
	}
	line := fmt.Sprintf("%d of %d regimes %s in use; one holds %.0f %% of the time", used, len(dwells), verb,
		100*most/total)
	if most >= dominant*total {
		line += ": this run does not divide the data. Train several seeds with model.switching=categorical, and take the " +
			"one with the best bound (docs/models.md)"
	}
	a.Verdict = append(a.Verdict, line+".")
}

func labelled(of []Recording) bool {
	return !slices.ContainsFunc(of, func(r Recording) bool { return r.Truth == nil })
}

// agree scores regimes against labels, if every recording has them. Arrays are accuracy, majority (that of one regime
// for all steps), nmi, ari, boundary_f1, labels [L] in ascending order, contingency [L,M], match [L], the regime of
// each label or −1, and recall [L]. It returns which regime stands for each label, or nil.
func (a *Answer) agree(of []Recording, regimes [][]int, m int) map[int]int {
	if !labelled(of) {
		return nil
	}
	var truth [][]int
	for _, r := range of {
		truth = append(truth, r.Truth)
	}
	g := eval.Agree(truth, regimes, m)
	n := len(g.Labels)
	labels, match := Array{Name: "labels", Shape: []int{n}}, Array{Name: "match", Shape: []int{n}}
	table := Array{Name: "contingency", Shape: []int{n, m}}
	stands := map[int]int{}
	for i, row := range g.Counts {
		stands[g.Labels[i]] = g.Match[i]
		labels.Ints, match.Ints = append(labels.Ints, int64(g.Labels[i])), append(match.Ints, int64(g.Match[i]))
		for _, c := range row {
			table.Ints = append(table.Ints, int64(c))
		}
	}
	a.Arrays = append(a.Arrays, scalar("accuracy", g.Accuracy), scalar("majority", g.Majority), scalar("nmi", g.NMI),
		scalar("ari", g.ARI), scalar("boundary_f1", g.BoundaryF1), labels, table, match,
		Array{Name: "recall", Shape: []int{n}, Values: g.Recall})
	a.Verdict = append(a.Verdict, fmt.Sprintf("Against the labels: accuracy %.3f (the most frequent label alone: %.3f), "+
		"NMI %.3f, ARI %.3f, boundary F1 %.3f within ±%d steps.", g.Accuracy, g.Majority, g.NMI, g.ARI, g.BoundaryF1,
		eval.BoundaryTolerance))
	return stands
}

func scalar(name string, v float64) Array {
	return Array{Name: name, Shape: []int{}, Values: []float64{v}}
}
