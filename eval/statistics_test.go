package eval

import (
	"math"
	"testing"

	"github.com/switchyard-ml/switchyard/rng"
)

func alike(a, b, tolerance float64) bool { return math.Abs(a-b) <= tolerance*(1+math.Abs(b)) }

// TestEstimate_OfAMean has the usual standard error, s/√n; one episode has none.
func TestEstimate_OfAMean(t *testing.T) {
	x := []float64{1, 4, 2, 8, 5, 7}
	sums := newTally(len(x), 2)
	for i, v := range x {
		copy(sums.row(i), []float64{1, v})
	}
	e := sums.estimate(func(s []float64) float64 { return s[1] / s[0] })
	if !alike(e.Value, 4.5, 1e-12) || !alike(e.SE, math.Sqrt(37.5/5/6), 1e-9) {
		t.Errorf("got %+v", e)
	}
	if e := newTally(1, 1).estimate(func(s []float64) float64 { return 3 }); e.Value != 3 || !math.IsNaN(e.SE) {
		t.Errorf("one episode: %+v", e)
	}
}

// TestLeastSquares_FindsTheMap through features that depend on each other and one that is constant.
func TestLeastSquares_FindsTheMap(t *testing.T) {
	s := rng.New(1, rng.Evaluation).At(0, 0, 0)
	var x, y []float64
	for range 200 {
		a, b := s.Normal(), 1000+s.Normal()
		x = append(x, a, b, a+b, 7)
		y = append(y, 2*a-3*b+1, a)
	}
	w, err := leastSquares(x, y, 4, 2)
	if err != nil {
		t.Fatal(err)
	}
	got := make([]float64, 2)
	for n := range 200 {
		w.apply(got, x[4*n:4*n+4])
		for j, want := range y[2*n : 2*n+2] {
			if !alike(got[j], want, 1e-5) {
				t.Fatalf("row %d: got %v, want %v", n, got[j], want)
			}
		}
	}
	x[3] = math.NaN()
	if _, err := leastSquares(x, y, 4, 2); err == nil {
		t.Error("no error for a feature that is not finite")
	}
}

// examples are points of three features, one of few values, whose class follows the first two with some noise.
func examples(n int) (x []float64, y []bool) {
	s := rng.New(2, rng.Evaluation).At(0, 0, 0)
	for range n {
		a, b, c := s.Normal(), s.Normal(), float64(s.IntN(3))
		x = append(x, a, b, c)
		y = append(y, a*b+0.3*s.Normal() > 0.2)
	}
	return x, y
}

// bruteSplit is the least weighted Gini impurity of any split of the given examples.
func bruteSplit(x []float64, y []bool, members []int, m, minLeaf int) float64 {
	gini := func(list []int) float64 {
		p := 0.0
		for _, i := range list {
			if y[i] {
				p++
			}
		}
		n := float64(len(list))
		return n * 2 * p / n * (1 - p/n)
	}
	best := math.Inf(1)
	for f := range m {
		for _, at := range members {
			var left, right []int
			for _, i := range members {
				if x[i*m+f] <= x[at*m+f] {
					left = append(left, i)
				} else {
					right = append(right, i)
				}
			}
			if len(left) >= minLeaf && len(right) >= minLeaf {
				best = min(best, gini(left)+gini(right))
			}
		}
	}
	return best
}

