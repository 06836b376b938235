package coordinator_test

import (
	"context"
	"fmt"
	"math"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/hashicorp/go-hclog"
	"go.uber.org/goleak"

	"github.com/switchyard-ml/switchyard/coordinator"
	"github.com/switchyard-ml/switchyard/internal/vector"
	"github.com/switchyard-ml/switchyard/store/checkpoint"
	"github.com/switchyard-ml/switchyard/wire"
	"github.com/switchyard-ml/switchyard/worker"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// toy is a program whose gradients depend on parameters, step and shard, and whose sums depend on their order.
type toy struct {
	size  int
	delay time.Duration
	theta []float32
	// spoil may change the gradient of a shard, or fail.
	spoil func(step uint64, shard int, grad []float32) error
	// spoilTerms may change the terms of a validation.
	spoilTerms func(terms []float32)
	loaded     bool
}

func (p *toy) Size() int           { return p.size }
func (p *toy) TermNames() []string { return []string{"loss", "kl"} }

func (p *toy) Load(_ uint64, theta []float32) error {
	p.theta, p.loaded = append(p.theta[:0], theta...), true
	return nil
}

func (p *toy) Gradient(_ int, step uint64, shard int, grad, terms []float32) error {
	if p.delay > 0 {
		time.Sleep(p.delay)
	}
	if p.theta == nil { // the golden shard, before any parameters are loaded
		p.theta = initial(p.size)
	}
	x := uint32(step)*2654435761 ^ uint32(shard)*40503
	sum := float32(0)
	for i := range grad {
		x = x*1664525 + 1013904223
		noise := float32(int32(x)) / (1 << 31)
		grad[i] = float32(p.theta[i]*(1+float32(float32(shard)*0.37))) + float32(noise*float32(uint32(1)<<(x>>28)))
		sum += float32(p.theta[i] * p.theta[i])
	}
	terms[0], terms[1] = sum, float32(shard)*1.1
	if p.spoil != nil {
		return p.spoil(step, shard, grad)
	}
	return nil
}

func (p *toy) Validate(_ int, _ uint64, shard int, terms []float32) error {
	sum := float32(shard)
	for _, v := range p.theta {
		sum += float32(v * v)
	}
	terms[0], terms[1] = sum, 1
	if p.spoilTerms != nil {
		p.spoilTerms(terms)
	}
	return nil
}

// trusted is a referee for toys of a size, whose integers have 16 bits.
func trusted(size int) coordinator.Referee { return trustedOf(vector.Int16, size) }

func trustedOf(width vector.Width, size int) coordinator.Referee {
	return func(_ context.Context, step uint64, theta []float32, work wire.Work, b vector.Block) (values, terms []float32, err error) {
		program, tree := rounding(width, size, theta), vector.NewTree(b)
		tree.Peaks = len(theta) - size
		for shard := b.First; shard < b.First+b.Count; shard++ {
			p := vector.Partial{Terms: make([]float32, 2)}
			if work == wire.Gradient {
				p.Values = make([]float32, program.Size())
				err = program.Gradient(0, step, shard, p.Values, p.Terms)
			} else {
				err = program.Validate(0, step, shard, p.Terms)
			}
			if err != nil {
				return nil, nil, err
			}
			tree.Add(vector.Block{First: shard, Count: 1}, p, func(vector.Partial) {})
		}
		sum, _ := tree.Take()
		return sum.Values, sum.Terms, nil
	}
}

// rounding is a toy at the given parameters. If there are exponents behind them its gradients are rounded as in a run
// of config.
func rounding(width vector.Width, size int, theta []float32) worker.Program {
	var program worker.Program = &toy{size: size}
	if len(theta) > size {
		grid, err := vector.NewGrid(width, []int{size}, 8)
		if err != nil {
			panic(err)
		}
		program = worker.Rounded(program, vector.Rounder{Grid: grid, Seed: 1})
	}
	if err := program.Load(0, theta); err != nil {
		panic(err)
	}
	return program
}

// goldenShard is the golden shard of toys of a size.
func goldenShard(size int) string {
	values, terms, _ := trusted(size)(context.Background(), 0, initial(size), wire.Gradient, vector.Block{Count: 1})
	return wire.DigestPartial(values, terms)
}

const toySize = 1000

func initial(size int) []float32 {
	theta := make([]float32, size)
	for i := range theta {
		theta[i] = float32(i%17)*0.25 - 2
	}
	return theta
}

func config(t *testing.T) coordinator.Config {
	return coordinator.Config{
		Run: "toy", Seed: 1, Steps: 30, Shards: 8,
		Optimizer: coordinator.Optimizer{
			Rate: 0.05, Decay: 0.9, DecayEvery: 7, Clip: 20, Beta1: 0.9, Beta2: 0.999, Epsilon: 1e-8,
		},
		ValidateEvery: 10, ValidationShards: 4, CheckpointEvery: 10, FailureDetection: 5 * time.Second,
		Chunk: 1024, Credit: 4096, TermNames: []string{"loss", "kl"}, Dir: t.TempDir(),
	}
}

// events collects what an observer hears.
type events struct {
	mu          sync.Mutex
	steps       []coordinator.StepReport
	validations []coordinator.ValidationReport
	checkpoints []coordinator.CheckpointReport
	members     []coordinator.MembershipReport
	storage     []coordinator.StorageReport
	rollbacks   []coordinator.RollbackReport
	onStep      func(coordinator.StepReport)
}

func (e *events) Step(r coordinator.StepReport) {
	e.mu.Lock()
	e.steps = append(e.steps, r)
	e.mu.Unlock()
	if e.onStep != nil {
		e.onStep(r)
	}
}

func (e *events) Validation(r coordinator.ValidationReport) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.validations = append(e.validations, r)
}

