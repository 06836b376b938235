package coordinator_test

import (
	"context"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/switchyard-ml/switchyard/coordinator"
	"github.com/switchyard-ml/switchyard/wire"
	"github.com/switchyard-ml/switchyard/worker"
)

// One message of any kind that is lost costs at most 100 ms with the default failure detection, whether shards take no
// time or much more than that.
func TestRun_LostMessageCostsLittle(t *testing.T) {
	const most = 100 * time.Millisecond
	for _, shard := range []time.Duration{0, 400 * time.Millisecond} {
		quiet := lossyRun(t, shard, 0, 0)
		for _, kind := range []wire.Kind{
			wire.KindHello, wire.KindWelcome, wire.KindReady, wire.KindTheta, wire.KindLease, wire.KindResult, wire.KindPull, wire.KindChunk,
		} {
			for n := 1; n <= 6; n++ {
				if kind <= wire.KindReady && n > 2 {
					continue // there are as many as workers
				}
				if cost := lossyRun(t, shard, kind, n) - quiet; cost > most {
					t.Errorf("shards of %v: without message %d of kind %d the run takes %v longer", shard, n, kind, cost)
				}
			}
		}
	}
}

// lossyRun is the time that a run of two workers takes if the n-th message of a kind is lost; 0: none.
func lossyRun(t *testing.T, shard time.Duration, kind wire.Kind, n int) (took time.Duration) {
	t.Run(fmt.Sprintf("%v,%d,%d", shard, kind, n), func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			cfg := config(t)
			cfg.Steps, cfg.ValidateEvery, cfg.CheckpointEvery = 6, 2, 0 // each has one message of a kind at least
			lost := 0
			bus := wire.NewMemory(func(_ string, data []byte) []time.Duration {
				if m, err := wire.Decode(data); err == nil && wire.TypeOf(m) == kind {
					if lost++; lost == n {
						return nil
					}
				}
				return []time.Duration{0}
			})
			c, err := coordinator.New(cfg, initial(toySize), bus, nil, hclog.NewNullLogger())
			if err != nil {
				t.Fatal(err)
			}
			slow := func() *toy {
				return &toy{size: toySize, spoil: func(uint64, int, []float32) error {
					time.Sleep(shard)
					return nil
				}}
			}
			for _, id := range []string{"a", "b"} {
				defer startWorker(t, context.Background(), bus, worker.Config{ID: id, Slots: 4}, slow)()
			}
			began := time.Now()
			if err := c.Run(t.Context()); err != nil {
				t.Fatal(err)
			}
			if took = time.Since(began); n > 0 && lost < n && kind > wire.KindReady { // a run of no time can be over before the second is ready
				t.Errorf("there were %d messages of that kind", lost)
			}
		})
	})
	return took
}
