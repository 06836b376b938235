package coordinator_test

import (
	"bytes"
	"context"
	"errors"
	"math/rand/v2"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/switchyard-ml/switchyard/coordinator"
	"github.com/switchyard-ml/switchyard/store/checkpoint"
	"github.com/switchyard-ml/switchyard/wire"
	"github.com/switchyard-ml/switchyard/worker"
)

// dataset is n bytes, always the same.
func dataset(n int) []byte {
	data := make([]byte, n)
	rand.NewChaCha8([32]byte{1}).Read(data)
	return data
}

// census counts the messages that are sent over a bus, by kind. It may swallow the End.
type census struct {
	wire.Bus
	sent    [wire.KindAssign + 1]atomic.Int64
	endless bool
}

func (c *census) Publish(subject string, data []byte) error {
	if m, err := wire.Decode(data); err == nil {
		c.sent[wire.TypeOf(m)].Add(1)
		if c.endless && wire.TypeOf(m) == wire.KindEnd {
			return nil
		}
	}
	return c.Bus.Publish(subject, data)
}

// reader is a worker whose program wants the data set.
type reader struct {
	*worker.Worker
	built atomic.Int64 // how often its program was built
	done  chan error
}

func startReader(t *testing.T, bus wire.Bus, want []byte, cfg worker.Config) *reader {
	t.Helper()
	r := &reader{done: make(chan error, 1)}
	cfg.Run = "toy"
	cfg.Build = func(_, data []byte, _ int) (worker.Program, error) {
		r.built.Add(1)
		if !bytes.Equal(data, want) {
			t.Errorf("worker %s was given %d bytes that are not the data set", cfg.ID, len(data))
		}
		return &toy{size: toySize}, nil
	}
	var err error
	if r.Worker, err = worker.New(cfg, bus, hclog.NewNullLogger()); err != nil {
		t.Fatal(err)
	}
	go func() { r.done <- r.Run(t.Context()) }()
	return r
}

func (r *reader) wait(t *testing.T) {
	t.Helper()
	if err := <-r.done; err != nil {
		t.Errorf("worker %s: %v", r.ID(), err)
	}
}

// Each worker fetches the data set once: a coordinator that comes back, and the next run of the process, find it there.
// A worker that has it by itself fetches nothing.
func TestRun_DataFetchedOnce(t *testing.T) {
	memory := wire.NewMemory(nil)
	carriers := map[string]func() wire.Bus{"memory": func() wire.Bus { return memory }, "nats": overNATS(t)}
	for name, connect := range carriers {
		t.Run(name, func(t *testing.T) { fetchOnce(t, connect) })
	}
}

func fetchOnce(t *testing.T, connect func() wire.Bus) {
	cfg, want := config(t), dataset(100_001)
	cfg.Data, cfg.Steps = want, 1<<40
	pieces := int64(len(want)+1023) / 1024
	local := func(hash string) []byte {
		if hash != wire.HashData(want) {
			t.Errorf("asked for %s", hash)
		}
		return want
	}
	workers := []*reader{
		startReader(t, connect(), want, worker.Config{ID: "a"}), startReader(t, connect(), want, worker.Config{ID: "b"}),
		startReader(t, connect(), want, worker.Config{ID: "local", DataSet: local}),
	}
	// lead runs a coordinator until all workers have joined, and returns how many pieces it has sent.
	lead := func(endless bool) int64 {
		bus := &census{Bus: connect(), endless: endless}
		ctx, interrupt := context.WithCancel(t.Context())
		joined := make(chan string, 100)
		c := newCoordinator(t, cfg, bus, joins{&events{onStep: func(coordinator.StepReport) {
			if len(joined) == len(workers) {
				interrupt()
			}
		}}, joined})
		if cp, _, err := checkpoint.Restore(cfg.Dir); err == nil {
			if err := c.Resume(cp); err != nil {
				t.Fatal(err)
			}
		}
		if err := c.Run(ctx); !errors.Is(err, coordinator.ErrInterrupted) {
			t.Error(err)
		}
		return bus.sent[wire.KindPiece].Load()
	}
	if n := lead(true); n != 2*pieces {
		t.Errorf("%d pieces were sent, want %d", n, 2*pieces)
	}
	if n := lead(false); n != 0 {
		t.Errorf("%d pieces were sent to workers that have the data set", n)
	}
	for _, w := range workers {
		w.wait(t)
		if n := w.built.Load(); n != 1 {
			t.Errorf("worker %s built %d programs", w.ID(), n)
		}
	}
	before := workers[0]
	keep := func(hash string) []byte {
		if h, data := before.Data(); h == hash {
			return data
		}
		return nil
	}
	workers = []*reader{startReader(t, connect(), want, worker.Config{ID: "next", DataSet: keep})}
	if n := lead(false); n != 0 {
		t.Errorf("%d pieces were sent in the next run", n)
	}
	workers[0].wait(t)
}

