package coordinator_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/switchyard-ml/switchyard/coordinator"
	"github.com/switchyard-ml/switchyard/store/checkpoint"
	"github.com/switchyard-ml/switchyard/wire"
	"github.com/switchyard-ml/switchyard/worker"
)

// Without a worker the run waits and says so once a second; the first worker lets it go on.
func TestRun_WaitsForWorkers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		bus, obs := wire.NewMemory(nil), &events{}
		c := newCoordinator(t, config(t), bus, obs)
		done := make(chan error, 1)
		go func() { done <- c.Run(t.Context()) }()
		time.Sleep(10 * time.Second)
		synctest.Wait()
		if n := len(obs.members); n < 9 || n > 11 {
			t.Errorf("%d reports in ten seconds", n)
		}
		if last := obs.members[len(obs.members)-1]; !strings.HasPrefix(last.Waiting, "no worker has joined") || last.Seconds < 8 {
			t.Errorf("got %+v", last)
		}
		wait := startWorker(t, t.Context(), bus, worker.Config{}, nil)
		if err := <-done; err != nil {
			t.Error(err)
		}
		wait()
	})
}

// A worker that is told to go hands its lease back at once; what one computes that is killed is given to the other when
// it is overdue, long before the failure detection. In both cases the other one computes the block again.
func TestRun_WorkerLeavesOrIsKilled(t *testing.T) {
	for name, kill := range map[string]bool{"leaves": false, "is killed": true} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				bus, cfg := wire.NewMemory(nil), config(t)
				slow := func() *toy { return &toy{size: toySize, delay: 100 * time.Millisecond} }
				own, stop := context.WithCancel(t.Context())
				victim := &severable{Bus: bus}
				obs := &events{onStep: func(r coordinator.StepReport) {
					if r.Step == 10 {
						time.AfterFunc(50*time.Millisecond, func() { // in the middle of a shard
							victim.cut.Store(kill)
							stop()
						})
					}
				}}
				c := newCoordinator(t, cfg, bus, obs)
				a := startWorker(t, own, victim, worker.Config{ID: "a"}, slow)
				b := startWorker(t, t.Context(), bus, worker.Config{ID: "b"}, slow)
				if err := c.Run(t.Context()); err != nil {
					t.Fatal(err)
				}
				a()
				b()
				theta, _ := c.Parameters()
				if sha := checkpoint.Hash(theta); sha != golden {
					t.Errorf("SHA-256 %s, want %s", sha, golden)
				}
				cost := obs.steps[10].Seconds - obs.steps[9].Seconds
				if limit := cfg.FailureDetection.Seconds(); kill && cost > limit/2 || !kill && cost > 1 {
					t.Errorf("the step took %v s longer", cost)
				}
			})
		})
	}
}

// A folder of checkpoints that cannot be one ends the run before anything is sent.
func TestRun_NoFolder(t *testing.T) {
	bus, cfg := wire.NewMemory(nil), config(t)
	blocked := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(blocked, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	cfg.Dir = filepath.Join(blocked, "checkpoints")
	err := newCoordinator(t, cfg, bus, nil).Run(t.Context())
	if err == nil || !strings.Contains(err.Error(), blocked) || errors.Is(err, coordinator.ErrInterrupted) {
		t.Errorf("got %v", err)
	}
}

// Interrupted before the first worker came, a run has a checkpoint to be resumed from.
func TestRun_InterruptedAtOnce(t *testing.T) {
	cfg := config(t)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := newCoordinator(t, cfg, wire.NewMemory(nil), nil).Run(ctx); !errors.Is(err, coordinator.ErrInterrupted) {
		t.Fatalf("got %v", err)
	}
	if cp, _, err := checkpoint.Restore(cfg.Dir); err != nil || cp.Step != 0 {
		t.Errorf("got %v", err)
	}
}

func TestResume_Mismatch(t *testing.T) {
	fit := func() *coordinator.Checkpoint {
		return &coordinator.Checkpoint{Run: "toy", Seed: 1, Step: 3, Theta: initial(toySize), Moments: []checkpoint.Moment{
			{Name: "adam.m", Values: initial(toySize)}, {Name: "adam.v", Values: initial(toySize)},
		}}
	}
	for name, change := range map[string]func(*coordinator.Checkpoint){
		"run":  func(cp *coordinator.Checkpoint) { cp.Run = "other" },
		"seed": func(cp *coordinator.Checkpoint) { cp.Seed = 2 },
		"size": func(cp *coordinator.Checkpoint) { cp.Theta = cp.Theta[1:] },
		"step": func(cp *coordinator.Checkpoint) { cp.Step = 31 },
		"rule": func(cp *coordinator.Checkpoint) { cp.Moments = cp.Moments[1:] },
	} {
		c := newCoordinator(t, config(t), wire.NewMemory(nil), nil)
		cp := fit()
		change(cp)
		if err := c.Resume(cp); !errors.Is(err, coordinator.ErrMismatch) {
			t.Errorf("other %s: got %v", name, err)
		}
		if err := c.Resume(fit()); err != nil {
			t.Errorf("got %v", err)
		}
	}
}

// A run that is complete ends at once when it is resumed, without a worker.
func TestRun_AlreadyComplete(t *testing.T) {
	cfg := config(t)
	cfg.ValidationShards = 0
	if sha, _ := train(t, cfg, wire.NewMemory(nil), 1); sha != golden {
		t.Fatalf("SHA-256 %s", sha)
	}
	cp, _, err := checkpoint.Restore(cfg.Dir)
	if err != nil {
		t.Fatal(err)
	}
	c := newCoordinator(t, cfg, wire.NewMemory(nil), nil)
	if err := c.Resume(cp); err != nil {
		t.Fatal(err)
	}
	if err := c.Run(t.Context()); err != nil {
		t.Error(err)
	}
}
