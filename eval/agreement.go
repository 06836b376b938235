package eval

import (
	"math"
	"slices"
)

// BoundaryTolerance is how many steps a boundary between regimes may lie from a true one.
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
	NMI, ARI float64
	// BoundaryF1 is that of the steps at which the regime changes, within BoundaryTolerance.
	BoundaryF1 float64
}

// Agree compares regimes 0 to m−1 with labels, of one or more sequences, step by step.
func Agree(labels, regimes [][]int, m int) Agreement {
	a := Agreement{}
	a.Labels, a.Counts = Contingency(labels, regimes, m)
	a.Match = BestMatch(a.Counts)
	n, right, most := 0, 0, 0
	for i, row := range a.Counts {
		all, found := 0, 0
		for _, c := range row {
			all += c
		}
		if j := a.Match[i]; j >= 0 {
			found = row[j]
		}
		a.Recall = append(a.Recall, float64(found)/float64(all))
		n, right, most = n+all, right+found, max(most, all)
	}
	a.Accuracy, a.Majority = float64(right)/float64(n), float64(most)/float64(n)
	a.NMI, a.ARI = MutualInformation(a.Counts), RandIndex(a.Counts)
	a.BoundaryF1 = BoundaryF1(labels, regimes, BoundaryTolerance)
	return a
}

// Contingency counts how many steps have each label (row, in ascending order) and each of m regimes (column).
func Contingency(labels, regimes [][]int, m int) (values []int, counts [][]int) {
	values = slices.Concat(labels...)
	slices.Sort(values)
	values = slices.Compact(values)
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
// arithmetic mean of both entropies, as normalized_mutual_info_score of scikit-learn. It is 1 if there is one label and
// one regime.
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
	case information < 1e-15:
		return 0
	}
	return information / normaliser
}

// RandIndex is the Rand index of a contingency table, adjusted for chance: 1 for equal partitions, 0 on average for
// random ones (Hubert and Arabie 1985), as adjusted_rand_score of scikit-learn.
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
	if inLabels == 0 && inRegimes == 0 {
		return 1
	}
	return 2 * (both*none - inLabels*inRegimes) /
		((both+inLabels)*(inLabels+none) + (both+inRegimes)*(inRegimes+none))
}

// margins are the sums of the rows, of the columns and of all of a table.
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

// BoundaryF1 compares the steps at which sequences change: the harmonic mean of the share of found changes that are
// true and of true ones that are found. A found change counts for one true change, at most tolerance steps away. It is
// 1 where nothing changes in either.
func BoundaryF1(truth, found [][]int, tolerance int) float64 {
	hits, all := 0, 0
	for s := range truth {
		a, b := changes(truth[s]), changes(found[s])
		all += len(a) + len(b)
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
	}
	if all == 0 {
		return 1
	}
	return 2 * float64(hits) / float64(all)
}

func changes(s []int) []int {
	var list []int
	for t := 1; t < len(s); t++ {
		if s[t] != s[t-1] {
			list = append(list, t)
		}
	}
	return list
}

// InUse is how many regimes are in use, 1 to their number: the perplexity exp H of the share of the steps that each
// has.
func InUse(steps []float64) float64 { return math.Exp(entropy(steps)) }
