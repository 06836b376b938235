package coordinator_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/switchyard-ml/switchyard/coordinator"
	"github.com/switchyard-ml/switchyard/store/checkpoint"
	"github.com/switchyard-ml/switchyard/wire"
	"github.com/switchyard-ml/switchyard/wire/shm"
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
	program func(i int) *toy                   // of worker i; nil: an honest one
	wrap    func(i int, bus wire.Bus) wire.Bus // of worker i; nil: nothing
	cut     []string                           // who is cut off; set by run
	summed  int                                // steps whose gradient workers have summed; set by run
}

// run trains to the end and returns the hash of the parameters.
func (h *household) run(t *testing.T) string {
	t.Helper()
	if h.bus == nil {
		h.bus = wire.NewMemory(nil)
	}
	bus, log := tallied{h.bus, &h.kinds}, hclog.New(&hclog.LoggerOptions{Output: &h.log, Level: hclog.Info})
	c, err := coordinator.New(h.cfg, initial(toySize), bus, nil, log)
	if err != nil {
		t.Fatal(err)
	}
	var all sync.WaitGroup
	defer all.Wait()
	ctx, stop := context.WithCancel(t.Context())
	defer stop() // a worker that came too late waits for a run to begin
	for i := range h.workers {
		cfg := worker.Config{Run: h.cfg.Run, ID: fmt.Sprint("w", i), Slots: 1 + i%2}
		if h.memory != nil {
			cfg.Memory = h.memory(i)
		}
		cfg.Build = func([]byte, []byte, int) (worker.Program, error) {
			for h.kinds[wire.KindShare].Load() < h.sharers { // toys are built faster than memory is shared
				time.Sleep(time.Millisecond)
			}
			p := &toy{size: toySize}
			if h.program != nil {
				p = h.program(i)
			}
			return h.together(ctx, p), nil
		}
		var own wire.Bus = bus
		if h.wrap != nil {
			own = h.wrap(i, bus)
		}
		w, err := worker.New(cfg, own, log)
		if err != nil {
			t.Fatal(err)
		}
		all.Go(func() {
			if err := w.Run(ctx); err != nil && !errors.Is(err, worker.ErrRefused) {
				t.Error(err)
			}
		})
	}
	if err := c.Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	h.cut, h.summed = c.Stats().Quarantined, c.Stats().Summed
	theta, _ := c.Parameters()
	return checkpoint.Hash(theta)
}

// together lets a program begin when all workers are ready: nobody is too late for the run.
func (h *household) together(ctx context.Context, p *toy) *toy {
	spoil := p.spoil
	p.spoil = func(step uint64, shard int, grad []float32) error {
		for p.loaded && h.kinds[wire.KindReady].Load() < int64(h.workers) && ctx.Err() == nil {
			time.Sleep(time.Millisecond)
		}
		if spoil == nil {
			return nil
		}
		return spoil(step, shard, grad)
	}
	return p
}

// folder is a short one, as a socket has to lie there.
func folder(t testing.TB) shm.Directory {
	t.Helper()
	dir, err := os.MkdirTemp("", "sy")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	return shm.Directory(dir)
}

// sharingConfig is a run in real time whose workers are not lost for being slow.
func sharingConfig(t *testing.T, exchange coordinator.Exchange, gradients, parameters wire.Coding) coordinator.Config {
	cfg := config(t)
	cfg.Steps, cfg.ValidateEvery, cfg.CheckpointEvery, cfg.FailureDetection = 12, 5, 6, time.Minute
	cfg.Exchange, cfg.Gradients, cfg.Parameters = exchange, gradients, parameters
	return cfg
}

