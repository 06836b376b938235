package coordinator_test

import (
	"context"
	"errors"
	"testing"

	"github.com/hashicorp/go-hclog"

	"github.com/switchyard-ml/switchyard/cluster"
	"github.com/switchyard-ml/switchyard/coordinator"
	"github.com/switchyard-ml/switchyard/store/checkpoint"
	"github.com/switchyard-ml/switchyard/wire"
	"github.com/switchyard-ml/switchyard/worker"
)

// golden is the SHA-256 of the toy run's parameters, whatever computed them.
const golden = "6afa141c3768142dc4c1237eddee2c0b376c769a3b10feee7cd2a848839d445c"

// The parameters and every reported figure are the same for any number of workers and slots.
func TestRun_SameBitsForAnyWorkers(t *testing.T) {
	want := ""
	for _, slots := range [][]int{{1}, {1, 1}, {1, 1, 1}, {1, 1, 1, 1, 1}, {4}, {3, 1}, {2, 2, 2}, {16, 1}} {
		sha, trace := train(t, config(t), wire.NewMemory(nil), slots...)
		if sha != golden {
			t.Errorf("slots %v: SHA-256 %s, want %s", slots, sha, golden)
		}
		if want == "" {
			want = trace
		}
		if trace != want {
			t.Errorf("slots %v: the reports differ:\n%s\nwant\n%s", slots, trace, want)
		}
	}
}

// Chunk, credit and the intervals do not decide the bits.
func TestRun_SameBitsForAnyTransport(t *testing.T) {
	for name, change := range map[string]func(*coordinator.Config){
		"one chunk in flight": func(c *coordinator.Config) { c.Chunk, c.Credit = 256, 256 },
		"one large chunk":     func(c *coordinator.Config) { c.Chunk, c.Credit = 1<<20, 1<<24 },
		"no validation":       func(c *coordinator.Config) { c.ValidationShards, c.CheckpointEvery = 0, 0 },
		"always validate":     func(c *coordinator.Config) { c.ValidateEvery, c.CheckpointEvery = 1, 1 },
	} {
		cfg := config(t)
		change(&cfg)
		if sha, _ := train(t, cfg, wire.NewMemory(nil), 1, 1); sha != golden {
			t.Errorf("%s: SHA-256 %s, want %s", name, sha, golden)
		}
	}
}

func TestRun_OverNATS(t *testing.T) {
	server, err := cluster.Start(cluster.Config{Log: hclog.NewNullLogger()})
	if err != nil {
		t.Fatal(err)
	}
	defer server.Shutdown()
	bus, err := cluster.Connect(cluster.BusConfig{Server: server, Log: hclog.NewNullLogger()})
	if err != nil {
		t.Fatal(err)
	}
	defer bus.Close()
	if sha, _ := train(t, config(t), bus, 1, 1, 1); sha != golden {
		t.Errorf("SHA-256 %s, want %s", sha, golden)
	}
}

// Vectors that are handed over within the process, by some of the workers or all, come to the same bits.
func TestRun_WithinTheProcess(t *testing.T) {
	cfg := config(t)
	cfg.Chunk = 64 // many
	for _, n := range []company{{1, 0}, {2, 0}, {5, 0}, {8, 0}, {1, 1}, {2, 3}} {
		withinTheProcess(t, cfg, n, golden)
	}
}

// company is how many workers share the coordinator's process, and how many do not.
type company struct{ inside, outside int }

// withinTheProcess trains with such workers, and fails where the parameters are others or an honest worker was refused.
func withinTheProcess(t *testing.T, cfg coordinator.Config, n company, want string) {
	t.Helper()
	memory, process := wire.NewMemory(nil), wire.NewInProcess()
	bus := process.Bus(memory, n.outside > 0)
	c := newCoordinator(t, cfg, bus, nil)
	for range n.outside {
		defer startWorker(t, t.Context(), memory, worker.Config{}, nil)()
	}
	for range n.inside {
		defer startWorker(t, t.Context(), process.Bus(memory, n.outside > 0), worker.Config{}, nil)()
	}
	if err := c.Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	theta, _ := c.Parameters()
	if sha := checkpoint.Hash(theta); sha != want {
		t.Errorf("%+v: SHA-256 %s, want %s", n, sha, want)
	}
	noOffences(t, c)
}

// A run interrupted at step 13 and resumed from its checkpoint goes on with the same bits.
func TestRun_InterruptedAndResumed(t *testing.T) {
	cfg, bus := config(t), wire.NewMemory(nil)
	ctx, interrupt := context.WithCancel(t.Context())
	obs := &events{onStep: func(r coordinator.StepReport) {
		if r.Step == 12 {
			interrupt() // step 13 is under way
		}
	}}
	c := newCoordinator(t, cfg, bus, obs)
	waits := []func(){
		startWorker(t, t.Context(), bus, worker.Config{}, nil), startWorker(t, t.Context(), bus, worker.Config{}, nil),
	}
	if err := c.Run(ctx); !errors.Is(err, coordinator.ErrInterrupted) {
		t.Fatalf("got %v, want ErrInterrupted", err)
	}
	for _, wait := range waits {
		wait() // the workers were told
	}
	cp, skipped, err := checkpoint.Restore(cfg.Dir)
	if err != nil || len(skipped) > 0 {
		t.Fatal(err, skipped)
	}
	if cp.Step != 13 {
		t.Errorf("checkpoint at step %d, want 13", cp.Step)
	}
	c = newCoordinator(t, cfg, bus, nil)
	if err := c.Resume(cp); err != nil {
		t.Fatal(err)
	}
	defer startWorker(t, t.Context(), bus, worker.Config{Slots: 2}, nil)()
	if err := c.Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	theta, step := c.Parameters()
	if sha := checkpoint.Hash(theta); sha != golden || step != cfg.Steps {
		t.Errorf("step %d, SHA-256 %s, want %s", step, sha, golden)
	}
	last, _, err := checkpoint.Restore(cfg.Dir)
	if err != nil || last.Step != cfg.Steps || last.ParamsSHA256 != golden || last.Term != 2 {
		t.Errorf("last checkpoint: step %d, term %d, %s, %v", last.Step, last.Term, last.ParamsSHA256, err)
	}
	best, err := checkpoint.RestoreBest(cfg.Dir)
	if err != nil || best.Step != best.BestStep {
		t.Errorf("best checkpoint: step %d, best step %d, %v", best.Step, best.BestStep, err)
	}
}
