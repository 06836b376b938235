package coordinator_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/switchyard-ml/switchyard/coordinator"
	"github.com/switchyard-ml/switchyard/internal/vector"
	"github.com/switchyard-ml/switchyard/store/checkpoint"
	"github.com/switchyard-ml/switchyard/wire"
	"github.com/switchyard-ml/switchyard/worker"
)

// local is the toy run with local steps: six rounds of five updates of four replicas with two of the eight shards each.
func local(t *testing.T) coordinator.Config {
	cfg := config(t)
	cfg.Shards, cfg.Outer = 4, coordinator.Outer{Rate: 0.7, Momentum: 0.9, Every: 5}
	return cfg
}

// replicas is the program of that run.
func replicas(t *testing.T, slots int, delay time.Duration) *worker.Replicas {
	t.Helper()
	var programs []worker.Program
	for range slots {
		programs = append(programs, &toy{size: toySize, delay: delay})
	}
	p, err := worker.NewReplicas(programs, worker.LocalSteps{Replicas: 4, Steps: 5, Shards: 8, Optimizer: config(t).Optimizer})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// localSHA is what the run's parameters are, computed by plain loops over replicas, updates and shards.
func localSHA(t *testing.T) string {
	t.Helper()
	cfg, theta, p := local(t), initial(toySize), &toy{size: toySize}
	outer := vector.NewNesterov(cfg.Outer, cfg.Optimizer, toySize)
	for step := uint64(0); step < cfg.Steps; step += 5 {
		round := vector.NewTree(vector.Block{Count: 4})
		for k := range 4 {
			own, adam := append([]float32(nil), theta...), vector.NewAdam(cfg.Optimizer, toySize)
			for at := step; at < step+5; at++ {
				p.theta = own
				left, right, terms := make([]float32, toySize), make([]float32, toySize), make([]float32, 2)
				if err := errors.Join(p.Gradient(0, at, 2*k, left, terms), p.Gradient(0, at, 2*k+1, right, terms)); err != nil {
					t.Fatal(err)
				}
				for i, x := range right {
					left[i] += x
				}
				if _, _, err := adam.Update(own, left, 2, at); err != nil {
					t.Fatal(err)
				}
			}
			for i, x := range theta {
				own[i] = x - own[i]
			}
			round.Add(vector.Block{First: k, Count: 1}, vector.Partial{Values: own}, func(vector.Partial) {})
		}
		sum, _ := round.Take()
		if _, _, err := outer.Update(theta, sum.Values, 4, step); err != nil {
			t.Fatal(err)
		}
	}
	return checkpoint.Hash(theta)
}

// hire starts a worker of the run with local steps and returns the function that ends it.
func hire(t *testing.T, ctx context.Context, bus wire.Bus, id string, slots int, delay time.Duration) (dismiss func()) {
	t.Helper()
	w, err := worker.New(worker.Config{Run: "toy", ID: id, Slots: slots, Build: func(_, _ []byte, n int) (worker.Program, error) {
		return replicas(t, n, delay), nil
	}}, bus, hclog.NewNullLogger())
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(ctx)
	done := make(chan error, 1)
	go func() { done <- w.Run(ctx) }()
	return func() {
		t.Helper()
		cancel()
		if err := <-done; err != nil {
			t.Errorf("worker %s: %v", id, err)
		}
	}
}

func (e *events) steady(t *testing.T, c *coordinator.Coordinator, want string) {
	t.Helper()
	theta, step := c.Parameters()
	if sha := checkpoint.Hash(theta); sha != want || step != 30 {
		t.Errorf("step %d, SHA-256 %s, want %s", step, sha, want)
	}
}

// A run with local steps has the bits of the plain loops for any number of workers and slots, and counts updates.
func TestLocalSteps_SameBitsForAnyWorkers(t *testing.T) {
	want, trace := localSHA(t), ""
	for _, slots := range [][]int{{1}, {1, 1}, {1, 1, 1}, {1, 1, 1, 1, 1}, {1, 1, 1, 1, 1, 1, 1, 1}, {4}, {3, 1}} {
		bus, obs, cfg := wire.NewMemory(nil), &events{}, local(t)
		cfg.Audit = 0.5
		c := newCoordinator(t, cfg, bus, obs)
		for i, n := range slots {
			defer hire(t, t.Context(), bus, fmt.Sprintf("w%d", i), n, 0)()
		}
		if err := c.Run(t.Context()); err != nil {
			t.Fatal(err)
		}
		obs.steady(t, c, want)
		if got := obs.trace(); trace == "" {
			trace = got
		} else if got != trace {
			t.Errorf("slots %v: the reports differ:\n%s\nwant\n%s", slots, got, trace)
		}
		if n := len(obs.steps); n != 6 || obs.steps[0].Step != 5 || obs.steps[0].Updates != 5 || len(obs.validations) != 3 || obs.steps[2].Rate != obs.steps[0].Rate*config(t).Optimizer.Decay {
			t.Errorf("slots %v: %d reports, %+v, %d validations", slots, n, obs.steps, len(obs.validations))
		}
	}
}

// A worker that leaves in the middle of a replica ends between two local steps, and is replaced; one that is cut off
// is, too.
func TestLocalSteps_WorkerLeavesOrIsKilled(t *testing.T) {
	want := localSHA(t)
	for name, kill := range map[string]bool{"leaves": false, "is killed": true} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				bus, cfg := wire.NewMemory(nil), local(t)
				const shard = time.Second // so a replica takes ten
				victim := &severable{Bus: bus}
				own, stop := context.WithCancel(t.Context())
				var left atomic.Int64
				dismiss := hire(t, own, victim, "a", 1, shard)
				obs := &events{onStep: func(r coordinator.StepReport) {
					if r.Step == 10 {
						time.AfterFunc(3500*time.Millisecond, func() {
							victim.cut.Store(kill)
							began := time.Now()
							stop()
							dismiss()
							left.Store(int64(time.Since(began)))
						})
					}
				}}
				c := newCoordinator(t, cfg, bus, obs)
				defer hire(t, t.Context(), bus, "b", 1, shard)()
				if err := c.Run(t.Context()); err != nil {
					t.Fatal(err)
				}
				obs.steady(t, c, want)
				if d := time.Duration(left.Load()); d == 0 || d > 2*shard {
					t.Errorf("the worker took %v to leave, want at most the local step of %v that was under way", d, 2*shard)
				}
			})
		})
	}
}