// For each form of vectors there is one SHA-256 of the parameters: by messages alone and by shared memory, real and its
// twin; in a star and where workers sum; with 1 to 8 workers.
func TestSharing_SameBits(t *testing.T) {
	t.Parallel()
	for form := range simulated() {
		t.Run(fmt.Sprintf("%v/%v", form.gradients, form.parameters), func(t *testing.T) {
			alone := household{cfg: sharingConfig(t, coordinator.Star, form.gradients, form.parameters), workers: 1}
			want := alone.run(t)
			for _, exchange := range []coordinator.Exchange{coordinator.Star, coordinator.Sharded} {
				for workers := 1; workers <= 8; workers += coordinator.WorkersApart {
					t.Run(fmt.Sprintf("%v/%d", exchange, workers), func(t *testing.T) {
						t.Parallel()
						cfg := sharingConfig(t, exchange, form.gradients, form.parameters)
						for name, host := range map[string]shm.Host{"messages": nil, "twin": shm.NewTwin(nil), "directory": folder(t)} {
							cfg.Dir, cfg.Memory = t.TempDir(), host
							h := household{cfg: cfg, workers: workers}
							if host != nil {
								h.sharers, h.memory = int64(workers), func(int) shm.Host { return host }
							}
							if got := h.run(t); got != want {
								t.Errorf("%s: SHA-256 %s, want %s", name, got, want)
							}
							if host != nil {
								h.shared(t, name, exchange)
							}
						}
					})
				}
			}
		})
	}
}

// shared checks which messages a run had whose workers all share memory: nothing that the coordinator sends or pulls is a
// chunk, but for the first vectors of a worker who is ready before it shares. Workers pull chunks from each other where
// they sum.
func (h *household) shared(t *testing.T, name string, exchange coordinator.Exchange) {
	t.Helper()
	first := int64(h.workers * wire.NewChunking(toySize, h.cfg.Chunk).Count())
	if at, chunks := h.kinds[wire.KindThetaAt].Load(), h.kinds[wire.KindTheta].Load(); at < int64(h.cfg.Steps) || chunks > first {
		t.Errorf("%s: parameters went %d times by shared memory, and in %d chunks:\n%s", name, at, chunks, &h.log)
	}
	at, chunks := h.kinds[wire.KindChunksAt].Load(), h.kinds[wire.KindChunk].Load()
	if at < int64(h.cfg.Steps) || exchange == coordinator.Star && chunks > first {
		t.Errorf("%s: gradients went %d times by shared memory, and in %d chunks:\n%s", name, at, chunks, &h.log)
	}
	if sums := h.summed > 0; h.workers > 1 && sums != (exchange == coordinator.Sharded) {
		t.Errorf("%s: workers summed in %d of %d steps", name, h.summed, h.cfg.Steps)
	}
	if n := h.log.count("the worker is on this host"); n != h.workers {
		t.Errorf("%s: %d lines say that a worker shares memory, want %d", name, n, h.workers)
	}
}

// altered is a bus that changes what its party says.
type altered struct {
	wire.Bus
	change func(m wire.Message) bool // whether it changed the message; nothing is sent if it changes it to nil
}

func (b altered) Publish(subject string, data []byte) error {
	m, err := wire.Decode(bytes.Clone(data))
	if err != nil || !b.change(m) {
		return b.Bus.Publish(subject, data)
	}
	if data, err = wire.NewEncoder().Encode(m); err != nil {
		return err
	}
	return b.Bus.Publish(subject, data)
}

