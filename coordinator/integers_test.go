package coordinator_test

import (
	"bytes"
	"context"
	"errors"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/switchyard-ml/switchyard/coordinator"
	"github.com/switchyard-ml/switchyard/internal/vector"
	"github.com/switchyard-ml/switchyard/store/checkpoint"
	"github.com/switchyard-ml/switchyard/wire"
	"github.com/switchyard-ml/switchyard/worker"
)

// goldenIntegers and goldenShort are the SHA-256 of the toy run's parameters with gradients as integers of 16 and 8 bits,
// whatever computed them.
const (
	goldenIntegers = "aa0659ca6b0a101472257a30fe95400d78aeb6753041fe12a7fc154455e6bc3e"
	goldenShort    = "80b12e350b4fac76b598fc73c4a3117f389a85d3e5701c92023fe83750ffa368"
)

func integersConfig(t *testing.T) coordinator.Config {
	cfg := config(t)
	cfg.Gradients = wire.Int16
	cfg.Log = filepath.Join(t.TempDir(), "log.jsonl")
	return cfg
}

// surge makes the gradients of some steps much greater than those before, from one shard alone, so that a step does not
// fit its scales in the middle of the run.
func surge(step uint64, shard int, grad []float32) error {
	factor := float32(1)
	switch {
	case step == 11 && shard == 5:
		factor = 4000
	case step == 20 && shard%3 == 0:
		factor = 4e6
	}
	for i := range grad {
		grad[i] *= factor
	}
	return nil
}

func surging() *toy { return &toy{size: toySize, spoil: surge} }

// repeated lists the steps that the log says were computed more than once.
func repeated(t *testing.T, cfg coordinator.Config) (steps []uint64) {
	t.Helper()
	log, err := coordinator.ReadLog(cfg.Log, 0)
	if err != nil {
		t.Fatal(err)
	}
	for step := uint64(1); step <= log.Last; step++ {
		switch log.Entries[step].Passes {
		case 0:
		case 2:
			steps = append(steps, step)
		default:
			t.Errorf("step %d was computed %d times", step, log.Entries[step].Passes)
		}
	}
	return steps
}

// The parameters, every reported figure and the steps that had to be made twice are the same for any number of workers,
// slots and bytes per message.
func TestIntegers_SameBitsForAnyWorkers(t *testing.T) {
	for gradients, golden := range map[wire.Coding]string{wire.Int16: goldenIntegers, wire.Int8: goldenShort} {
		sameBitsForAnyWorkers(t, gradients, golden)
	}
}

func sameBitsForAnyWorkers(t *testing.T, gradients wire.Coding, golden string) {
	t.Helper()
	want, again := "", []uint64(nil)
	for i, slots := range [][]int{{1}, {1, 1}, {1, 1, 1}, {1, 1, 1, 1, 1}, {1, 1, 1, 1, 1, 1, 1, 1}, {4}, {3, 1}} {
		cfg := integersConfig(t)
		cfg.Gradients, cfg.Chunk = gradients, []int{1024, 90, 1 << 20}[i%3]
		cfg.Credit = max(cfg.Credit, cfg.Chunk)
		sha, trace := trainProgram(t, cfg, wire.NewMemory(nil), surging, slots...)
		if sha != golden {
			t.Errorf("coding %d, slots %v: SHA-256 %s, want %s", gradients, slots, sha, golden)
		}
		if want == "" {
			want, again = trace, repeated(t, cfg)
		}
		if trace != want {
			t.Errorf("slots %v: the reports differ:\n%s\nwant\n%s", slots, trace, want)
		}
		if got := repeated(t, cfg); !slices.Equal(got, again) {
			t.Errorf("slots %v: steps %v were made twice, want %v", slots, got, again)
		}
	}
	for _, step := range []uint64{1, 12, 21} { // the first, and those of surge
		if !slices.Contains(again, step) {
			t.Errorf("steps %v were made twice, and not %d", again, step)
		}
	}
}

