package gibbs

import "github.com/switchyard-ml/switchyard/internal/matrix"

// Shape is the form of the tree of regimes.
type Shape string

// The shapes.
const (
	// Caterpillar is stick-breaking: node n chooses between leaf n and all later ones.
	Caterpillar Shape = "caterpillar"
	// Balanced halves the leaves at each node; of an odd number the left half has one more.
	Balanced Shape = "balanced"
)

// tree is a binary tree with K leaves and K−1 inner nodes. Inner nodes are numbered from 0, the root, parents before
// children; a child c < K−1 is an inner node, a child c ≥ K−1 is leaf c−(K−1).
type tree struct {
	leaves int
	height int      // turns of the longest path
	child  [][2]int // [K−1] left and right child
	parent []int    // [2K−1] −1 for the root
	depth  []int    // [2K−1] 0 for the root
	paths  [][]turn // [K] of a leaf, from the root down
	first  []int    // [K−1] the first leaf below an inner node
	middle []int    // [K−1] the first leaf below its right child
}

// turn is one decision on the way to a leaf.
type turn struct {
	node int
	sign float64 // +1 left, −1 right
}

// newTree returns a tree with at least one leaf. A tree with one has no inner node: its root is the leaf.
func newTree(shape Shape, leaves int) *tree {
	t := &tree{
		leaves: leaves, parent: make([]int, 2*leaves-1), depth: make([]int, 2*leaves-1),
		paths: make([][]turn, leaves),
	}
	t.grow(shape, 0, leaves, -1, nil)
	return t
}

// inner is the number of inner nodes.
func (t *tree) inner() int { return t.leaves - 1 }

// grow adds the subtree of leaves [from, to) and returns its root. path leads to that root.
func (t *tree) grow(shape Shape, from, to, parent int, path []turn) int {
	if to-from == 1 {
		t.paths[from] = path
		t.height = max(t.height, len(path))
		node := t.inner() + from
		t.place(node, parent)
		return node
	}
	node := len(t.child)
	t.child = append(t.child, [2]int{})
	t.place(node, parent)
	middle := from + 1
	if shape == Balanced {
		middle = (from + to + 1) / 2
	}
	t.first, t.middle = append(t.first, from), append(t.middle, middle)
	// A path is copied when it is extended: those of the two children must not share memory.
	extend := func(sign float64) []turn { return append(path[:len(path):len(path)], turn{node, sign}) }
	left := t.grow(shape, from, middle, node, extend(+1))
	right := t.grow(shape, middle, to, node, extend(-1))
	t.child[node] = [2]int{left, right}
	return node
}

// place enters the parent of a node, −1 for the root, and its depth. The parent has been placed before.
func (t *tree) place(node, parent int) {
	t.parent[node] = parent
	if parent >= 0 {
		t.depth[node] = t.depth[parent] + 1
	}
}

// logProbabilities writes ln π_k of each leaf to dst [K], given the ν of each inner node: the sum of ln σ(±ν)
// along its path. On the way dst holds that of an inner node at the place of its first leaf; as parents come
// before children it is there when the node is reached. It takes K−1 logarithms, not K times the depth.
func (t *tree) logProbabilities(dst, nu []float64) {
	dst[0] = 0
	for n, v := range nu {
		right := dst[t.first[n]] - matrix.Softplus(v)
		dst[t.first[n]] = right + v // ln σ(ν) = ln σ(−ν) + ν
		dst[t.middle[n]] = right
	}
}

// mostLikely returns the leaf of the largest probability, the first of equal ones.
func (t *tree) mostLikely(logProbability []float64) int {
	best := 0
	for k, p := range logProbability {
		if p > logProbability[best] {
			best = k
		}
	}
	return best
}
