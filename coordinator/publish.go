package coordinator

import (
	"errors"
	"sync"

	"github.com/switchyard-ml/switchyard/internal/parallel"
	"github.com/switchyard-ml/switchyard/internal/wire"
)

// publish sends a message. One that cannot be sent now counts as lost, which the protocol provides for. One that can
// never be sent would be waited for in vain; the first of each kind is told.
func (c *Coordinator) publish(subject string, msg wire.Message) {
	n, err := c.encodeAndSend(c.encoder, subject, msg)
	c.sent(subject, msg.Kind(), n, err)
}

// encodeAndSend returns how many bytes it sent. It may be called from several goroutines, each with its encoder.
func (c *Coordinator) encodeAndSend(e *wire.Encoder, subject string, msg wire.Message) (int, error) {
	data, err := e.Encode(msg)
	if err != nil {
		return 0, err
	}
	return len(data), c.bus.Publish(subject, data)
}

// sent counts what was sent, and tells what could not be.
func (c *Coordinator) sent(subject string, kind wire.Kind, n int, err error) {
	c.outb += int64(n)
	never := errors.Is(err, wire.ErrTooLarge) || errors.Is(err, wire.ErrMalformed)
	switch {
	case never && !c.unfit[kind]:
		c.unfit[kind] = true
		c.log.Error("message cannot be sent", "subject", subject, "kind", kind, "error", err)
	case err != nil:
		c.log.Debug("message lost", "subject", subject, "kind", kind, "error", err)
	}
}

// version names a state that is sent out: the number of updates plus 1, and the pass.
type version struct {
	step uint64
	pass int
}

// sendTheta sends chunks of the parameters, from all cores at once: whoever waits for them has nothing else to do. Their
// checksums are formed once per step.
func (c *Coordinator) sendTheta(cmd thetaCommand) {
	m := c.machine
	step, chunks, subject := m.run.opt.step, m.run.chunks, c.subject(cmd.to, c.subjects.Theta)
	now := version{step + 1, m.leasing.pass}
	known := c.summed == now
	var mu sync.Mutex
	parallel.Ranges(cmd.count, max(1, parallel.Elements/chunks.Elements), func(begin, end int) {
		encoder := c.encoders.Get().(*wire.Encoder)
		defer c.encoders.Put(encoder)
		for i := cmd.first + begin; i < cmd.first+end; i++ {
			data := chunks.Encode(nil, m.run.state, i)
			if !known {
				c.crcs[i] = wire.Checksum(data)
			}
			n, err := c.encodeAndSend(encoder, subject, &wire.Theta{
				Header: wire.Header{Run: m.cfg.Run, Term: m.term},
				Step:   step, Pass: m.leasing.pass, Index: i, Count: chunks.Count(), CRC: c.crcs[i], Data: data,
			})
			mu.Lock()
			c.sent(subject, wire.KindTheta, n, err)
			mu.Unlock()
		}
	})
	if cmd.count == chunks.Count() {
		c.summed = now
	}
}