// Whatever a worker says of its memory, and whatever becomes of it, no bit changes and nothing stops: its vectors travel as
// chunks from then on, which one line says. Nobody else is touched by it.
func TestSharing_Hostile(t *testing.T) {
	const line = "go through the broker from now on"
	chunksAt := func(change func(m *wire.ChunksAt)) func(wire.Message) bool {
		return func(m wire.Message) bool {
			c, ok := m.(*wire.ChunksAt)
			if ok {
				change(c)
			}
			return ok
		}
	}
	for name, hostile := range map[string]struct {
		says  func(m wire.Message) bool // w0, of its memory
		reads func(data []byte) error   // of everybody, after some
		lines int                       // at least
	}{
		"another place":    {says: chunksAt(func(m *wire.ChunksAt) { m.At += 4 }), lines: 2},
		"a place far off":  {says: chunksAt(func(m *wire.ChunksAt) { m.At = wire.MaxPlace }), lines: 2},
		"another checksum": {says: chunksAt(func(m *wire.ChunksAt) { m.Sum++ }), lines: 2},
		"too many chunks":  {says: chunksAt(func(m *wire.ChunksAt) { m.Count++ })},
		"far too many":     {says: chunksAt(func(m *wire.ChunksAt) { m.First, m.Count = wire.MaxCount, wire.MaxCount })},
		"no chunks":        {says: chunksAt(func(m *wire.ChunksAt) { m.Count = 0 })},
		"another lease":    {says: chunksAt(func(m *wire.ChunksAt) { m.Lease += 1000 })},
		"another step":     {says: chunksAt(func(m *wire.ChunksAt) { m.Step++ })},
		"another token":    {says: chunksAt(func(m *wire.ChunksAt) { m.Token++ })},
		"everything else is off": {says: func(m wire.Message) bool {
			s, ok := m.(*wire.Share)
			if ok {
				s.On = false
			}
			return ok
		}},
		"bits that flip":         {reads: func(data []byte) error { data[0] ^= 1; return nil }, lines: 2},
		"a file that is shorter": {reads: func([]byte) error { return io.ErrUnexpectedEOF }, lines: 2},
		"a file that is gone":    {reads: func([]byte) error { return os.ErrClosed }, lines: 2},
	} {
		for _, exchange := range []coordinator.Exchange{coordinator.Star, coordinator.Sharded} {
			t.Run(fmt.Sprintf("%s/%s", name, exchange), func(t *testing.T) {
				t.Parallel()
				synctest.Test(t, func(t *testing.T) {
					cfg := sharingConfig(t, exchange, wire.Float32, wire.Float32)
					cfg.FailureDetection = 200 * time.Millisecond
					without := household{cfg: cfg, workers: 2}
					want := without.run(t)
					var reads atomic.Int64
					host := shm.NewTwin(func(data []byte) error {
						if hostile.reads != nil && reads.Add(1) > 60 {
							return hostile.reads(data)
						}
						return nil
					})
					cfg.Dir, cfg.Memory = t.TempDir(), host
					with := household{cfg: cfg, workers: 2, sharers: 2, memory: func(int) shm.Host { return host }}
					if hostile.says != nil {
						with.wrap = func(i int, bus wire.Bus) wire.Bus {
							if i > 0 {
								return bus
							}
							return altered{bus, hostile.says}
						}
					}
					if got := with.run(t); got != want {
						t.Errorf("SHA-256 %s, want %s", got, want)
					}
					if n := with.log.count(line); n < hostile.lines || n > 4 {
						t.Errorf("%d lines say that it is over, want %d to 4:\n%s", n, hostile.lines, &with.log)
					}
					if hostile.says != nil && with.log.count(line+", no longer by shared memory: worker=w1") > 0 {
						t.Errorf("another worker is touched:\n%s", &with.log)
					}
				})
			})
		}
	}
}

// Who lies about its gradients is found out by the same audit whether they come by shared memory or not.
func TestSharing_LiarIsCutOff(t *testing.T) {
	cfg := sharingConfig(t, coordinator.Star, wire.Float32, wire.Float32)
	honest := household{cfg: cfg, workers: 2}
	want := honest.run(t)
	host := folder(t)
	cfg.Dir, cfg.Memory, cfg.Audit, cfg.Referee = t.TempDir(), host, 1, trusted(toySize)
	h := household{
		cfg: cfg, workers: 3, sharers: 3, memory: func(int) shm.Host { return host },
		program: func(i int) *toy {
			p := &toy{size: toySize, delay: time.Millisecond}
			if i == 0 {
				p.spoil = func(_ uint64, _ int, grad []float32) error {
					if p.loaded {
						grad[0] += 10000
					}
					return nil
				}
			}
			return p
		},
	}
	if got := h.run(t); got != want {
		t.Errorf("SHA-256 %s, want %s", got, want)
	}
	if len(h.cut) != 1 || h.cut[0] != "w0" {
		t.Errorf("cut off: %v", h.cut)
	}
	if h.kinds[wire.KindChunksAt].Load() == 0 {
		t.Error("no gradients went by shared memory")
	}
}

