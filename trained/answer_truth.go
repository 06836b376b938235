package trained

import (
	"fmt"
	"math"
	"slices"

	"github.com/switchyard-ml/switchyard/eval"
)

// dominant is the share of the steps of a regime that leaves no segmentation. Regimes that explain less than little are
// no regimes of how the series moves.
const dominant, little = 0.95, 0.05

// use says how many regimes are in use, and adds regimes_used, the perplexity of their shares. A single regime has no
// verdict. It reports whether they divide the data: rare ones do if they explain how the series moves.
func (a *Answer) use(dwells []eval.Dwell, explained float64) bool {
	var steps []float64
	for _, d := range dwells {
		steps = append(steps, float64(d.Steps))
	}
	used, largest := eval.Used(steps)
	a.Arrays = append(a.Arrays, scalar("regimes_used", eval.InUse(steps)))
	if len(dwells) < 2 {
		return false
	}
	verb := "are"
	if used == 1 {
		verb = "is"
	}
	line := fmt.Sprintf("%d of %d regimes %s in use; one holds %.0f %% of the time", used, len(dwells), verb,
		100*largest)
	divide := used > 1 && (largest < dominant || explained >= little)
	if !divide {
		line += ": this run does not divide the data. Train several seeds, an slds with model.switching=categorical, and " +
			"take the one with the best bound (docs/models.md)"
	}
	a.Verdict = append(a.Verdict, line+".")
	return divide
}

// mostExplained is the largest number of channels that an autoregression is fitted to.
const mostExplained = 64

// explained is how much regimes explain of how series of few channels move: with one lag, or with two if one explains
// little. known is false for a single regime, and for many channels.
func explained(of []Recording, regimes [][]int, m int) (v float64, lags int, known bool) {
	if m < 2 || len(of[0].Observations[0]) > mostExplained {
		return math.NaN(), 0, false
	}
	var observations, controls [][][]float64
	for _, r := range of {
		observations, controls = append(observations, r.Observations), append(controls, r.Controls)
	}
	if v = eval.Explained(observations, controls, regimes, m, 1); v < little {
		if longer := eval.Explained(observations, controls, regimes, m, 2); longer >= little {
			return longer, 2, true
		}
	}
	return v, 1, true
}

// explain adds explained, and says it of regimes that divide the data.
func (a *Answer) explain(v float64, lags int, divide bool) {
	a.Arrays = append(a.Arrays, scalar("explained", v))
	line := "An autoregression"
	if lags > 1 {
		line += fmt.Sprintf(" of %d lags", lags)
	}
	line += fmt.Sprintf(" for each regime has %.0f %% less error one step ahead than a single one", 100*v)
	if v < little {
		line += ": these regimes say next to nothing of how the series moves, but may differ in its noise"
	}
	if divide && !math.IsNaN(v) {
		a.Verdict = append(a.Verdict, line+".")
	}
}

// labelled reports whether every recording has true regimes.
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
	// From labels to regimes, as contingency and match say; the figure colours true regimes by it.
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

// scalar is an array without dimensions.
func scalar(name string, v float64) Array {
	return Array{Name: name, Shape: []int{}, Values: []float64{v}}
}
