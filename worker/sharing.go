package worker

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"time"

	"github.com/switchyard-ml/switchyard/wire"
	"github.com/switchyard-ml/switchyard/wire/shm"
)

// Where the worker is on the coordinator's host, parameters and gradients go by memory that both share: see package
// shm. The worker tries what the coordinator offers, and says when each of them has read what the other wrote. From
// then on it reads parameters where it is told that they lie, and puts there what is pulled. Whatever goes wrong with
// that ends it for good, and vectors travel as chunks: nothing waits for shared memory.

// sharing is the memory that the worker shares with one coordinator.
//
// Invariant: a result of leases[i] lies at i·size.
type sharing struct {
	link   shm.Link // nil: none
	size   int      // bytes of a result
	leases [wire.MaxShared]*lease
	trying bool // to reach what was offered
	over   bool // it went wrong: with this coordinator, nothing is shared any more
	told   bool // why is logged
	end    context.CancelFunc
	joined chan joined
}

// joined is what became of an attempt.
type joined struct {
	link shm.Link
	err  error
}

// hearing is a subscription to chunks of the parameters, which can be ended while messages wait.
type hearing struct {
	sub   wire.Subscription
	ended chan struct{}
}

// takeOffer tries to share memory with the coordinator. It leads to a Share, now or when the place was reached.
func (w *Worker) takeOffer(msg *wire.Offer) {
	s := &w.sharing
	switch {
	case msg.Place == "":
		w.unshare("the coordinator did not find in this worker's memory what it was told")
	case s.link != nil: // it was not heard
		w.publish(w.subjects.Control, &wire.Share{On: true})
	case w.cfg.Memory != nil && !s.trying && !s.over:
		w.join(msg.Place)
	}
}

// join goes to a place, in a goroutine of its own. To go there can take seconds, and the worker goes on meanwhile.
func (w *Worker) join(place string) {
	s := &w.sharing
	ctx, end := context.WithCancel(context.Background())
	answer := make(chan joined, 1)
	s.trying, s.end, s.joined = true, end, answer
	// Results are laid one behind the other, each in room for a whole gradient.
	s.size = w.resultSize()
	size, secret := wire.MaxShared*s.size, w.cfg.Token
	w.goroutines.Go(func() {
		link, err := w.cfg.Memory.Join(ctx, place, secret, size)
		answer <- joined{link, err}
	})
}

// resultSize is the number of bytes in a gradient as it travels in the run.
func (w *Worker) resultSize() int {
	if w.rounder.Grid != nil {
		return codingOf(w.rounder.Grid.Width()).Width() * w.rounder.Grid.Len()
	}
	return wire.Float32.Width() * w.size
}

// takeJoined begins to share memory, if it was reached. If not, the coordinator is told nothing: it goes on as
// before.
func (w *Worker) takeJoined(j joined) {
	s := &w.sharing
	s.trying = false
	if j.err != nil {
		if !s.told {
			s.told = true
			w.log.Info("no memory is shared with the coordinator: vectors go through the broker", "reason", j.err)
		}
		return
	}
	s.link = j.link
	w.log.Info("the coordinator is on this host: parameters and gradients use shared memory")
	w.publish(w.subjects.Control, &wire.Share{On: true})
}

// unshare ends for good that memory is shared with this coordinator. Its chunks of parameters are heard again.
func (w *Worker) unshare(why string) {
	s := &w.sharing
	if s.link != nil {
		w.log.Warn("parameters and gradients go through the broker from now on, no longer by shared memory", "reason", why)
	}
	w.closeLink()
	s.over = true
	w.hearAgain()
}

// closeLink gives shared memory back, and gives up what tries to reach it. It waits for an attempt to end.
func (w *Worker) closeLink() {
	s := &w.sharing
	if s.trying {
		s.end()
		if j := <-s.joined; j.link != nil {
			s.link = j.link
		}
		s.trying = false
	}
	if s.end != nil {
		s.end()
	}
	if s.link != nil {
		if err := s.link.Close(); err != nil {
			w.log.Debug("close shared memory", "error", err)
		}
	}
	*s = sharing{told: s.told, over: s.over}
}

// takeThetaAt reads the parameters where they lie. What is not there is asked for. It leads to a Need then, and to a
// Share if the memory cannot be relied on.
func (w *Worker) takeThetaAt(msg *wire.ThetaAt) {
	if w.sharing.link == nil {
		if w.sharing.over { // which the coordinator has not heard
			w.publish(w.subjects.Control, &wire.Share{Why: "nothing is shared any more"})
		}
		return
	}
	// They may have come as chunks already.
	if !w.turn(msg.Step, msg.Pass) || w.theta.got.Missing() == 0 {
		return
	}
	now := time.Now()
	err := w.theta.read(w.sharing.link, msg, w.chunks)
	if err == nil {
		w.stir(now)
		w.deafen()
		return
	}
	// To have been too slow is no fault of the memory.
	if !errors.Is(err, errOvertaken) {
		w.publish(w.subjects.Control, &wire.Share{Why: wire.Clip(err.Error())})
		w.unshare(err.Error())
	}
	w.theta.asked(now)
	w.publish(w.subjects.Control, &wire.Need{Step: w.theta.step, Ranges: w.theta.missingRanges()})
}

