package coordinator_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/switchyard-ml/switchyard/coordinator"
	"github.com/switchyard-ml/switchyard/store/checkpoint"
	"github.com/switchyard-ml/switchyard/wire"
	"github.com/switchyard-ml/switchyard/worker"
)

// A worker whose first Ready is lost says it again, though it hears the parameters that go to all.
func TestRun_ReadyLost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		lost := false
		bus := wire.NewMemory(func(_ string, data []byte) []time.Duration {
			p, err := wire.Peek(data)
			if err == nil && p.Kind == wire.KindReady && p.From == "second" && !lost {
				lost = true
				return nil
			}
			return []time.Duration{time.Millisecond}
		})
		obs := &events{}
		c := newCoordinator(t, config(t), bus, obs)
		slow := func() *toy { return &toy{size: toySize, delay: 100 * time.Millisecond} }
		defer startWorker(t, t.Context(), bus, worker.Config{ID: "first"}, slow)()
		defer startWorker(t, t.Context(), bus, worker.Config{ID: "second"}, slow)()
		if err := c.Run(t.Context()); err != nil {
			t.Fatal(err)
		}
		if last := obs.steps[len(obs.steps)-1]; !lost || last.Workers != 2 {
			t.Errorf("%d workers at the end, Ready lost: %v", last.Workers, lost)
		}
	})
}

// A worker that was led to a step that has not come finds its way back.
func TestRun_StepAhead(t *testing.T) {
	for name, forged := range map[string]func() []wire.Message{
		"chunk": func() []wire.Message { return forgedTheta(1) },
		"theta": func() []wire.Message { return forgedTheta(4) },
		"lease": func() []wire.Message {
			return []wire.Message{&wire.Lease{ID: 1000, Step: 1000, Attempt: 1, Work: wire.Gradient, Count: 1}}
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				bus := wire.NewMemory(nil)
				s, _ := wire.SubjectsOf("toy")
				obs := &events{onStep: func(r coordinator.StepReport) {
					if r.Step != 10 {
						return
					}
					for _, m := range forged() {
						*m.Head() = wire.Header{Run: "toy", Term: 1}
						data, err := wire.NewEncoder().Encode(m)
						if err != nil {
							t.Error(err)
						}
						bus.Publish(s.Worker("w"), data)
					}
				}}
				ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
				defer cancel()
				c := newCoordinator(t, config(t), bus, obs)
				slow := func() *toy { return &toy{size: toySize, delay: 10 * time.Millisecond} }
				defer startWorker(t, ctx, bus, worker.Config{ID: "w"}, slow)()
				if err := c.Run(ctx); err != nil {
					t.Fatal(err)
				}
				theta, _ := c.Parameters()
				if sha := checkpoint.Hash(theta); sha != golden {
					t.Errorf("SHA-256 %s, want %s", sha, golden)
				}
			})
		})
	}
}

// forgedTheta is the first chunks of parameters of a step that does not come.
func forgedTheta(chunks int) (messages []wire.Message) {
	k := wire.NewChunking(toySize, 1024)
	for i := range chunks {
		data := make([]byte, k.Bytes(i))
		messages = append(messages, &wire.Theta{Step: 1000, Index: i, Count: k.Count(), CRC: wire.Checksum(data), Data: data})
	}
	return messages
}

// Workers whose heartbeats wait while the observer holds the coordinator up are not taken for lost.
func TestRun_SlowObserver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		bus, cfg := wire.NewMemory(nil), config(t)
		obs := &events{onStep: func(coordinator.StepReport) { time.Sleep(cfg.FailureDetection + time.Second) }}
		c := newCoordinator(t, cfg, bus, obs)
		slow := func() *toy { return &toy{size: toySize, delay: 10 * time.Millisecond} }
		for _, id := range []string{"a", "b", "c"} {
			defer startWorker(t, t.Context(), bus, worker.Config{ID: id}, slow)()
		}
		if err := c.Run(t.Context()); err != nil {
			t.Fatal(err)
		}
		for _, r := range obs.members {
			if r.Left != "" {
				t.Errorf("worker %s left: %s", r.Left, r.Reason)
			}
		}
	})
}
