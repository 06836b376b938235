package coordinator

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/switchyard-ml/switchyard/coordinator/exchange"
	"github.com/switchyard-ml/switchyard/internal/vector"
	"github.com/switchyard-ml/switchyard/wire"
)

// remedy is what helps a run that diverges.
const remedy = "start again from the configuration with a smaller optim.rate or optim.clip"

// maxPasses is how often the sum of a step may not fit its scales. With honest workers it happens once at most.
const maxPasses = 4

// run makes the steps of a run: it opens the rounds of a step, sums the blocks that are believed, updates the
// parameters, and ends the run.
//
// Invariant: the parameters change in closeStep and restore only.
type run struct {
	cfg        *Config
	life       *life
	opt        *optimiser
	exchange   *summing
	integers   *exchange.Integers // nil: gradients are float32
	chunks     wire.Chunking      // of state
	state      []float32          // the parameters, which are the optimiser's, and the exponents of integers behind them
	shown      []float32          // what workers compute at: state, or the average of the parameters in the same form
	averages   []float32          // memory of the latter; nil: there is no average
	relays     *relays            // of the parameters under way; nil: the coordinator sent them itself
	before     *relays            // of those before
	base       exchange.Version   // what was shown last, if differences from there are to go out, or stays; zero: nothing
	milestones milestones

	members  *members
	timing   *timing
	transfer *transfer
	leasing  *leasing
	out      *outbox
	figures  *Stats
}

// restore takes the parameters of a checkpoint, and all that belongs to them. It copies all of them.
func (r *run) restore(cp *Checkpoint) {
	r.opt.restore(cp)
	r.integers.Restore(cp.Levels)
	r.milestones.restore(cp)
}

// rewind returns to a checkpoint. The initial parameters, which have no file, count as not saved.
func (r *run) rewind(cp *Checkpoint) {
	r.throwAway()
	r.figures.undo((r.opt.step - cp.Step) / r.opt.Stride() * uint64(r.cfg.Shards))
	r.figures.Rollbacks++
	r.restore(cp)
	if cp.Path == "" {
		r.milestones.saved = never
	}
	r.leasing.pass = 0
}

// start opens the first step.
func (r *run) start(now time.Duration) {
	r.life.waitSince = now
	r.out.broadcast(&wire.Introduce{})
	r.open(now)
}

// next is the number of updates that the step under way leads to.
func (r *run) next() uint64 { return r.opt.step + r.opt.Stride() }

// version names the parameters under way.
func (r *run) version() exchange.Version {
	return exchange.Version{Step: r.opt.step + 1, Pass: r.leasing.pass}
}

// open begins the work at the present parameters: validation if it is due, and the gradient of the next step. It
// leads to parameters and leases for all, or to the end of the run.
func (r *run) open(now time.Duration) {
	r.life.spokeAt = now
	r.leasing.clear(now)
	r.exchange.begin()
	step, base := r.opt.step, r.base
	r.base = exchange.Version{}
	if r.milestones.exhausted(step) {
		r.finish(nil)
		return
	}
	// A validation comes first, so that its leases are given out first.
	validating := r.milestones.validationDue(step)
	if validating {
		r.leasing.rounds = append(r.leasing.rounds, newRound(wire.Validate, r.cfg.ValidationShards))
	}
	averaged := r.show(validating)
	if averaged {
		base = exchange.Version{}
	}
	// At the average nothing is computed but its validation; the gradient belongs to the parameters themselves.
	if step < r.cfg.Steps && !averaged {
		gradient := newRound(wire.Gradient, r.cfg.Shards)
		gradient.tree.Peaks = r.integers.Peaks()
		gradient.single, gradient.openedAt = r.opt.Stride() > 1, now
		// How the gradient gets here is decided before the first lease, which says so.
		gradient.sections = r.exchange.Open(r.opt.rounds(), r.members.ready(), r.transfer.chunks, r.exchange.confirmed(step))
		r.leasing.rounds = append(r.leasing.rounds, gradient)
	}
	if len(r.leasing.rounds) == 0 {
		r.finish(nil)
		return
	}
	// After a step is the time to stop: its parameters are the last ones.
	if r.life.stopping {
		r.finish(ErrInterrupted)
		return
	}
	// Parameters go out before the leases for them.
	r.sendOut(now, base, r.leasing.shared() != nil)
	r.leasing.assign(now)
	if r.milestones.checkpointDue(step, validating) {
		r.save(false)
	}
}

// show chooses what workers compute at. If there is an average of the parameters, they validate that, before the step,
// which then takes a pass of its own. It reports whether that is so.
func (r *run) show(validating bool) (averaged bool) {
	r.shown = r.state
	if !validating || r.opt.average == nil {
		return false
	}
	n := len(r.opt.theta)
	r.averages = append(append(r.averages[:0], r.opt.average.Values...), r.state[n:]...)
	r.shown = r.averages
	return true
}

