package coordinator

import (
	"context"
	"errors"
	"math"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/switchyard-ml/switchyard/internal/wire"
)

// execute does what the machine wants done, and publishes the figures.
func (c *Coordinator) execute() {
	defer func() { c.snapshot(c.now(), c.finished) }()
	defer c.logMade()
	for _, cmd := range c.machine.take() {
		if c.halted {
			return
		}
		switch cmd := cmd.(type) {
		case sendCommand:
			*cmd.message.Head() = wire.Header{Run: c.machine.cfg.Run, Term: c.machine.term, Token: cmd.mark}
			c.publish(c.subject(cmd.to, c.subjects.All), cmd.message)
		case expectCommand:
			c.intake.expect(c.machine.cfg.Run, c.machine.term, cmd)
		case closeCommand:
			c.intake.close(cmd.lease)
		case thetaCommand:
			c.sendTheta(cmd)
		case pieceCommand:
			c.sendPiece(cmd)
		case rejectCommand:
			c.count(cmd)
		case logCommand:
			cmd.entry.Term = c.machine.term
			c.made = append(c.made, cmd.entry)
			if c.repeats(cmd.entry.Step) {
				c.logMade()
			}
		case eventCommand:
			c.logMade()
			c.note(cmd.event)
		case checkpointCommand:
			c.logMade() // the log is ahead of every checkpoint
			cmd.state.Term = c.machine.term
			c.saver.save(cmd)
		case refereeCommand:
			c.referee.ask(cmd, c.machine.run.opt.step, c.machine.run.state)
		case widenCommand:
			c.log.Info("gradients do not fit their scales: the step is computed once more, with wider ones", "step", cmd.step, "blocks", cmd.blocks)
		case rollbackCommand:
			c.back = &cmd
		case finishCommand:
			c.finished = true
			c.err = errors.Join(cmd.err, c.err)
		case StepReport:
			c.reportStep(cmd)
		case ValidationReport:
			c.observer.Validation(cmd)
		case MembershipReport:
			c.reportMembership(cmd)
		}
	}
}

// judged gives the machine what the referee has computed.
func (c *Coordinator) judged(v verdict) {
	c.referee.busy = false
	c.machine.verdict(c.now(), v)
	c.referee.next()
}

// goBack lets the machine continue from an older checkpoint, in a new term.
func (c *Coordinator) goBack(ctx context.Context) {
	back := *c.back
	c.back = nil
	cp, err := c.rollBack(back.step, back.reason)
	if err == nil {
		c.machine.term++
		err = c.raiseTerm(ctx)
	}
	if err != nil {
		c.halt(err)
		return
	}
	c.referee.queue, c.summed = nil, version{}
	c.machine.rewind(c.now(), cp)
	c.note(Event{Kind: EventOpen, Step: cp.Step, Chunk: c.machine.transfer.chunks.Elements, Identity: c.machine.cfg.identity(), Data: c.machine.transfer.data.hash})
	c.execute()
}

// halt ends the run at once, without a checkpoint of the present parameters.
func (c *Coordinator) halt(err error) {
	c.halted, c.finished = true, true
	c.machine.life.finish()
	c.err = errors.Join(c.err, err)
	c.publish(c.subjects.All, &wire.End{
		Header: wire.Header{Run: c.machine.cfg.Run, Term: c.machine.term}, Reason: clip(err.Error()),
	})
}

func (c *Coordinator) subject(to, all string) string {
	if to == "" {
		return all
	}
	return c.subjects.Worker(to)
}

func (c *Coordinator) sendPiece(cmd pieceCommand) {
	m := c.machine
	from, to := m.transfer.data.pieces.Span(cmd.index)
	data := m.cfg.Data[from:to]
	c.publish(c.subjects.Worker(cmd.to), &wire.Piece{
		Header: wire.Header{Run: m.cfg.Run, Term: m.term},
		Index:  cmd.index, CRC: wire.Checksum(data), Data: data,
	})
}

// count counts a refused message and logs the first of each sender and reason.
func (c *Coordinator) count(cmd rejectCommand) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for i := range c.rejections {
		if r := &c.rejections[i]; r.Worker == cmd.worker && r.Reason == cmd.reason {
			r.Count++
			return
		}
	}
	c.rejections = append(c.rejections, Rejection{cmd.worker, cmd.reason, 1})
	level := hclog.Warn
	if cmd.reason.expected() {
		level = hclog.Debug
	}
	c.log.Log(level, "message refused", "worker", cmd.worker, "reason", string(cmd.reason), "detail", cmd.detail)
}

func (c *Coordinator) reportStep(r StepReport) {
	now := time.Now()
	r.Seconds = now.Sub(c.lastStep).Seconds()
	r.BytesIn, r.BytesOut = c.in, c.outb
	c.lastStep, c.in, c.outb = now, 0, 0
	c.observer.Step(r)
}

func (c *Coordinator) reportMembership(r MembershipReport) {
	switch {
	case r.Joined != "":
		c.log.Info("worker joined", "worker", r.Joined, "workers", r.Workers, "slots", r.Slots)
	case r.Left != "":
		c.log.Info("worker left", "worker", r.Left, "reason", r.Reason, "workers", r.Workers)
	case r.Waiting != "" && c.tellsWait(r.Seconds):
		c.log.Info("the run waits", "for", r.Waiting, "seconds", math.Round(r.Seconds*10)/10)
	}
	c.observer.Membership(r)
}

// A wait is logged once a second while it is new, and then now and then: nobody who looks later needs each second.
const (
	newWait   = 10.0 // seconds
	waitEvery = 10.0
)

// tellsWait reports whether a wait of so many seconds is to be logged.
func (c *Coordinator) tellsWait(seconds float64) bool {
	if seconds >= newWait && seconds >= c.waitTold && seconds < c.waitTold+waitEvery {
		return false
	}
	c.waitTold = seconds
	return true
}

// Silent is the observer of those who want none; embedded, it hears what they do not care for.
type Silent struct{}

// Step implements Observer.
func (Silent) Step(StepReport) {}

// Validation implements Observer.
func (Silent) Validation(ValidationReport) {}

// Checkpoint implements Observer.
func (Silent) Checkpoint(CheckpointReport) {}

// Membership implements Observer.
func (Silent) Membership(MembershipReport) {}

// Storage implements Observer.
func (Silent) Storage(StorageReport) {}

// Rollback implements Observer.
func (Silent) Rollback(RollbackReport) {}
