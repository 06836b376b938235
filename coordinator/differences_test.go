package coordinator_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/switchyard-ml/switchyard/coordinator"
	"github.com/switchyard-ml/switchyard/store/checkpoint"
	"github.com/switchyard-ml/switchyard/wire"
	"github.com/switchyard-ml/switchyard/worker"
)

// goldenDelta16 and goldenDelta8 are the SHA-256 of the toy run's parameters where they travel as differences of 16 and 8
// bits, whatever computed them.
const (
	goldenDelta16 = "9901938d004313c0c47d04cff15108231a63bb8180245950a6dd2b7cf36fb2b6"
	goldenDelta8  = "6c0378610e962e46fbca9c0f1bb50d4903535f95cb5985d9ecbbb6d4ef4a5fd7"
	// goldenBoth is that of the run whose gradients surge, with integers of 8 bits in both directions.
	goldenBoth = "736221ec26eebb4b1eaaa1893b312b54cc08370325e010abed7f70e995756a0b"
)

// goldenDeltas has both, by the width of the differences.
func goldenDeltas() map[wire.Coding]string {
	return map[wire.Coding]string{wire.Int16: goldenDelta16, wire.Int8: goldenDelta8}
}

func differencesConfig(t *testing.T, coding wire.Coding) coordinator.Config {
	cfg := config(t)
	cfg.Parameters = coding
	return cfg
}

// The parameters and every reported figure are the same for any number of workers, slots and bytes per message.
func TestDifferences_SameBitsForAnyWorkers(t *testing.T) {
	for coding, golden := range goldenDeltas() {
		want := ""
		for i, slots := range [][]int{{1}, {1, 1}, {1, 1, 1}, {1, 1, 1, 1}, {1, 1, 1, 1, 1}, {1, 1, 1, 1, 1, 1}, {1, 1, 1, 1, 1, 1, 1}, {1, 1, 1, 1, 1, 1, 1, 1}, {4}, {3, 1}} {
			cfg := differencesConfig(t, coding)
			cfg.Chunk = []int{1024, 90, 1 << 20}[i%3]
			cfg.Credit = max(cfg.Credit, cfg.Chunk)
			var sha, trace string
			synctest.Test(t, func(t *testing.T) { sha, trace = train(t, cfg, wire.NewMemory(nil), slots...) }) // nothing is late
			if sha != golden {
				t.Errorf("coding %d, slots %v: SHA-256 %s, want %s", coding, slots, sha, golden)
			}
			if want == "" {
				want = trace
			}
			if trace != want {
				t.Errorf("slots %v: the reports differ:\n%s\nwant\n%s", slots, trace, want)
			}
		}
	}
}

// Differences are handed over within the process, by some of the workers or all.
func TestDifferences_WithinTheProcess(t *testing.T) {
	cfg := differencesConfig(t, wire.Int8)
	cfg.Chunk = 64
	for _, n := range []company{{1, 0}, {3, 0}, {2, 2}} {
		withinTheProcess(t, cfg, n, goldenDelta8)
	}
}

// Workers that come in the middle of the run, at every few steps, and leave soon, change no bit.
func TestDifferences_Joins(t *testing.T) {
	for coding, golden := range goldenDeltas() {
		cfg, bus := differencesConfig(t, coding), wire.NewMemory(nil)
		var waits []func()
		var mu sync.Mutex
		slow := func() *toy { return &toy{size: toySize, delay: time.Millisecond} }
		c := newCoordinator(t, cfg, bus, &events{onStep: func(r coordinator.StepReport) {
			if r.Step%4 == 0 {
				ctx, leave := context.WithCancel(t.Context())
				time.AfterFunc(20*time.Millisecond, leave)
				mu.Lock()
				waits = append(waits, startWorker(t, ctx, bus, worker.Config{}, slow))
				mu.Unlock()
			}
		}})
		waits = append(waits, startWorker(t, t.Context(), bus, worker.Config{}, slow))
		if err := c.Run(t.Context()); err != nil {
			t.Fatal(err)
		}
		for _, wait := range waits {
			wait()
		}
		theta, _ := c.Parameters()
		if sha := checkpoint.Hash(theta); sha != golden {
			t.Errorf("coding %d: SHA-256 %s, want %s", coding, sha, golden)
		}
	}
}

