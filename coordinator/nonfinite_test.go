package coordinator_test

import (
	"errors"
	"math"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/switchyard-ml/switchyard/coordinator"
	"github.com/switchyard-ml/switchyard/store/checkpoint"
	"github.com/switchyard-ml/switchyard/wire"
	"github.com/switchyard-ml/switchyard/worker"
)

// A worker whose gradients hold a NaN costs time, not bits.
func TestRun_OneWorkerSendsNaN(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		bus, cfg, joined := wire.NewMemory(nil), config(t), make(chan string, 10)
		c := newCoordinator(t, cfg, bus, joins{&events{}, joined})
		bad := func() *toy {
			return &toy{size: toySize, spoil: func(step uint64, shard int, grad []float32) error {
				switch {
				case step == 6:
					grad[shard] = float32(math.Inf(-1))
				case step == 12:
					return errors.New("out of luck")
				}
				return nil
			}}
		}
		done := make(chan error, 1)
		go func() { done <- c.Run(t.Context()) }()
		slow := func() *toy { return &toy{size: toySize, delay: 5 * time.Millisecond} }
		defer startWorker(t, t.Context(), bus, worker.Config{ID: "good"}, slow)()
		<-joined // alone, the bad one would fail twice
		defer startWorker(t, t.Context(), bus, worker.Config{ID: "bad"}, bad)()
		if err := <-done; err != nil {
			t.Fatal(err)
		}
		theta, _ := c.Parameters()
		if sha := checkpoint.Hash(theta); sha != golden {
			t.Errorf("SHA-256 %s, want %s", sha, golden)
		}
	})
}

// A NaN that is reproduced is the model's: the run stops, says where and what to do, and keeps a checkpoint.
func TestRun_NaNReproduced(t *testing.T) {
	for _, workers := range []int{1, 2} {
		bus, cfg := wire.NewMemory(nil), config(t)
		c := newCoordinator(t, cfg, bus, nil)
		var waits []func()
		for range workers {
			waits = append(waits, startWorker(t, t.Context(), bus, worker.Config{}, func() *toy {
				return &toy{size: toySize, spoil: func(step uint64, shard int, grad []float32) error {
					if step == 13 && shard == 5 {
						grad[3] = float32(math.NaN())
					}
					return nil
				}}
			}))
		}
		err := c.Run(t.Context())
		if !errors.Is(err, coordinator.ErrDiverged) {
			t.Fatalf("%d workers: got %v, want ErrDiverged", workers, err)
		}
		for _, part := range []string{"step 13", "gradient of shards", "NaN", "start again", "optim.rate"} {
			if !strings.Contains(err.Error(), part) {
				t.Errorf("%q does not name %q", err, part)
			}
		}
		for _, wait := range waits {
			wait()
		}
		if cp, _, err := checkpoint.Restore(cfg.Dir); err != nil || cp.Step != 13 {
			t.Errorf("no checkpoint of step 13: %v", err)
		}
	}
}

// Finite gradients and rates can still be too large: the run ends with ErrDiverged at that step, and the checkpoint
// that is left holds finite parameters.
func TestRun_UpdateOverflows(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*coordinator.Config)
		spoil  float32
		reason string
		saved  uint64
	}{
		"gradient": {func(cfg *coordinator.Config) { cfg.Optimizer.Clip = 0 }, 1e25, "second moment", 13},
		"rate":     {func(cfg *coordinator.Config) { cfg.Optimizer.Decay, cfg.Optimizer.DecayEvery = 1e40, 13 }, 0, "not finite", 10},
	} {
		t.Run(name, func(t *testing.T) {
			bus, cfg := wire.NewMemory(nil), config(t)
			c.change(&cfg)
			run := newCoordinator(t, cfg, bus, nil)
			defer startWorker(t, t.Context(), bus, worker.Config{}, func() *toy {
				return &toy{size: toySize, spoil: func(step uint64, _ int, grad []float32) error {
					if step == 13 {
						grad[3] += c.spoil
					}
					return nil
				}}
			})()
			err := run.Run(t.Context())
			if !errors.Is(err, coordinator.ErrDiverged) || !strings.Contains(err.Error(), "step 14") || !strings.Contains(err.Error(), c.reason) {
				t.Errorf("got %v", err)
			}
			if cp, _, err := checkpoint.Restore(cfg.Dir); err != nil || cp.Step != c.saved {
				t.Errorf("the checkpoint is not of step %d: %v", c.saved, err)
			}
		})
	}
}
