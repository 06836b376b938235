package cluster_test

import (
	"fmt"
	"os"
	"sync"
	"testing"

	"github.com/switchyard-ml/switchyard/cluster"
	"github.com/switchyard-ml/switchyard/coordinator"
	"github.com/switchyard-ml/switchyard/wire"
	"github.com/switchyard-ml/switchyard/wire/shm"
	"github.com/switchyard-ml/switchyard/worker"
)

// sharer is the bus of a worker that notes when it says that it shares memory.
type sharer struct {
	wire.Bus
	said chan struct{}
	once sync.Once
}

func (s *sharer) Publish(subject string, data []byte) error {
	err := s.Bus.Publish(subject, data)
	if wire.KindOf(data) == wire.KindShare {
		s.once.Do(func() { close(s.said) })
	}
	return err
}

// Workers on the coordinator's host, each with its connection to a broker with keys: neither parameters nor gradients cross
// the broker, as its own count of bytes shows, and the bits are the same. Without shared memory they do.
func TestSharing_NothingCrossesTheBroker(t *testing.T) {
	const steps, size, workers = 20, 20_000, 3
	for _, share := range []bool{false, true} {
		s, b, log := newSite(t)
		cfg := toyConfig(t, steps, 8)
		want := undisturbed(t, cfg, size)
		cfg.Chunk = 8192
		var memory shm.Host
		if share {
			dir, err := os.MkdirTemp("", "sy")
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { os.RemoveAll(dir) })
			memory = shm.Directory(dir)
			cfg.Memory = memory
		}
		c, err := coordinator.New(cfg, initial(size), s.connect(cluster.CoordinatorKey), nil, s.log)
		if err != nil {
			t.Fatal(err)
		}
		for i := range workers {
			bus := &sharer{Bus: s.connect(cluster.WorkerKey), said: make(chan struct{})}
			w, err := worker.New(worker.Config{Run: "toy", ID: fmt.Sprint("w", i), Memory: memory, Build: func([]byte, []byte, int) (worker.Program, error) {
				if share { // a toy is built faster than memory is shared
					<-bus.said
				}
				return &toy{size: size}, nil
			}}, bus, s.log.Named("worker"))
			if err != nil {
				t.Fatal(err)
			}
			s.serve(fmt.Sprint("w", i), w)
		}
		if err := c.Run(t.Context()); err != nil {
			t.Fatal(err)
		}
		if got := hash(c); got != want {
			t.Errorf("shared memory %v: SHA-256 %s, want %s", share, got, want)
		}
		v, err := b.Server().Varz(nil)
		if err != nil {
			t.Fatal(err)
		}
		in, out := float64(v.InBytes)/steps/(4*size), float64(v.OutBytes)/steps/(4*size)
		t.Logf("shared memory %v: %.3f gradients a step to the broker, %.3f from it", share, in, out)
		if share && in+out > 0.2 || !share && in < 1.5 {
			t.Errorf("shared memory %v: %.3f gradients a step go to the broker, %.3f come from it:\n%s", share, in, out, log)
		}
	}
}
