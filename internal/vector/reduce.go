package vector

import (
	"fmt"

	"github.com/switchyard-ml/switchyard/autodiff/kernel"
)

// Block is an aligned subtree: the shards [First, First+Count), Count a power of two that divides First. It is a node
// of the complete binary tree over the shards.
type Block struct{ First, Count int }

// String names the block's shards, "4..7" or "4".
func (b Block) String() string {
	if b.Count == 1 {
		return fmt.Sprint(b.First)
	}
	return fmt.Sprintf("%d..%d", b.First, b.First+b.Count-1)
}

// Valid reports whether b is a node of the tree over the given number of shards. Blocks come in messages, so this is
// checked before anything is added.
func (b Block) Valid(shards int) bool {
	return b.Count > 0 && PowerOfTwo(b.Count) && b.First >= 0 && b.First%b.Count == 0 && b.First <= shards-b.Count
}

// Halves returns the two children of a block of more than one shard.
func (b Block) Halves() (left, right Block) {
	h := b.Count / 2
	return Block{b.First, h}, Block{b.First + h, h}
}

// Sibling returns the other child of b's parent and whether b is the left one.
func (b Block) Sibling() (sibling Block, left bool) {
	if b.First/b.Count%2 == 0 {
		return Block{b.First + b.Count, b.Count}, true
	}
	return Block{b.First - b.Count, b.Count}, false
}

// PowerOfTwo reports whether n is 1, 2, 4, …
func PowerOfTwo(n int) bool { return n > 0 && n&(n-1) == 0 }

// Partial is the sum over a block: of gradients (empty if only terms are needed) and of loss terms. The last values
// can be maxima instead: see Tree.Peaks.
type Partial struct{ Values, Terms []float32 }

// add sets p to p + q; for the last peaks values of p it takes the larger of the two instead.
func (p Partial) add(q Partial, peaks int, spread bool) {
	sums := max(len(p.Values)-peaks, 0)
	if spread {
		Ranges(sums, Elements, func(from, to int) { kernel.Add(p.Values[from:to], q.Values[from:to]) })
	} else {
		kernel.Add(p.Values[:sums], q.Values[:sums])
	}
	for i := sums; i < len(p.Values); i++ {
		p.Values[i] = max(p.Values[i], q.Values[i])
	}
	for i, v := range q.Terms {
		p.Terms[i] += v
	}
}

// Tree sums the partials of a block as they arrive. It has no clock. The zero value is not usable.
//
// Invariant: the blocks in nodes are disjoint, and no two are siblings.
// One goroutine at a time may use it.
type Tree struct {
	// Peaks is the number of values, the last ones of a partial, of which the tree takes the maximum and not the sum.
	// It is set before the first Add.
	Peaks int
	// Spread makes additions use all cores. The bits do not change. Set it only if no other computation needs the cores
	// at that time.
	Spread bool

	root  Block
	nodes map[Block]Partial // sums that wait for their siblings, or the whole
}

// NewTree returns a tree over the shards of root.
func NewTree(root Block) *Tree {
	return &Tree{root: root, nodes: make(map[Block]Partial)}
}

// Add adds the sum of block b, which must not overlap an earlier block, and merges siblings until one is missing. The
// tree owns p. It calls free with each partial that it has added to another one.
func (t *Tree) Add(b Block, p Partial, free func(Partial)) {
	for b != t.root {
		sibling, left := b.Sibling()
		q, ok := t.nodes[sibling]
		if !ok {
			break
		}
		delete(t.nodes, sibling)
		// The sum is always left plus right, in the memory of the left one, whichever came first.
		if !left {
			p, q, b = q, p, sibling
		}
		p.add(q, t.Peaks, t.Spread)
		free(q)
		b.Count *= 2
	}
	t.nodes[b] = p
}

// Take returns the sum over all shards and empties the tree, if the sum is complete. The caller owns it from then on.
func (t *Tree) Take() (Partial, bool) {
	p, ok := t.nodes[t.root]
	if ok {
		delete(t.nodes, t.root)
	}
	return p, ok
}

// Reset empties the tree and gives it another root. It calls free with each partial of the tree.
func (t *Tree) Reset(root Block, free func(Partial)) {
	for _, p := range t.nodes { // the order has no effect: free only recycles memory
		free(p)
	}
	clear(t.nodes)
	t.root = root
}
