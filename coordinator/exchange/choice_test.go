package exchange

import (
	"slices"
	"strings"
	"testing"

	"github.com/switchyard-ml/switchyard/internal/scaling"
	"github.com/switchyard-ml/switchyard/wire"
)

// A gradient is cut into a power of two of sections, at least two for each worker, and into no more than it has chunks.
func TestChoice_CutsForItsWorkers(t *testing.T) {
	for _, c := range []struct{ workers, chunks, want int }{{0, 64, 0}, {1, 64, 1}, {2, 64, 4}, {3, 64, 8}, {5, 64, 16}, {5, 9, 8}, {5, 1, 1}} {
		x := Choice{Mode: Sharded}
		if got := x.Open(7, c.workers, wire.NewChunking(16*c.chunks, 64), false).Count; got != c.want {
			t.Errorf("%d workers, %d chunks: %d sections, want %d", c.workers, c.chunks, got, c.want)
		}
	}
}

// A step whose blocks are all to be confirmed is a star, and so is every step of a star.
func TestChoice_Star(t *testing.T) {
	chunks := wire.NewChunking(1024, 64)
	if x := (Choice{Mode: Sharded}); x.Open(7, 3, chunks, true).Count != 0 {
		t.Error("what is to be confirmed is summed by workers")
	}
	if x := (Choice{Mode: Star}); x.Open(7, 3, chunks, false).Count != 0 || x.Describe() != "star" {
		t.Error("a star is not one")
	}
	if x := (Choice{Mode: Auto, Here: true}); x.Learns() || x.Open(7, 3, chunks, false).Count != 0 {
		t.Error("workers sum what the coordinator computes itself")
	}
}

// The reason is that of the exchange beside it: it ends when workers come or go, and while another one is tried.
func TestChoice_DescribesWhatIsChosen(t *testing.T) {
	x, chunks := Choice{Mode: Auto}, wire.NewChunking(1024, 64)
	var told []string
	steps := func(n, workers int, sums float64) {
		for range n {
			e := scaling.Exchanged{Workers: workers, Blocks: workers, Seconds: .8, Wait: .4}
			if e.Sharded = x.Open(1, workers, chunks, false).Count > 0; e.Sharded {
				e.Seconds = sums
			}
			if now := x.Describe(); len(told) == 0 || told[len(told)-1] != now {
				told = append(told, now)
			}
			x.Learn(e)
		}
	}
	steps(20, 8, .5)
	steps(20, 4, .9)
	steps(200, 4, .9)
	want := []string{
		"star", "sharded", "sharded: a step takes 0.5 s if workers sum and 0.8 s in a star, with 8 workers",
		"star", "sharded", "star: a step takes 0.9 s if workers sum and 0.8 s in a star, with 4 workers",
		"sharded", "star: a step takes 0.9 s if workers sum and 0.8 s in a star, with 4 workers",
	}
	if !slices.Equal(told, want) {
		t.Errorf("it said\n%s\nwant\n%s", strings.Join(told, "\n"), strings.Join(want, "\n"))
	}
}

// After a doubt the steps are stars, for twice as many each time, until many sums were not doubted.
func TestChoice_RestsLonger(t *testing.T) {
	x, chunks := Choice{Mode: Sharded}, wire.NewChunking(1024, 64)
	step := uint64(10)
	rests := func() int {
		x.Doubt("first")
		if x.Doubt("second"); x.Doubted() != "first" {
			t.Errorf("doubted: %q", x.Doubted())
		}
		x.Rest(step)
		from := step
		for x.Open(step, 3, chunks, false).Count == 0 {
			step++
		}
		return int(step - from)
	}
	for i := range 2 * maxDoubts {
		if got, want := rests(), firstRest<<min(i, maxDoubts); got != want || x.Doubted() != "" {
			t.Errorf("doubt %d: a rest of %d steps, want %d; doubted %q", i, got, want, x.Doubted())
		}
	}
	for range calmAfter {
		x.Succeed()
	}
	if got := rests(); got != firstRest {
		t.Errorf("after a calm: a rest of %d steps, want %d", got, firstRest)
	}
}
