package vector

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

func leaf(i int) Partial {
	x := float32(i)*1.1 + 0.3
	return Partial{Values: []float32{x * x, 1 / x, x * 1e7}, Terms: []float32{x}}
}

// dumb is the tree by its definition.
func dumb(b Block) Partial {
	if b.Count == 1 {
		return leaf(b.First)
	}
	l, r := b.Halves()
	p, q := dumb(l), dumb(r)
	for i, v := range q.Values {
		p.Values[i] += v
	}
	p.Terms[0] += q.Terms[0]
	return p
}

// Whatever aligned blocks a step is cut into and however they arrive, the sum has the same bits.
func TestTree_AnyPartitionAnyOrder(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for _, shards := range []int{1, 2, 4, 8, 32} {
		root := Block{0, shards}
		want := dumb(root)
		for range 100 {
			blocks := []Block{root}
			for range r.IntN(2 * shards) {
				i := r.IntN(len(blocks))
				if blocks[i].Count > 1 {
					a, b := blocks[i].Halves()
					blocks[i] = a
					blocks = append(blocks, b)
				}
			}
			r.Shuffle(len(blocks), func(i, j int) { blocks[i], blocks[j] = blocks[j], blocks[i] })
			tree, freed := NewTree(root), 0
			for i, b := range blocks {
				if _, ok := tree.Take(); ok {
					t.Fatalf("%d shards: complete after %d of %d blocks", shards, i, len(blocks))
				}
				tree.Add(b, dumb(b), func(Partial) { freed++ })
			}
			got, ok := tree.Take()
			if !ok || freed != len(blocks)-1 {
				t.Fatalf("%d shards in %v: complete %v, freed %d", shards, blocks, ok, freed)
			}
			for i := range want.Values {
				if math.Float32bits(got.Values[i]) != math.Float32bits(want.Values[i]) {
					t.Fatalf("%v: value %d: got %v, want %v", blocks, i, got.Values[i], want.Values[i])
				}
			}
			if got.Terms[0] != want.Terms[0] {
				t.Fatalf("%v: terms: got %v, want %v", blocks, got.Terms, want.Terms)
			}
		}
	}
}

// Of the last values the greatest counts, whatever the order.
func TestTree_Peaks(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for range 20 {
		tree := NewTree(Block{0, 8})
		tree.Peaks = 2
		for _, i := range r.Perm(8) {
			x := float32(i)
			tree.Add(Block{i, 1}, Partial{Values: []float32{1, x, -x}, Terms: []float32{1}}, func(Partial) {})
		}
		got, _ := tree.Take()
		if want := []float32{8, 7, 0}; !slices.Equal(got.Values, want) || got.Terms[0] != 8 {
			t.Fatalf("got %v, want %v", got, want)
		}
	}
}

// A tree over a block that is not at the start serves a worker's lease.
func TestTree_InnerRoot(t *testing.T) {
	root := Block{4, 4}
	tree := NewTree(root)
	for _, i := range []int{7, 4, 6, 5} {
		tree.Add(Block{i, 1}, leaf(i), func(Partial) {})
	}
	got, ok := tree.Take()
	if want := dumb(root); !ok || got.Values[0] != want.Values[0] {
		t.Errorf("got %v %v, want %v", got, ok, want)
	}
}

func TestBlock_Valid(t *testing.T) {
	for b, want := range map[Block]bool{
		{0, 8}: true, {4, 4}: true, {6, 2}: true, {7, 1}: true,
		{8, 1}: false, {2, 4}: false, {0, 3}: false, {0, 16}: false, {-1, 1}: false, {0, 0}: false, {0, -4}: false,
		{math.MaxInt, 1}: false,
	} {
		if b.Valid(8) != want {
			t.Errorf("%v: got %v", b, !want)
		}
	}
}
