package vector_test

import (
	"math"
	"math/bits"
	"slices"
	"testing"

	"github.com/switchyard-ml/switchyard/autodiff/kernel"
	"github.com/switchyard-ml/switchyard/internal/vector"
	"github.com/switchyard-ml/switchyard/rng"
)

// states draws random bit patterns, infinities and quiet NaN among them.
func states(s *rng.Stream, n int) []float64 {
	v := make([]float64, n)
	for i := range v {
		v[i] = math.Float64frombits(s.Uint64())
		switch s.IntN(8) {
		case 0:
			v[i] = []float64{0, math.Copysign(0, -1), 1, math.Inf(1), math.Inf(-1), math.NaN(), math.MaxFloat64, 5e-324}[s.IntN(8)]
		case 1:
			v[i] = math.Float64frombits(math.MaxUint64 >> s.IntN(64))
		}
	}
	return v
}

func same(a, b []float64) bool {
	return slices.EqualFunc(a, b, func(x, y float64) bool { return math.Float64bits(x) == math.Float64bits(y) })
}

func TestWrite_EveryBitComesBack(t *testing.T) {
	s := rng.New(1, rng.Noise).At(0, 0, 0)
	want := states(&s, 10000)
	words, got := make([]float32, vector.Words*len(want)), make([]float64, len(want))
	vector.Write(words, want)
	if !vector.Read(got, words) || !same(got, want) {
		t.Error("a state does not come back")
	}
	for _, w := range []float32{-1, 0.5, 1 << 22, float32(math.NaN()), float32(math.Inf(1))} {
		for i := range vector.Words {
			bad := slices.Clone(words[:vector.Words])
			bad[i] = w
			if vector.Read(got[:1], bad) {
				t.Errorf("%v is read as word %d", w, i)
			}
		}
	}
}

// TestLayout_UpdateIsExact: whatever the states before and after, the update of a round puts those after in their
// place, for sums in the order of any tree of the run.
func TestLayout_UpdateIsExact(t *testing.T) {
	s := rng.New(2, rng.Noise).At(0, 0, 0)
	for _, chains := range []int{1, 2, 3, 4, 5, 8, 11, 16, 33, 64, 200, 1024} {
		l := vector.Layout{Chains: chains, State: 7}
		k := l.Shards()
		outer := vector.NewNesterov(vector.Outer{Rate: float64(k), Every: 1}, vector.Schedule{Rate: 1}, l.Size())
		theta := make([]float32, l.Size())
		for round := range 4 {
			after := make([]float32, l.Size())
			tree := vector.NewTree(vector.Block{Count: k})
			for shard := range k {
				moved := make([]float32, l.Size())
				if c := l.Chain(shard); c >= 0 {
					vector.Put(l.Of(after, c), states(&s, l.State))
					kernel.Sub(l.Of(moved, c), l.Of(theta, c), l.Of(after, c))
				}
				tree.Add(vector.Block{First: shard, Count: 1}, vector.Partial{Values: moved}, func(vector.Partial) {})
			}
			sum, ok := tree.Take()
			if !ok {
				t.Fatal("the tree is not complete")
			}
			if _, _, err := outer.Update(theta, sum.Values, k, uint64(round)); err != nil {
				t.Fatal(err)
			}
			for i := range theta {
				if math.Float32bits(theta[i]) != math.Float32bits(after[i]) {
					t.Fatalf("%d chains, round %d: parameter %d is %v, want %v", chains, round, i, theta[i], after[i])
				}
			}
		}
	}
}

// TestLayout_ChainsAreSpreadEvenly: each chain has one shard, and blocks of equal size have equal numbers of chains but
// for one.
func TestLayout_ChainsAreSpreadEvenly(t *testing.T) {
	for chains := 1; chains <= 40; chains++ {
		l := vector.Layout{Chains: chains, State: 1}
		if got, ok := vector.Of(l.Size(), chains); !ok || got != l {
			t.Errorf("%d chains: layout %v of its size, want %v", chains, got, l)
		}
		if bits.OnesCount(uint(l.Shards())) != 1 || l.Shards() < chains || l.Shards() >= 2*chains && chains > 1 {
			t.Errorf("%d chains have %d shards", chains, l.Shards())
		}
		for size := 1; size <= l.Shards(); size *= 2 {
			least, most, all := chains, 0, []int{}
			for first := 0; first < l.Shards(); first += size {
				n := 0
				for shard := first; shard < first+size; shard++ {
					if c := l.Chain(shard); c >= 0 {
						n++
						all = append(all, c)
					}
				}
				least, most = min(least, n), max(most, n)
			}
			slices.Sort(all)
			if most-least > 1 || len(slices.Compact(all)) != chains {
				t.Errorf("%d chains: blocks of %d have %d to %d, %d chains in all", chains, size, least, most, len(all))
			}
		}
	}
}
