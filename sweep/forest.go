package sweep

import (
	"cmp"
	"math"
	"slices"

	"github.com/switchyard-ml/switchyard/rng"
)

// A forest of regression trees (Breiman 2001), small enough to be read: it says how much each parameter matters.
// Each tree grows on a sample drawn with replacement (bootstrap); the trials that its sample leaves out, about a
// third, are those that it is tested on.
const (
	trees     = 64 // each on a bootstrap sample of its own
	leafLeast = 2  // samples of a leaf
	deepest   = 12 // levels below the root
)

// tree is a node: a leaf if it has no children. A sample goes to the left if its feature is at most the
// threshold. The value is the mean of the samples that grew the node.
type tree struct {
	feature     int
	threshold   float64
	left, right *tree
	value       float64
}

// predict is the value of the leaf that x falls into; x has a coordinate for each feature.
func (t *tree) predict(x []float64) float64 {
	for t.left != nil {
		if x[t.feature] <= t.threshold {
			t = t.left
		} else {
			t = t.right
		}
	}
	return t.value
}

// grow makes a tree of the samples, which are indices of x and y, and may repeat. At each node a third of the
// features, at least one, is looked at, in random order; if none of them gives a gain, the others are, one by
// one. A node with fewer than 2·leafLeast samples, at depth 0, or without any gain is a leaf.
func grow(x [][]float64, y []float64, samples []int, depth int, stream *rng.Stream) *tree {
	mean := 0.0
	for _, i := range samples {
		mean += y[i] / float64(len(samples))
	}
	node := &tree{value: mean}
	if len(samples) < 2*leafLeast || depth == 0 {
		return node
	}
	features := len(x[0])
	best, looked := 0.0, 0
	for _, f := range shuffled(features, stream) {
		if looked++; looked > max(1, (features+2)/3) && best > 0 {
			break
		}
		if gain, threshold := split(x, y, samples, f, mean); gain > best {
			best, node.feature, node.threshold = gain, f, threshold
		}
	}
	if best == 0 {
		return node
	}
	var low, high []int
	for _, i := range samples {
		if x[i][node.feature] <= node.threshold {
			low = append(low, i)
		} else {
			high = append(high, i)
		}
	}
	node.left, node.right = grow(x, y, low, depth-1, stream), grow(x, y, high, depth-1, stream)
	return node
}

// split finds the threshold of a feature with the largest decrease of squared error, in O(n log n). With values
// centred by the mean of the node, and n_l, m_l and n_r, m_r the number and the mean of those on each side,
//
//	Σy² − Σ_l(y−m_l)² − Σ_r(y−m_r)² = n_l·m_l² + n_r·m_r² = s²/n_l + s²/n_r
//
// where s is the sum of the left ones, which is minus that of the right. The threshold lies halfway between two
// different values. The gain is 0 if every threshold leaves a side with fewer than leafLeast samples.
func split(x [][]float64, y []float64, samples []int, feature int, mean float64) (gain, threshold float64) {
	order := slices.Clone(samples)
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(x[a][feature], x[b][feature]) })
	sum, n := 0.0, len(order)
	for k, i := range order[:n-1] {
		sum += y[i] - mean
		left, right := float64(k+1), float64(n-k-1)
		here, next := x[i][feature], x[order[k+1]][feature]
		if here == next || k+1 < leafLeast || n-k-1 < leafLeast {
			continue
		}
		if g := sum*sum/left + sum*sum/right; g > gain {
			gain, threshold = g, (here+next)/2
		}
	}
	return gain, threshold
}

// shuffled is a random permutation of 0 … n−1 (Fisher and Yates, from the inside out).
func shuffled(n int, stream *rng.Stream) []int {
	order := make([]int, n)
	for i := range order {
		j := stream.IntN(i + 1)
		order[i] = order[j]
		order[j] = i
	}
	return order
}

// Importance is how much a parameter matters to a metric: the share of the variance among trials that is lost when its
// values are permuted, measured on trials that a tree has not seen, with the spread over the trees.
type Importance struct {
	Key   string  `json:"key"`
	Share float64 `json:"share"` // 0: none; all parameters together need not add up to 1
	Error float64 `json:"error"` // standard error of the mean over the trees
}

