package coordinator_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/switchyard-ml/switchyard/coordinator"
	"github.com/switchyard-ml/switchyard/store/checkpoint"
	"github.com/switchyard-ml/switchyard/wire"
	"github.com/switchyard-ml/switchyard/worker"
)

// narrow is a bus on which chunks that go to the coordinator pass a link, one after the other, and what workers say to
// each other does not. A gradient takes 10 ms.
func narrow() *wire.Memory {
	free := time.Time{}
	return wire.NewMemory(func(subject string, data []byte) []time.Duration {
		if !strings.HasPrefix(subject, "sy.toy.data.") {
			return []time.Duration{time.Millisecond}
		}
		now := time.Now()
		if free.Before(now) {
			free = now
		}
		free = free.Add(time.Duration(len(data)) * 10 * time.Millisecond / (4 * toySize))
		return []time.Duration{free.Sub(now)}
	})
}

// A run that chooses its exchange has the bits of those that do not, whether its link is narrow or costs nothing. One
// worker alone is a star; where the link is narrow, several sum.
func TestRun_AutoSameBits(t *testing.T) {
	for _, gradients := range []wire.Coding{wire.Float32, wire.Int8} {
		want, trace := exchanged(t, gradients, coordinator.Star, 2)
		for workers := 1; workers <= 8; workers++ {
			if got, gotTrace := exchanged(t, gradients, coordinator.Auto, workers); got != want || gotTrace != trace {
				t.Errorf("coding %d, %d workers, no link: SHA-256 %s, want %s", gradients, workers, got, want)
			}
			got, summed := chosen(t, gradients, workers)
			if got != want {
				t.Errorf("coding %d, %d workers, a narrow link: SHA-256 %s, want %s", gradients, workers, got, want)
			}
			if workers == 1 && summed > 0 || workers > 2 && gradients == wire.Float32 && summed < 12 {
				t.Errorf("coding %d, %d workers: %d of 30 steps are summed by them", gradients, workers, summed)
			}
		}
	}
}

// chosen is a run over a narrow link: its parameters, and how many of its steps workers summed.
func chosen(t *testing.T, gradients wire.Coding, workers int) (sha string, summed int) {
	synctest.Test(t, func(t *testing.T) {
		cfg, bus := config(t), narrow()
		cfg.Gradients, cfg.Exchange = gradients, coordinator.Auto
		c := newCoordinator(t, cfg, bus, nil)
		for i := range workers {
			defer startWorker(t, t.Context(), bus, worker.Config{ID: fmt.Sprint("w", i)}, nil)()
		}
		if err := c.Run(t.Context()); err != nil {
			t.Fatal(err)
		}
		theta, _ := c.Parameters()
		sha, summed = checkpoint.Hash(theta), c.Stats().Summed
		if got := c.Stats().Exchange; workers == 1 && !strings.HasPrefix(got, "star: a single worker") || summed > 12 && !strings.HasPrefix(got, "sharded: a step takes ") {
			t.Errorf("%d workers, %d steps summed: it says %q", workers, summed, got)
		}
	})
	return sha, summed
}

// Workers that come and go make it choose anew, between two steps, and change no bit.
func TestRun_AutoJoinsAndLeaves(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cfg, bus, obs := config(t), narrow(), &events{}
		cfg.Exchange = coordinator.Auto
		c := newCoordinator(t, cfg, bus, obs)
		c.HurryChoice(2)
		var leave []context.CancelFunc
		var waits []func()
		join := func(n int) {
			for range n {
				ctx, cancel := context.WithCancel(t.Context())
				leave = append(leave, cancel)
				waits = append(waits, startWorker(t, ctx, bus, worker.Config{ID: fmt.Sprint("w", len(leave))}, nil))
			}
		}
		summed, before := make(map[uint64]bool), 0
		obs.onStep = func(r coordinator.StepReport) {
			now := c.Stats().Summed
			summed[r.Step], before = now > before, now
			switch r.Step {
			case 3:
				join(7)
			case 14:
				for _, cancel := range leave[1:] {
					cancel()
				}
			case 22:
				join(3)
			}
			time.Sleep(200 * time.Millisecond) // so that the figures are of this step
		}
		join(1)
		if err := c.Run(t.Context()); err != nil {
			t.Fatal(err)
		}
		for _, wait := range waits {
			wait()
		}
		theta, _ := c.Parameters()
		if sha := checkpoint.Hash(theta); sha != golden {
			t.Errorf("SHA-256 %s, want %s", sha, golden)
		}
		some := func(steps ...uint64) bool {
			return slices.ContainsFunc(steps, func(s uint64) bool { return summed[s] })
		}
		if some(1, 2, 3) || !some(9, 10, 11, 12, 13) || some(17, 18, 19, 20, 21) || !some(26, 27, 28, 29, 30) {
			t.Errorf("steps that workers summed: %v", summed)
		}
	})
}
