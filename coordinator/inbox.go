package coordinator

import (
	"bytes"
	"errors"

	"github.com/switchyard-ml/switchyard/internal/wire"
)

// incoming is a message for the coordinator's goroutine: its bytes, or what is left of a chunk that is stored.
type incoming struct {
	data  []byte // nil: a chunk is stored
	chunk stored // without data
	size  int    // of the whole message
}

// enqueue passes a message to the coordinator's goroutine.
func (c *Coordinator) enqueue(data []byte) { c.pass(incoming{data: data, size: len(data)}) }

func (c *Coordinator) pass(in incoming) {
	select {
	case c.inbox <- in:
	case <-c.closing:
	}
}

// lent subscribes with a handler that keeps nothing of a message, so that a bus that can lend its messages need not
// copy them.
func (c *Coordinator) lent(subject string, handle func([]byte)) (wire.Subscription, error) {
	if lender, ok := c.bus.(wire.Lender); ok {
		return lender.Lend(subject, handle)
	}
	return c.bus.Subscribe(subject, handle)
}

// takeIn stores a chunk that is expected, and passes on that it is there, or else the message. Several goroutines may
// call it at the same time.
func (c *Coordinator) takeIn(data []byte) {
	msg, err := wire.Decode(data)
	if chunk, ok := msg.(*wire.Chunk); ok && err == nil {
		if s, ok := c.intake.store(chunk); ok {
			c.pass(incoming{chunk: s, size: len(data)})
			return
		}
	}
	c.enqueue(bytes.Clone(data))
}

// receive decodes a message and gives it to the machine.
func (c *Coordinator) receive(in incoming) {
	c.received += int64(in.size)
	if in.chunk.Chunk != nil {
		c.machine.receive(c.now(), in.chunk)
		return
	}
	msg, err := wire.Decode(in.data)
	if err == nil {
		c.machine.receive(c.now(), c.intake.take(msg))
		return
	}
	reason := ReasonMalformed
	if errors.Is(err, wire.ErrVersion) {
		reason = ReasonVersion
		c.refuseVersion(in.data)
	}
	c.machine.out.reject("", reason, "%v", err)
}
