package coordinator_test

import (
	"context"
	"strconv"
	"testing"
	"testing/synctest"
	"time"

	"github.com/switchyard-ml/switchyard/wire"
	"github.com/switchyard-ml/switchyard/worker"
)

// In a run of short steps, workers without work give a sign of life with each of them. The gate drops what is too much,
// and bans nobody for it: the run ends.
func TestGate_FleetOfShortSteps(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		bus := wire.NewMemory(nil)
		cfg := config(t)
		cfg.Gate = wire.NewGate(nil, "UCOORDINATOR")
		cfg.Steps, cfg.Shards, cfg.FailureDetection = 1000, 8, time.Second
		cfg.ValidateEvery, cfg.ValidationShards, cfg.CheckpointEvery = 0, 0, 0
		c := newCoordinator(t, cfg, bus.With("UCOORDINATOR"), nil)
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		for i := range 32 {
			id := worker.Config{ID: "w" + strconv.Itoa(i), Slots: 1}
			defer startWorker(t, ctx, bus.With("UFLEET"), id, func() *toy { return &toy{size: toySize, delay: 10 * time.Millisecond} })()
		}
		if err := c.Run(ctx); err != nil || len(cfg.Gate.Bans()) > 0 {
			t.Errorf("%v; banned: %+v", err, cfg.Gate.Bans())
		}
		if len(cfg.Gate.Offenders()) == 0 {
			t.Error("nothing was dropped: the test asks nothing of the gate")
		}
	})
}

// A fleet whose first step takes long has delivered nothing yet. It is not banned because of others with its key that
// are cut off meanwhile.
func TestGate_FleetInItsFirstStep(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		bus := wire.NewMemory(nil)
		cfg := config(t)
		cfg.Gate = wire.NewGate(nil, "UCOORDINATOR")
		cfg.Steps, cfg.Shards = 1<<40, 32
		cfg.ValidateEvery, cfg.ValidationShards, cfg.CheckpointEvery = 0, 0, 0
		c := newCoordinator(t, cfg, bus.With("UCOORDINATOR"), nil)
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan struct{})
		go func() {
			defer close(ended)
			_ = c.Run(ctx) // it is interrupted
		}()
		for i := range 16 {
			id := worker.Config{ID: "w" + strconv.Itoa(i), Slots: 1}
			defer startWorker(t, ctx, bus.With("UFLEET"), id, func() *toy { return &toy{size: toySize, delay: 20 * time.Second} })()
		}
		time.Sleep(5 * time.Second)
		thief := newClient(t, bus.With("UFLEET"), "evil")
		for i := range 20 {
			thief.comesToBeCutOff(i)
		}
		time.Sleep(time.Second)
		if n := c.Stats().CutOff; n < 16 || len(cfg.Gate.Bans()) > 0 || members(c, "UFLEET") < 16 {
			t.Errorf("%d were cut off; %d are there; banned: %+v", n, members(c, "UFLEET"), cfg.Gate.Bans())
		}
		cancel()
		<-ended
	})
}