// use puts a copy of a block into the tree. Where the gradient is shared out, the copy stays with its worker.
func (r *run) use(now time.Duration, l *lease) {
	l.owner.Account.Accepted++
	if l.task.digest = l.said.Digest; l.round.shared() {
		r.keep(now, l)
		return
	}
	p := l.partial()
	r.leasing.withdraw(l)
	r.merge(now, l.task, p, Contribution{Block: l.Block, Checksum: l.said.Checksum, Worker: l.owner.id})
}

// merge puts the bits of a task into its round's tree, and closes what is complete then..
func (r *run) merge(now time.Duration, t *task, p vector.Partial, from Contribution) {
	if !t.Merge() {
		return
	}
	sum := t.round
	if sum.work != wire.Sum {
		r.figures.Useful += uint64(t.Block.Count)
	}
	if sum.add(t, p, from, r.transfer.recycle); !sum.done {
		return
	}
	r.timing.close(sum)
	if sum.work == wire.Validate {
		r.closeValidation(sum)
	}
	r.closeIfDone(now)
}

// closeIfDone closes the step if all is summed and nobody doubts it. A gradient that is shared out is summed first.
// It is called after whatever can complete a step.
func (r *run) closeIfDone(now time.Duration) {
	g := r.leasing.shared()
	switch {
	case g != nil && g.done && len(g.disputes) == 0 && r.leasing.sum() == nil && !r.milestones.exhausted(r.opt.step):
		r.sum(now, g)
	case r.leasing.done() && r.exchange.trial == nil && r.exchange.Doubted() == "":
		r.closeStep(now)
	}
}

// closeValidation reports the mean terms and keeps the parameters if they, or their average, are the best so far. The
// terms are divided by the shards in place.
func (r *run) closeValidation(sum *round) {
	loss := sum.total.Terms
	mean(loss, r.cfg.ValidationShards)
	better := r.milestones.validate(r.opt.step, float64(loss[0]))
	r.out.add(ValidationReport{Step: r.opt.step, Loss: loss, Best: better})
	if better || r.milestones.unsaved {
		r.save(better)
	}
}

// closeStep updates the parameters and opens the next step. All blocks are in the sum, and nobody doubts one.
func (r *run) closeStep(now time.Duration) {
	if r.milestones.exhausted(r.opt.step) { // the gradient at these parameters is not needed
		r.finish(nil)
		return
	}
	if !r.leasing.gradient() {
		if r.opt.average != nil {
			r.leasing.pass++ // the parameters follow their average
		}
		r.open(now)
		return
	}
	gradient := r.leasing.gradientRound()
	// What workers have summed becomes the total of the gradient's round.
	if sum := r.leasing.sum(); sum != nil {
		r.gather(gradient, sum)
	}
	sum := gradient.total
	// A sum of integers that were cut off is of no use.
	if blocks := r.integers.Widen(sum.Values); blocks > 0 {
		r.repeatStep(now, sum, blocks)
		return
	}
	before := r.version()
	values := r.integers.Gradient(sum.Values)
	magnitudes := r.magnitudes(values)
	// From here on the parameters are those of the next step.
	norm, rate, err := r.opt.update(values, r.cfg.Shards)
	if err == nil {
		r.integers.Close(sum.Values)
	}
	r.transfer.recycle(sum)
	if err != nil {
		if errors.Is(err, vector.ErrParameters) {
			r.milestones.saved = r.opt.step // they are no checkpoint
		}
		r.finish(fmt.Errorf("%w: step %d: %w: %s", ErrDiverged, r.next(), err, remedy))
		return
	}
	mean(sum.Terms, r.cfg.Shards)
	if r.cfg.Log != "" {
		// before the messages: a step that does not replay is not sent out
		r.out.add(logCommand{r.entry(gradient, norm, rate)})
	}
	report := StepReport{
		Step: r.opt.step, Updates: r.opt.Stride(), Loss: sum.Terms, GradNorm: norm, Rate: rate,
		LeftOut: r.opt.LeftOut(), Retreated: r.opt.retreated,
		Workers: r.members.ready(), Sharing: r.members.sharing(), Magnitudes: magnitudes,
	}
	if magnitudes != nil {
		magnitudes.Parameters = r.octaves(r.opt.theta)
	}
	report.Compute, report.Work = r.members.worked()
	r.life.waitSince = now
	// What was measured of this step decides how the next one is done.
	r.learn(now, gradient)
	r.members.doubtIdle()
	r.integers.Settle()
	r.leasing.pass = 0
	// Workers have these parameters, so differences can go out from there.
	if r.opt.differences != nil {
		r.base = before
	}
	r.open(now)
	r.out.add(report) // after the messages of the next step: workers need not wait for the observer
}