// One message of ten is lost, and others come late or twice.
func TestLocalSteps_LostMessages(t *testing.T) {
	want := localSHA(t)
	synctest.Test(t, func(t *testing.T) {
		n := 0
		bus := wire.NewMemory(func(string, []byte) []time.Duration {
			if n++; n%10 == 3 {
				return nil
			}
			return []time.Duration{time.Duration(n%7) * time.Millisecond, time.Duration(n%11) * time.Millisecond}[:1+n%2]
		})
		obs := &events{}
		c := newCoordinator(t, local(t), bus, obs)
		for i := range 3 {
			defer hire(t, t.Context(), bus, fmt.Sprintf("w%d", i), 1, 10*time.Millisecond)()
		}
		if err := c.Run(t.Context()); err != nil {
			t.Fatal(err)
		}
		obs.steady(t, c, want)
	})
}

// An interrupted run does not wait for the round under way, and goes on from its checkpoint and log to the same bits.
func TestLocalSteps_InterruptedAndResumed(t *testing.T) {
	want := localSHA(t)
	synctest.Test(t, func(t *testing.T) {
		bus, cfg := wire.NewMemory(nil), local(t)
		cfg.Log = t.TempDir() + "/log.jsonl"
		ctx, interrupt := context.WithCancel(t.Context())
		var at time.Time
		obs := &events{onStep: func(r coordinator.StepReport) {
			if r.Step == 15 {
				time.AfterFunc(3*time.Second, func() {
					at = time.Now()
					interrupt()
				})
			}
		}}
		c := newCoordinator(t, cfg, bus, obs)
		dismiss := hire(t, t.Context(), bus, "a", 2, time.Second)
		if err := c.Run(ctx); !errors.Is(err, coordinator.ErrInterrupted) {
			t.Fatalf("got %v, want ErrInterrupted", err)
		}
		dismiss()
		if d := time.Since(at); d > 3*time.Second {
			t.Errorf("it took %v to end", d)
		}
		cp, _, err := checkpoint.Restore(cfg.Dir)
		if err != nil || cp.Step != 15 || len(cp.Moments) != 1 || cp.Moments[0].Name != "outer.velocity" {
			t.Fatalf("checkpoint at step %d with %d moments, %v", cp.Step, len(cp.Moments), err)
		}
		older, _, err := checkpoint.RestoreUpTo(cfg.Dir, 14) // what a killed coordinator would find: the log is compared
		if err != nil || older.Step != 10 {
			t.Fatalf("%v", err)
		}
		c = newCoordinator(t, cfg, bus, nil)
		if err := c.Resume(older); err != nil {
			t.Fatal(err)
		}
		defer hire(t, t.Context(), bus, "b", 1, 0)()
		if err := c.Run(t.Context()); err != nil {
			t.Fatal(err)
		}
		obs.steady(t, c, want)
		log, err := coordinator.ReadLog(cfg.Log, 0)
		if err != nil || len(log.Entries) != 6 || log.Entries[15].Step != 15 || log.Last != 30 {
			t.Errorf("the log holds %d rounds, %v", len(log.Entries), err)
		}
	})
}

