package coordinator

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"

	"github.com/switchyard-ml/switchyard/internal/parallel"
	"github.com/switchyard-ml/switchyard/internal/wire"
)

// Vectors of workers on the coordinator's host go by memory that both share, see package shm: the parameters are written
// once for all of them, and gradients are read where their workers have put them. Only what says where they lie is a
// message. The machine knows who shares; the shell reads and writes. Whose memory does not hold what he says, once, shares
// no more in this run: his vectors travel as chunks, and everything that is decided about chunks is decided about them.
// What was read counts as if chunks with these bytes had come, so that he who shares can do no more than he who does not.

// offer tells a worker where memory is shared.
func (m *machine) offer(w *member) {
	if m.place != "" && !w.unshared && !w.shares {
		m.out.send(w, &wire.Offer{Place: m.place})
	}
}

// share handles what a worker says about shared memory. The shell has looked that it is there.
func (m *machine) share(w *member, msg *wire.Share) {
	switch {
	case !msg.On:
		m.unshare(w, "worker: "+msg.Why)
	case w.unshared:
		m.out.send(w, &wire.Offer{})
	case !w.shares:
		w.shares = true
		m.out.add(sharedCommand{worker: w.id, on: true})
	}
}

// unshare lets the vectors of a worker travel as chunks for the rest of the run.
func (m *machine) unshare(w *member, why string) {
	if w.shares {
		m.out.add(sharedCommand{worker: w.id, why: why})
	}
	w.shares, w.unshared = false, true
}

// distrust handles memory that does not hold what its worker says. What lies there is pulled.
func (m *machine) distrust(h wire.Header, why string) {
	w := m.members.get(h.From, h.Token)
	if w == nil || !m.life.active() || h.Term != m.term {
		return
	}
	m.unshare(w, why)
	m.out.send(w, &wire.Offer{})
	for _, l := range m.leasing.leases {
		if l.owner == w && l.state == pulling {
			m.transfer.askAgain(l)
		}
	}
}

// refuseChunksAt refuses chunks in shared memory that were not read, and says why.
func (m *machine) refuseChunksAt(w *member, msg *wire.ChunksAt) {
	l, reason, detail := m.leasing.find(w, msg.Lease, msg.Step)
	if reason == "" {
		reason, detail = ReasonUnrequested, fmt.Sprintf("chunks %d+%d of shards %s in shared memory were not asked for, or are there already", msg.First, msg.Count, l.block)
	}
	m.refuse(w, reason, reason == ReasonLease && m.leasing.neverGave(msg.Lease), detail)
	if w.unshared { // which it has not heard
		m.out.send(w, &wire.Offer{})
	}
}

// publish sends the parameters to all that are ready: by memory to those who share it, and as chunks to all if there are
// others.
func (r *run) publish(base version) {
	remote := false
	for _, w := range r.members.list {
		switch {
		case !w.ready:
		case w.shares:
			r.sendTo(w)
		default:
			remote = true
		}
	}
	if !remote {
		return
	}
	r.out.add(thetaCommand{count: r.chunks.Count(), base: base})
	for _, w := range r.members.list {
		if w.ready && w.owed && !w.shares && base.step > 0 {
			r.sendTo(w)
		}
	}
}

// sendTo sends the parameters to one worker.
func (r *run) sendTo(w *member) {
	if w.shares {
		r.out.add(layCommand{recipient{w.id, w.mark}})
		return
	}
	r.out.add(thetaCommand{to: w.id, count: r.chunks.Count()})
}

const (
	// sights is how many vectors of parameters lie in memory at a time: who still reads one when the next is written
	// finds it as it was.
	sights = 2
	// ahead is the room before a vector, at whose end its turn stands.
	ahead = 64
)

// memoryFor is the memory that vectors of a length need.
func memoryFor(length int) int { return sights * (ahead + 4*length) }

// laid says which parameters lie in memory, and where.
type laid struct {
	version
	at, turn uint64
	sum      uint32
}

// lay writes the parameters to memory, unless they lie there, and says where.
func (s *sender) lay(what sight) (wire.ThetaAt, error) {
	if s.laid.version != what.version {
		if err := s.write(what); err != nil {
			return wire.ThetaAt{}, fmt.Errorf("write parameters to shared memory: %w", err)
		}
	}
	return wire.ThetaAt{Step: what.step - 1, Pass: what.pass, At: s.laid.at, Turn: s.laid.turn, Sum: s.laid.sum}, nil
}

