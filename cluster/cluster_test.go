package cluster_test

import (
	"bytes"
	"context"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/switchyard-ml/switchyard/cluster"
	"github.com/switchyard-ml/switchyard/coordinator"
	"github.com/switchyard-ml/switchyard/internal/vector"
	"github.com/switchyard-ml/switchyard/store/checkpoint"
	"github.com/switchyard-ml/switchyard/wire"
	"github.com/switchyard-ml/switchyard/worker"
)

// toy is a program whose gradients depend on parameters, step and shard.
type toy struct {
	size   int
	theta  []float32
	before func(step uint64) // called before each gradient, if set
	lie    bool              // deliver something else than was asked for, from the second step on
}

func (p *toy) Size() int           { return p.size }
func (p *toy) TermNames() []string { return []string{"loss"} }

func (p *toy) Load(_ uint64, theta []float32) error {
	p.theta = append(p.theta[:0], theta...)
	return nil
}

func (p *toy) Gradient(_ int, step uint64, shard int, grad, terms []float32) error {
	if p.before != nil {
		p.before(step)
	}
	if p.theta == nil { // the golden shard, before any parameters are loaded
		p.theta = initial(p.size)
	}
	x := uint32(step)*2654435761 ^ uint32(shard)*40503
	for i, v := range p.theta {
		x = x*1664525 + 1013904223
		grad[i] = float32(v*0.3) + float32(int32(x))/(1<<31)
	}
	if p.lie && step > 1 {
		grad[0]++
	}
	terms[0] = p.theta[0]
	return nil
}

func (p *toy) Validate(_ int, _ uint64, _ int, terms []float32) error {
	terms[0] = p.theta[0]
	return nil
}

func initial(size int) []float32 {
	theta := make([]float32, size)
	for i := range theta {
		theta[i] = float32(i%17)*0.25 - 2
	}
	return theta
}

// toyConfig is a run of the toy with the message path of the presets.
func toyConfig(t *testing.T, steps uint64, shards int) coordinator.Config {
	return coordinator.Config{
		Run: "toy", Seed: 1, Steps: steps, Shards: shards,
		Optimizer:        coordinator.Optimizer{Rate: 0.01, Clip: 20, Beta1: 0.9, Beta2: 0.999, Epsilon: 1e-8},
		FailureDetection: 20 * time.Second, Chunk: 61440, Credit: 16 << 20, TermNames: []string{"loss"}, Dir: t.TempDir(),
	}
}

// site is a broker with keys, to which parties connect over TCP.
type site struct {
	t   *testing.T
	dir string // of the keys
	url string
	log hclog.Logger
}

func (s *site) connect(key string) *cluster.Bus {
	s.t.Helper()
	bus, err := cluster.Connect(cluster.BusConfig{URL: s.url, Name: key, NKeyFile: filepath.Join(s.dir, key), Log: s.log.Named(key)})
	if err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(bus.Close)
	return bus
}

// newSite starts a broker with keys. All that is logged from warnings on is written to the result.
func newSite(t *testing.T) (*site, *cluster.Broker, *logged) {
	t.Helper()
	dir, text := keyFolder(t), &logged{}
	b := startEmbedded(t, dir, false)
	return &site{t, dir, b.URL(), hclog.New(&hclog.LoggerOptions{Output: text, Level: hclog.Warn})}, b, text
}

// logged is a log that may be read while it is written.
type logged struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *logged) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *logged) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

// member is a worker of the toy.
func (s *site) member(bus wire.Bus, id string, program func() *toy) *worker.Worker {
	s.t.Helper()
	w, err := worker.New(worker.Config{
		Run: "toy", ID: id, Build: func([]byte, []byte, int) (worker.Program, error) { return program(), nil },
	}, bus, s.log.Named(id))
	if err != nil {
		s.t.Fatal(err)
	}
	return w
}

// together lets programs begin their steps when so many of them are built: no worker is too late for a run.
func together(t *testing.T, workers int64, program func() *toy) func() *toy {
	var built atomic.Int64
	return func() *toy {
		p := program()
		before := p.before
		p.before = func(step uint64) {
			for p.theta != nil && built.Load() < workers && t.Context().Err() == nil { // the golden shard waits for nobody
				time.Sleep(time.Millisecond)
			}
			if before != nil {
				before(step)
			}
		}
		built.Add(1)
		return p
	}
}

// work starts a worker with the key of workers, and returns what ends it and waits for it.
func (s *site) work(id string, program func() *toy) (end func() error) {
	s.t.Helper()
	w := s.member(s.connect(cluster.WorkerKey), id, program)
	ctx, cancel := context.WithCancel(s.t.Context())
	done := make(chan error, 1)
	go func() { done <- w.Run(ctx) }()
	return func() error {
		cancel()
		return <-done
	}
}

// serve runs a worker until the test's context ends, and waits for it then: one that misses the end of a run, or comes too
// late for it, waits for another.
func (s *site) serve(id string, w *worker.Worker) {
	s.t.Helper()
	done := make(chan error, 1)
	go func() { done <- w.Run(s.t.Context()) }()
	s.t.Cleanup(func() {
		if err := <-done; err != nil {
			s.t.Errorf("worker %s: %v", id, err)
		}
	})
}

// undisturbed is the hash of the parameters that a run ends with, computed without a network.
func undisturbed(t *testing.T, cfg coordinator.Config, size int) string {
	t.Helper()
	cfg.Dir, cfg.Audit, cfg.Referee = t.TempDir(), 0, nil
	bus := wire.NewMemory(nil)
	c, err := coordinator.New(cfg, initial(size), bus, nil, hclog.NewNullLogger())
	if err != nil {
		t.Fatal(err)
	}
	w, err := worker.New(worker.Config{
		Run: "toy", Build: func([]byte, []byte, int) (worker.Program, error) { return &toy{size: size}, nil },
	}, bus, hclog.NewNullLogger())
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan error, 1)
	go func() { done <- w.Run(t.Context()) }()
	if err := c.Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	return hash(c)
}

func hash(c *coordinator.Coordinator) string {
	theta, _ := c.Parameters()
	return checkpoint.Hash(theta)
}

// referee computes a block of the toy as an honest worker does.
func referee(size int) coordinator.Referee {
	return func(_ context.Context, step uint64, theta []float32, work wire.Work, block vector.Block) (values, terms []float32, err error) {
		p, tree := &toy{size: size, theta: theta}, vector.NewTree(block)
		for shard := block.First; shard < block.First+block.Count; shard++ {
			part := vector.Partial{Terms: make([]float32, 1)}
			if work == wire.Validate {
				err = p.Validate(0, step, shard, part.Terms)
			} else {
				part.Values = make([]float32, size)
				err = p.Gradient(0, step, shard, part.Values, part.Terms)
			}
			if err != nil {
				return nil, nil, err
			}
			tree.Add(vector.Block{First: shard, Count: 1}, part, func(vector.Partial) {})
		}
		sum, _ := tree.Take()
		return sum.Values, sum.Terms, nil
	}
}
