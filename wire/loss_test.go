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

// Chunks that others have overtaken are asked for again, once for each time that they were asked for.
func TestSequence_Overtaken(t *testing.T) {
	q := pulling(6, 4)
	want := func(what string, again ...Range) {
		t.Helper()
		if got, probe := q.Again(false, 6); !slices.Equal(got, again) || probe {
			t.Errorf("%s: asks again for %v, want %v", what, got, again)
		}
	}
	want("nothing has come")
	q.come(0, 1)
	want("in order")
	q.come(3)
	want("2 was overtaken", Range{2, 1})
	want("it is asked for once")
	q.Ask(0, 16)
	q.come(4)
	want("2 was overtaken once more", Range{2, 1})
	q.come(2)
	want("5 was asked for before", Range{5, 1})
	q.come(5)
	want("all have come")
	if q.Resends() != 2*6-3 {
		t.Errorf("%d may be asked for again", q.Resends())
	}

	q = pulling(6, 6)
	q.come(1, 5)
	want("several", Range{0, 1}, Range{2, 3})

	q = pulling(6, 6)
	q.come(5)
	if got, _ := q.Again(false, 4); got != nil || q.Resends() != 12 {
		t.Errorf("more than may be are asked for again: %v", got)
	}

	q = pulling(2, 2)
	q.Again(true, 0) // 1
	q.come(1)
	want("the probe came, 0 was lost", Range{0, 1})

	q.Begin(NewChunking(4, 8))
	q.Ask(0, 16)
	want("anew")
	q.come(1)
	want("anew, 0 was overtaken", Range{0, 1})
}

// The answer to a probe, whichever of the two it is, shows what else was lost.
func TestSequence_Probe(t *testing.T) {
	q := pulling(4, 0)
	if r, probe := q.Again(true, 4); r != nil || probe {
		t.Errorf("the probe before anything was asked for is %v", r)
	}
	q.Ask(0, 24)
	for n := 1; n <= 2; n++ {
		if r, probe := q.Again(true, 4); !slices.Equal(r, []Range{{2, 1}}) || !probe || q.Probes() != n {
			t.Errorf("probe %d is %v, want 2", q.Probes(), r)
		}
	}
	q.come(2)
	if r, probe := q.Again(true, 4); !slices.Equal(r, []Range{{0, 2}}) || probe || q.Probes() != 0 {
		t.Errorf("lost are %v, after %d probes", r, q.Probes())
	}
	q.come(0, 1)
	if r, probe := q.Again(true, 4); r != nil || probe {
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
		q.Has(2) {
		t.Errorf("%d bytes are on their way of %d chunks", q.Flying(), q.Missing())
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
