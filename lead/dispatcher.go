package lead

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/switchyard-ml/switchyard/wire"
)

// interval is the time between two inspections of the runs' members. It is half the time between two calls of a
// worker that seeks a run.
const interval = 500 * time.Millisecond

// maxRefused is the largest number of refused workers that are remembered. The log names each of them once. Beyond
// it, refusals are answered and not logged.
const maxRefused = 256

// maxFound is the largest number of workers found in a minute that the log names.
const maxFound = 256

// PoolView is what the runs know of their workers at one moment.
type PoolView struct {
	Members []Member
	Banned  []Ban // workers that were expelled since their runs were opened: of each run the newest
}

// Ban names a worker that a run has expelled, and the mark of its token.
type Ban struct {
	Run, ID string
	Mark    uint64
}

// PoolConfig configures a Dispatcher. View is called without the lock of the dispatcher, from the goroutine of Run.
type PoolConfig struct {
	Numerics []wire.Numeric  // the fingerprint that a worker must have; empty: not checked
	View     func() PoolView // current state of all open runs
	Gate     *wire.Gate      // decides which messages of workers are looked at; nil: all
	Log      hclog.Logger
}

// Dispatcher assigns the workers of a pool over a bus. A broker should have only one. It hears the calls of workers
// on goroutines of the bus and looks after the members of runs in Run; a mutex keeps both from the pool at the same
// time. Its methods may be called from any goroutine.
type Dispatcher struct {
	cfg   PoolConfig
	bus   wire.Bus
	log   hclog.Logger
	start time.Time     // the beginning from which the pool measures times
	wake  chan struct{} // holds one element if Run is to look at once

	mu      sync.Mutex // guards the fields below
	pool    *Pool
	encoder *wire.Encoder
	done    map[Ban]bool    // bans of the last view, which the pool knows
	refused map[string]bool // by worker and reason: refusals that are logged

	foundFrom time.Duration // begin of the minute in which found were found
	found     int
}

// NewDispatcher prepares a dispatcher. Runs may be opened and closed before Run is called.
func NewDispatcher(cfg PoolConfig, bus wire.Bus) *Dispatcher {
	return &Dispatcher{
		cfg: cfg, bus: bus, log: cfg.Log, start: time.Now(), wake: make(chan struct{}, 1), pool: NewPool(),
		encoder: wire.NewEncoder(), done: map[Ban]bool{}, refused: map[string]bool{},
	}
}

// Open adds a run that has work. before says that the run may have workers from an earlier time, which will come back
// by themselves.
func (d *Dispatcher) Open(r Run, before bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.pool.Open(d.now(), r, before)
	d.rouse()
}

// Close removes a run that has ended. Closing a run twice, or one that is not open, does nothing.
func (d *Dispatcher) Close(run string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.pool.Close(run)
	d.rouse()
}

// rouse makes Run look at once: workers may be waiting for a run.
func (d *Dispatcher) rouse() {
	select {
	case d.wake <- struct{}{}:
	default:
	}
}

// Workers is the number of workers that serve a run or seek one.
func (d *Dispatcher) Workers() int {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.pool.Workers()
}

// Run assigns workers until ctx ends. It returns nil then, and an error if it cannot subscribe or unsubscribe.
// Messages are heard only while it runs.
func (d *Dispatcher) Run(ctx context.Context) error {
	sub, err := d.bus.Hear(wire.SeekSubject, d.receive)
	if err != nil {
		return fmt.Errorf("subscribe to %s: %w", wire.SeekSubject, err)
	}
	old, err := d.bus.Subscribe(wire.SeekSubject, d.refuseOld)
	if err != nil {
		return fmt.Errorf("subscribe to %s: %w", wire.SeekSubject, errors.Join(err, sub.Unsubscribe()))
	}
	ticker := time.NewTicker(interval)
	defer ticker.Stop()
	for {
		d.look()
		select {
		case <-ctx.Done():
			if err := errors.Join(sub.Unsubscribe(), old.Unsubscribe()); err != nil {
				return fmt.Errorf("unsubscribe from %s: %w", wire.SeekSubject, err)
			}
			return nil
		case <-ticker.C:
		case <-d.wake:
		}
	}
}

// now is the time since the dispatcher was made, which is that of the pool.
func (d *Dispatcher) now() time.Duration { return time.Since(d.start) }

// look reads the state of the runs and sends workers to them. A ban is told to the pool once.
func (d *Dispatcher) look() {
	view := d.cfg.View()
	d.mu.Lock()
	defer d.mu.Unlock()
	now := d.now()
	before := d.done
	d.done = make(map[Ban]bool, len(view.Banned))
	for _, ban := range view.Banned {
		if !before[ban] {
			d.pool.Ban(ban.Mark)
		}
		d.done[ban] = true
	}
	d.pool.Observe(now, view.Members)
	for _, a := range d.pool.Assign(now) {
		d.log.Debug("worker is sent to a run", "worker", a.Worker, "run", a.Run)
		d.assign(a)
	}
}