// A worker that never gets the data set holds up neither the steps nor another one that fetches.
func TestRun_FetchDoesNotHoldUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cfg, want := config(t), dataset(100_000)
		cfg.Data = want
		s, _ := wire.SubjectsOf("toy")
		bus := wire.NewMemory(func(subject string, data []byte) []time.Duration {
			if m, err := wire.Decode(data); err == nil && wire.TypeOf(m) == wire.KindPiece && subject == s.Worker("poor") {
				return nil
			}
			return []time.Duration{time.Millisecond}
		})
		c, start := newCoordinator(t, cfg, bus, nil), time.Now()
		poor := startReader(t, bus, want, worker.Config{ID: "poor"})
		fair := startReader(t, bus, want, worker.Config{ID: "fair"})
		delay := func() *toy { return &toy{size: toySize, delay: 10 * time.Millisecond} }
		wait := startWorker(t, t.Context(), bus, worker.Config{ID: "rich", DataSet: func(string) []byte { return want }}, delay)
		if err := c.Run(t.Context()); err != nil {
			t.Fatal(err)
		}
		poor.wait(t)
		fair.wait(t)
		wait()
		theta, _ := c.Parameters()
		if sha := checkpoint.Hash(theta); sha != golden {
			t.Errorf("SHA-256 %s, want %s", sha, golden)
		}
		if d := time.Since(start); d > 4*time.Second {
			t.Errorf("the run took %v, alone it takes 2.5 s", d)
		}
		if poor.built.Load() != 0 || fair.built.Load() != 1 {
			t.Errorf("programs built: poor %d, fair %d", poor.built.Load(), fair.built.Load())
		}
	})
}

func TestNew_DataNeedsCredit(t *testing.T) {
	cfg := config(t)
	cfg.Data, cfg.Credit = dataset(1), 2047
	_, err := coordinator.New(cfg, initial(toySize), wire.NewMemory(nil), nil, hclog.NewNullLogger())
	if !errors.Is(err, coordinator.ErrConfig) || !strings.Contains(err.Error(), "below two chunks") {
		t.Errorf("got %v", err)
	}
}

// offendData asks for what is not in a data set of 10 pieces, and for another one.
func offendData(g *gang, data string) {
	for _, ranges := range [][]wire.Range{
		{{First: 10, Count: 1}},
		{{First: 0, Count: 11}},
		{{First: wire.MaxCount, Count: wire.MaxCount}},
		{{First: 1, Count: wire.MaxCount}},
		{{First: 4, Count: 0}},
		{{First: 4, Count: 2}, {First: 5, Count: 1}},
		slices.Repeat([]wire.Range{{First: 0, Count: 10}}, wire.MaxRanges),
	} {
		g.send(&wire.Fetch{Hash: data, Ranges: ranges}, coordinator.ReasonData)
	}
	for _, hash := range []string{"", "x", strings.Repeat("0", wire.HashLength)} {
		g.send(&wire.Fetch{Hash: hash, Ranges: []wire.Range{{First: 0, Count: 1}}}, coordinator.ReasonData)
	}
	g.send(&wire.Piece{Index: 1, Data: []byte{1}}, coordinator.ReasonMalformed)
	evil := g.member()
	evil.send(evil.subjects.Control, &wire.Fetch{Header: wire.Header{From: "stranger"}, Hash: data, Ranges: []wire.Range{{First: 0, Count: 10}}})
	g.expect("", coordinator.ReasonWorker)
	for range 100 { // nothing of it ever arrives: it keeps its share of the credit for a while
		evil.send(evil.subjects.Control, &wire.Fetch{Hash: data, Ranges: []wire.Range{{First: 0, Count: 10}}})
	}
}