func (e *events) Checkpoint(r coordinator.CheckpointReport) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.checkpoints = append(e.checkpoints, r)
}

func (e *events) Membership(r coordinator.MembershipReport) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.members = append(e.members, r)
}

func (e *events) Storage(r coordinator.StorageReport) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.storage = append(e.storage, r)
}

func (e *events) Rollback(r coordinator.RollbackReport) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.rollbacks = append(e.rollbacks, r)
}

// trace is the losses and norms of a run, which must not depend on how it was computed.
func (e *events) trace() string {
	var b strings.Builder
	for _, s := range e.steps {
		fmt.Fprintln(&b, s.Step, math.Float32bits(s.Loss[0]), math.Float32bits(s.Loss[1]), s.GradNorm, s.Rate)
	}
	for _, v := range e.validations {
		fmt.Fprintln(&b, v.Step, v.Loss, v.Best)
	}
	return b.String()
}

func newCoordinator(t *testing.T, cfg coordinator.Config, bus wire.Bus, obs coordinator.Observer) *coordinator.Coordinator {
	t.Helper()
	c, err := coordinator.New(cfg, initial(toySize), bus, obs, hclog.NewNullLogger())
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// startWorker runs a worker and returns the function that ends it, if it has not ended, and waits. A worker that starts
// after the end of the run would wait for a coordinator for ever.
func startWorker(t *testing.T, ctx context.Context, bus wire.Bus, cfg worker.Config, program func() *toy) (wait func()) {
	t.Helper()
	cfg.Run = "toy"
	if program == nil {
		program = func() *toy { return &toy{size: toySize} }
	}
	cfg.Build = func([]byte, []byte, int) (worker.Program, error) { return program(), nil }
	w, err := worker.New(cfg, bus, hclog.NewNullLogger())
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan error, 1)
	ctx, cancel := context.WithCancel(ctx)
	go func() { done <- w.Run(ctx) }()
	return func() {
		t.Helper()
		cancel()
		if err := <-done; err != nil {
			t.Errorf("worker %s: %v", w.ID(), err)
		}
	}
}

// noOffences fails if a message of one of the workers, which are all honest, was refused as wrong. On a busy machine
// some messages come twice, or after their block was given to another worker.
func noOffences(t *testing.T, c *coordinator.Coordinator) {
	t.Helper()
	for _, r := range c.Rejections() {
		if !r.Reason.Expected() && r.Reason != coordinator.ReasonLease {
			t.Errorf("%d messages of honest worker %s were refused: %s", r.Count, r.Worker, r.Reason)
		}
	}
}

// newWorker makes a worker of a program.
func newWorker(bus wire.Bus, id string, p *toy) (*worker.Worker, error) {
	build := func([]byte, []byte, int) (worker.Program, error) { return p, nil }
	return worker.New(worker.Config{Run: "toy", ID: id, Build: build}, bus, hclog.NewNullLogger())
}

// train runs a configuration to its end with the given slots per worker, and returns the hash and the trace.
func train(t *testing.T, cfg coordinator.Config, bus wire.Bus, slots ...int) (string, string) {
	t.Helper()
	return trainProgram(t, cfg, bus, nil, slots...)
}

// trainProgram is train of a program.
func trainProgram(t *testing.T, cfg coordinator.Config, bus wire.Bus, program func() *toy, slots ...int) (string, string) {
	t.Helper()
	obs := &events{}
	c := newCoordinator(t, cfg, bus, obs)
	for i, n := range slots {
		defer startWorker(t, t.Context(), bus, worker.Config{ID: fmt.Sprintf("w%d", i), Slots: n}, program)()
	}
	if err := c.Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	noOffences(t, c)
	theta, step := c.Parameters()
	if step != cfg.Steps {
		t.Errorf("ended at step %d", step)
	}
	return checkpoint.Hash(theta), obs.trace()
}