// receive handles a message of a worker that seeks a run. key is the name of the key that its sender has proved to
// hold, or wire.NoKey. What is malformed, or no Seek of the pool, is dropped without an answer; a Seek of another
// protocol version is refused.
func (d *Dispatcher) receive(key string, data []byte) {
	if !d.cfg.Gate.Admit(key, data) {
		return
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	msg, err := wire.DecodeFrom(key, data)
	if err != nil && !d.cfg.Gate.Unsound(key) {
		return
	}
	if errors.Is(err, wire.ErrVersion) {
		d.refuseVersion(key, data)
		return
	}
	seek, ok := msg.(*wire.Seek)
	if err != nil || !ok || seek.Run != wire.Pool || wire.CheckWorker(seek.From) != nil || seek.Slots < 1 {
		d.log.Debug("message dropped", "subject", wire.SeekSubject, "error", err)
		return
	}
	if kernel := differing(d.cfg.Numerics, seek.Numerics); kernel != "" {
		d.refuse(seek.From, seek.Token, fmt.Sprintf("its arithmetic differs from the coordinator's: %s", kernel),
			"run coordinator and workers from the same release; if they are, this machine computes wrongly: switchyard bench "+
				"kernels")
		return
	}
	d.answer(seek)
}

// answer tells the pool of a Seek and sends what the pool decides: the run to go to, or a refusal. A Seek that is
// not newer than the last one of its worker, or for which the pool has no room, is not answered. The lock is held.
func (d *Dispatcher) answer(seek *wire.Seek) {
	mark := wire.Mark(seek.Token)
	known := d.pool.Knows(seek.From, mark)
	answer, err := d.pool.Seek(d.now(), Call{
		ID: seek.From, Mark: mark, Number: seek.Number, Slots: seek.Slots,
		Serving: seek.Serving,
	})
	switch {
	case errors.Is(err, ErrOld):
		d.log.Debug("message dropped", "worker", seek.From, "error", err)
		return
	case errors.Is(err, ErrBanned):
		d.refuse(seek.From, seek.Token, "its results were found to be wrong",
			"check the machine (memory, cooling) before its worker is started again; the coordinator's log names shard and step")
		return
	case err != nil: // it asks again, and there may be room then
		d.logRefusal(seek.From, err.Error())
		return
	}
	if !known {
		d.log.Log(d.levelOfFound(), "worker found", "worker", seek.From, "slots", seek.Slots, "build", seek.Build)
	}
	d.assign(answer)
}

// levelOfFound is Info for so many workers a minute: who comes under ever other names does not fill the log.
func (d *Dispatcher) levelOfFound() hclog.Level {
	if now := d.now(); now-d.foundFrom >= time.Minute {
		d.foundFrom, d.found = now, 0
	}
	if d.found++; d.found > maxFound {
		return hclog.Debug
	}
	return hclog.Info
}

// assign sends a worker where the pool wants it. The lock is held.
func (d *Dispatcher) assign(a Answer) {
	d.send(a.Worker, a.Mark, &wire.Assign{To: a.Run, Number: a.Number, Order: a.Order})
}

// refuseVersion answers a Seek with another protocol version. Only the parts of a message that all versions share
// are read. The lock is held.
func (d *Dispatcher) refuseVersion(key string, data []byte) {
	p, err := wire.Peek(data)
	if err != nil || p.Kind != wire.KindSeek || p.Run != wire.Pool || wire.CheckName(p.From) != nil {
		return
	}
	d.refuse(wire.Name(p.From, key), p.Token, otherVersion(p.Version), sameRelease)
}

// sameRelease is what helps a worker of another release.
const sameRelease = "run coordinator and workers from the same release"

// otherVersion is the reason to refuse a worker with that protocol version.
func otherVersion(version uint64) string {
	return fmt.Sprintf("the worker speaks protocol version %d, the coordinator %d", version, wire.Version)
}

// refuseOld answers a Seek of a release whose subjects have no keys. Where the broker asks for keys, nobody can publish
// here: the worker says that its key is not allowed to.
func (d *Dispatcher) refuseOld(data []byte) {
	p, err := wire.Peek(data)
	if err != nil || p.Version >= wire.FirstKeyed || p.Kind != wire.KindSeek || p.Run != wire.Pool ||
		wire.CheckName(p.From) != nil {
		return
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	reason := otherVersion(p.Version)
	d.logRefusal(p.From, reason)
	d.publish(wire.OldAssignSubject(p.From), 0, &wire.Refusal{Reason: reason, Remedy: sameRelease})
}

// refuse refuses the worker with a token. Another one under that id does not believe it. The lock is held.
func (d *Dispatcher) refuse(id string, token uint64, reason, remedy string) {
	d.logRefusal(id, reason)
	d.send(id, wire.Mark(token), &wire.Refusal{Reason: reason, Remedy: remedy})
}

// logRefusal logs, once, why a worker is refused. The lock is held.
func (d *Dispatcher) logRefusal(id, reason string) {
	if key := id + " " + reason; !d.refused[key] && len(d.refused) < maxRefused {
		d.refused[key] = true
		d.log.Warn("worker refused", "worker", id, "reason", reason)
	}
}

// send sends a message to a worker. If it is lost, it is sent again when the worker seeks again, or at the next
// inspection.
func (d *Dispatcher) send(id string, mark uint64, msg wire.Message) {
	d.publish(wire.AssignSubject(id), mark, msg)
}

// publish sends a message of the pool. mark, in the place of a token, says whom it is for: a worker believes only
// what bears the mark of its own token. The lock is held: it guards the encoder.
func (d *Dispatcher) publish(subject string, mark uint64, msg wire.Message) {
	*msg.Head() = wire.Header{Run: wire.Pool, Token: mark}
	data, err := d.encoder.Encode(msg)
	if err == nil {
		err = d.bus.Publish(subject, data)
	}
	if err != nil {
		d.log.Debug("message lost", "subject", subject, "kind", wire.TypeOf(msg), "error", err)
	}
}

// differing returns why a worker's fingerprint differs from the coordinator's, with the first kernel that differs;
// empty if they are equal. Without kernels of our own, nothing is compared. The kernels need not be in the same
// order.
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
