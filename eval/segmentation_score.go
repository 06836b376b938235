package eval

import (
	"math"
	"slices"
)

// SegmentationScore is how well one division of held-out recordings agrees with their labels. Standard errors are over
// recordings.
type SegmentationScore struct {
	Name, Key          string // Key ends the names of its metrics
	Regimes            int
	Accuracy, NMI, ARI Estimate
	BoundaryF1         Estimate   // within BoundaryTolerance
	Used               Estimate   // perplexity of the shares of the steps: how many regimes are in use
	Recall             []Estimate // of each label
	Counts             [][]int    // [label][regime] steps
	Match              []int      // the regime of each label, from 0; −1: none is left
}

// agree compares regimes with labels of the same steps. All is unknown without sequences. labels are those of all
// recordings, in ascending order; truth[i][t] and found[i][t] belong to the same step of recording i. The match is
// that of all steps together; for the standard errors each statistic, with its own match, is computed without one
// recording after another.
func (s *SegmentationScore) agree(labels []int, truth, found [][]int) {
	n, m := len(labels), s.Regimes
	sums := newTally(len(found), n*m+2) // steps by label and regime, boundaries that agree, boundaries of both
	for i, regimes := range found {
		row := sums.row(i)
		for t, k := range regimes {
			label, _ := slices.BinarySearch(labels, truth[i][t])
			row[label*m+k]++
		}
		hits, all := boundaries(truth[i], regimes, BoundaryTolerance)
		row[n*m], row[n*m+1] = float64(hits), float64(all)
	}
	of := func(statistic func(a Agreement) float64) Estimate {
		if len(found) == 0 {
			return Estimate{math.NaN(), math.NaN()}
		}
		return sums.estimate(func(sums []float64) float64 { return statistic(agreement(contingency(sums, n, m))) })
	}
	s.Accuracy = of(func(a Agreement) float64 { return a.Accuracy })
	s.NMI, s.ARI = of(func(a Agreement) float64 { return a.NMI }), of(func(a Agreement) float64 { return a.ARI })
	s.Used = of(Agreement.InUse)
	s.Recall = nil
	for i := range labels {
		s.Recall = append(s.Recall, of(func(a Agreement) float64 { return a.Recall[i] }))
	}
	s.BoundaryF1 = of(func(Agreement) float64 { return math.NaN() })
	if len(found) > 0 {
		s.BoundaryF1 = sums.estimate(func(sums []float64) float64 { return boundaryF1(sums[n*m], sums[n*m+1]) })
	}
	s.Counts = contingency(sums.total(), n, m)
	s.Match = BestMatch(s.Counts)
}

// contingency is the table of counts that begins a row of sums. Counts are whole in float64 and convert exactly.
func contingency(sums []float64, rows, columns int) [][]int {
	counts := make([][]int, rows)
	for i := range counts {
		for _, v := range sums[i*columns : (i+1)*columns] {
			counts[i] = append(counts[i], int(v))
		}
	}
	return counts
}