// write writes the parameters to the place of the oldest ones. Who reads those then sees that their turn is over.
func (s *sender) write(what sight) error {
	turn := s.laid.turn + 1
	at := int64(turn%sights)*int64(memoryFor(len(what.values))/sights) + ahead
	s.laid = laid{turn: turn}
	if _, err := s.memory.WriteAt(binary.LittleEndian.AppendUint64(nil, turn), at-wire.TurnLength); err != nil {
		return err
	}
	chunks, known := what.chunks, s.summed == what.version
	errs := make([]error, chunks.Count())
	parallel.Ranges(chunks.Count(), max(1, parallel.Elements/chunks.Elements), func(begin, end int) {
		for i := begin; i < end; i++ {
			from, _ := chunks.Span(i)
			data := chunks.Encode(nil, what.values, i)
			if !known {
				s.crcs[i] = wire.Checksum(data)
			}
			_, errs[i] = s.memory.WriteAt(data, at+int64(4*from))
		}
	})
	s.summed = what.version
	if err := errors.Join(errs...); err != nil {
		return err
	}
	s.laid = laid{version: what.version, at: uint64(at), turn: turn, sum: wire.Combine(s.crcs)}
	return nil
}

// openMemory opens the place where workers of this host share memory. If that fails, vectors travel as chunks.
func (c *Coordinator) openMemory() {
	if c.machine.cfg.Memory == nil {
		return
	}
	chunks := c.machine.transfer.chunks
	lobby, err := c.machine.cfg.Memory.Open(memoryFor(len(c.machine.run.state)), wire.MaxShared*chunks.Coding.Width()*chunks.Size)
	if err != nil {
		c.log.Info("no memory is shared with workers of this host: vectors go through the broker", "reason", err)
		return
	}
	c.lobby, c.sender.memory, c.machine.place = lobby, lobby, lobby.Place()
}

// closeMemory closes it.
func (c *Coordinator) closeMemory() {
	if c.lobby == nil {
		return
	}
	if err := c.lobby.Close(); err != nil {
		c.log.Debug("close shared memory", "error", err)
	}
}

// expectGuests lets those in who are offered memory, and nobody else.
func (c *Coordinator) expectGuests() {
	if c.lobby == nil {
		return
	}
	var secrets []uint64
	for _, w := range c.machine.members.list {
		if !w.unshared {
			secrets = append(secrets, w.token)
		}
	}
	c.lobby.Expect(secrets)
}

// guest is the memory of the worker with a token; nil if it shares none.
func (c *Coordinator) guest(token uint64) io.ReaderAt {
	if c.lobby == nil {
		return nil
	}
	return c.lobby.Guest(token)
}

// layTheta tells a worker where the parameters lie, or sends them if they cannot be there.
func (c *Coordinator) layTheta(cmd layCommand) {
	msg, err := c.sender.lay(c.sight())
	if err == nil {
		c.sender.send(cmd.to.id, c.header(cmd.to.mark), &msg)
		return
	}
	if !c.unlaid {
		c.unlaid = true
		c.log.Warn("parameters cannot be shared: they go through the broker", "error", err)
	}
	c.sender.sendTheta(thetaCommand{to: cmd.to.id, count: c.machine.run.chunks.Count()}, c.header(0), c.sight())
}

// fetchShared stores chunks that lie in a worker's memory, and passes on that they are there, or why they are not. It
// reports whether they were expected.
func (c *Coordinator) fetchShared(msg *wire.ChunksAt, size int) bool {
	memory := c.guest(msg.Token)
	if memory == nil {
		return false
	}
	list, err := c.intake.read(msg, memory)
	switch {
	case err != nil:
		c.pass(incoming{shared: []stored{{Chunk: &wire.Chunk{Header: msg.Header}}}, fault: err.Error(), size: size})
	case len(list) == 0:
		return false
	default:
		c.pass(incoming{shared: list, size: size})
	}
	return true
}

// receiveShared gives the machine what was read in memory.
func (c *Coordinator) receiveShared(in incoming) {
	if in.fault != "" {
		c.machine.distrust(in.shared[0].Header, in.fault)
		c.expectGuests()
		return
	}
	for _, s := range in.shared {
		c.machine.receive(c.now(), s)
	}
}

// claimed reports whether what a message says of shared memory is so. If not, its worker is told that nothing is shared.
func (c *Coordinator) claimed(msg wire.Message) bool {
	share, ok := msg.(*wire.Share)
	if !ok || !share.On || c.guest(share.Token) != nil {
		return true
	}
	c.machine.distrust(share.Header, "nobody has come to the place")
	return false
}

// logShared says by which way the vectors of a worker go.
func (c *Coordinator) logShared(cmd sharedCommand) {
	if cmd.on {
		c.log.Info("the worker is on this host: parameters and gradients go by shared memory", "worker", cmd.worker)
		return
	}
	c.log.Warn("parameters and gradients of the worker go through the broker from now on, no longer by shared memory", "worker", cmd.worker, "reason", cmd.why)
}
