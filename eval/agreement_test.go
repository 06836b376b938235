package eval_test

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/switchyard-ml/switchyard/eval"
)

// The first five rows are examples of scikit-learn's documentation, the others its limits: a side that is not divided.
// To compute them again:
//
//	from sklearn.metrics import adjusted_rand_score as ari, normalized_mutual_info_score as nmi
//	ari([0,0,1,1], [0,0,1,2]), nmi([0,0,1,1], [0,0,1,2])
//
// By hand, for the first: 4 of 12 ordered pairs are together in the labels, 2 of them in the regimes too, and none
// otherwise: 2·(2·8 − 2·0)/((2+2)(2+8) + (2+0)(0+8)) = 32/56. I = ln 2, over (ln 2 + 3/2 ln 2)/2: 0.8.
func TestAgree_LikeScikitLearn(t *testing.T) {
	for _, c := range []struct {
		labels, regimes         []int
		ari, nmi, accuracy, top float64
	}{
		{[]int{0, 0, 1, 1}, []int{0, 0, 1, 2}, 0.5714285714285714, 0.8, 0.75, 0.5},
		{[]int{0, 0, 1, 2}, []int{0, 0, 1, 1}, 0.5714285714285714, 0.8, 0.75, 0.5},
		{[]int{0, 0, 1, 1}, []int{0, 1, 0, 1}, -0.5, 0, 0.5, 0.5},
		{[]int{0, 0, 1, 1}, []int{1, 1, 0, 0}, 1, 1, 1, 0.5},
		{[]int{0, 0, 0, 0}, []int{0, 1, 2, 3}, 0, 0, 0.25, 1},
		{[]int{7, 7, 7}, []int{2, 2, 2}, 1, 1, 1, 1},
		{[]int{-1, 5, 5, 5}, []int{3, 3, 3, 3}, 0, 0, 0.75, 0.75},
	} {
		a := eval.Agree([][]int{c.labels}, [][]int{c.regimes}, 5)
		for _, x := range []struct {
			name      string
			got, want float64
		}{{"ARI", a.ARI, c.ari}, {"NMI", a.NMI, c.nmi}, {"accuracy", a.Accuracy, c.accuracy}, {"majority", a.Majority, c.top}} {
			if !(math.Abs(x.got-x.want) < 1e-12) {
				t.Errorf("%v against %v: %s is %v, want %v", c.labels, c.regimes, x.name, x.got, x.want)
			}
		}
	}
}

// A larger table, with its scores by other formulas than the code has: the adjusted Rand index by binomials (Hubert and
// Arabie 1985, equation 5), the information by entropies.
func TestAgree_OfATable(t *testing.T) {
	counts := [][]int{{30, 2, 0, 8}, {5, 41, 4, 0}, {0, 3, 12, 1}}
	if got := eval.RandIndex(counts); math.Abs(got-0.5394633847447636) > 1e-12 {
		t.Errorf("ARI %v", got)
	}
	if got := eval.MutualInformation(counts); math.Abs(got-0.5171451561684721) > 1e-12 {
		t.Errorf("NMI %v", got)
	}
}

// Counts and the score do not depend on where sequences end; recall is that of each label.
func TestAgree_OfSequences(t *testing.T) {
	a := eval.Agree([][]int{{4, 4, 9}, {9, 9, 9, 9}}, [][]int{{1, 1, 1}, {0, 0, 0, 2}}, 3)
	if !slices.Equal(a.Labels, []int{4, 9}) || !slices.Equal(a.Counts[0], []int{0, 2, 0}) ||
		!slices.Equal(a.Counts[1], []int{3, 1, 1}) || !slices.Equal(a.Match, []int{1, 0}) ||
		!slices.Equal(a.Recall, []float64{1, 0.6}) || a.Accuracy != 5./7 || a.Majority != 5./7 {
		t.Errorf("%+v", a)
	}
}

// The match is the best of all, tried one by one, whether there are more labels or more regimes.
func TestBestMatch_OfAllThereAre(t *testing.T) {
	draw := rand.New(rand.NewPCG(1, 2))
	for range 300 {
		counts := make([][]int, 1+draw.IntN(5))
		m := 1 + draw.IntN(5)
		for i := range counts {
			for range m {
				counts[i] = append(counts[i], draw.IntN(6))
			}
		}
		match, sum, taken := eval.BestMatch(counts), 0, map[int]bool{}
		for i, j := range match {
			if j < 0 {
				continue
			}
			if taken[j] {
				t.Fatalf("%v: two labels share a regime: %v", counts, match)
			}
			taken[j] = true
			sum += counts[i][j]
		}
		if best := bestOf(counts, 0, map[int]bool{}); sum != best || len(taken) != min(len(counts), m) {
			t.Fatalf("%v: %v has the sum %d, the best is %d", counts, match, sum, best)
		}
	}
}

// bestOf tries every column, and none, for each row from i on.
func bestOf(counts [][]int, i int, taken map[int]bool) int {
	if i == len(counts) {
		return 0
	}
	best := bestOf(counts, i+1, taken)
	for j, c := range counts[i] {
		if !taken[j] {
			taken[j] = true
			best = max(best, c+bestOf(counts, i+1, taken))
			delete(taken, j)
		}
	}
	return best
}

// A change counts for one other, within the tolerance, and not beyond the end of its sequence.
func TestBoundaryF1(t *testing.T) {
	at := func(n int, changes ...int) []int {
		s, k := make([]int, n), 0
		for i := range s {
			if slices.Contains(changes, i) {
				k = 1 - k
			}
			s[i] = k
		}
		return s
	}
	for _, c := range []struct {
		truth, found [][]int
		want         float64
	}{
		{[][]int{at(20, 5, 10)}, [][]int{at(20, 5, 10)}, 1},
		{[][]int{at(20)}, [][]int{at(20)}, 1},
		{[][]int{at(20, 5)}, [][]int{at(20)}, 0},
		{[][]int{at(20, 5)}, [][]int{at(20, 7)}, 1},
		{[][]int{at(20, 5)}, [][]int{at(20, 8)}, 0},
		{[][]int{at(20, 5)}, [][]int{at(20, 3, 4, 5)}, 2 * 1. / 4},
		{[][]int{at(20, 5, 8)}, [][]int{at(20, 3, 6)}, 1},
		{[][]int{at(20, 19), at(20)}, [][]int{at(20), at(20, 1)}, 0},
	} {
		if got := eval.BoundaryF1(c.truth, c.found, 2); got != c.want {
			t.Errorf("%v and %v: %v, want %v", c.truth, c.found, got, c.want)
		}
	}
}

func TestInUse(t *testing.T) {
	if got := eval.InUse([]float64{10, 0, 10}); math.Abs(got-2) > 1e-12 {
		t.Errorf("two regimes that share the time evenly count as %v", got)
	}
	if got := eval.InUse([]float64{0, 8, 0}); got != 1 {
		t.Errorf("a single regime counts as %v", got)
	}
}