// Audits by workers and by the referee confirm integers, in a step that is made twice, too.
func TestIntegers_Audited(t *testing.T) {
	for _, here := range []bool{false, true} {
		cfg := integersConfig(t)
		cfg.Audit, cfg.AuditHere, cfg.Referee = 1, here, trusted(toySize)
		bus := wire.NewMemory(nil)
		c := newCoordinator(t, cfg, bus, nil)
		for _, id := range []string{"a", "b"} {
			defer startWorker(t, t.Context(), bus, worker.Config{ID: id}, nil)()
		}
		if err := c.Run(t.Context()); err != nil {
			t.Fatal(err)
		}
		theta, _ := c.Parameters()
		plain, _ := train(t, integersConfig(t), wire.NewMemory(nil), 1)
		if sha := checkpoint.Hash(theta); sha != plain {
			t.Errorf("here %v: SHA-256 %s, want %s", here, sha, plain)
		}
		if s := c.Stats(); s.Audits == 0 || s.Disputes > 0 || len(s.Quarantined) > 0 {
			t.Errorf("here %v: %+v", here, s)
		}
	}
}

// A worker that says wrong integers, or that its gradients need other scales than they do, is found out.
func TestIntegers_Liar(t *testing.T) {
	for name, lie := range map[string]func(grad []float32){
		"a value": func(grad []float32) { grad[17] += grad[18] + 1 },
		"a scale": func(grad []float32) { grad[3] = 1e30 },
	} {
		cfg := integersConfig(t)
		cfg.Audit, cfg.Referee = 1, trusted(toySize)
		bus := wire.NewMemory(nil)
		c := newCoordinator(t, cfg, bus, nil)
		liar, err := newWorker(bus, "liar", &toy{size: toySize, spoil: func(step uint64, _ int, grad []float32) error {
			if step == 4 {
				lie(grad)
			}
			return nil
		}})
		if err != nil {
			t.Fatal(err)
		}
		done := make(chan error, 1)
		ctx, cancel := context.WithCancel(t.Context())
		go func() { done <- liar.Run(ctx) }()
		wait := startWorker(t, t.Context(), bus, worker.Config{ID: "honest"}, func() *toy {
			return &toy{size: toySize, delay: 2 * time.Millisecond} // so that the other one has its share
		})
		if err := c.Run(t.Context()); err != nil {
			t.Fatal(err)
		}
		cancel()
		<-done
		wait()
		theta, _ := c.Parameters()
		plain, _ := train(t, integersConfig(t), wire.NewMemory(nil), 1)
		if sha := checkpoint.Hash(theta); sha != plain {
			t.Errorf("%s: SHA-256 %s, want %s", name, sha, plain)
		}
		if q := c.Stats().Quarantined; !slices.Equal(q, []string{"liar"}) {
			t.Errorf("%s: cut off were %v", name, q)
		}
	}
}

// A run interrupted in the middle goes on with the same bits: the levels are in the checkpoint.
func TestIntegers_InterruptedAndResumed(t *testing.T) {
	cfg, bus := integersConfig(t), wire.NewMemory(nil)
	ctx, interrupt := context.WithCancel(t.Context())
	c := newCoordinator(t, cfg, bus, &events{onStep: func(r coordinator.StepReport) {
		if r.Step == 13 {
			interrupt() // step 14 is under way; the levels are still those of the surge
		}
	}})
	wait := startWorker(t, t.Context(), bus, worker.Config{}, surging)
	if err := c.Run(ctx); !errors.Is(err, coordinator.ErrInterrupted) {
		t.Fatalf("got %v, want ErrInterrupted", err)
	}
	wait()
	cp, _, err := checkpoint.Restore(cfg.Dir)
	if err != nil || cp.Step != 14 || len(cp.Levels) != (toySize+vector.BlockSize-1)/vector.BlockSize {
		t.Fatalf("checkpoint of step %d with %d levels: %v", cp.Step, len(cp.Levels), err)
	}
	c = newCoordinator(t, cfg, bus, nil)
	if err := c.Resume(cp); err != nil {
		t.Fatal(err)
	}
	defer startWorker(t, t.Context(), bus, worker.Config{Slots: 2}, surging)()
	if err := c.Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	theta, _ := c.Parameters()
	if sha := checkpoint.Hash(theta); sha != goldenIntegers {
		t.Errorf("SHA-256 %s, want %s", sha, goldenIntegers)
	}

	other := cfg
	other.Gradients = wire.Float32
	if err := newCoordinator(t, other, bus, nil).Resume(cp); !errors.Is(err, coordinator.ErrMismatch) || !strings.Contains(err.Error(), "blocks") {
		t.Errorf("a run with float32 took up the checkpoint: %v", err)
	}
}

