package coordinator_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/switchyard-ml/switchyard/coordinator"
	"github.com/switchyard-ml/switchyard/internal/disk"
	"github.com/switchyard-ml/switchyard/wire"
	"github.com/switchyard-ml/switchyard/worker"
)

// weather is what happens to messages on their way.
type weather struct {
	bus  *wire.Memory
	gone atomic.Bool // nothing passes
}

func newWeather(p plan, r *rand.Rand) *weather {
	w := &weather{}
	delay := func() time.Duration { return time.Duration(r.Float64() * r.Float64() * float64(p.delay)) }
	w.bus = wire.NewMemory(func(_ string, data []byte) []time.Duration {
		if w.gone.Load() {
			return nil
		}
		if r.Float64() < p.messages/10 && len(data) > 0 {
			data[r.IntN(len(data))] ^= 1 << r.IntN(8)
		}
		switch x := r.Float64(); {
		case x < p.messages:
			return nil
		case x < 2*p.messages:
			return []time.Duration{delay(), delay()}
		}
		return []time.Duration{delay()}
	})
	return w
}

// severable is the bus of a party that can be killed, or cut off for a while: from one moment to the next nothing
// passes.
type severable struct {
	wire.Bus
	cut atomic.Bool
	// alter may change what is sent; nil: nothing is.
	alter func(data []byte) []byte
	pause pause
}

func (s *severable) Publish(subject string, data []byte) error {
	s.pause.wait()
	if s.cut.Load() {
		return errors.New("cut")
	}
	if s.alter != nil {
		data = s.alter(data)
	}
	return s.Bus.Publish(subject, data)
}

func (s *severable) Subscribe(subject string, handle func([]byte)) (wire.Subscription, error) {
	return s.Bus.Subscribe(subject, func(data []byte) {
		s.pause.wait()
		if !s.cut.Load() {
			handle(data)
		}
	})
}

func (s *severable) Hear(subject string, handle func(string, []byte)) (wire.Subscription, error) {
	return s.Bus.Hear(subject, func(key string, data []byte) {
		s.pause.wait()
		if !s.cut.Load() {
			handle(key, data)
		}
	})
}

// pause holds up all that passes it, as a stopped process does; the zero value lets pass.
type pause struct {
	mu   sync.Mutex
	over chan struct{} // nil: not paused
}

func (p *pause) wait() {
	p.mu.Lock()
	over := p.over
	p.mu.Unlock()
	if over != nil {
		<-over
	}
}

func (p *pause) begin() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.over == nil {
		p.over = make(chan struct{})
	}
}

func (p *pause) end() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.over != nil {
		close(p.over)
		p.over = nil
	}
}

// weakDisk is full for a while: what is written then is cut short.
type weakDisk struct{ full atomic.Bool }

func (d *weakDisk) fault(a disk.Act) (int, error) {
	if d.full.Load() && (a.Kind == "write" || a.Kind == "create" || a.Kind == "append") {
		return a.Bytes / 2, syscall.ENOSPC
	}
	return 0, nil
}

// mortal is the disk of a process that is killed: as it was at that moment it stays.
type mortal struct {
	dead  atomic.Bool
	fault func(disk.Act) (int, error)
}

func (m *mortal) act(a disk.Act) (int, error) {
	if m.dead.Load() {
		return 0, errKilled
	}
	return m.fault(a)
}

// unsynced is a disk of a machine that never crashes: there is no need to wait for the platter.
type unsynced struct{ disk.Disk }

type unsyncedFile struct{ disk.File }

func (unsyncedFile) Sync() error { return nil }

func (unsynced) SyncFolder(string) error { return nil }

func (u unsynced) Create(path string) (disk.File, error) {
	f, err := u.Disk.Create(path)
	return unsyncedFile{f}, err
}

func (u unsynced) Append(path string, size int64) (disk.File, error) {
	f, err := u.Disk.Append(path, size)
	return unsyncedFile{f}, err
}

// life is one simulated worker.
type life struct {
	bus  *severable
	stop context.CancelFunc
	done chan struct{}
}

// fleet keeps a changing number of workers.
type fleet struct {
	*simulation
	fate  *rand.Rand
	alive []life
	born  int
}

// live goes on until ctx ends: some workers are killed, some leave, the others see the run end.
func (c *fleet) live(ctx context.Context) {
	for ctx.Err() == nil {
		for len(c.alive) < 1+c.fate.IntN(4) {
			c.spawn(ctx)
		}
		rest(ctx, time.Duration(c.fate.IntN(6000))*time.Millisecond)
		c.strike(ctx, c.alive[c.fate.IntN(len(c.alive))])
		kept := c.alive[:0]
		for _, l := range c.alive {
			select {
			case <-l.done:
				l.stop()
			default:
				kept = append(kept, l)
			}
		}
		c.alive = kept
	}
	for _, l := range c.alive {
		l.stop()
		<-l.done
	}
}

