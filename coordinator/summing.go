package coordinator

import (
	"time"

	"github.com/switchyard-ml/switchyard/coordinator/exchange"
	"github.com/switchyard-ml/switchyard/coordinator/trust"
	"github.com/switchyard-ml/switchyard/internal/scaling"
	"github.com/switchyard-ml/switchyard/internal/vector"
	"github.com/switchyard-ml/switchyard/wire"
)

// maxSources is the greatest number of blocks that are summed by workers: all of them are named in each lease. With
// more of them the coordinator sums itself.
const maxSources = 256

// summing is how the gradient of a step gets here, and what is known of its sum where workers form it. If that is
// doubted the coordinator sums the blocks itself. Then it is known what the sums were to be: see trial.
type summing struct {
	exchange.Choice
	auditing *trust.Auditing

	number   int    // of sums that were begun in this pass
	void     bool   // the pass cannot be finished
	replaced int    // how often blocks of silent holders were given out again in this pass
	trial    *trial // of the sum that was doubted; nil: there is none, or it is over
}

// trial is what was said of a sum that was doubted, until the coordinator has summed the same blocks itself.
type trial struct {
	basis []evidence
	sums  []*task // with what workers say that they are
}

// evidence is a block of a sum as those who summed it were told.
type evidence struct {
	task   *task
	digest string
}

// begin forgets what is known of the work at the last parameters, or of the last pass. The rest after a doubt goes
// on.
func (x *summing) begin() {
	x.Begin()
	x.number, x.replaced, x.void, x.trial = 0, 0, false, nil
}

// confirmed reports whether all blocks of a step are to be confirmed. Then the step is a star.
func (x *summing) confirmed(step uint64) bool { return x.auditing.Here || x.auditing.Repeats(step) }

// learn notes what was measured of a step, if it was an ordinary one. A step with several passes, a validation, or a
// sum that was given up says nothing about the exchange.
func (r *run) learn(now time.Duration, g *round) {
	x := r.exchange
	if !x.Learns() || r.leasing.pass > 0 || r.leasing.roundOf(wire.Validate) != nil || g.sections.Count > 0 && g.star {
		return
	}
	mode, why, changed := x.Learn(scaling.Exchanged{
		Workers: r.members.ready(), Blocks: len(g.contributions), Sharded: g.shared(),
		Seconds: (now - g.openedAt).Seconds(), Wait: (now - g.announcedAt).Seconds(),
	})
	if changed {
		r.out.add(chosenCommand{mode, why})
	}
}

// shared reports whether the blocks of the round stay with their holders, so that workers sum them.
func (r *round) shared() bool { return r.work == wire.Gradient && r.sections.Count > 0 && !r.star }

// pulls reports whether the values of the round's blocks are pulled as they are announced.
func (r *round) pulls() bool { return r.work != wire.Validate && !r.shared() }

// digest names the bits of a block of the round, as its workers do.
func (r *round) digest(p vector.Partial) string {
	if r.work == wire.Gradient && r.sections.Count > 0 {
		return wire.DigestSections(r.sections.DigestsOf(0, r.sections.Count, p.Values), p.Terms)
	}
	return wire.DigestPartial(p.Values, p.Terms)
}

// newSum is the round in which workers sum the blocks of a gradient's round, into the given vector. Its blocks are
// sections. values is as long as a gradient as it travels; each block writes its own part of it.
func newSum(of *round, number int, values []float32) *round {
	r := newRound(wire.Sum, of.sections.Count)
	r.of, r.number, r.sections = of, number, of.sections
	r.total = vector.Partial{Values: values}
	return r
}

// sources are the blocks of a sum, by first shard, with what is said of the given sections. It is a list for a
// Reduce, whose size grows with the blocks and with the sections.
func (r *round) sources(sections vector.Block) []wire.Source {
	list := make([]wire.Source, 0, len(r.of.kept))
	for _, t := range r.of.kept {
		list = append(list, wire.Source{
			First: t.Block.First, Count: t.Block.Count, Holder: t.holder.owner.id, Lease: t.holder.id,
			Digests: wire.Part(t.holder.said.Digests, sections.First, sections.Count),
		})
	}
	return list
}