// TestTree_SplitsAsWellAsAnySplit, at every node, and its leaves hold the shares of their examples.
func TestTree_SplitsAsWellAsAnySplit(t *testing.T) {
	const m, minLeaf = 3, 5
	x, y := examples(300)
	root := growTree(x, y, m, 4, minLeaf)
	var walk func(node *tree, members []int, depth int)
	walk = func(node *tree, members []int, depth int) {
		positive := 0.0
		for _, i := range members {
			if y[i] {
				positive++
			}
		}
		n := float64(len(members))
		if !alike(node.positive, positive/n, 1e-12) || len(members) < minLeaf {
			t.Fatalf("a node of %d examples says %v, want %v", len(members), node.positive, positive/n)
		}
		if node.left == nil {
			if depth < 4 && positive > 0 && positive < n && !math.IsInf(bruteSplit(x, y, members, m, minLeaf), 1) {
				t.Errorf("a leaf at depth %d could be split", depth)
			}
			return
		}
		var left, right []int
		impurity := 0.0
		for _, i := range members {
			if x[i*m+node.feature] <= node.threshold {
				left = append(left, i)
			} else {
				right = append(right, i)
			}
		}
		for _, side := range []struct {
			members []int
			node    *tree
		}{{left, node.left}, {right, node.right}} {
			p := side.node.positive
			impurity += float64(len(side.members)) * 2 * p * (1 - p)
		}
		if want := bruteSplit(x, y, members, m, minLeaf); !alike(impurity, want, 1e-9) {
			t.Errorf("depth %d: impurity %v, the best split has %v", depth, impurity, want)
		}
		walk(node.left, left, depth+1)
		walk(node.right, right, depth+1)
	}
	var all []int
	for i := range y {
		all = append(all, i)
	}
	walk(root, all, 0)
	full := growTree(x, y, m, 0, 1)
	for i, class := range y {
		if got := full.probability(x[i*m : (i+1)*m]); got > 0.5 != class {
			t.Fatalf("an unlimited tree calls example %d %v", i, got)
		}
	}
}

// TestLogistic_IsAtTheMinimum of the penalised loss: no small step in any direction lowers it.
func TestLogistic_IsAtTheMinimum(t *testing.T) {
	x, y := examples(300)
	l := fitLogistic(x, y, 3)
	best := l.loss(x, y, 3)
	for i := range l.w {
		for _, step := range []float64{-1e-3, 1e-3} {
			l.w[i] += step
			if got := l.loss(x, y, 3); got < best {
				t.Errorf("weight %d %+g: loss %v, below %v", i, step, got, best)
			}
			l.w[i] -= step
		}
	}
	// Two classes apart: the penalty keeps the weights finite.
	apart := fitLogistic([]float64{-2, -1, 1, 2}, []bool{false, false, true, true}, 1)
	if p := apart.probability([]float64{2}); p < 0.8 || p > 0.999 || !alike(apart.w[1], 0, 1e-6) {
		t.Errorf("classes apart: %v, weights %v", p, apart.w)
	}
}

func TestBestThreshold_GivesTheBestF1(t *testing.T) {
	p := []float64{.9, .8, .8, .4, .3, .1}
	y := []bool{true, true, false, true, false, false}
	// Calling 4 positive finds all 3: F1 = 6/7.
	if got := bestThreshold(p, y); got <= .3 || got >= .4 {
		t.Errorf("got %v, want between .3 and .4", got)
	}
}

// TestInformation_OfKnownTables: a system that is the contact says all, one that is drawn apart nothing.
func TestInformation_OfKnownTables(t *testing.T) {
	if got := information([]float64{30, 0}, []float64{30, 70}); !alike(got, 1, 1e-12) {
		t.Errorf("got %v, want 1", got)
	}
	if got := information([]float64{3, 7}, []float64{30, 70}); !alike(got, 0, 1e-12) {
		t.Errorf("got %v, want 0", got)
	}
	if got := math.Exp(entropy([]float64{5, 5, 5, 5, 0})); !alike(got, 4, 1e-12) {
		t.Errorf("perplexity %v, want 4", got)
	}
}

// TestCorrelationRatio_OfTwoGroups: means 1 and 3 with a variance of 1 within.
func TestCorrelationRatio_OfTwoGroups(t *testing.T) {
	// {0, 2} inside, {2, 4} outside: variance 2, of which 1 lies between.
	if got := correlationRatio(4, 8, 24, 2, 2); !alike(got, math.Sqrt(0.5), 1e-12) {
		t.Errorf("got %v, want √½", got)
	}
	if got := correlationRatio(4, 8, 16, 2, 4); got != 0 {
		t.Errorf("a constant: got %v, want 0", got)
	}
}