// Workers elsewhere, and those that have no memory to share, get chunks, beside others that share.
func TestSharing_Mixed(t *testing.T) {
	cfg := sharingConfig(t, coordinator.Star, wire.Int16, wire.Int16)
	without := household{cfg: cfg, workers: 4}
	want := without.run(t)
	here, there := folder(t), folder(t)
	cfg.Dir, cfg.Memory = t.TempDir(), here
	hosts := []shm.Host{here, nil, there, shm.Directory("/nowhere")}
	h := household{
		cfg: cfg, workers: 4, sharers: 1, memory: func(i int) shm.Host { return hosts[i] },
		program: func(int) *toy { return &toy{size: toySize, delay: time.Millisecond} },
	}
	if got := h.run(t); got != want {
		t.Errorf("SHA-256 %s, want %s", got, want)
	}
	for _, kind := range []wire.Kind{wire.KindTheta, wire.KindThetaAt, wire.KindChunk, wire.KindChunksAt} {
		if h.kinds[kind].Load() == 0 {
			t.Errorf("no %s was sent", kind)
		}
	}
	if n := h.log.count("no memory is shared with the coordinator"); n != 2 {
		t.Errorf("%d lines say that nothing is shared, want 2:\n%s", n, &h.log)
	}
}

// vanishing is a folder that is gone when somebody comes.
type vanishing struct{ shm.Directory }

func (v vanishing) Join(ctx context.Context, place string, secret uint64, size int) (shm.Link, error) {
	if err := os.RemoveAll(string(v.Directory)); err != nil {
		return nil, err
	}
	return v.Directory.Join(ctx, place, secret, size)
}

// A folder that cannot be used, or that vanishes, stops nothing.
func TestSharing_Folder(t *testing.T) {
	cfg := sharingConfig(t, coordinator.Star, wire.Float32, wire.Float32)
	without := household{cfg: cfg, workers: 2}
	want := without.run(t)
	for name, c := range map[string]struct {
		host  shm.Host
		line  string
		lines int // at most
	}{
		"missing":  {shm.Directory("/nowhere/at/all"), "no memory is shared with workers of this host", 1},
		"vanishes": {vanishing{folder(t)}, "no memory is shared with the coordinator", 2},
	} {
		cfg.Dir, cfg.Memory = t.TempDir(), c.host
		h := household{
			cfg: cfg, workers: 2, memory: func(int) shm.Host { return c.host },
			program: func(int) *toy { return &toy{size: toySize, delay: 2 * time.Millisecond} },
		}
		if got := h.run(t); got != want {
			t.Errorf("%s: SHA-256 %s, want %s", name, got, want)
		}
		if n := h.log.count(c.line); n > c.lines || n == 0 {
			t.Errorf("%s: %d lines %q, want %d:\n%s", name, n, c.line, c.lines, &h.log)
		}
	}
}

// boastful is the bus of a worker that says that it shares memory, before it says that it is ready.
type boastful struct{ wire.Bus }

func (b boastful) Publish(subject string, data []byte) error {
	if m, err := wire.Decode(bytes.Clone(data)); err == nil && wire.TypeOf(m) == wire.KindReady {
		share, err := wire.NewEncoder().Encode(&wire.Share{Header: *m.Head(), On: true})
		if err != nil {
			return err
		}
		if err := b.Bus.Publish(subject, share); err != nil {
			return err
		}
	}
	return b.Bus.Publish(subject, data)
}

// Who says that it shares memory and has not come to where it is shared is not believed: its parameters come as chunks.
func TestSharing_Boast(t *testing.T) {
	cfg := sharingConfig(t, coordinator.Star, wire.Float32, wire.Float32)
	without := household{cfg: cfg, workers: 2}
	want := without.run(t)
	cfg.Dir, cfg.Memory = t.TempDir(), folder(t)
	h := household{cfg: cfg, workers: 2, wrap: func(_ int, bus wire.Bus) wire.Bus { return boastful{bus} }}
	if got := h.run(t); got != want {
		t.Errorf("SHA-256 %s, want %s", got, want)
	}
	if n := h.kinds[wire.KindThetaAt].Load(); n > 0 || h.kinds[wire.KindShare].Load() < 2 {
		t.Errorf("parameters went %d times to memory that nobody shares", n)
	}
}
