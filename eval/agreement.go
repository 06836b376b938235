package eval

import (
	"math"
	"slices"
)

// BoundaryTolerance is how many steps a boundary between regimes may lie from a true one. It is counted in time
// steps to either side, the same for every predictor that is compared.
const BoundaryTolerance = 3

// Agreement compares regimes that were found with true labels of the same steps. Regimes have no names of their own:
// nothing here depends on how either side is numbered.
type Agreement struct {
	Labels   []int     // the different labels, in ascending order
	Counts   [][]int   // [label][regime] steps
	Match    []int     // the regime that stands for each label, each for one at most; −1: none is left
	Recall   []float64 // share of the steps of each label that have its regime
	Accuracy float64   // share of all steps that have the regime of their label
	Majority float64   // accuracy of a single regime for all steps: share of the most frequent label
	// MutualInformation and RandIndex of Counts.
	NMI, ARI float64
	// BoundaryF1 is that of the steps at which the regime changes, within BoundaryTolerance.
	BoundaryF1 float64
}

// Agree compares regimes 0 to m−1 with labels, of one or more sequences, step by step: labels[s][t] and
// regimes[s][t] belong to the same step.
func Agree(labels, regimes [][]int, m int) Agreement {
	values, counts := Contingency(labels, regimes, m)
	a := agreement(counts)
	a.Labels, a.BoundaryF1 = values, BoundaryF1(labels, regimes, BoundaryTolerance)
	return a
}

// agreement is what a contingency table alone says. Without any step the shares are NaN, and so is the recall of a
// label that has none, as where the jackknife leaves out the only recording that holds it.
func agreement(counts [][]int) Agreement {
	a := Agreement{Counts: counts, Match: BestMatch(counts)}
	rows, _, n := margins(counts)
	right, most := 0.0, 0.0
	// Matched steps count as right; the largest row sum is what one regime for all steps would get right.
	for i, row := range counts {
		found := 0.0
		if j := a.Match[i]; j >= 0 {
			found = float64(row[j])
		}
		a.Recall = append(a.Recall, found/rows[i])
		right, most = right+found, max(most, rows[i])
	}
	a.Accuracy, a.Majority = right/n, most/n
	a.NMI, a.ARI = MutualInformation(counts), RandIndex(counts)
	return a
}

// InUse is how many regimes are in use, see InUse.
func (a Agreement) InUse() float64 {
	_, columns, _ := margins(a.Counts)
	return InUse(columns)
}

// Contingency counts how many steps have each label (row, in ascending order) and each of m regimes (column).
// Regimes outside [0, m) panic.
func Contingency(labels, regimes [][]int, m int) (values []int, counts [][]int) {
	values = different(labels)
	counts = make([][]int, len(values))
	for i := range counts {
		counts[i] = make([]int, m)
	}
	for s, sequence := range labels {
		for t, v := range sequence {
			i, _ := slices.BinarySearch(values, v)
			counts[i][regimes[s][t]]++
		}
	}
	return values, counts
}

// MutualInformation is the normalised mutual information of a contingency table, 0 to 1: I(label; regime) over the
// arithmetic mean of both entropies, as normalized_mutual_info_score of scikit-learn. It is 1 if there is one
// label and one regime.
//
//	NMI = I / ((H_label + H_regime)/2),  I = Σᵢⱼ n_ij/n · ln(n_ij·n / (n_i·n_j))
func MutualInformation(counts [][]int) float64 {
	rows, columns, n := margins(counts)
	information := 0.0
	for i, row := range counts {
		for j, c := range row {
			if c > 0 {
				information += float64(c) / n * math.Log(float64(c)*n/(rows[i]*columns[j]))
			}
		}
	}
	normaliser := (entropy(rows) + entropy(columns)) / 2
	switch {
	case normaliser == 0:
		return 1
	// What rounding leaves of an information of zero, which may be negative.
	case information < 1e-15:
		return 0
	}
	return information / normaliser
}