// leastTrials is the number of trials below which nothing is said about importance.
const leastTrials = 10

// Importances are those of all parameters for a metric, the greatest first; nil if there are too few trials. Trials
// that were stopped early count with the value that they had then, and the rung is a feature of its own, so that it is
// not taken for an effect of a parameter. The second result is the share of the variance that the forest explains.
func (s *State) Importances(metric Metric) ([]Importance, float64) {
	var x [][]float64
	var y []float64
	for _, t := range s.Trials {
		v, ok := s.Value(t, metric)
		if !ok || t.Of > 0 {
			continue
		}
		row := []float64{float64(t.First + t.Reached())}
		for i := range s.Spec.Parameters {
			p := &s.Spec.Parameters[i]
			u := 0.5 // of one that does not exist: what makes it exist has a feature of its own
			if value, ok := t.Settings.Get(p.Key); ok {
				u = p.Coordinate(value)
			}
			row = append(row, u)
		}
		x, y = append(x, row), append(y, v)
	}
	if len(x) < leastTrials {
		return nil, 0
	}
	return importances(s.Spec, x, tamed(y))
}

// tamed cuts values far outside the middle half off, so that one diverging trial does not hide all others.
func tamed(y []float64) []float64 {
	sorted := slices.Clone(y)
	slices.Sort(sorted)
	low, high := sorted[len(sorted)/4], sorted[len(sorted)*3/4]
	reach := 3 * (high - low)
	out := make([]float64, len(y))
	for i, v := range y {
		if out[i] = v; reach > 0 {
			out[i] = min(max(v, low-reach), high+reach)
		}
	}
	return out
}

// importances grows the forest over the rows x, of which column 0 is the rung and column i+1 parameter i, and
// returns the importances and the share of the variance that is explained: the mean over the trees of 1 −
// Σ(ŷ−y)²/Σ(y−ȳ)² on left-out trials. If that is not positive it returns nil and 0. Tree n draws from a stream of
// its own, so that the result is a function of the trials and the seed.
func importances(spec *Spec, x [][]float64, y []float64) ([]Importance, float64) {
	features := len(x[0])
	losses := make([][]float64, features) // increase of the error by permutation, of each tree
	explained, counted := 0.0, 0
	for n := range uint32(trees) {
		stream := rng.New(spec.Seed, rng.Search).At(uint64(n), 0, 4)
		// The bootstrap sample, and the trials that are not in it.
		inside, used := make([]int, len(x)), make([]bool, len(x))
		for i := range inside {
			inside[i] = stream.IntN(len(x))
			used[inside[i]] = true
		}
		var outside []int
		for i := range x {
			if !used[i] {
				outside = append(outside, i)
			}
		}
		if len(outside) < 2 {
			continue
		}
		// Without permutation: the error on the left-out trials, beside their variance.
		t := grow(x, y, inside, deepest, &stream)
		mean, variance, fault := 0.0, 0.0, 0.0
		for _, i := range outside {
			mean += y[i] / float64(len(outside))
		}
		for _, i := range outside {
			variance += (y[i] - mean) * (y[i] - mean)
			fault += square(t.predict(x[i]) - y[i])
		}
		if variance == 0 {
			continue
		}
		counted++
		explained += 1 - fault/variance
		for f := range features {
			// The values of one feature are exchanged among the left-out trials, and its effect on the prediction
			// is lost.
			order := shuffled(len(outside), &stream)
			worse := 0.0
			for k, i := range outside {
				row := slices.Clone(x[i])
				row[f] = x[outside[order[k]]][f]
				worse += square(t.predict(row) - y[i])
			}
			losses[f] = append(losses[f], (worse-fault)/variance/2) // a permuted predictor errs by twice the variance
		}
	}
	if counted < 2 || explained <= 0 { // shares of nothing
		return nil, 0
	}
	var list []Importance
	for i := range spec.Parameters {
		e := NewEstimate(losses[i+1])
		list = append(list, Importance{spec.Parameters[i].Key, max(e.Mean, 0), e.Deviation / math.Sqrt(float64(e.N))})
	}
	slices.SortStableFunc(list, func(a, b Importance) int { return cmp.Compare(b.Share, a.Share) })
	return list, explained / float64(counted)
}

func square(v float64) float64 { return v * v }