// A round that takes longer than workers listen for a silent coordinator costs no message but heartbeats and their
// like: nothing is sent twice, nobody is taken for stuck, and nobody introduces himself anew.
func TestLocalSteps_LongRounds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		sent := map[wire.Kind]int{}
		bus := wire.NewMemory(func(_ string, data []byte) []time.Duration {
			msg, err := wire.Decode(data)
			if err != nil {
				t.Error(err)
				return nil
			}
			sent[wire.TypeOf(msg)]++
			return []time.Duration{time.Millisecond}
		})
		obs := &events{}
		cfg := local(t)
		cfg.Steps, cfg.ValidationShards, cfg.CheckpointEvery = 10, 0, 0
		c := newCoordinator(t, cfg, bus, obs)
		for i := range 6 { // two more than there are replicas
			defer hire(t, t.Context(), bus, fmt.Sprintf("w%d", i), 1, 2*time.Second)() // a replica takes twenty seconds
		}
		if err := c.Run(t.Context()); err != nil {
			t.Fatal(err)
		}
		chunks := wire.NewChunking(toySize, cfg.Chunk).Count()
		if got, want := sent[wire.KindTheta], chunks*(6+1); got > want { // to each that joins, and to all after the first round
			t.Errorf("%d chunks of parameters were sent, want %d", got, want)
		}
		if sent[wire.KindHello] > 12 || sent[wire.KindResult] != 8 || sent[wire.KindChunk] != 8*chunks {
			t.Errorf("sent %v", sent)
		}
		for _, m := range obs.members {
			if strings.Contains(m.Waiting, "none for") || m.Left != "" {
				t.Errorf("reported %+v", m)
			}
		}
		if s := c.Stats(); s.Speculated != 0 || s.Issued != 8 {
			t.Errorf("%d replicas were issued, %d for the second time", s.Issued, s.Speculated)
		}
	})
}

func TestLocalSteps_Config(t *testing.T) {
	cfg := local(t)
	cfg.Steps, cfg.ValidateEvery, cfg.CheckpointEvery, cfg.Outer.Rate, cfg.Gradients = 31, 12, 9, 0, wire.Int16
	_, err := coordinator.New(cfg, initial(toySize), wire.NewMemory(nil), nil, hclog.NewNullLogger())
	for _, part := range []string{"steps: 31", "validation: 12", "checkpoints: 9", "outer rate 0", "float32 only"} {
		if err == nil || !errors.Is(err, coordinator.ErrConfig) || !strings.Contains(err.Error(), part) {
			t.Errorf("%q is not named in %v", part, err)
		}
	}
	c := newCoordinator(t, local(t), wire.NewMemory(nil), nil)
	cp := &coordinator.Checkpoint{Run: "toy", Seed: 1, Step: 7, Theta: initial(toySize), Moments: []checkpoint.Moment{{Name: "outer.velocity", Values: initial(toySize)}}}
	if err := c.Resume(cp); !errors.Is(err, coordinator.ErrMismatch) || !strings.Contains(err.Error(), "within a round of 5") {
		t.Errorf("got %v", err)
	}
}