// A third of the differences is lost, and the values that are asked for in their place come. Nothing else is sent whole but
// the initial parameters.
func TestDifferences_Lost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		fate, whole, lost := rand.New(rand.NewPCG(1, 1)), 0, 0
		bus := wire.NewMemory(func(_ string, data []byte) []time.Duration {
			if m, err := wire.Decode(data); err == nil {
				if m, ok := m.(*wire.Theta); ok && m.Coding == wire.Float32 {
					whole++
				} else if ok && fate.IntN(3) == 0 {
					lost++
					return nil
				}
			}
			return []time.Duration{0}
		})
		sha, _ := train(t, differencesConfig(t, wire.Int8), bus, 1)
		chunks := 4 // of 1024 bytes
		if sha != goldenDelta8 || lost < 10 || whole != lost+chunks {
			t.Errorf("SHA-256 %s, want %s; %d differences were lost, %d chunks sent whole", sha, goldenDelta8, lost, whole)
		}
	})
}

// A step that is made twice sends no parameters again: each chunk goes out once a step, and in a further pass those with
// scales alone. A third of what says so is lost, and the parameters that are asked for in its place change no bit.
func TestDifferences_StayInFurtherPasses(t *testing.T) {
	for _, lossy := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			fate, stays, whole, lost := rand.New(rand.NewPCG(1, 1)), 0, 0, 0
			bus := wire.NewMemory(func(_ string, data []byte) []time.Duration {
				switch m, _ := wire.Decode(data); m := m.(type) {
				case *wire.Stay:
					if stays++; lossy && fate.IntN(3) == 0 {
						lost++
						return nil
					}
				case *wire.Theta:
					if m.Coding == wire.Float32 {
						whole++
					}
				}
				return []time.Duration{0}
			})
			cfg := integersConfig(t)
			cfg.Gradients, cfg.Parameters = wire.Int8, wire.Int8
			sha, _ := trainProgram(t, cfg, bus, surging, 1)
			if sha != goldenBoth {
				t.Errorf("SHA-256 %s, want %s", sha, goldenBoth)
			}
			again := len(repeated(t, cfg))
			const chunks, scales = 4, 1 // of 1024 bytes: all of them, and those with scales
			if want := chunks + again*scales + lost*(chunks-scales); stays != again || again < 3 || whole != want || lossy != (lost > 0) {
				t.Errorf("%d steps were made twice, %d times the parameters stayed, %d of these were lost, %d chunks were sent whole, want %d", again, stays, lost, whole, want)
			}
		})
	}
}

// Interrupted after any step and resumed, a run goes on with the same bits: the exact parameters are in the checkpoint.
func TestDifferences_ResumedAtEveryStep(t *testing.T) {
	for coding, golden := range goldenDeltas() {
		for at := uint64(1); at < 30; at++ {
			cfg, bus := differencesConfig(t, coding), wire.NewMemory(nil)
			ctx, interrupt := context.WithCancel(t.Context())
			c := newCoordinator(t, cfg, bus, &events{onStep: func(r coordinator.StepReport) {
				if r.Step == at {
					interrupt()
				}
			}})
			wait := startWorker(t, t.Context(), bus, worker.Config{}, nil)
			err := c.Run(ctx)
			wait()
			if err != nil && !errors.Is(err, coordinator.ErrInterrupted) {
				t.Fatal(err)
			}
			cp, _, err := checkpoint.Restore(cfg.Dir)
			if err != nil || cp.Step < at || !slices.Equal(cp.MomentNames(), []string{"adam.m", "adam.v", checkpoint.Exact}) {
				t.Fatalf("checkpoint of step %d with %v: %v", cp.Step, cp.MomentNames(), err)
			}
			c = newCoordinator(t, cfg, bus, nil)
			if err := c.Resume(cp); err != nil {
				t.Fatal(err)
			}
			wait = startWorker(t, t.Context(), bus, worker.Config{Slots: 2}, nil)
			if err := c.Run(t.Context()); err != nil {
				t.Fatal(err)
			}
			wait()
			theta, _ := c.Parameters()
			if sha := checkpoint.Hash(theta); sha != golden {
				t.Fatalf("coding %d, resumed after step %d: SHA-256 %s, want %s", coding, cp.Step, sha, golden)
			}
			whole := cfg
			whole.Parameters = wire.Float32
			if err := newCoordinator(t, whole, bus, nil).Resume(cp); !errors.Is(err, coordinator.ErrMismatch) {
				t.Fatalf("a run with whole parameters took up the checkpoint: %v", err)
			}
		}
	}
}

