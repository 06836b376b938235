package coordinator_test

import (
	"fmt"
	"math"
	"slices"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/switchyard-ml/switchyard/coordinator"
	"github.com/switchyard-ml/switchyard/wire"
	"github.com/switchyard-ml/switchyard/worker"
)

// Workers that sum give the bits of the star, however many they are and in whatever form gradients travel, and what comes
// to the coordinator is one gradient a step.
func TestRun_ShardedSameBits(t *testing.T) {
	for _, gradients := range []wire.Coding{wire.Float32, wire.Int16, wire.Int8} {
		want, trace := exchanged(t, gradients, coordinator.Star, 2)
		for workers := 1; workers <= 8; workers++ {
			if got, gotTrace := exchanged(t, gradients, coordinator.Sharded, workers); got != want || gotTrace != trace {
				t.Errorf("coding %d, %d workers: SHA-256 %s, want %s", gradients, workers, got, want)
			}
		}
	}
}

// exchanged is train of an exchange, in simulated time.
func exchanged(t *testing.T, gradients wire.Coding, exchange coordinator.Exchange, workers int) (sha, trace string) {
	synctest.Test(t, func(t *testing.T) {
		cfg := config(t)
		cfg.Gradients, cfg.Exchange = gradients, exchange
		sha, trace = train(t, cfg, wire.NewMemory(nil), slices.Repeat([]int{1}, workers)...)
	})
	return sha, trace
}

// Bytes of a step at each party, in gradients. In a star they grow with the workers at the coordinator. Where workers sum
// one gradient comes to it, and what a worker hears, parameters among it, depends on the number of blocks for each worker.
// The report of a step says what came to the coordinator.
func TestRun_BytesOfEachParty(t *testing.T) {
	for _, workers := range []int{1, 2, 4, 8} {
		for _, exchange := range []coordinator.Exchange{coordinator.Star, coordinator.Sharded} {
			lead, most, reported := bytesOfParties(t, exchange, workers)
			if math.Abs(reported-lead.in) > 0.05*lead.in {
				t.Errorf("%d workers, exchange %d: %.2f gradients came in, %.2f were reported", workers, exchange, lead.in, reported)
			}
			t.Logf("%d workers, exchange %d: coordinator in %.2f, out %.2f; busiest worker in %.2f, out %.2f", workers, exchange, lead.in, lead.out, most.in, most.out)
			if exchange == coordinator.Sharded && (lead.in > 1.3 || most.in > 2.5 || most.out > 2.5) {
				t.Errorf("%d workers: more than is to be exchanged", workers)
			}
			if exchange == coordinator.Star && lead.in < 0.9*float64(workers) {
				t.Errorf("%d workers: less than a star exchanges", workers)
			}
		}
	}
}

// traffic is what a party has sent and heard.
type traffic struct{ in, out float64 }

// counted is a bus that counts.
type counted struct {
	wire.Bus
	in, out atomic.Int64
}

func (b *counted) Publish(subject string, data []byte) error {
	b.out.Add(int64(len(data)))
	return b.Bus.Publish(subject, data)
}

func (b *counted) Subscribe(subject string, handle func([]byte)) (wire.Subscription, error) {
	return b.Bus.Subscribe(subject, func(data []byte) {
		b.in.Add(int64(len(data)))
		handle(data)
	})
}

func (b *counted) Hear(subject string, handle func(string, []byte)) (wire.Subscription, error) {
	return b.Bus.Hear(subject, func(key string, data []byte) {
		b.in.Add(int64(len(data)))
		handle(key, data)
	})
}

// bytesOfParties counts what the coordinator and the busiest worker exchange in a step, in gradients, over the last
// twenty of 24 steps, and what the coordinator's reports say came in.
func bytesOfParties(t *testing.T, exchange coordinator.Exchange, workers int) (lead, most traffic, reported float64) {
	const size = 20_000
	synctest.Test(t, func(t *testing.T) {
		cfg, memory := config(t), wire.NewMemory(nil)
		cfg.Exchange, cfg.ValidateEvery, cfg.ValidationShards, cfg.Steps, cfg.CheckpointEvery = exchange, 0, 0, 24, 0
		cfg.Chunk, cfg.Credit = 4096, 1<<20
		parties, before := []*counted{{Bus: memory}}, []traffic(nil)
		for range workers {
			parties = append(parties, &counted{Bus: memory})
		}
		count := func() (list []traffic) {
			for _, p := range parties {
				list = append(list, traffic{float64(p.in.Load()) / (4 * size), float64(p.out.Load()) / (4 * size)})
			}
			return list
		}
		obs := &events{onStep: func(r coordinator.StepReport) {
			if r.Step == 4 {
				before = count()
			} else if r.Step > 4 {
				reported += float64(r.BytesIn) / (20 * 4 * size)
			}
		}}
		c, err := coordinator.New(cfg, initial(size), parties[0], obs, hclog.NewNullLogger())
		if err != nil {
			t.Fatal(err)
		}
		for i := range workers {
			defer startWorker(t, t.Context(), parties[1+i], worker.Config{ID: fmt.Sprint("w", i)}, func() *toy { return &toy{size: size, delay: time.Millisecond} })()
		}
		if err := c.Run(t.Context()); err != nil {
			t.Fatal(err)
		}
		for i, after := range count() {
			one := traffic{(after.in - before[i].in) / 20, (after.out - before[i].out) / 20}
			if i == 0 {
				lead = one
				continue
			}
			most = traffic{max(most.in, one.in), max(most.out, one.out)}
		}
	})
	return lead, most, reported
}
