package wire

import (
	"slices"
	"testing"
	"time"
)

// come marks a part as here.
func come(q *Sequence, got []bool, parts ...int) {
	for _, i := range parts {
		got[i] = true
		q.Came(i)
	}
}

func TestSequence_Overtaken(t *testing.T) {
	var q Sequence
	q.Begin(6)
	got := make([]bool, 6)
	q.Asked(0, 4)
	want := func(what string, parts ...int) {
		t.Helper()
		if lost := q.Overtaken(got); !slices.Equal(lost, parts) {
			t.Errorf("%s: lost are %v, want %v", what, lost, parts)
		}
	}
	want("nothing has come")
	come(&q, got, 0, 1)
	want("in order")
	come(&q, got, 3)
	want("2 was overtaken", 2)
	want("it is said once")
	q.Asked(2, 3)
	q.Asked(4, 6)
	come(&q, got, 4)
	want("2 was overtaken once more", 2)
	q.Asked(2, 3)
	come(&q, got, 2)
	want("5 was asked for before", 5)
	q.Asked(5, 6)
	come(&q, got, 5)
	want("all have come")

	var runs [][2]int
	q.Again([]int{0, 2, 3}, func(first, end int) { runs = append(runs, [2]int{first, end}) })
	if !slices.Equal(runs, [][2]int{{0, 1}, {2, 4}}) || q.Resent() != 3 {
		t.Errorf("0, 2 and 3 are asked for again as %v, %d in all", runs, q.Resent())
	}

	q.Begin(2)
	got = make([]bool, 2)
	q.Asked(0, 2)
	q.Asked(0, 1)
	come(&q, got, 1)
	want("0 was asked for again after 1")

	q.Begin(2)
	got = make([]bool, 2)
	q.Asked(0, 2)
	want("anew")
	come(&q, got, 1)
	want("anew, 0 was overtaken", 0)
}

// The answer to a probe, whichever of the two it is, shows what else was lost.
func TestSequence_Probe(t *testing.T) {
	var q Sequence
	q.Begin(4)
	got := make([]bool, 4)
	if i := q.Probe(got); i != -1 {
		t.Errorf("the probe before anything was asked for is %d", i)
	}
	q.Asked(0, 3)
	for n := 1; n <= 2; n++ {
		if i := q.Probe(got); i != 2 || q.Probes() != n {
			t.Errorf("probe %d is %d, want 2", q.Probes(), i)
		}
	}
	come(&q, got, 2)
	if lost := q.Overtaken(got); !slices.Equal(lost, []int{0, 1}) || q.Probes() != 0 {
		t.Errorf("lost are %v, after %d probes", lost, q.Probes())
	}
	come(&q, got, 0, 1)
	if i := q.Probe(got); i != -1 {
		t.Errorf("the probe when all has come is %d", i)
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
