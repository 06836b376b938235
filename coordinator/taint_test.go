package coordinator_test

import (
	"context"
	"errors"
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/switchyard-ml/switchyard/coordinator"
	"github.com/switchyard-ml/switchyard/store/checkpoint"
	"github.com/switchyard-ml/switchyard/wire"
	"github.com/switchyard-ml/switchyard/worker"
)

// A worker that is found out by a later coordinator: what it contributed under the one before is undone, too.
func TestRun_LiarOutlivesCoordinator(t *testing.T) {
	for parameters, golden := range map[wire.Coding]string{wire.Float32: golden, wire.Int16: goldenDelta16, wire.Int8: goldenDelta8} {
		liarOutlivesCoordinator(t, parameters, golden)
	}
}

func liarOutlivesCoordinator(t *testing.T, parameters wire.Coding, golden string) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		bus, cfg := wire.NewMemory(nil), config(t)
		cfg.Parameters = parameters
		cfg.Log, cfg.Referee = filepath.Join(t.TempDir(), "log.jsonl"), trusted(toySize)
		lies, back := false, -1
		program := &toy{size: toySize, delay: 10 * time.Millisecond, spoil: func(_ uint64, _ int, grad []float32) error {
			if lies {
				grad[0]++
			}
			return nil
		}}
		ctx, interrupt := context.WithCancel(t.Context())
		obs := &events{onStep: func(r coordinator.StepReport) {
			if r.Step == 12 {
				interrupt()
			}
		}}
		c := newCoordinator(t, cfg, bus, obs)
		liar := func() (wait func()) {
			w, err := worker.New(worker.Config{Run: "toy", ID: "liar", Token: 42, Build: func([]byte, []byte, int) (worker.Program, error) { return program, nil }},
				bus, hclog.NewNullLogger())
			if err != nil {
				t.Fatal(err)
			}
			done := make(chan error, 1)
			go func() { done <- w.Run(t.Context()) }()
			return func() {
				if err := <-done; err != nil && !errors.Is(err, worker.ErrRefused) {
					t.Error(err)
				}
			}
		}
		gone := liar()
		if err := c.Run(ctx); !errors.Is(err, coordinator.ErrInterrupted) {
			t.Fatal(err)
		}
		gone()

		lies, cfg.Audit = true, 1
		cp, _, err := checkpoint.Restore(cfg.Dir)
		if err != nil || cp.Step == 0 {
			t.Fatal(cp, err)
		}
		c = newCoordinator(t, cfg, bus, rolledBack{&events{}, &back})
		if err := c.Resume(cp); err != nil {
			t.Fatal(err)
		}
		defer liar()()
		defer startWorker(t, t.Context(), bus, worker.Config{ID: "honest"}, func() *toy { return &toy{size: toySize, delay: 10 * time.Millisecond} })()
		if err := c.Run(t.Context()); err != nil {
			t.Fatal(err)
		}
		if back != 0 {
			t.Errorf("the run went back to step %d, want 0", back)
		}
		theta, _ := c.Parameters()
		if sha := checkpoint.Hash(theta); sha != golden {
			t.Errorf("SHA-256 %s, want %s", sha, golden)
		}
	})
}

// rolledBack notes the step that a run went back to.
type rolledBack struct {
	*events
	step *int
}

func (r rolledBack) Rollback(report coordinator.RollbackReport) {
	*r.step = int(report.Checkpoint.Step)
}
