package coordinator_test

import (
	"context"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/switchyard-ml/switchyard/coordinator"
	"github.com/switchyard-ml/switchyard/store/checkpoint"
	"github.com/switchyard-ml/switchyard/wire"
	"github.com/switchyard-ml/switchyard/worker"
)

// One of four workers lies about the sums that it is to form, or about what it keeps for others, each time that it can and
// in one way. No bit changes, no honest worker is cut off, and the run ends. docs/results/attacks.md has the figures.
func TestRun_HostileReducer(t *testing.T) {
	hostileSums(t, true, -1, "nothing wrong", false)
	for way, name := range []string{"a wrong sum", "other sections", "a stale term", "a sum that is announced and withheld", "an accusation of others", "nothing"} {
		hostileSums(t, true, way, name, way == 0)
	}
	for way, name := range []string{"what it keeps is withheld", "what it keeps is changed", "what it keeps is sent six times"} {
		hostileSums(t, false, way, name, false)
	}
}

func hostileSums(t *testing.T, reduces bool, way int, name string, found bool) {
	synctest.Test(t, func(t *testing.T) {
		cfg, bus, begun, struck := simulatedConfig(t), wire.NewMemory(nil), time.Now(), 0
		cfg.Exchange, cfg.Audit, cfg.Referee = coordinator.Sharded, 1, trusted(simulatedSize)
		cfg.Steps = 12
		c := simulatedCoordinator(t, cfg, bus, nil)
		thief := newThief(bus, reduces, 1.5, func(int) (int, bool) {
			struck++
			return way, way >= 0
		})
		program := func() *toy { return &toy{size: simulatedSize, delay: time.Millisecond} }
		build := func([]byte, []byte, int) (worker.Program, error) { return program(), nil }
		w, err := worker.New(worker.Config{Run: "toy", ID: "w1", Numerics: cfg.Numerics, Build: build}, thief, hclog.NewNullLogger())
		if err != nil {
			t.Fatal(err)
		}
		ctx, end := context.WithCancel(t.Context())
		done := make(chan error, 1)
		go func() { done <- w.Run(ctx) }()
		defer func() { end(); <-done }() // it may have been refused
		for _, id := range []string{"w0", "w2", "w3"} {
			defer startWorker(t, t.Context(), bus, worker.Config{ID: id, Numerics: cfg.Numerics}, program)()
		}
		if err := c.Run(t.Context()); err != nil {
			t.Fatal(err)
		}
		theta, _ := c.Parameters()
		stats, want := c.Stats(), simulated()[form{}]
		if sha := checkpoint.Hash(theta); sha != want {
			t.Errorf("%s: SHA-256 %s, want %s", name, sha, want)
		}
		if cut := stats.Quarantined; len(cut) > 0 && !slices.Equal(cut, []string{"w1"}) || found && struck > 0 && len(cut) == 0 && stats.Doubted == 0 {
			t.Errorf("%s: cut off were %v", name, cut)
		}
		t.Logf("| %s | %d | %d | %d | %v | %.1f s |", name, struck, stats.Summed, stats.Doubted, stats.Quarantined, time.Since(begun).Seconds())
	})
}
