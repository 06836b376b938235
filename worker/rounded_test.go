package worker

import (
	"errors"
	"math"
	"slices"
	"testing"

	"github.com/switchyard-ml/switchyard/internal/vector"
	"github.com/switchyard-ml/switchyard/model/slds"
	"github.com/switchyard-ml/switchyard/wire"
)

func testRounded(t *testing.T, p Program) (Program, []float32) {
	t.Helper()
	grid, err := vector.NewGrid(vector.Int16, []int{100, p.Size() - 100}, 4)
	if err != nil {
		t.Fatal(err)
	}
	r := Rounded(p, vector.Rounder{Grid: grid, Seed: 7})
	if r.Size() != p.Size()+grid.Blocks() || len(r.TermNames()) != len(p.TermNames()) {
		t.Fatalf("size %d, terms %v", r.Size(), r.TermNames())
	}
	return r, make([]float32, r.Size())
}

// What a rounded program returns is the gradient of the program to within a unit, as whole numbers, and what they need.
func TestRounded_Gradient(t *testing.T) {
	p := testShards(t, slds.Concrete, 1)
	r, state := testRounded(t, p)
	n := p.Size()
	want, terms := make([]float32, n), make([]float32, 5)
	if err := p.Gradient(0, 3, 1, want, terms); err != nil {
		t.Fatal(err)
	}
	copy(state, p.model.Params().Values)
	got, gotTerms := make([]float32, r.Size()), make([]float32, 5)
	for range 2 { // at the second time with the scales that are needed
		if err := r.Load(3, state); err != nil {
			t.Fatal(err)
		}
		if err := r.Gradient(0, 3, 1, got, gotTerms); err != nil {
			t.Fatal(err)
		}
		vector.Int16.Widen(state[n:], got[n:])
	}
	if !slices.Equal(gotTerms, terms) {
		t.Errorf("terms %v, want %v", gotTerms, terms)
	}
	for i, v := range got[:n] {
		block := 0
		if i >= 100 {
			block = 1 + (i-100)/vector.BlockSize
		}
		unit := math.Ldexp(1, int(state[n+block]))
		if v != float32(int16(v)) || math.Abs(float64(v)*unit-float64(want[i])) >= unit {
			t.Fatalf("parameter %d: %g units of %g for %g", i, v, unit, want[i])
		}
	}
}

// What is prepared of a rounded program is prepared of the program, and the integers are the same.
func TestRounded_PreparesAhead(t *testing.T) {
	p := testShards(t, slds.Concrete, 1)
	r, state := testRounded(t, p)
	copy(state, p.model.Params().Values)
	if err := r.Load(3, state); err != nil {
		t.Fatal(err)
	}
	gradient := func() (grad, terms []float32) {
		grad, terms = make([]float32, r.Size()), make([]float32, 5)
		if err := r.Gradient(0, 3, 1, grad, terms); err != nil {
			t.Fatal(err)
		}
		return grad, terms
	}
	want, wantTerms := gradient()
	var f prefetch
	f.expect(r, 3, 1)
	parts := 0
	for f.prepare(0) {
		parts++
	}
	if parts != 2 { // a shard has two sequences
		t.Errorf("%d parts were prepared, want 2", parts)
	}
	if got, gotTerms := gradient(); !slices.Equal(got, want) || !slices.Equal(gotTerms, wantTerms) {
		t.Errorf("terms %v, want %v, or other integers", gotTerms, wantTerms)
	}
}

// A rounded program that has nothing to prepare says so.
func TestRounded_NothingToPrepare(t *testing.T) {
	r, _ := testRounded(t, struct{ Program }{testShards(t, slds.Concrete, 1)})
	if Prepare(r, 0, 3, 1) {
		t.Error("there is more to prepare of a program that prepares nothing")
	}
}

func TestRounded_Refuses(t *testing.T) {
	p := testShards(t, slds.Concrete, 1)
	r, state := testRounded(t, p)
	if err := r.Load(0, state[:p.Size()]); err == nil {
		t.Error("parameters without exponents are loaded")
	}
	state[5] = float32(math.NaN())
	if err := r.Load(0, state); err != nil {
		t.Fatal(err)
	}
	if err := r.Gradient(0, 0, 0, make([]float32, r.Size()), make([]float32, 5)); !errors.Is(err, vector.ErrNotFinite) {
		t.Errorf("got %v, want ErrNotFinite", err)
	}
}

// A coordinator that wants integers of other parameters than it has is not followed.
func TestRounderOf(t *testing.T) {
	for _, c := range []struct {
		tensors []int
		shards  int
		ok      bool
	}{
		{[]int{300, 700}, 8, true},
		{[]int{300, 701}, 8, false},
		{[]int{300}, 8, false},
		{nil, 8, false},
		{[]int{wire.MaxCount, wire.MaxCount, 1000}, 8, false},
		{[]int{1000}, 512, false},
	} {
		r, err := rounderOf(&wire.Welcome{Size: 1000, Gradients: wire.Int16, Tensors: c.tensors, Shards: c.shards, Seed: 3})
		if (err == nil) != c.ok {
			t.Errorf("tensors %v, %d shards: %v", c.tensors, c.shards, err)
		}
		if c.ok && (r.Grid.Parameters() != 1000 || r.Seed != 3) {
			t.Errorf("tensors %v: %d parameters, seed %d", c.tensors, r.Grid.Parameters(), r.Seed)
		}
	}
	if r, err := rounderOf(&wire.Welcome{Size: 1000}); err != nil || r.Grid != nil {
		t.Errorf("float32: %v, %v", r, err)
	}
}

// A worker that goes from a run to another has the vectors of the other.
func TestShape(t *testing.T) {
	w := newWorker(t, wire.NewMemory(nil), func([]byte, []byte, int) (Program, error) { return still{}, nil })
	w.chunk = 64
	rounder := func(seed uint64, size int) vector.Rounder {
		grid, err := vector.NewGrid(vector.Int16, []int{size}, 4)
		if err != nil {
			t.Fatal(err)
		}
		return vector.Rounder{Grid: grid, Seed: seed}
	}
	w.install(build{program: still{}})
	for i, c := range []struct {
		rounder vector.Rounder
		length  int
		coding  wire.Coding
		anew    bool
	}{
		{vector.Rounder{}, 4, wire.Float32, false},
		{rounder(1, 4), 5, wire.Int16, true},
		{rounder(1, 4), 5, wire.Int16, false},
		{rounder(2, 4), 5, wire.Int16, true},
		{vector.Rounder{}, 4, wire.Float32, true},
	} {
		memory := w.memory
		w.rounder = c.rounder
		w.shape()
		if w.chunks.Size != c.length || w.sums.Size != c.length || w.sums.Coding != c.coding || len(w.theta.values) != c.length || w.memory.size != c.length {
			t.Errorf("%d: chunks %+v, sums %+v, %d values", i, w.chunks, w.sums, len(w.theta.values))
		}
		if (w.memory != memory) != c.anew {
			t.Errorf("%d: made anew: %v", i, !c.anew)
		}
	}
}