// strike lets something befall a worker.
func (c *fleet) strike(ctx context.Context, l life) {
	switch x := c.fate.IntN(6); {
	case x == 0 && c.plan.kills:
		l.bus.cut.Store(true)
		l.stop()
	case x == 1 && c.plan.kills:
		l.stop()
	case x == 2 && c.plan.partitions:
		l.bus.cut.Store(true)
		rest(ctx, time.Duration(c.fate.IntN(12_000))*time.Millisecond)
		l.bus.cut.Store(false)
	case x == 3 && c.plan.pauses:
		l.bus.pause.begin()
		rest(ctx, time.Duration(c.fate.IntN(12_000))*time.Millisecond)
		l.bus.pause.end()
	}
}

// spawn starts a worker, which may be a bad one.
func (c *fleet) spawn(ctx context.Context) {
	own, stop := context.WithCancel(ctx)
	l := life{&severable{Bus: c.weather.bus}, stop, make(chan struct{})}
	c.born++
	program := &toy{size: simulatedSize, delay: time.Duration(20+c.fate.IntN(300)) * time.Millisecond}
	if c.plan.slow && c.fate.IntN(3) == 0 {
		program.delay *= 20
	}
	id, bus := c.character(l.bus, program)
	memory := c.house.lodge(l.bus)
	w, err := worker.New(worker.Config{
		Memory: memory,
		Run:    "toy", ID: fmt.Sprint(id, c.born), Slots: 1 + c.fate.IntN(3), Token: 1 + c.fate.Uint64()>>1,
		Numerics: c.cfg.Numerics,
		Build: func(_, data []byte, _ int) (worker.Program, error) {
			if !bytes.Equal(data, c.cfg.Data) {
				c.t.Errorf("worker %s%d was given other data", id, c.born)
			}
			return program, nil
		},
	}, bus, hclog.NewNullLogger())
	if err != nil {
		c.t.Error(err)
	}
	go func() {
		defer close(l.done)
		if err := w.Run(own); err != nil && c.honest(w.ID()) {
			c.t.Errorf("worker %s: %v", w.ID(), err)
		}
	}()
	c.alive = append(c.alive, l)
}

// character decides what a worker is like, and names it so.
func (c *fleet) character(bus *severable, p *toy) (id string, over wire.Bus) {
	r := rand.New(rand.NewPCG(c.fate.Uint64(), 0))
	var mu sync.Mutex
	strikes := func(share float64) bool {
		mu.Lock()
		defer mu.Unlock()
		return r.Float64() < share
	}
	lie := 1 + r.Float32() // each its own: two that agree would be believed
	ways := func(n int) (int, bool) {
		bad := strikes(0.3)
		mu.Lock()
		defer mu.Unlock()
		return r.IntN(n), bad
	}
	sharded := c.cfg.Exchange != coordinator.Star
	switch bad := c.fate.IntN(3) == 0; {
	case bad && sharded && c.plan.reducers && c.born%2 == 0:
		return "reducer", newThief(bus, true, lie, ways)
	case bad && sharded && c.plan.holders && c.born%3 > 0:
		return "holder", newThief(bus, false, lie, ways)
	case bad && sharded && c.plan.relays:
		return "relay", newMisteller(bus, ways)
	case bad && c.plan.liars:
		// Each at its own place: integers are cut off, which makes large lies at the same place equal.
		place := c.born % simulatedSize
		p.spoil = func(_ uint64, _ int, grad []float32) error {
			if p.loaded && strikes(0.3) {
				grad[place] += 10000 * lie // enough not to be rounded away
			}
			return nil
		}
		p.spoilTerms = func(terms []float32) {
			if strikes(0.3) {
				terms[0] -= lie
			}
		}
		return "liar", bus
	case bad && c.plan.auditors:
		bus.alter = func(data []byte) []byte { return denied(data, strikes(0.5)) }
		return "auditor", bus
	case bad && c.plan.nan:
		p.spoil = func(_ uint64, _ int, grad []float32) error {
			if p.loaded && strikes(0.03) {
				grad[1] = float32(math.NaN())
			}
			return nil
		}
		return "nan", bus
	}
	return "w", bus
}

// denied replaces the digest of an audit's answer.
func denied(data []byte, lie bool) []byte {
	m, err := wire.Decode(data)
	if r, ok := m.(*wire.Result); err == nil && ok && lie && r.Digest != "" {
		r.Digest = strings.Repeat("0", wire.HashLength)
		if data, err = wire.NewEncoder().Encode(r); err != nil {
			panic(err)
		}
	}
	return data
}
