package worker

import (
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/switchyard-ml/switchyard/internal/vector"
	"github.com/switchyard-ml/switchyard/wire"
)

// reduce lets a listener sum all sections of two blocks of a holder, as the leases of these numbers.
func (l *listener) reduce(digests, holder string, first, second uint64) {
	l.takeReduce(&wire.Reduce{ID: 9, Step: 1, Attempt: 1, Number: 1, Sections: 1, Count: 1, Sources: []wire.Source{
		{First: 0, Count: 1, Holder: holder, Lease: first, Digests: digests},
		{First: 1, Count: 1, Holder: holder, Lease: second, Digests: digests},
	}})
}

// oneFault reports whether all that a listener has announced is that it cannot form one sum.
func (l *listener) oneFault(t *testing.T) {
	t.Helper()
	if len(l.results) != 1 || l.results[0].Lease != 9 || l.results[0].Fault == "" {
		t.Errorf("results %+v, want one fault", l.results)
	}
}

// A sum that names a block twice ends with the first wrong one.
func TestReduce_BlockTwice(t *testing.T) {
	l := newListener(t)
	l.turn(1, 0)
	l.reduce(strings.Repeat("x", wire.DigestLength(1)), "w2", 5, 5)
	for i := range l.sums.Count() {
		data := slices.Clone(l.sums.Encode(nil, l.values, i))
		l.hears("w2", &wire.Chunk{Lease: 5, Step: 1, Index: i, CRC: wire.Checksum(data), Data: data})
	}
	l.oneFault(t)
}

// A worker that keeps two blocks with a NaN says once that it cannot sum them.
func TestReduce_OwnBlocks(t *testing.T) {
	l := newListener(t)
	l.turn(1, 0)
	l.values[7] = float32(math.NaN())
	for id := uint64(1); id <= 2; id++ {
		l.leases = append(l.leases, &lease{
			Lease: wire.Lease{ID: id, Step: 1, Work: wire.Gradient, Count: 1, Sections: 1}, block: vector.Block{Count: 1}, done: 1,
			handed: 1, memory: l.memory, chunks: l.sums, tree: vector.NewTree(vector.Block{Count: 1}),
			sum: vector.Partial{Values: slices.Clone(l.values)},
		})
	}
	l.reduce(wire.Sections{Chunks: l.sums, Count: 1}.DigestsOf(0, 1, l.values), "w", 1, 2)
	l.oneFault(t)
}

// However short steps are, pulls are heard of as many chunks as are served in each.
func TestKeep_PullsOfFastSteps(t *testing.T) {
	l := newListener(t)
	pull, err := wire.NewEncoder().Encode(&wire.Pull{Header: wire.Header{Run: "r", From: "w2"}, Lease: 1, Count: 1})
	if err != nil {
		t.Fatal(err)
	}
	kept := &lease{
		Lease: wire.Lease{ID: 1, Step: 1, Work: wire.Gradient, Count: 1, Sections: 1}, block: vector.Block{Count: 1}, done: 1,
		handed: 1, memory: l.memory, chunks: l.sums, crcs: make([]uint32, 64),
	}
	for range 1000 {
		l.leases = []*lease{kept}
		l.announce(kept)
		for range servings * len(kept.crcs) {
			if !l.gate.Admit("UFLEET", pull) {
				t.Fatalf("dropped: %+v", l.gate.Offenders())
			}
		}
	}
}

// A lease of a validation has no values that could be shared out: one that says so is dropped.
func TestLease_ValidationInSections(t *testing.T) {
	l := newListener(t)
	if l.takeLease(&wire.Lease{ID: 1, Step: 1, Work: wire.Validate, Count: 1, Sections: 1}); len(l.leases) > 0 {
		t.Errorf("it is taken: %+v", l.leases[0].Lease)
	}
}
