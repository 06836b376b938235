package coordinator_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"testing"
	"testing/synctest"

	"github.com/switchyard-ml/switchyard/coordinator"
	"github.com/switchyard-ml/switchyard/internal/vector"
	"github.com/switchyard-ml/switchyard/store/checkpoint"
	"github.com/switchyard-ml/switchyard/wire"
	"github.com/switchyard-ml/switchyard/worker"
)

// averaged is the toy run with an average of its parameters.
func averaged(t *testing.T) coordinator.Config {
	cfg := config(t)
	cfg.Average = 0.9
	return cfg
}

// averages computes the toy run with plain loops, and the average of its parameters in float64, and returns the average
// after each update.
func averages(t *testing.T) [][]float64 {
	t.Helper()
	cfg, theta, p := averaged(t), initial(toySize), &toy{size: toySize}
	adam := vector.NewAdam(cfg.Optimizer, toySize)
	average := make([]float64, toySize)
	for i, x := range theta {
		average[i] = float64(x)
	}
	var list [][]float64
	for step := range cfg.Steps {
		p.theta = theta
		tree := vector.NewTree(vector.Block{Count: cfg.Shards})
		for shard := range cfg.Shards {
			g := vector.Partial{Values: make([]float32, toySize), Terms: make([]float32, 2)}
			if err := p.Gradient(0, step, shard, g.Values, g.Terms); err != nil {
				t.Fatal(err)
			}
			tree.Add(vector.Block{First: shard, Count: 1}, g, func(vector.Partial) {})
		}
		sum, _ := tree.Take()
		if _, _, err := adam.Update(theta, sum.Values, cfg.Shards, step); err != nil {
			t.Fatal(err)
		}
		n := float64(step)
		keep := min(0.9, (1+n)/(10+n))
		for i, x := range theta {
			average[i] = keep*average[i] + (1-keep)*float64(x)
		}
		list = append(list, slices.Clone(average))
	}
	return list
}

// An average changes no bit of the parameters, for any workers and wire mode. It is validated in their place and kept
// in checkpoints, and agrees with one that plain loops compute in float64.
func TestAverage_ValidatedAndKept(t *testing.T) {
	want, trace := averages(t), ""
	for _, slots := range [][]int{{1}, {1, 1, 1}, {4}, {3, 1}} {
		cfg, obs, bus := averaged(t), &events{}, wire.NewMemory(nil)
		cfg.Audit, cfg.AuditHere, cfg.Referee = 0.5, true, trusted(toySize) // the referee sees what workers see
		c := newCoordinator(t, cfg, bus, obs)
		for i, n := range slots {
			defer startWorker(t, t.Context(), bus, worker.Config{ID: fmt.Sprint("w", i), Slots: n}, nil)()
		}
		if err := c.Run(t.Context()); err != nil {
			t.Fatal(err)
		}
		theta, _ := c.Parameters()
		if sha := checkpoint.Hash(theta); sha != golden {
			t.Errorf("slots %v: SHA-256 %s, want %s, as without an average", slots, sha, golden)
		}
		if s := c.Stats(); s.Audits == 0 || len(s.Quarantined) > 0 {
			t.Errorf("slots %v: %+v", slots, s)
		}
		noOffences(t, c)
		if len(obs.validations) != 3 {
			t.Errorf("slots %v: %d validations, want 3", slots, len(obs.validations))
		}
		for _, v := range obs.validations {
			loss := 1.5 // the mean of the shards' numbers
			for _, x := range want[v.Step-1] {
				loss += x * x
			}
			if math.Abs(float64(v.Loss[0])-loss) > 1e-4*loss {
				t.Errorf("slots %v: the validation at step %d gives %v, want %v, that of the average", slots, v.Step, v.Loss[0], loss)
			}
		}
		if trace == "" {
			trace = obs.trace()
		}
		if got := obs.trace(); got != trace {
			t.Errorf("slots %v: the reports differ:\n%s\nwant\n%s", slots, got, trace)
		}
		cp, _, err := checkpoint.Restore(cfg.Dir)
		if err != nil {
			t.Fatal(err)
		}
		for i, x := range cp.Evaluated() {
			if y := want[cfg.Steps-1][i]; math.Abs(float64(x)-y) > 1e-5*math.Max(1, math.Abs(y)) {
				t.Fatalf("slots %v: average %d of the checkpoint is %v, want %v", slots, i, x, y)
			}
		}
	}
}

// The average that a run keeps only to go back to is not what is validated: outliers that are skipped, where there are
// none, change nothing.
func TestAverage_ARefugeIsNotValidated(t *testing.T) {
	var traces []string
	for _, outlier := range []float64{0, 1e6} {
		cfg, obs, bus := config(t), &events{}, wire.NewMemory(nil)
		cfg.Optimizer.Outlier = outlier
		c := newCoordinator(t, cfg, bus, obs)
		defer startWorker(t, t.Context(), bus, worker.Config{ID: "w", Slots: 1}, nil)()
		if err := c.Run(t.Context()); err != nil {
			t.Fatal(err)
		}
		if len(obs.validations) == 0 {
			t.Fatal("nothing was validated")
		}
		traces = append(traces, obs.trace())
	}
	if traces[0] != traces[1] {
		t.Errorf("with outliers skipped the reports are\n%s\nwant\n%s", traces[1], traces[0])
	}
}