// errOvertaken is returned for parameters in whose place there are newer ones.
var errOvertaken = errors.New("worker: newer parameters lie there")

// read reads all parameters from memory. If they are not there, none are left. What was read is in a copy of its own,
// over which the checksum is formed.
func (a *assembly) read(memory shm.Link, msg *wire.ThetaAt, chunks wire.Chunking) error {
	crcs := make([]uint32, chunks.Count())
	var room []byte
	var err error
	for i := range crcs {
		from, _ := chunks.Span(i)
		if crcs[i], room, err = chunks.ReadAt(memory, int64(msg.At)+int64(4*from), a.values, i, room); err != nil {
			break
		}
	}
	// The coordinator may have written newer parameters meanwhile.
	if err == nil && wire.Combine(crcs) != msg.Sum {
		err = fmt.Errorf("the parameters of step %d do not have the checksum that the coordinator says", msg.Step)
	}
	if err != nil {
		a.got.Begin(len(crcs))
		clear(a.held)
		return errors.Join(err, overtaken(memory, msg))
	}
	for i := range crcs {
		a.got.Take(i)
		a.held[i] = held{true, msg.Step, msg.Pass}
	}
	a.movedAt, a.asks = time.Now(), 0
	return nil
}

// overtaken returns errOvertaken if other parameters are in the place of those that a message names: the worker was
// slow.
func overtaken(memory shm.Link, msg *wire.ThetaAt) error {
	var turn [wire.TurnLength]byte
	if msg.At < wire.TurnLength {
		return nil
	}
	if _, err := memory.ReadAt(turn[:], int64(msg.At)-wire.TurnLength); err != nil ||
		binary.LittleEndian.Uint64(turn[:]) <= msg.Turn {
		return nil
	}
	return errOvertaken
}

// lay puts chunks of a finished lease into shared memory and says so to the coordinator. It reports whether it did.
func (w *Worker) lay(l *lease, first, count int) bool {
	at, ok := w.sharedPlace(l)
	if !ok || count == 0 {
		return false
	}
	width := l.chunks.Coding.Width()
	begin, _ := l.chunks.Span(first)
	for i := first; i < first+count; i++ {
		from, _ := l.chunks.Span(i)
		if _, err := w.sharing.link.WriteAt(l.chunk(i), int64(at+width*from)); err != nil {
			w.publish(w.subjects.Control, &wire.Share{Why: wire.Clip(err.Error())})
			w.unshare(err.Error())
			return false
		}
	}
	w.publish(w.subjects.Data, &wire.ChunksAt{
		Lease: l.ID, Step: l.Step, First: first, Count: count, At: uint64(at + width*begin),
		Sum: wire.Combine(l.crcs[first : first+count]),
	})
	return true
}

// sharedPlace is where the result of a lease is to lie. false: there is no memory, no free place, or the result is
// too long.
func (w *Worker) sharedPlace(l *lease) (at int, ok bool) {
	s := &w.sharing
	if s.link == nil || l.chunks.Coding.Width()*l.chunks.Size > s.size {
		return 0, false
	}
	// The place that it has, or the first that no living lease has.
	free := -1
	for i, other := range s.leases {
		switch {
		case other == l:
			return i * s.size, true
		case free < 0 && (other == nil || other.dropped):
			free = i
		}
	}
	if free < 0 {
		return 0, false
	}
	s.leases[free] = l
	return free * s.size, true
}

// hearAgain is hearTheta for a worker that has heard them before. If it fails, each of them is asked for.
func (w *Worker) hearAgain() {
	if err := w.hearTheta(); err != nil {
		w.log.Warn("parameters cannot be heard", "error", err)
	}
}

// hearTheta lets chunks of the parameters come. It does nothing if they come already.
func (w *Worker) hearTheta() error {
	if w.hearing != nil {
		return nil
	}
	h := &hearing{ended: make(chan struct{})}
	var err error
	h.sub, err = w.bus.Subscribe(w.subjects.Theta, func(data []byte) {
		select {
		case w.inbox <- delivery{data: data}:
		case <-h.ended:
		case <-w.closing:
		}
	})
	if err != nil {
		return fmt.Errorf("subscribe to %s: %w", w.subjects.Theta, err)
	}
	w.hearing = h
	return nil
}

// deafen lets no chunks of the parameters come any more: they lie in shared memory. What is asked for comes
// nevertheless. The broker has a copy less to send.
func (w *Worker) deafen() {
	if w.hearing == nil {
		return
	}
	close(w.hearing.ended)
	if err := w.hearing.sub.Unsubscribe(); err != nil {
		w.log.Debug("unsubscribe", "error", err)
	}
	w.hearing = nil
}
