package scaling

import (
	"strings"
	"testing"
)

// cluster is a made-up one, of which a chooser is told what it measures.
type cluster struct {
	workers        int
	star, sums     float64 // seconds of a step
	wait           float64 // of a star
	t              *testing.T
	chooser        Chooser
	told           []string // what it said, with the choice before
	shared, rested int      // steps with sums, and without
}

func (m *cluster) steps(n int) {
	for range n {
		x := Exchanged{Workers: m.workers, Blocks: m.workers, Sharded: m.chooser.Sharded(m.workers), Seconds: m.star, Wait: m.wait}
		if m.rested++; x.Sharded {
			x.Seconds = m.sums
			m.shared, m.rested = m.shared+1, m.rested-1
		}
		if why, chosen := m.chooser.Step(x); chosen {
			choice := "star: "
			if m.chooser.Sharded(m.workers) {
				choice = "sharded: "
			}
			m.told = append(m.told, choice+why)
		}
	}
}

// check compares what was said with what should be, by its beginning and in order.
func (m *cluster) check(name string, want ...string) {
	m.t.Helper()
	ok := len(m.told) == len(want)
	for i := 0; ok && i < len(want); i++ {
		ok = strings.HasPrefix(m.told[i], want[i])
	}
	if !ok {
		m.t.Errorf("%s: it said %q, want %q", name, m.told, want)
	}
	m.told = nil
}

func TestChooser(t *testing.T) {
	slow := cluster{t: t, workers: 8, star: 0.8, wait: 0.4, sums: 0.5}
	slow.steps(2*decisive - 1)
	slow.check("before it knows")
	slow.steps(1)
	slow.check("a slow link", "sharded: a step takes 0.5 s if workers sum and 0.8 s in a star, with 8 workers")
	slow.steps(1000)
	slow.check("it stays")
	slow.sums = 0.9
	slow.steps(decisive)
	slow.check("it has become slower", "star: a step takes 0.9 s if workers sum and 0.8 s in a star")
	slow.workers = 1
	slow.steps(2)
	slow.check("the others are gone", "star: a single worker has no other to share with")

	minutes := cluster{t: t, workers: 8, star: 240, wait: 120, sums: 150}
	minutes.steps(2 * decisive)
	minutes.check("steps of minutes", "sharded: a step takes 150 s if workers sum and 240 s in a star, with 8 workers")

	for name, c := range map[string]cluster{
		"little is left after the last block": {workers: 8, star: 0.3, wait: 0.01, sums: 0.1},
		"two workers save a quarter of that":  {workers: 2, star: 0.3, wait: 0.05, sums: 0.1},
	} {
		c.t = t
		c.steps(1000)
		if c.check(name, "star: of 0.3 s a step, "); c.shared > 0 {
			t.Errorf("%s: %d steps with sums", name, c.shared)
		}
	}
}

// Where sums do not help after all, as with one broker, they are tried ever less often.
func TestChooser_TrialsInVain(t *testing.T) {
	c := cluster{t: t, workers: 8, star: 0.8, wait: 0.4, sums: 0.79}
	c.steps(10_000)
	c.check("one broker", "star: a step takes 0.79 s if workers sum and 0.8 s in a star")
	if trials := c.shared / decisive; trials < 3 || trials > 8 {
		t.Errorf("%d trials in %d steps", trials, c.shared+c.rested)
	}
}

// A step that began with another exchange, or other workers, is not judged.
func TestChooser_WhatBeganOtherwise(t *testing.T) {
	var c Chooser
	for _, x := range []Exchanged{{Workers: 4, Blocks: 4, Sharded: true, Seconds: 1}, {Workers: 3, Blocks: 4, Seconds: 1}, {Workers: 4, Seconds: 1}} {
		c.Sharded(4)
		for range 10 * decisive {
			if why, chosen := c.Step(x); chosen || c.Sharded(4) {
				t.Errorf("%+v: %q", x, why)
			}
		}
	}
}
