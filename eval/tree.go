package eval

import "slices"

// tree is a binary classification tree (CART, Breiman et al. 1984): inner nodes ask whether a feature is at most a
// threshold, and go left if it is. A leaf answers with the share of positive examples that reached it in training.
type tree struct {
	feature     int
	threshold   float64
	left, right *tree   // nil: a leaf
	positive    float64 // share of positive examples
}

// minGap is the least difference between two values that a threshold may separate, that of scikit-learn.
const minGap = 1e-7

// grower grows a tree. Examples are sorted once by each feature; a node is a stretch of all of these orders. So no
// node sorts again: a tree costs O(n·m·(log n + depth)).
type grower struct {
	x        []float64 // [n,m]
	y        []bool
	m        int
	minLeaf  int
	orders   [][]int32 // [m][n]
	left     []bool    // [n] of the split at hand
	leftover []int32
}

// growTree fits a tree by the Gini impurity to n examples x [n,m] with their classes, to a depth (0: unlimited) and a
// least number of examples in a leaf. Of equally good splits it takes the first, by feature and threshold. There
// is one example and one feature at least. x and y stay as they are.
func growTree(x []float64, y []bool, m, depth, minLeaf int) *tree {
	g := &grower{x: x, y: y, m: m, minLeaf: minLeaf, left: make([]bool, len(y)), leftover: make([]int32, 0, len(y))}
	for f := range m {
		order := make([]int32, len(y))
		for i := range order {
			order[i] = int32(i)
		}
		slices.SortStableFunc(order, func(a, b int32) int {
			switch va, vb := x[int(a)*m+f], x[int(b)*m+f]; {
			case va < vb:
				return -1
			case va > vb:
				return 1
			}
			return 0
		})
		g.orders = append(g.orders, order)
	}
	if depth == 0 {
		depth = len(y)
	}
	return g.grow(0, len(y), depth)
}

// grow makes the node of examples [lo, hi) of the orders. A node without two classes, without a split that is
// allowed, or at the depth, is a leaf.
func (g *grower) grow(lo, hi, depth int) *tree {
	positive := 0
	for _, i := range g.orders[0][lo:hi] {
		if g.y[i] {
			positive++
		}
	}
	node := &tree{positive: float64(positive) / float64(hi-lo)}
	if depth == 0 || positive == 0 || positive == hi-lo {
		return node
	}
	feature, count := g.split(lo, hi, positive)
	if count == 0 {
		return node
	}
	order := g.orders[feature][lo:hi]
	low, high := g.at(order[count-1], feature), g.at(order[count], feature)
	node.feature, node.threshold = feature, low+(high-low)/2
	// Rounding can put the middle on the upper value, which must go right.
	if node.threshold >= high {
		node.threshold = low
	}
	g.partition(lo, hi, feature, count)
	node.left, node.right = g.grow(lo, lo+count, depth-1), g.grow(lo+count, hi, depth-1)
	return node
}

// at is a feature of an example.
func (g *grower) at(example int32, feature int) float64 { return g.x[int(example)*g.m+feature] }

// split finds the feature, and how many of its lowest examples go left, with the least Gini impurity; 0: no split is
// allowed.
func (g *grower) split(lo, hi, positive int) (feature, count int) {
	n, best := hi-lo, 0.0
	for f := range g.m {
		order := g.orders[f][lo:hi]
		left := 0
		for k := 1; k < n; k++ {
			if g.y[order[k-1]] {
				left++
			}
			if k < g.minLeaf || n-k < g.minLeaf || g.at(order[k], f) <= g.at(order[k-1], f)+minGap {
				continue
			}
			// The impurity is a constant less this sum, over the two sides, of (positives² + negatives²) / examples.
			l, r := float64(left), float64(positive-left)
			a, b := float64(k), float64(n-k)
			if purity := (l*l+(a-l)*(a-l))/a + (r*r+(b-r)*(b-r))/b; purity > best {
				best, feature, count = purity, f, k
			}
		}
	}
	return feature, count
}

// partition puts the examples that go left first in every order and keeps their order. It is a stable partition in
// O(n) for each feature, with the memory of the grower.
func (g *grower) partition(lo, hi, feature, count int) {
	for k, i := range g.orders[feature][lo:hi] {
		g.left[i] = k < count
	}
	for _, all := range g.orders {
		order, next := all[lo:hi], 0
		g.leftover = g.leftover[:0]
		for _, i := range order {
			if g.left[i] {
				order[next] = i
				next++
			} else {
				g.leftover = append(g.leftover, i)
			}
		}
		copy(order[next:], g.leftover)
	}
}

// probability is the share of positive training examples in the leaf of x.
func (t *tree) probability(x []float64) float64 {
	for t.left != nil {
		if x[t.feature] <= t.threshold {
			t = t.left
		} else {
			t = t.right
		}
	}
	return t.positive
}
