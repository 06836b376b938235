package coordinator

import (
	"bytes"
	"errors"

	"github.com/switchyard-ml/switchyard/coordinator/exchange"
	"github.com/switchyard-ml/switchyard/wire"
)

// incoming is a message for the coordinator's goroutine: its bytes, or what is left of a chunk that is stored.
type incoming struct {
	key   string          // of who sent it
	data  []byte          // nil: a chunk is stored
	chunk exchange.Stored // without data
	size  int             // of the whole message

	shared []exchange.Stored // chunks that were read in shared memory
	fault  string            // why they were not; the header of the one in shared says whose they are
}

// enqueue passes a message to the coordinator's goroutine. It runs on a goroutine of the bus, and waits for room in
// the inbox: what comes meanwhile waits at the bus, and is lost beyond its limit.
func (c *Coordinator) enqueue(key string, data []byte) {
	if c.gate.Admit(key, data) {
		c.forward(key, data)
	}
}

// forward passes on what the gate has let in.
func (c *Coordinator) forward(key string, data []byte) {
	c.pass(incoming{key: key, data: data, size: len(data)})
}

// pass waits for room in the inbox, or for the end of Run.
func (c *Coordinator) pass(in incoming) {
	select {
	case c.inbox <- in:
	case <-c.closing:
	}
}

// lent subscribes with a handler that keeps nothing of a message, so that a bus that can lend its messages need not
// copy them.
func (c *Coordinator) lent(subject string, handle func(string, []byte)) (wire.Subscription, error) {
	if lender, ok := c.bus.(wire.Lender); ok {
		return lender.Lend(subject, handle)
	}
	return c.bus.Hear(subject, handle)
}

// takeIn stores a chunk that is expected, and passes on that it is there, or else the message. Several goroutines may
// call it at the same time. It touches nothing of the machine, and keeps nothing of data.
func (c *Coordinator) takeIn(key string, data []byte) {
	if !c.gate.Admit(key, data) {
		return
	}
	msg, err := wire.DecodeFrom(key, data)
	if chunk, ok := msg.(*wire.Chunk); ok && err == nil {
		if s, ok := c.receiver.Store(chunk); ok {
			c.pass(incoming{chunk: s, size: len(data)})
			return
		}
	}
	if chunks, ok := msg.(*wire.ChunksAt); ok && err == nil && c.fetchShared(chunks, len(data)) {
		return
	}
	// The machine says why it is not wanted; the lender takes its bytes back.
	c.forward(key, bytes.Clone(data))
}

// receive decodes a message and gives it to the machine. A chunk that came on the control subject is stored here.
func (c *Coordinator) receive(in incoming) {
	c.received += int64(in.size)
	if in.chunk.Chunk != nil {
		c.machine.receive(c.now(), in.chunk)
		return
	}
	if in.shared != nil {
		c.receiveShared(in)
		return
	}
	msg, err := wire.DecodeFrom(in.key, in.data)
	if err == nil {
		if c.welcome(in.key, msg) && c.claimed(msg) {
			c.machine.receive(c.now(), c.receiver.Take(msg))
		}
		return
	}
	// What cannot be decoded has no sender that could be blamed: the key is, at the gate.
	if !c.gate.Unsound(in.key) {
		return
	}
	reason := ReasonMalformed
	if errors.Is(err, wire.ErrVersion) {
		reason = ReasonVersion
		c.refuseVersion(in.key, in.data)
	}
	c.machine.out.reject("", reason, "%v", err)
}