// The same holds where gradients travel as integers, some of which do not fit, and where replicas make local steps.
func TestAverage_EveryWireMode(t *testing.T) {
	integers := integersConfig(t)
	integers.Average = 0.9
	seen := ""
	for _, slots := range [][]int{{1}, {1, 1, 1}} {
		integers.Dir = t.TempDir()
		sha, trace := trainProgram(t, integers, wire.NewMemory(nil), surging, slots...)
		if sha != goldenIntegers {
			t.Errorf("slots %v: SHA-256 %s, want %s", slots, sha, goldenIntegers)
		}
		if seen == "" {
			seen = trace
		}
		if trace != seen {
			t.Errorf("slots %v: the reports differ", slots)
		}
	}
	want, average := localSHA(t), ""
	for _, workers := range []int{1, 3} {
		cfg, bus := local(t), wire.NewMemory(nil)
		cfg.Average = 0.9
		c := newCoordinator(t, cfg, bus, nil)
		for i := range workers {
			defer hire(t, t.Context(), bus, fmt.Sprint("w", i), 1, 0)()
		}
		if err := c.Run(t.Context()); err != nil {
			t.Fatal(err)
		}
		theta, _ := c.Parameters()
		if sha := checkpoint.Hash(theta); sha != want {
			t.Errorf("%d workers with local steps: SHA-256 %s, want %s", workers, sha, want)
		}
		cp, _, err := checkpoint.Restore(cfg.Dir)
		if err != nil {
			t.Fatal(err)
		}
		if average == "" {
			average = checkpoint.Hash(cp.Evaluated())
		}
		if got := checkpoint.Hash(cp.Evaluated()); got != average || got == want {
			t.Errorf("%d workers with local steps: the average is %s, want %s", workers, got, average)
		}
	}
}

// A run that was interrupted, at a validation too, ends with the average of one that was not, and the same best
// checkpoint.
func TestAverage_Resumed(t *testing.T) {
	whole := averaged(t)
	whole.Optimizer.Clip, whole.Optimizer.ClipFactor = 0, 1.2 // a fixed limit would hide the running norm
	train(t, whole, wire.NewMemory(nil), 1)
	want, _, err := checkpoint.Restore(whole.Dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, at := range []uint64{7, 9, 10} {
		cfg, bus := averaged(t), wire.NewMemory(nil)
		cfg.Optimizer = whole.Optimizer
		ctx, interrupt := context.WithCancel(t.Context())
		c := newCoordinator(t, cfg, bus, &events{onStep: func(r coordinator.StepReport) {
			if r.Step == at {
				interrupt()
			}
		}})
		wait := startWorker(t, t.Context(), bus, worker.Config{}, nil)
		if err := c.Run(ctx); !errors.Is(err, coordinator.ErrInterrupted) {
			t.Fatalf("got %v, want ErrInterrupted", err)
		}
		wait()
		cp, _, err := checkpoint.Restore(cfg.Dir)
		if err != nil {
			t.Fatal(err)
		}
		c = newCoordinator(t, cfg, bus, nil)
		if err := c.Resume(cp); err != nil {
			t.Fatal(err)
		}
		wait = startWorker(t, t.Context(), bus, worker.Config{}, nil)
		if err := c.Run(t.Context()); err != nil {
			t.Fatal(err)
		}
		wait()
		got, _, err := checkpoint.Restore(cfg.Dir)
		if err != nil {
			t.Fatal(err)
		}
		if got.ParamsSHA256 != want.ParamsSHA256 || got.BestStep != want.BestStep || got.BestLoss != want.BestLoss {
			t.Errorf("interrupted at %d: %s, best %d with %v; want %s, %d with %v", at, got.ParamsSHA256, got.BestStep, got.BestLoss,
				want.ParamsSHA256, want.BestStep, want.BestLoss)
		}
		for i, m := range want.Moments {
			if got.Moments[i].Name != m.Name || !slices.Equal(got.Moments[i].Values, m.Values) {
				t.Errorf("interrupted at %d: %s differs", at, m.Name)
			}
		}
	}
}

// Through random faults the average ends with the same bits, too.
func TestSimulation_Averaged(t *testing.T) {
	want := map[form]string{}
	for form := range simulated() {
		s := &simulation{t: t, cfg: simulatedConfig(t)}
		s.cfg.Gradients, s.cfg.Parameters, s.cfg.Average = form.gradients, form.parameters, 0.9
		bus := wire.NewMemory(nil)
		c := simulatedCoordinator(t, s.cfg, bus, nil)
		defer startWorker(t, t.Context(), bus, worker.Config{Numerics: s.cfg.Numerics}, func() *toy { return &toy{size: simulatedSize} })()
		if err := c.Run(t.Context()); err != nil {
			t.Fatal(err)
		}
		want[form] = s.average()
	}
	for i := range uint64(max(*simulations/5, 1)) {
		seed := *firstSeed + i
		t.Run(fmt.Sprint("seed=", seed), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				s := simulate(t, seed, 0.9)
				if got := s.average(); !t.Failed() && got != want[s.form()] {
					t.Errorf("the average is %s, want %s", got, want[s.form()])
				}
				if t.Failed() {
					t.Logf("%s\nrepeat it with: go test ./coordinator -run TestSimulation_Averaged -seed %d -simulations 1", s.plan, seed)
				}
			})
		})
	}
}

// average is the hash of the average in the last checkpoint.
func (s *simulation) average() string {
	cp, _, err := checkpoint.Restore(s.cfg.Dir)
	if err != nil {
		s.t.Error(err)
		return ""
	}
	return checkpoint.Hash(cp.Evaluated())
}
