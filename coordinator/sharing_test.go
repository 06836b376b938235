package coordinator_test

import (
	"bytes"
	"fmt"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/switchyard-ml/switchyard/coordinator"
	"github.com/switchyard-ml/switchyard/internal/checkpoint"
	"github.com/switchyard-ml/switchyard/internal/shm"
	"github.com/switchyard-ml/switchyard/internal/wire"
	"github.com/switchyard-ml/switchyard/worker"
)

// tallied is a bus that counts the chunks that cross it, by kind.
type tallied struct {
	wire.Bus
	kinds *[64]atomic.Int64
}

func (b tallied) Publish(subject string, data []byte) error {
	b.kinds[wire.KindOf(data)].Add(1)
	return b.Bus.Publish(subject, data)
}

// text is where several goroutines log.
type text struct {
	mu  sync.Mutex
	all bytes.Buffer
}

func (t *text) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.all.Write(p)
}

func (t *text) count(line string) int {
	t.mu.Lock()
	defer t.mu.Unlock()
	return strings.Count(t.all.String(), line)
}

func (t *text) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.all.String()
}

// household is a run of workers that may share memory with its coordinator.
type household struct {
	cfg     coordinator.Config
	workers int
	memory  func(i int) shm.Host // of worker i; nil: none has any
	sharers int64                // workers that say that they share, before any is ready
	bus     wire.Bus             // nil: one of its own
	kinds   [64]atomic.Int64     // messages, by kind
	log     text
	steps   func(coordinator.StepReport)
}

// run trains to the end and returns the hash of the parameters.
func (h *household) run(t *testing.T) string {
	t.Helper()
	if h.bus == nil {
		h.bus = wire.NewMemory(nil)
	}
	bus, log := tallied{h.bus, &h.kinds}, hclog.New(&hclog.LoggerOptions{Output: &h.log, Level: hclog.Info})
	c, err := coordinator.New(h.cfg, initial(toySize), bus, &events{onStep: h.steps}, log)
	if err != nil {
		t.Fatal(err)
	}
	var all sync.WaitGroup
	defer all.Wait()
	for i := range h.workers {
		cfg := worker.Config{Run: h.cfg.Run, ID: fmt.Sprint("w", i), Slots: 1 + i%2}
		if h.memory != nil {
			cfg.Memory = h.memory(i)
		}
		cfg.Build = func([]byte, []byte, int) (worker.Program, error) {
			for h.kinds[wire.KindShare].Load() < h.sharers { // toys are built faster than memory is shared
				time.Sleep(time.Millisecond)
			}
			return &toy{size: toySize}, nil
		}
		w, err := worker.New(cfg, bus, log)
		if err != nil {
			t.Fatal(err)
		}
		all.Go(func() {
			if err := w.Run(t.Context()); err != nil {
				t.Error(err)
			}
		})
	}
	if err := c.Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	if c := c.Stats().Quarantined; len(c) > 0 {
		t.Errorf("cut off: %v", c)
	}
	theta, _ := c.Parameters()
	return checkpoint.Hash(theta)
}

// folder is a short one, as a socket has to lie there.
func folder(t *testing.T) shm.Directory {
	t.Helper()
	dir, err := os.MkdirTemp("", "sy")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	return shm.Directory(dir)
}

// sharingConfig is a run that waits for all its workers at the beginning: they are there before much is done.
func sharingConfig(t *testing.T, exchange coordinator.Exchange, gradients, parameters wire.Coding) coordinator.Config {
	cfg := config(t)
	cfg.Steps, cfg.ValidateEvery, cfg.CheckpointEvery, cfg.FailureDetection = 12, 5, 6, 2*time.Second
	cfg.Exchange, cfg.Gradients, cfg.Parameters = exchange, gradients, parameters
	return cfg
}

// The bits are those of a run without shared memory, for each exchange, each form of vectors and any number of workers,
// by real memory and by its twin.
func TestSharing_SameBits(t *testing.T) {
	for form := range simulated() {
		for _, exchange := range []coordinator.Exchange{coordinator.Star, coordinator.Sharded} {
			for _, workers := range []int{1, 2, 3, 4} {
				t.Run(fmt.Sprintf("%v/%v/%v/%d", exchange, form.gradients, form.parameters, workers), func(t *testing.T) {
					t.Parallel()
					cfg := sharingConfig(t, exchange, form.gradients, form.parameters)
					without := household{cfg: cfg, workers: workers}
					want := without.run(t)
					hosts := map[string]shm.Host{"twin": shm.NewTwin(nil), "directory": folder(t)}
					for name, host := range hosts {
						cfg.Dir, cfg.Memory = t.TempDir(), host
						with := household{cfg: cfg, workers: workers, sharers: int64(workers), memory: func(int) shm.Host { return host }}
						if got := with.run(t); got != want {
							t.Errorf("%s: SHA-256 %s with shared memory, %s without", name, got, want)
						}
						with.shared(t, name, exchange)
					}
				})
			}
		}
	}
}

// shared checks which messages a run had whose workers all share memory: nothing that the coordinator sends or pulls is a
// chunk. Workers pull chunks from each other where they sum.
func (h *household) shared(t *testing.T, name string, exchange coordinator.Exchange) {
	t.Helper()
	if at, chunks := h.kinds[wire.KindThetaAt].Load(), h.kinds[wire.KindTheta].Load(); at < int64(h.cfg.Steps) || chunks > 0 {
		t.Errorf("%s: parameters went %d times by shared memory, and in %d chunks:\n%s", name, at, chunks, &h.log)
	}
	at, chunks := h.kinds[wire.KindChunksAt].Load(), h.kinds[wire.KindChunk].Load()
	if at < int64(h.cfg.Steps) || exchange == coordinator.Star && chunks > 0 {
		t.Errorf("%s: gradients went %d times by shared memory, and in %d chunks:\n%s", name, at, chunks, &h.log)
	}
	if n := h.log.count("the worker is on this host"); n != h.workers {
		t.Errorf("%s: %d lines say that a worker shares memory, want %d", name, n, h.workers)
	}
}
