package coordinator

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/switchyard-ml/switchyard/internal/optim"
	"github.com/switchyard-ml/switchyard/internal/reduce"
	"github.com/switchyard-ml/switchyard/internal/wire"
)

// remedy is what helps a run that diverges.
const remedy = "start again from the configuration with a smaller optim.rate or optim.clip"

// open begins the work at the present parameters: validation if it is due, and the gradient of the next step.
func (m *machine) open(now time.Duration) {
	m.life.spokeAt = now
	m.leasing.clear(now)
	m.judgement.clear()
	step := m.opt.step
	validating := m.milestones.validationDue(step)
	if validating {
		m.leasing.rounds = append(m.leasing.rounds, newRound(wire.Validate, m.cfg.ValidationShards))
	}
	if step < m.cfg.Steps {
		r := newRound(wire.Gradient, m.cfg.Shards)
		r.tree.Peaks = m.integers.peaks()
		r.single = m.opt.Stride() > 1
		m.leasing.rounds = append(m.leasing.rounds, r)
	}
	if len(m.leasing.rounds) == 0 {
		m.finish(nil)
		return
	}
	if m.life.stopping {
		m.finish(ErrInterrupted)
		return
	}
	if m.members.ready() > 0 {
		m.out.add(thetaCommand{count: m.chunks.Count()})
	}
	m.leasing.assign(now)
	if m.milestones.checkpointDue(step, validating) {
		m.save(false)
	}
}

// merge puts the bits of a task into its round's tree, and closes what is complete by it. Who failed at the block is
// shown to have been wrong.
func (m *machine) merge(now time.Duration, t *task, p reduce.Partial, from Credit) {
	if !t.merge() {
		return
	}
	for _, f := range t.failures {
		f.account.offences++
	}
	m.figures.Useful += uint64(t.block.Count)
	r := t.round
	if r.add(t, p, from, m.transfer.recycle); !r.done {
		return
	}
	m.timing.close(r)
	if r.work == wire.Validate {
		m.closeValidation(r)
	}
	m.closeIfDone(now)
}

// closeIfDone closes the step if all is summed and nobody doubts it.
func (m *machine) closeIfDone(now time.Duration) {
	if m.leasing.done() && len(m.judgement.disputes) == 0 {
		m.closeStep(now)
	}
}

// closeValidation reports the mean terms and keeps the parameters if they are the best so far.
func (m *machine) closeValidation(r *round) {
	mean(r.total.Terms, m.cfg.ValidationShards)
	better := m.milestones.validate(m.opt.step, float64(r.total.Terms[0]))
	m.out.add(ValidationReport{Step: m.opt.step, Loss: r.total.Terms, Best: better})
	if better || m.milestones.unsaved {
		m.save(better)
	}
}

// closeStep updates the parameters and opens the next step.
func (m *machine) closeStep(now time.Duration) {
	if !m.leasing.gradient() {
		m.open(now)
		return
	}
	r := m.leasing.rounds[len(m.leasing.rounds)-1]
	if blocks := m.integers.widen(r.total.Values); blocks > 0 {
		m.repeatStep(now, r.total, blocks)
		return
	}
	norm, rate, err := m.opt.update(m.integers.gradient(r.total.Values), m.cfg.Shards)
	if err == nil {
		m.integers.close(r.total.Values)
	}
	m.transfer.recycle(r.total)
	if err != nil {
		if errors.Is(err, optim.ErrParameters) {
			m.milestones.saved = m.opt.step // they are no checkpoint
		}
		m.finish(fmt.Errorf("%w: step %d: %w: %s", ErrDiverged, m.opt.step+m.opt.Stride(), err, remedy))
		return
	}
	mean(r.total.Terms, m.cfg.Shards)
	if m.cfg.Log != "" {
		m.out.add(logCommand{m.entry(r, norm, rate)}) // before the messages: a step that does not replay is not sent out
	}
	report := StepReport{Step: m.opt.step, Updates: m.opt.Stride(), Loss: r.total.Terms, GradNorm: norm, Rate: rate, Workers: m.members.ready()}
	report.Compute, report.Work = m.members.worked()
	m.life.waitSince = now
	m.members.doubtIdle()
	m.integers.settle()
	m.leasing.pass = 0
	m.open(now)
	m.out.add(report) // after the messages of the next step: workers need not wait for the observer
}

// repeatStep begins a step anew whose sum did not fit as many of its scales, which are wider then; or it ends the run: what
// the shards need is a function of the parameters, so it fits at the second time.
func (m *machine) repeatStep(now time.Duration, sum reduce.Partial, blocks int) {
	step := m.opt.step + m.opt.Stride()
	m.transfer.recycle(sum)
	m.figures.Useful -= min(uint64(m.cfg.Shards), m.figures.Useful)
	if n := m.integers.misfit; n > maxPasses {
		m.finish(fmt.Errorf("%w: the gradient of step %d was computed %d times, and needed a wider scale each time", ErrDisputed, step, n))
		return
	}
	m.out.add(widenCommand{step: step, blocks: blocks})
	m.leasing.pass++
	m.open(now)
}

// beginAnew throws away all work at the present parameters.
func (m *machine) beginAnew(now time.Duration) {
	m.leasing.pass++
	m.integers.reopen()
	m.open(now)
}

// rewind continues from a checkpoint, in a term that the shell has raised: what is on its way belongs to steps that did not happen.
func (m *machine) rewind(now time.Duration, cp *Checkpoint) {
	lost := (m.opt.step - cp.Step) / m.opt.Stride() * uint64(m.cfg.Shards)
	m.figures.Useful -= min(lost, m.figures.Useful)
	m.figures.Rollbacks++
	m.auditing.undone(m.opt.step)
	m.restore(cp)
	if cp.Path == "" {
		m.milestones.saved = never
	}
	m.leasing.pass = 0
	m.life.resume()
	m.judgement.accounts.rewind(cp.Step)
	for _, w := range m.members.list {
		m.transfer.endFetch(&w.fetch)
	}
	m.members.clear()
	m.start(now)
}

// save hands a copy of the present state to the shell, which gives its memory back when it is written.
func (m *machine) save(best bool) {
	cp := m.milestones.save(m.opt.step)
	cp.Run, cp.Seed, cp.Term = m.cfg.Run, m.cfg.Seed, m.term
	cp.Levels = append(cp.Levels, m.integers.levels()...)
	m.opt.save(cp)
	m.out.add(checkpointCommand{cp, best})
}

// finish writes a checkpoint of the present parameters and ends the run.
func (m *machine) finish(err error) {
	m.life.finish()
	if m.milestones.missing(m.opt.step) {
		m.save(false)
	}
	reason := "done"
	if err != nil {
		reason = err.Error()
	}
	m.out.broadcast(&wire.End{Reason: clip(reason)})
	m.out.add(finishCommand{err})
}

// entry is the line of the log for the step that was just made from round r, but for the hash of the parameters.
func (m *machine) entry(r *round, norm, rate float64) Entry {
	e := Entry{
		Step: m.opt.step, Term: m.term, Terms: slices.Clone(r.total.Terms), Norm: norm, Rate: rate,
		Blocks: slices.Clone(r.credits), Passes: m.integers.passes(),
	}
	slices.SortFunc(e.Blocks, func(a, b Credit) int { return a.Block.First - b.Block.First })
	return e
}

func mean(terms []float32, shards int) {
	for i := range terms {
		terms[i] *= 1 / float32(shards)
	}
}
