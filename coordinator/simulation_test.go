package coordinator_test

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/switchyard-ml/switchyard/coordinator"
	"github.com/switchyard-ml/switchyard/internal/wire"
	"github.com/switchyard-ml/switchyard/worker"
)

var (
	simulations = flag.Int("simulations", 12, "number of simulated fault schedules")
	firstSeed   = flag.Uint64("seed", 1, "seed of the first simulated fault schedule")
)

// Under lost, repeated, late, reordered and changed messages, workers that are killed and workers that come, and a
// coordinator that is interrupted and resumed, the run ends with the bits of the undisturbed one. Time is simulated.
func TestSimulation(t *testing.T) {
	for i := range uint64(*simulations) {
		seed := *firstSeed + i
		t.Run(fmt.Sprint("seed=", seed), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { simulate(t, seed) })
		})
	}
}

// severable is the bus of a worker that can be killed: from one moment to the next nothing passes it.
type severable struct {
	wire.Bus
	cut atomic.Bool
}

func (s *severable) Publish(subject string, data []byte) error {
	if s.cut.Load() {
		return errors.New("cut")
	}
	return s.Bus.Publish(subject, data)
}

func (s *severable) Subscribe(subject string, handle func([]byte)) (wire.Subscription, error) {
	return s.Bus.Subscribe(subject, func(data []byte) {
		if !s.cut.Load() {
			handle(data)
		}
	})
}

func simulate(t *testing.T, seed uint64) {
	r := rand.New(rand.NewPCG(seed, 0)) // of the bus
	rate := 0.1 * r.Float64()
	bus := wire.NewMemory(func(_ string, data []byte) []time.Duration {
		if r.Float64() < rate/10 && len(data) > 0 {
			data[r.IntN(len(data))] ^= 1 << r.IntN(8)
		}
		delay := func() time.Duration { return time.Duration(r.Float64() * r.Float64() * float64(200*time.Millisecond)) }
		switch x := r.Float64(); {
		case x < rate:
			return nil
		case x < 2*rate:
			return []time.Duration{delay(), delay()}
		}
		return []time.Duration{delay()}
	})
	ctx, cancel := context.WithCancel(t.Context())
	fate := rand.New(rand.NewPCG(seed, 1)) // of the workers
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		unrest(t, ctx, bus, fate)
	}()
	cfg, start, refused := config(t), time.Now(), int64(0)
	cfg.Data = dataset(20_000)
	interruptions := rand.New(rand.NewPCG(seed, 2))
	for incarnations := 1; ; incarnations++ {
		run, interrupt := context.WithTimeout(ctx, time.Duration(interruptions.IntN(60)+1)*time.Second)
		c := newCoordinator(t, cfg, bus, nil)
		cp, _, err := coordinator.Restore(cfg.Dir)
		switch {
		case errors.Is(err, coordinator.ErrNoCheckpoint):
		case err != nil:
			t.Fatal(err)
		default:
			if err := c.Resume(cp); err != nil {
				t.Fatal(err)
			}
		}
		err = c.Run(run)
		interrupt()
		for _, rejection := range c.Rejections() {
			refused += rejection.Count
		}
		if errors.Is(err, coordinator.ErrInterrupted) {
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		t.Logf("%v simulated, %d incarnations, %d messages refused", time.Since(start), incarnations, refused)
		theta, _ := c.Parameters()
		if sha := coordinator.HashParameters(theta); sha != golden {
			t.Errorf("SHA-256 %s, want %s; repeat with -run TestSimulation -seed %d -simulations 1", sha, golden, seed)
		}
		break
	}
	cancel()
	<-ended
	time.Sleep(time.Minute) // late messages
}

// unrest keeps a changing number of workers until ctx ends. Some are killed, some leave, the others see the run end.
func unrest(t *testing.T, ctx context.Context, bus wire.Bus, fate *rand.Rand) {
	type life struct {
		bus  *severable
		stop context.CancelFunc
		done chan struct{}
	}
	var alive []life
	born := 0
	spawn := func() {
		own, stop := context.WithCancel(ctx)
		l := life{&severable{Bus: bus}, stop, make(chan struct{})}
		delay := time.Duration(fate.IntN(100)) * time.Millisecond
		born++
		cfg := worker.Config{Run: "toy", ID: fmt.Sprint("w", born), Slots: 1 + fate.IntN(3)}
		cfg.Build = func(_, data []byte, _ int) (worker.Program, error) {
			if !bytes.Equal(data, dataset(20_000)) {
				t.Errorf("worker %s was given other data", cfg.ID)
			}
			return &toy{size: toySize, delay: delay}, nil
		}
		w, err := worker.New(cfg, l.bus, hclog.NewNullLogger())
		if err != nil {
			t.Error(err)
		}
		go func() {
			defer close(l.done)
			if err := w.Run(own); err != nil {
				t.Errorf("worker %s: %v", w.ID(), err)
			}
		}()
		alive = append(alive, l)
	}
	for ctx.Err() == nil {
		if len(alive) < 1+fate.IntN(4) {
			spawn()
		}
		select {
		case <-ctx.Done():
		case <-time.After(time.Duration(fate.IntN(8000)) * time.Millisecond):
		}
		if i := fate.IntN(len(alive)); fate.IntN(3) == 0 {
			alive[i].bus.cut.Store(fate.IntN(2) == 0)
			alive[i].stop()
		}
		kept := alive[:0]
		for _, l := range alive {
			select {
			case <-l.done:
				l.stop()
			default:
				kept = append(kept, l)
			}
		}
		alive = kept
	}
	for _, l := range alive {
		l.stop()
		<-l.done
	}
}