// repeatStep begins a step anew because its sum did not fit the scales of that many blocks of parameters. The scales
// are wider then. What the shards need is a function of the parameters, so the second sum fits: if many sums do not, a
// worker lies, and the run ends.
func (r *run) repeatStep(now time.Duration, sum vector.Partial, blocks int) {
	r.transfer.recycle(sum)
	r.figures.undo(uint64(r.cfg.Shards))
	if n := r.integers.Misfits(); n > maxPasses {
		r.finish(fmt.Errorf("%w: the gradient of step %d was computed %d times, and needed a wider scale each time",
			ErrDisputed, r.next(), n))
		return
	}
	r.out.add(widenCommand{step: r.next(), blocks: blocks})
	if r.opt.differences != nil { // sent whole, they would be more than all else of the step
		r.base = r.version()
	}
	r.leasing.pass++
	r.open(now)
}

// beginAnew throws away all work at the present parameters. It is for what somebody contributed who lied, or for a
// pass that cannot be finished because a block is contradicted and its holder gone. The step is confirmed block by
// block then: whoever did that could do it again and again under other names.
func (r *run) beginAnew(now time.Duration) {
	r.leasing.auditing.Undone(r.opt.step)
	r.throwAway()
	r.leasing.pass++
	r.integers.Reopen()
	r.open(now)
}

// throwAway takes the blocks that are in the trees of the rounds under way off the count of those that are part of the
// run. A validation that is done stays: it was reported.
func (r *run) throwAway() {
	for _, sum := range r.leasing.rounds {
		shards := r.cfg.Shards
		switch {
		case sum.work == wire.Sum, sum.work == wire.Validate && sum.done: // sections are no shards
			continue
		case sum.work == wire.Validate:
			shards = r.cfg.ValidationShards
		}
		r.figures.undo(uint64(shards - sum.open))
	}
}

// save hands a copy of the present state to the shell, which gives its memory back when it is written.
func (r *run) save(best bool) {
	cp := r.milestones.save(r.opt.step)
	cp.Run, cp.Seed = r.cfg.Run, r.cfg.Seed
	cp.Levels = append(cp.Levels, r.integers.Levels()...)
	r.opt.save(cp)
	r.out.add(checkpointCommand{cp, best})
}

// finish writes a checkpoint of the present parameters and ends the run. The error is what Run returns; nil: the run
// is complete.
func (r *run) finish(err error) {
	r.life.finish()
	// Parameters that are not finite count as saved: see closeStep.
	if r.milestones.missing(r.opt.step) {
		r.save(false)
	}
	reason := "done"
	if err != nil {
		reason = err.Error()
	}
	r.out.broadcast(&wire.End{Reason: wire.Clip(reason)})
	r.out.add(finishCommand{err})
}

// entry is the line of the log for the step that was just made from the round of its gradient, but for the hash of the
// parameters and the term.
func (r *run) entry(gradient *round, norm, rate float64) Entry {
	e := Entry{
		Step: r.opt.step, Terms: slices.Clone(gradient.total.Terms), Norm: norm, Rate: rate,
		Blocks: slices.Clone(gradient.contributions), Passes: r.integers.Passes(), Sums: gradient.shares,
	}
	slices.SortFunc(e.Blocks, func(a, b Contribution) int { return a.Block.First - b.Block.First })
	return e
}

// mean divides sums of terms by the number of shards, a power of two, so that it is exact.
func mean(terms []float32, shards int) {
	for i := range terms {
		terms[i] *= 1 / float32(shards)
	}
}

// diverge ends the run with a block that nobody can compute. Both failures are named, so that a single bad machine
// can be told from a bad run.
func (r *run) diverge(t *task, detail string) {
	first, last := t.Failures()[0], t.Failures()[len(t.Failures())-1]
	r.finish(fmt.Errorf("%w: at step %d the %s of shards %s failed twice (workers %s and %s): %s: %s",
		ErrDiverged, r.opt.step, t.round.work, t.Block, first.ID, last.ID, detail, remedy))
}

// underWay says what becomes of the step under way when the run is to stop.
func (r *run) underWay() string {
	if r.opt.Stride() > 1 {
		return "the current round is abandoned"
	}
	return "the current step is finished first"
}

// stop ends the run when the step under way is done, or at once if nobody works on one or it is a round of local steps.
func (r *run) stop() {
	r.life.stopping = true
	r.stopIdle()
}

// stopIdle ends a run that is to stop and has nothing to wait for. A round of local steps is not waited for: it can
// take minutes, and begins again when the run is resumed.
func (r *run) stopIdle() {
	if r.life.stopping && r.life.active() && (r.members.ready() == 0 || !r.leasing.gradient() || r.opt.Stride() > 1) {
		r.finish(ErrInterrupted)
	}
}

// remove gives up a member, and gives what it had in its hands to others. A run that is to stop may end with its last
// member.
func (r *run) remove(now time.Duration, w *member, why string) {
	r.leasing.drop(now, w, why)
	r.leasing.assign(now)
	r.leasing.spend(now)
	r.stopIdle()
}
