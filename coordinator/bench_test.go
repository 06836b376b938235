//go:build unix

package coordinator_test

import (
	"context"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/switchyard-ml/switchyard/cluster"
	"github.com/switchyard-ml/switchyard/coordinator"
	"github.com/switchyard-ml/switchyard/wire"
	"github.com/switchyard-ml/switchyard/wire/shm"
	"github.com/switchyard-ml/switchyard/worker"
)

// trivial is a program that costs nothing, so that a step is all protocol, reduction and update.
type trivial struct{ size int }

func (p trivial) Size() int                                              { return p.size }
func (p trivial) TermNames() []string                                    { return []string{"loss"} }
func (p trivial) Load(uint64, []float32) error                           { return nil }
func (p trivial) Gradient(_ int, _ uint64, _ int, g, _ []float32) error  { g[0] = 1; return nil }
func (p trivial) Validate(_ int, _ uint64, _ int, terms []float32) error { terms[0] = 0; return nil }

// BenchmarkRound is one step of 1,500,000 parameters in 8 shards with 2 workers, or 8: the cost of distribution.
func BenchmarkRound(b *testing.B) {
	b.Run("memory", func(b *testing.B) {
		bus := wire.NewMemory(nil)
		benchmarkRound(b, 2, nil, func() wire.Bus { return bus })
	})
	for _, c := range []struct {
		name, listen string
		local, share bool
		workers      int
	}{
		{"local", "", true, false, 2},
		{"nats-inprocess", "", false, false, 2},
		{"nats-tcp", "127.0.0.1:0", false, false, 2},
		{"nats-tcp-shared-memory", "127.0.0.1:0", false, true, 2},
		{"nats-tcp-8-workers", "127.0.0.1:0", false, false, 8},
		{"nats-tcp-shared-memory-8-workers", "127.0.0.1:0", false, true, 8},
	} {
		b.Run(c.name, func(b *testing.B) {
			process := wire.NewInProcess()
			server, err := cluster.Start(cluster.Config{Listen: c.listen, Log: hclog.NewNullLogger()})
			if err != nil {
				b.Fatal(err)
			}
			defer server.Shutdown()
			var memory shm.Host
			if c.share {
				memory = folder(b)
			}
			benchmarkRound(b, c.workers, memory, func() wire.Bus {
				cfg := cluster.BusConfig{URL: server.URL(), Log: hclog.NewNullLogger()}
				if c.listen == "" {
					cfg.Server = server
				}
				bus, err := cluster.Connect(cfg)
				if err != nil {
					b.Fatal(err)
				}
				b.Cleanup(bus.Close)
				if c.local {
					return process.Bus(bus, false)
				}
				return bus
			})
		})
	}
}

func benchmarkRound(b *testing.B, workers int, memory shm.Host, connect func() wire.Bus) {
	const size = 1_500_000
	cfg := coordinator.Config{
		Run: "bench", Steps: 1 << 40, Shards: 8, FailureDetection: 5 * time.Second, Chunk: 60 << 10, Credit: 16 << 20,
		Optimizer: coordinator.Optimizer{Rate: 1e-3, Clip: 1, Beta1: 0.9, Beta2: 0.999, Epsilon: 1e-8},
		TermNames: []string{"loss"}, Dir: b.TempDir(), Memory: memory,
	}
	steps := make(chan struct{})
	obs := &events{onStep: func(coordinator.StepReport) { steps <- struct{}{} }}
	c, err := coordinator.New(cfg, make([]float32, size), connect(), stepsOnly{obs}, hclog.NewNullLogger())
	if err != nil {
		b.Fatal(err)
	}
	ctx, cancel := context.WithCancel(b.Context())
	var all sync.WaitGroup
	for range workers {
		w, err := worker.New(worker.Config{Run: "bench", Memory: memory, Build: func([]byte, []byte, int) (worker.Program, error) {
			return trivial{size}, nil
		}}, connect(), hclog.NewNullLogger())
		if err != nil {
			b.Fatal(err)
		}
		all.Go(func() { w.Run(ctx) })
	}
	all.Go(func() {
		defer close(steps)
		c.Run(ctx)
	})
	for range 20 {
		<-steps
	}
	b.ReportAllocs()
	before, least, last := cpuTime(b), time.Hour, time.Now()
	for b.Loop() {
		<-steps
		now := time.Now()
		least, last = min(least, now.Sub(last)), now
	}
	b.ReportMetric(least.Seconds()*1e3, "least-ms/op") // what other processes do on the machine enters the mean
	b.ReportMetric((cpuTime(b)-before).Seconds()*1e3/float64(b.N), "cpu-ms/op")
	cancel()
	for range steps { // the step under way
	}
	all.Wait()
}

// cpuTime is the time that all threads of the process have computed: other processes on the machine do not enter it.
func cpuTime(b *testing.B) time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// stepsOnly passes steps on without keeping them.
type stepsOnly struct{ *events }

func (s stepsOnly) Step(r coordinator.StepReport) { s.onStep(r) }