// RandIndex is the Rand index of a contingency table, adjusted for chance: 1 for equal partitions, 0 on average
// for random ones (Hubert and Arabie 1985), as adjusted_rand_score of scikit-learn.
//
// With a, b, c, d the ordered pairs of steps that are together in both partitions, in one of them or in none,
//
//	ARI = 2(ad − bc) / ((a+b)(b+d) + (a+c)(c+d))
func RandIndex(counts [][]int) float64 {
	rows, columns, n := margins(counts)
	squares := 0.0
	for _, row := range counts {
		for _, c := range row {
			squares += float64(c) * float64(c)
		}
	}
	// Ordered pairs of steps: together in both partitions, in labels only, in regimes only, in none.
	both, inLabels, inRegimes := squares-n, -squares, -squares
	for _, v := range rows {
		inLabels += v * v
	}
	for _, v := range columns {
		inRegimes += v * v
	}
	none := n*n - inLabels - inRegimes - squares
	// No pair tells the partitions apart: they are the same, and the ratio below may be 0/0.
	if inLabels == 0 && inRegimes == 0 {
		return 1
	}
	return 2 * (both*none - inLabels*inRegimes) /
		((both+inLabels)*(inLabels+none) + (both+inRegimes)*(inRegimes+none))
}

// margins are the sums of the rows, of the columns and of all of a table. They are the steps of each label and of
// each regime. columns is nil for a table without rows.
func margins(counts [][]int) (rows, columns []float64, n float64) {
	rows = make([]float64, len(counts))
	for i, row := range counts {
		if columns == nil {
			columns = make([]float64, len(row))
		}
		for j, c := range row {
			rows[i] += float64(c)
			columns[j] += float64(c)
			n += float64(c)
		}
	}
	return rows, columns, n
}

// BoundaryF1 compares the steps at which sequences change: the harmonic mean of the share of found changes that
// are true and of true ones that are found. A found change counts for one true change, at most tolerance steps
// away. It is 1 where nothing changes in either. Both sides have the same sequences, step by step.
func BoundaryF1(truth, found [][]int, tolerance int) float64 {
	hits, all := 0, 0
	for s := range truth {
		h, n := boundaries(truth[s], found[s], tolerance)
		hits, all = hits+h, all+n
	}
	return boundaryF1(float64(hits), float64(all))
}

// boundaries counts the changes of a sequence that are found, and those of both sides. A hit is a pair
// of a true change and a found one.
func boundaries(truth, found []int, tolerance int) (hits, all int) {
	a, b := changes(truth), changes(found)
	all = len(a) + len(b)
	for len(a) > 0 && len(b) > 0 {
		switch { // pairs in the order of time are the most there can be
		case a[0] < b[0]-tolerance:
			a = a[1:]
		case b[0] < a[0]-tolerance:
			b = b[1:]
		default:
			a, b, hits = a[1:], b[1:], hits+1
		}
	}
	return hits, all
}

// boundaryF1 is 2·hits / all: the harmonic mean of precision and recall, where all counts the changes of both
// sides. It is 1 where neither side changes.
func boundaryF1(hits, all float64) float64 {
	if all == 0 {
		return 1
	}
	return 2 * hits / all
}

// changes are the steps t ≥ 1 whose value is not that of step t−1, in ascending order.
func changes(s []int) []int {
	var list []int
	for t := 1; t < len(s); t++ {
		if s[t] != s[t-1] {
			list = append(list, t)
		}
	}
	return list
}

// InUse is how many regimes are in use, 1 to their number: the perplexity exp H of the share of the steps that
// each has. steps are counts or weights, which need not sum to 1.
func InUse(steps []float64) float64 { return math.Exp(entropy(steps)) }

// leastShare is the share of the steps that a regime in use has at least.
const leastShare = 0.01

// Used counts the regimes in use, by the steps of each: those that have a hundredth of all at least. largest is the
// share of the one that has most.
func Used(steps []float64) (n int, largest float64) {
	all := sum(steps)
	for _, v := range steps {
		if v >= leastShare*all {
			n++
		}
		largest = max(largest, v/max(all, 1))
	}
	return n, largest
}
