package coordinator

import (
	"context"
	"errors"
	"math"
	"time"

	"github.com/switchyard-ml/switchyard/coordinator/exchange"
	"github.com/switchyard-ml/switchyard/coordinator/trust"
	"github.com/switchyard-ml/switchyard/wire"
)

// execute does what the machine wants done, and publishes the figures. Commands are done in the order in which the
// machine gave them.
func (c *Coordinator) execute() {
	defer func() { c.snapshot(c.now(), c.finished) }()
	defer c.logMade()
	if c.machine.life.state == finished {
		c.ending() // before the workers are told
	}
	var states []checkpointCommand // written when what was reported up to them is in the files of the run
	defer func() {
		for i := 0; i < len(states) && !c.halted; i++ {
			c.saver.save(states[i])
		}
	}()
	for _, cmd := range c.machine.take() {
		if c.halted {
			return
		}
		switch cmd := cmd.(type) {
		case sendCommand:
			c.expect(cmd.to, cmd.message)
			c.sender.Send(cmd.to, c.header(cmd.mark), cmd.message)
		case expectCommand:
			c.receiver.Expect(c.machine.cfg.Run, c.machine.term, cmd.Expectation)
		case closeCommand:
			c.receiver.Close(cmd.lease)
		case thetaCommand:
			if !c.affordable(cmd) {
				continue
			}
			c.sender.SendTheta(cmd.Theta, c.header(0), c.view())
		case relayCommand:
			c.sender.Relay(cmd.Relay, c.header, c.view())
			c.history.noteRelays(cmd.Relay, c.machine.run.opt.step, c.machine.term)
		case layCommand:
			c.layTheta(cmd)
		case sharedCommand:
			c.logShared(cmd)
		case pieceCommand:
			if _, key := wire.SplitName(cmd.to); c.gate != nil {
				c.gate.Expect(key, wire.KindFetch, 2)
			}
			c.sendPiece(cmd)
		case rejectCommand:
			c.rejections.count(cmd, c.log)
		case logCommand:
			cmd.entry.Term = c.machine.term
			c.history.made = append(c.history.made, cmd.entry)
			if c.history.repeats(cmd.entry.Step) {
				c.logMade()
			}
		case eventCommand:
			c.logMade()
			c.note(cmd.event)
			if cmd.event.Kind == EventQuarantine {
				_, key := wire.SplitName(cmd.event.Worker)
				c.expelled[key]++
			}
		case checkpointCommand:
			c.logMade() // the log is ahead of every checkpoint
			cmd.state.Term = c.machine.term
			states = append(states, cmd)
		// The referee copies the parameters: they change with the next step.
		case refereeCommand:
			c.referee.Ask(cmd.Question, c.machine.run.opt.step, c.machine.run.shown)
		case widenCommand:
			c.log.Info("gradients do not fit their scales: the step is computed once more, with wider ones", "step", cmd.step,
				"blocks", cmd.blocks)
		case exchangeCommand:
			c.log.Warn("the sum of the workers is not used: the coordinator sums itself, and in some steps more", "step",
				c.machine.run.next(), "reason", cmd.why)
		case chosenCommand:
			c.log.Info("the run has chosen its exchange", "exchange", cmd.mode, "step",
				c.machine.run.next(), "reason", cmd.why)
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

// view is what workers are to see now. It aliases the parameters, and is used up before the next event.
func (c *Coordinator) view() exchange.View {
	r := &c.machine.run
	return exchange.View{Version: r.version(), Values: r.shown, Chunks: r.chunks, Differences: r.opt.differences}
}

// judged gives the machine what the referee has computed.
func (c *Coordinator) judged(v trust.Verdict) {
	c.machine.verdict(c.now(), v)
	c.referee.Next()
}

// goBack lets the machine continue from an older checkpoint, in a new term. An error ends the run.
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
	// What belongs to the steps that are undone is forgotten before the machine goes on: questions, and checksums of
	// what was sent under these numbers.
	c.referee.Drop()
	c.sender.Forget()
	c.machine.rewind(c.now(), cp)
	c.note(Event{
		Kind: EventOpen, Step: cp.Step, Chunk: c.machine.transfer.chunks.Elements,
		Identity: c.machine.cfg.identity(), Data: c.machine.transfer.data.hash,
	})
	c.execute()
}

// halt ends the run at once, without a checkpoint of the present parameters. It is for what no further step can put
// right, such as a step that gave other bits than the log has.
func (c *Coordinator) halt(err error) {
	c.halted, c.finished = true, true
	c.machine.life.finish()
	c.ending()
	c.err = errors.Join(c.err, err)
	c.sender.Send("", c.header(0), &wire.End{Reason: wire.Clip(err.Error())})
}

// ending says that there is no more work. It calls Ending once.
func (c *Coordinator) ending() {
	if c.machine.cfg.Ending != nil && !c.ended {
		c.machine.cfg.Ending()
	}
	c.ended = true
}

// header is the header of the coordinator's messages. A message with a mark is for one worker alone. 0: it is for
// anyone.
func (c *Coordinator) header(mark uint64) wire.Header {
	return wire.Header{Run: c.machine.cfg.Run, Term: c.machine.term, Token: mark}
}

// sendPiece sends a piece of the data set. Its bytes are those of the data set, and are not copied here.
func (c *Coordinator) sendPiece(cmd pieceCommand) {
	m := c.machine
	from, to := m.transfer.data.pieces.Span(cmd.index)
	data := m.cfg.Data[from:to]
	c.sender.Send(cmd.to, c.header(0), &wire.Piece{Index: cmd.index, CRC: wire.Checksum(data), Data: data})
}

// reportStep adds to the report of a step what the machine does not know. The time of a step is that between two
// reports.
func (c *Coordinator) reportStep(r StepReport) {
	now := time.Now()
	r.Seconds = now.Sub(c.lastStep).Seconds()
	r.BytesIn, r.BytesOut = c.received, c.sender.TakeBytes()
	c.lastStep, c.received = now, 0
	c.observer.Step(r)
}

// reportMembership logs who comes and goes, and what the run waits for.
func (c *Coordinator) reportMembership(r MembershipReport) {
	switch {
	case r.Joined != "":
		c.log.Info("worker joined", "worker", r.Joined, "workers", r.Workers, "slots", r.Slots)
	case r.Left != "":
		c.expectClients()
		c.log.Info("worker left", "worker", r.Left, "reason", r.Reason, "workers", r.Workers)
	case r.Waiting != "" && c.logsWait(r.Seconds):
		c.log.Info("the run waits", "for", r.Waiting, "seconds", math.Round(r.Seconds*10)/10)
	}
	c.observer.Membership(r)
}

// A wait is logged once a second for a while, and less often later.
const (
	newWait   = 10.0 // seconds
	waitEvery = 10.0
)

// logsWait reports whether a wait of so many seconds is to be logged. A new wait, shorter than the last one that was
// logged, is logged at once.
func (c *Coordinator) logsWait(seconds float64) bool {
	if seconds >= newWait && seconds >= c.waitLogged && seconds < c.waitLogged+waitEvery {
		return false
	}
	c.waitLogged = seconds
	return true
}

// Silent is an observer that does nothing. An observer that needs some methods only can embed it.
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