// With gradients as integers, some of which do not fit, with an average, which is sent whole, and with local steps, the
// bits do not depend on the workers either; and an average changes none.
func TestDifferences_EveryMode(t *testing.T) {
	for _, parameters := range []wire.Coding{wire.Int16, wire.Int8} {
		for _, gradients := range []wire.Coding{wire.Float32, wire.Int16, wire.Int8} {
			want, average := "", ""
			for i, slots := range [][]int{{1}, {1, 1, 1}, {2, 1}} {
				cfg := integersConfig(t)
				cfg.Gradients, cfg.Parameters = gradients, parameters
				if i > 0 {
					cfg.Average = 0.9
				}
				sha, _ := trainProgram(t, cfg, wire.NewMemory(nil), surging, slots...)
				cp, _, err := checkpoint.Restore(cfg.Dir)
				if err != nil {
					t.Fatal(err)
				}
				evaluated := checkpoint.Hash(cp.Evaluated())
				switch {
				case i == 0:
					want = sha
				case i == 1:
					average = evaluated
				}
				if sha != want || i > 0 && evaluated != average {
					t.Errorf("parameters %d, gradients %d, slots %v: SHA-256 %s and %s, want %s and %s", parameters, gradients, slots, sha, evaluated, want, average)
				}
			}
		}
		local16 := ""
		for _, workers := range []int{1, 3} {
			cfg, bus := local(t), wire.NewMemory(nil)
			cfg.Parameters = parameters
			c := newCoordinator(t, cfg, bus, nil)
			for i := range workers {
				defer hire(t, t.Context(), bus, fmt.Sprint("w", i), 1, 0)()
			}
			if err := c.Run(t.Context()); err != nil {
				t.Fatal(err)
			}
			theta, _ := c.Parameters()
			sha := checkpoint.Hash(theta)
			if local16 == "" {
				local16 = sha
			}
			if sha != local16 || sha == localSHA(t) {
				t.Errorf("parameters %d, %d workers with local steps: SHA-256 %s, want %s", parameters, workers, sha, local16)
			}
		}
	}
}

// What the run shows, saves and logs are the parameters that workers have: they are close to the exact ones, and not equal.
func TestDifferences_WhatIsSaved(t *testing.T) {
	cfg := differencesConfig(t, wire.Int8)
	sha, _ := train(t, cfg, wire.NewMemory(nil), 1)
	cp, _, err := checkpoint.Restore(cfg.Dir)
	if err != nil || cp.ParamsSHA256 != sha {
		t.Fatalf("%s in the checkpoint, want %s: %v", cp.ParamsSHA256, sha, err)
	}
	exact := cp.Moments[2].Values
	if slices.Equal(exact, cp.Theta) {
		t.Error("nothing was rounded")
	}
	for i, x := range exact {
		if d := x - cp.Theta[i]; d > 0.001 || d < -0.001 { // steps are of 0.05 at most
			t.Fatalf("parameter %d is %g, exactly %g", i, cp.Theta[i], x)
		}
	}
}

// Differences halve or quarter what goes out, but for headers and exponents.
func TestDifferences_FewerBytes(t *testing.T) {
	bytes := func(parameters wire.Coding) (total int64) {
		cfg, bus := config(t), wire.NewMemory(nil)
		cfg.Parameters, cfg.Chunk, cfg.Credit = parameters, 1<<15, 1<<16
		c := newCoordinator(t, cfg, bus, &events{onStep: func(r coordinator.StepReport) {
			if r.Step > 1 {
				total += r.BytesOut
			}
		}})
		defer startWorker(t, t.Context(), bus, worker.Config{}, nil)()
		if err := c.Run(t.Context()); err != nil {
			t.Fatal(err)
		}
		return total
	}
	whole := bytes(wire.Float32)
	for parameters, most := range map[wire.Coding]float64{wire.Int16: 0.6, wire.Int8: 0.35} {
		if differences := bytes(parameters); float64(differences) > most*float64(whole) {
			t.Errorf("%d bytes as differences of coding %d, %d whole", differences, parameters, whole)
		}
	}
}

func TestDifferences_Config(t *testing.T) {
	cfg := config(t)
	cfg.Parameters = wire.Int8 + 1
	_, err := coordinator.New(cfg, initial(toySize), wire.NewMemory(nil), nil, nil)
	if !errors.Is(err, coordinator.ErrConfig) || !strings.Contains(err.Error(), "parameters: coding 3") {
		t.Errorf("got %v", err)
	}
}
