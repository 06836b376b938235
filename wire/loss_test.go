package wire

import (
	"slices"
	"testing"
	"time"
)

// pulling is the pull of a vector of n chunks of 8 bytes, of which the first ones were asked for.
func pulling(n, first int) *Sequence {
	var q Sequence
	q.Begin(NewChunking(2*n, 8))
	q.Ask(1, 8*first+1)
	return &q
}

// come marks chunks as here.
func (q *Sequence) come(chunks ...int) {
	for _, i := range chunks {
		q.Take(i)
	}
}

func TestSequence_Overtaken(t *testing.T) {
	q := pulling(6, 4)
	want := func(what string, chunks ...int) {
		t.Helper()
		if lost := q.Overtaken(); !slices.Equal(lost, chunks) {
			t.Errorf("%s: lost are %v, want %v", what, lost, chunks)
		}
	}
	again := func(chunks ...int) { q.Again(chunks) }
	want("nothing has come")
	q.come(0, 1)
	want("in order")
	q.come(3)
	want("2 was overtaken", 2)
	want("it is said once")
	again(2)
	q.Ask(0, 16)
	q.come(4)
	want("2 was overtaken once more", 2)
	again(2)
	q.come(2)
	want("5 was asked for before", 5)
	again(5)
	q.come(5)
	want("all have come")

	resent := q.Resent()
	if runs := q.Again([]int{0, 2, 3}); !slices.Equal(runs, []Range{{0, 1}, {2, 2}}) || q.Resent() != resent+3 {
		t.Errorf("0, 2 and 3 are asked for again as %v, %d in all", runs, q.Resent()-resent)
	}

	q = pulling(2, 2)
	again(0)
	q.come(1)
	want("0 was asked for again after 1")

	q.Begin(NewChunking(4, 8))
	q.Ask(0, 16)
	want("anew")
	q.come(1)
	want("anew, 0 was overtaken", 0)
}

// The answer to a probe, whichever of the two it is, shows what else was lost.
func TestSequence_Probe(t *testing.T) {
	q := pulling(4, 0)
	if r := q.Probe(); r.Count != 0 {
		t.Errorf("the probe before anything was asked for is %v", r)
	}
	q.Ask(0, 24)
	for n := 1; n <= 2; n++ {
		if r := q.Probe(); r != (Range{2, 1}) || q.Probes() != n {
			t.Errorf("probe %d is %v, want 2", q.Probes(), r)
		}
	}
	q.come(2)
	if lost := q.Overtaken(); !slices.Equal(lost, []int{0, 1}) || q.Probes() != 0 {
		t.Errorf("lost are %v, after %d probes", lost, q.Probes())
	}
	q.come(0, 1)
	if r := q.Probe(); r.Count != 0 {
		t.Errorf("the probe when all has come is %v", r)
	}
}

// Chunks are asked for in order as far as the credit goes, and one is whatever the credit is.
func TestSequence_Ask(t *testing.T) {
	var q Sequence
	q.Begin(NewChunking(5, 8)) // 8, 8 and 4 bytes
	if q.Count() != 0 || q.Awaits(0) || q.Has(0) {
		t.Error("something was asked for, or memory taken, before the first chunk")
	}
	for i, c := range []struct {
		used, credit int
		want         Range
		bytes        int
	}{
		{1, 8, Range{0, 0}, 0},
		{0, 7, Range{0, 1}, 8},
		{8, 15, Range{1, 0}, 0},
		{8, 100, Range{1, 2}, 12},
		{0, 100, Range{3, 0}, 0},
	} {
		if r, bytes := q.Ask(c.used, c.credit); r != c.want || bytes != c.bytes {
			t.Errorf("%d: asked for %v of %d bytes, want %v of %d", i, r, bytes, c.want, c.bytes)
		}
	}
	if q.come(1); q.Flying() != 12 || q.Missing() != 2 || q.Awaits(1) || !q.Awaits(2) || q.Awaits(3) || q.Awaits(-1) ||
		!slices.Equal(q.Lacking(), []Range{{0, 1}, {2, 1}}) {
		t.Errorf("%d bytes are on their way, %v lack", q.Flying(), q.Lacking())
	}
	if q.Begin(NewChunking(5, 8)); q.Flying() != 0 || q.Next() != 0 || q.Has(1) {
		t.Error("what had come is not forgotten")
	}
}

func TestLag(t *testing.T) {
	var g Lag
	if g.Limit() != 0 {
		t.Errorf("the limit without a wait is %v", g.Limit())
	}
	for range 100 {
		g.Add(10 * time.Millisecond)
	}
	if l := g.Limit(); l < 10*time.Millisecond || l > 11*time.Millisecond {
		t.Errorf("the limit of equal waits of 10 ms is %v", l)
	}
	g.Add(50 * time.Millisecond)
	if l := g.Limit(); l < 50*time.Millisecond {
		t.Errorf("after a wait of 50 ms the limit is %v", l)
	}
}