// A checkpoint whose levels were changed is not valid.
func TestIntegers_DamagedCheckpoint(t *testing.T) {
	cfg := integersConfig(t)
	train(t, cfg, wire.NewMemory(nil), 1)
	path := filepath.Join(cfg.Dir, "step-0000000030.safetensors")
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Contains(data, []byte(`"gradient.levels":{"dtype":"F32","shape":[4]`)) {
		t.Errorf("the levels are not in the header: %.300q", data)
	}
	data[len(data)-1] ^= 1
	if err := os.WriteFile(path, data, 0o644); err != nil {
		t.Fatal(err)
	}
	cp, skipped, err := checkpoint.Restore(cfg.Dir)
	if err != nil || cp.Step == 30 || len(skipped) != 1 {
		t.Errorf("restored step %d, skipped %v, error %v", cp.Step, skipped, err)
	}
}

// A gradient that two workers find to be no number ends the run.
func TestIntegers_NotFinite(t *testing.T) {
	cfg := integersConfig(t)
	bus := wire.NewMemory(nil)
	c := newCoordinator(t, cfg, bus, nil)
	broken := func() *toy {
		return &toy{size: toySize, spoil: func(step uint64, shard int, grad []float32) error {
			if step == 6 && shard == 2 {
				grad[999] = float32(math.NaN())
			}
			return nil
		}}
	}
	for range 2 {
		defer startWorker(t, t.Context(), bus, worker.Config{}, broken)()
	}
	if err := c.Run(t.Context()); !errors.Is(err, coordinator.ErrDiverged) || !strings.Contains(err.Error(), vector.ErrNotFinite.Error()) {
		t.Errorf("got %v, want ErrDiverged", err)
	}
}

// Gradients as integers halve or quarter what comes in, but for headers and the exponents.
func TestIntegers_FewerBytes(t *testing.T) {
	bytes := func(gradients wire.Coding) (total int64) {
		cfg := config(t)
		cfg.Gradients, cfg.Chunk, cfg.Credit = gradients, 1<<15, 1<<16
		bus := wire.NewMemory(nil)
		c := newCoordinator(t, cfg, bus, &events{onStep: func(r coordinator.StepReport) {
			if r.Step > 1 {
				total += r.BytesIn
			}
		}})
		defer startWorker(t, t.Context(), bus, worker.Config{}, nil)()
		if err := c.Run(t.Context()); err != nil {
			t.Fatal(err)
		}
		return total
	}
	float := bytes(wire.Float32)
	for gradients, most := range map[wire.Coding]float64{wire.Int16: 0.6, wire.Int8: 0.35} {
		if integer := bytes(gradients); float64(integer) > most*float64(float) {
			t.Errorf("%d bytes as integers of coding %d, %d as float32", integer, gradients, float)
		}
	}
}

func TestIntegers_TooManyShards(t *testing.T) {
	cfg := integersConfig(t)
	cfg.Shards = 512
	_, err := coordinator.New(cfg, initial(toySize), wire.NewMemory(nil), nil, hclog.NewNullLogger())
	if !errors.Is(err, coordinator.ErrConfig) || !strings.Contains(err.Error(), "512 shards") {
		t.Errorf("got %v", err)
	}
}
