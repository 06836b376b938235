package pool

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/switchyard-ml/switchyard/internal/wire"
)

// interval is the time between two inspections of the runs' members.
const interval = 500 * time.Millisecond

// maxRefused is the largest number of refused workers that are remembered. The log names each of them once.
const maxRefused = 256

// View is what the runs know of their workers.
type View struct {
	Members []Member
	Banned  []Ban // all workers that were expelled since their runs were opened
}

// Ban names a worker that a run has expelled.
type Ban struct{ Run, ID string }

// Config configures a Dispatcher.
type Config struct {
	Numerics []wire.Numeric // the fingerprint that a worker must have; empty: not checked
	View     func() View    // current state of all open runs
	Log      hclog.Logger
}

// Dispatcher assigns the workers of a pool over a bus. A broker should have only one.
type Dispatcher struct {
	cfg   Config
	bus   wire.Bus
	log   hclog.Logger
	start time.Time
	wake  chan struct{}

	mu      sync.Mutex // guards the fields below
	pool    *Pool
	encoder *wire.Encoder
	done    map[Ban]bool    // bans that the pool knows
	refused map[string]bool // by worker and reason: refusals that are logged
}

// NewDispatcher prepares a dispatcher. Runs may be opened and closed before Run is called.
func NewDispatcher(cfg Config, bus wire.Bus) *Dispatcher {
	return &Dispatcher{
		cfg: cfg, bus: bus, log: cfg.Log, start: time.Now(), wake: make(chan struct{}, 1), pool: New(),
		encoder: wire.NewEncoder(), done: map[Ban]bool{}, refused: map[string]bool{},
	}
}

// Open adds a run that has work. before says that the run may have workers from an earlier time, which will come back
// by themselves.
func (d *Dispatcher) Open(r Run, before bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.pool.Open(d.now(), r, before)
	for ban := range d.done {
		if ban.Run == r.Name {
			delete(d.done, ban)
		}
	}
	select {
	case d.wake <- struct{}{}:
	default:
	}
}

// Close removes a run that has ended.
func (d *Dispatcher) Close(run string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.pool.Close(run)
}

// Idle is the number of workers that serve no run.
func (d *Dispatcher) Idle() int {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.pool.Idle()
}

// Run assigns workers until ctx ends.
func (d *Dispatcher) Run(ctx context.Context) error {
	sub, err := d.bus.Subscribe(wire.SeekSubject, d.receive)
	if err != nil {
		return fmt.Errorf("subscribe to %s: %w", wire.SeekSubject, err)
	}
	ticker := time.NewTicker(interval)
	defer ticker.Stop()
	for {
		d.look()
		select {
		case <-ctx.Done():
			if err := sub.Unsubscribe(); err != nil {
				return fmt.Errorf("unsubscribe from %s: %w", wire.SeekSubject, err)
			}
			return nil
		case <-ticker.C:
		case <-d.wake:
		}
	}
}

func (d *Dispatcher) now() time.Duration { return time.Since(d.start) }

// look reads the state of the runs and sends workers to them.
func (d *Dispatcher) look() {
	view := d.cfg.View()
	d.mu.Lock()
	defer d.mu.Unlock()
	now := d.now()
	for _, ban := range view.Banned {
		if !d.done[ban] {
			d.done[ban] = true
			d.pool.Ban(ban.ID)
		}
	}
	d.pool.Observe(now, view.Members)
	for _, m := range d.pool.Assign(now) {
		d.log.Debug("worker is sent to a run", "worker", m.Worker, "run", m.Run)
		d.send(m.Worker, &wire.Assign{To: m.Run})
	}
}

// receive handles a message from workers that seek a run.
func (d *Dispatcher) receive(data []byte) {
	d.mu.Lock()
	defer d.mu.Unlock()
	msg, err := wire.Decode(data)
	if errors.Is(err, wire.ErrVersion) {
		d.refuseVersion(data)
		return
	}
	seek, ok := msg.(*wire.Seek)
	if err != nil || !ok || seek.Run != wire.Pool || wire.CheckName(seek.From) != nil || seek.Slots < 1 {
		d.log.Debug("message dropped", "subject", wire.SeekSubject, "error", err)
		return
	}
	if kernel := differing(d.cfg.Numerics, seek.Numerics); kernel != "" {
		d.refuse(seek.From, fmt.Sprintf("its arithmetic differs from the coordinator's: %s", kernel),
			"run coordinator and workers from the same release; if they are, this machine computes wrongly: switchyard bench kernels")
		return
	}
	d.answer(seek)
}

func (d *Dispatcher) answer(seek *wire.Seek) {
	known := d.pool.worker(seek.From) != nil
	to, err := d.pool.Seek(d.now(), seek.From, seek.Token, seek.Slots)
	switch {
	case errors.Is(err, ErrBanned):
		d.refuse(seek.From, "its results were found to be wrong", "check the machine (memory, cooling) before its worker is started again; the coordinator's log names shard and step")
		return
	case err != nil: // an answer would reach the other worker with that id
		d.logRefusal(seek.From, err.Error())
		return
	}
	if !known {
		d.log.Info("worker found", "worker", seek.From, "slots", seek.Slots, "build", seek.Build)
	}
	d.send(seek.From, &wire.Assign{To: to})
}

// refuseVersion answers a Seek with another protocol version.
func (d *Dispatcher) refuseVersion(data []byte) {
	p, err := wire.Peek(data)
	if err != nil || p.Kind != wire.KindSeek || p.Run != wire.Pool || wire.CheckName(p.From) != nil {
		return
	}
	d.refuse(p.From, fmt.Sprintf("the worker speaks protocol version %d, the coordinator %d", p.Version, wire.Version),
		"run coordinator and workers from the same release")
}

func (d *Dispatcher) refuse(id, reason, remedy string) {
	d.logRefusal(id, reason)
	d.send(id, &wire.Refusal{Reason: reason, Remedy: remedy})
}

// logRefusal logs, once, why a worker is refused.
func (d *Dispatcher) logRefusal(id, reason string) {
	if key := id + " " + reason; !d.refused[key] && len(d.refused) < maxRefused {
		d.refused[key] = true
		d.log.Warn("worker refused", "worker", id, "reason", reason)
	}
}

// send sends a message to a worker. If it is lost, it is sent again when the worker seeks again, or at the next
// inspection.
func (d *Dispatcher) send(id string, msg wire.Message) {
	*msg.Head() = wire.Header{Run: wire.Pool}
	data, err := d.encoder.Encode(msg)
	if err == nil {
		err = d.bus.Publish(wire.AssignSubject(id), data)
	}
	if err != nil {
		d.log.Debug("message lost", "worker", id, "kind", msg.Kind(), "error", err)
	}
}

// differing returns why a worker's fingerprint differs from the coordinator's, with the first kernel that differs;
// empty if they are equal.
func differing(ours, theirs []wire.Numeric) string {
	if len(ours) == 0 {
		return ""
	}
	for _, n := range ours {
		i := slices.IndexFunc(theirs, func(o wire.Numeric) bool { return o.Kernel == n.Kernel })
		switch {
		case i < 0:
			return fmt.Sprintf("kernel %s is not known there", n.Kernel)
		case theirs[i].Sum != n.Sum:
			return fmt.Sprintf("kernel %s gives %016x, here %016x", n.Kernel, theirs[i].Sum, n.Sum)
		}
	}
	if len(theirs) != len(ours) {
		return fmt.Sprintf("it has %d kernels, here are %d", len(theirs), len(ours))
	}
	return ""
}
