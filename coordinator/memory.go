package coordinator

import (
	"io"

	"github.com/switchyard-ml/switchyard/coordinator/exchange"
	"github.com/switchyard-ml/switchyard/wire"
)

// openMemory opens the place where workers of this host share memory. If that fails, vectors travel as chunks. Each
// worker brings memory for wire.MaxShared gradients as they travel.
func (c *Coordinator) openMemory() {
	if c.machine.cfg.Memory == nil {
		return
	}
	chunks := c.machine.transfer.chunks
	server, err := c.machine.cfg.Memory.Open(exchange.MemoryFor(len(c.machine.run.state)),
		wire.MaxShared*chunks.Coding.Width()*chunks.Size)
	if err != nil {
		c.log.Info("no memory is shared with workers of this host: vectors go through the broker", "reason", err)
		return
	}
	c.shared, c.machine.place = server, server.Place()
	c.sender.Share(server)
}

// closeMemory closes it.
func (c *Coordinator) closeMemory() {
	if c.shared == nil {
		return
	}
	if err := c.shared.Close(); err != nil {
		c.log.Debug("close shared memory", "error", err)
	}
}

// expectClients lets those in who are offered memory, and nobody else. Their tokens are the secrets by which they are
// known.
func (c *Coordinator) expectClients() {
	if c.shared == nil {
		return
	}
	var secrets []uint64
	for _, w := range c.machine.members.list {
		if !w.Unshared {
			secrets = append(secrets, w.Token)
		}
	}
	c.shared.Expect(secrets)
}

// client is the memory of the worker with a token; nil if it shares none.
func (c *Coordinator) client(token uint64) io.ReaderAt {
	if c.shared == nil {
		return nil
	}
	return c.shared.Client(token)
}

// layTheta tells a worker where the parameters lie, or sends them if they cannot be there. The first failure is
// logged.
func (c *Coordinator) layTheta(cmd layCommand) {
	msg, err := c.sender.Lay(c.view())
	if err == nil {
		c.sender.Send(cmd.to.ID, c.header(cmd.to.Mark), &msg)
		return
	}
	if !c.unlaid {
		c.unlaid = true
		c.log.Warn("parameters cannot be shared: they go through the broker", "error", err)
	}
	c.sender.SendTheta(exchange.Theta{To: cmd.to.ID, Count: c.machine.run.chunks.Count()}, c.header(0), c.view())
}

// fetchShared stores chunks that lie in a worker's memory, and passes on that they are there, or why they are not. It
// reports whether they were expected. It runs on the goroutine of the bus, and reads there.
func (c *Coordinator) fetchShared(msg *wire.ChunksAt, size int) bool {
	memory := c.client(msg.Token)
	if memory == nil {
		return false
	}
	list, err := c.receiver.Read(msg, memory)
	switch {
	case err != nil:
		c.pass(incoming{shared: []exchange.Stored{{Chunk: &wire.Chunk{Header: msg.Header}}}, fault: err.Error(), size: size})
	case len(list) == 0:
		return false
	default:
		c.pass(incoming{shared: list, size: size})
	}
	return true
}

// receiveShared gives the machine what was read in memory. A fault is held against the memory, and not against its
// worker: it shares no more.
func (c *Coordinator) receiveShared(in incoming) {
	if in.fault != "" {
		c.machine.distrust(in.shared[0].Header, in.fault)
		c.expectClients()
		return
	}
	for _, s := range in.shared {
		c.machine.receive(c.now(), s)
	}
}

// claimed reports whether what a message says of shared memory is so. If not, its worker is told that nothing is
// shared.
func (c *Coordinator) claimed(msg wire.Message) bool {
	share, ok := msg.(*wire.Share)
	if !ok || !share.On || c.client(share.Token) != nil {
		return true
	}
	c.machine.distrust(share.Header, "no worker has connected")
	return false
}

// logShared says by which way the vectors of a worker go.
func (c *Coordinator) logShared(cmd sharedCommand) {
	if cmd.on {
		c.log.Info("the worker is on this host: parameters and gradients use shared memory", "worker", cmd.worker)
		return
	}
	c.log.Warn("parameters and gradients of the worker go through the broker from now on, no longer by shared memory",
		"worker", cmd.worker, "reason", cmd.why)
}
