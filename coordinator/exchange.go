package coordinator

import (
	"math/bits"
	"time"

	"github.com/switchyard-ml/switchyard/coordinator/trust"
	"github.com/switchyard-ml/switchyard/internal/scaling"
	"github.com/switchyard-ml/switchyard/internal/vector"
	"github.com/switchyard-ml/switchyard/wire"
)

// Exchange is the way of gradients to the coordinator. It changes no bit.
type Exchange uint8

const (
	// Star lets the coordinator pull the blocks of all workers and sum them.
	Star Exchange = iota
	// Sharded lets workers keep their blocks and pull sections of them from each other. Each sums some sections, and the
	// coordinator pulls the sums: one gradient, however many workers there are.
	Sharded
	// Auto lets each step be what is faster, as far as was measured: see scaling.Chooser.
	Auto
)

// String returns the name of the exchange.
func (x Exchange) String() string { return [...]string{"star", "sharded", "auto"}[x] }

const (
	// After a sum that was doubted the star is used for firstRest steps, and for twice as many each time, up to
	// firstRest<<maxDoubts. After calmAfter sums that nobody doubted this begins anew.
	firstRest, maxDoubts, calmAfter = 4, 8, 64
	// sectionsPer is how many sections there are at least for each worker, so that they can be shared out evenly.
	sectionsPer = 2
	// maxSources is the greatest number of blocks that are summed by workers: all of them are named in each lease.
	maxSources = 256
)

// exchangeOf is the exchange of a step.
func exchangeOf(sharded bool) Exchange {
	if sharded {
		return Sharded
	}
	return Star
}

// exchange decides how the gradient of a step gets here. What workers sum is used as it is while nobody doubts it. A
// sum that somebody doubts, or that does not come, is not argued about: the coordinator pulls the blocks from their
// holders, as in a star, and sums them itself. Then it is known what the sums were to be: see trial.
//
// So a worker that lies to others, withholds what it keeps, or accuses others falsely can make a run do what it does
// in a star, and nothing worse.
type exchange struct {
	mode     Exchange
	chooser  scaling.Chooser // of Auto
	chosen   string          // why it chose what it last chose
	auditing *trust.Auditing

	number    int    // of sums that were begun in this pass
	doubted   string // why the sum under way, or the next one, is not to be used; empty: nothing is known
	void      bool   // the pass cannot be finished
	replaced  int    // how often blocks of silent holders were given out again in this pass
	restUntil uint64 // step from which workers sum again
	doubts    int    // sums that were doubted lately
	calm      int    // sums in a row that were not
	trial     *trial // of the sum that was doubted; nil: there is none, or it is over
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

// begin forgets what is known of the work at the last parameters, or of the last pass.
func (x *exchange) begin() {
	x.number, x.replaced, x.doubted, x.void, x.trial = 0, 0, "", false, nil
}

// open decides into how many sections the gradient of a step is cut, for so many workers; 0: the step is a star.
func (x *exchange) open(step uint64, workers int, chunks wire.Chunking) wire.Sections {
	s := wire.Sections{Chunks: chunks}
	if !x.shares(workers) || workers == 0 || step < x.restUntil || x.auditing.Here || x.auditing.Repeats(step) {
		return s
	}
	s.Count = 1
	if workers > 1 {
		s.Count = 1 << bits.Len(uint(sectionsPer*workers-1))
	}
	s.Count = min(s.Count, wire.MaxSections, 1<<(bits.Len(uint(chunks.Count()))-1))
	return s
}

// shares reports whether so many workers are to sum the next gradient, if nothing speaks against it.
func (x *exchange) shares(workers int) bool {
	return x.mode == Sharded || x.mode == Auto && !x.auditing.Here && x.chooser.Sharded(workers)
}

// describe says how gradients get here, and why if the run chooses itself.
func (x *exchange) describe() string {
	switch {
	case x.mode != Auto:
		return x.mode.String()
	case x.chosen == "":
		return exchangeOf(x.chooser.Chosen()).String()
	}
	return exchangeOf(x.chooser.Chosen()).String() + ": " + x.chosen
}

// doubt notes why a sum is not to be used.
func (x *exchange) doubt(why string) {
	if x.doubted == "" {
		x.doubted = why
	}
}

// rest lets the next steps be stars.
func (x *exchange) rest(step uint64) {
	x.restUntil = step + firstRest<<x.doubts
	x.doubts = min(x.doubts+1, maxDoubts)
	x.calm = 0
}

// succeed notes that a sum was used.
func (x *exchange) succeed() {
	if x.calm++; x.calm >= calmAfter {
		x.doubts, x.calm = 0, 0
	}
}

// learn tells the chooser what was measured of a step, if it was an ordinary one: one pass, and nothing validated.
func (r *run) learn(now time.Duration, g *round) {
	x := r.exchange
	if x.mode != Auto || x.auditing.Here || r.leasing.pass > 0 || r.leasing.roundOf(wire.Validate) != nil ||
		g.sections.Count > 0 && g.star {
		return
	}
	why, chosen := x.chooser.Step(scaling.Exchanged{
		Workers: r.members.ready(), Blocks: len(g.contributions), Sharded: g.shared(),
		Seconds: (now - g.openedAt).Seconds(), Wait: (now - g.announcedAt).Seconds(),
	})
	if chosen {
		x.chosen = why
		r.out.add(chosenCommand{x.chooser.Chosen(), why})
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
// sections.
func newSum(of *round, number int, values []float32) *round {
	r := newRound(wire.Sum, of.sections.Count)
	r.of, r.number, r.sections = of, number, of.sections
	r.total = vector.Partial{Values: values}
	return r
}

// sources are the blocks of a sum, by first shard, with what is said of the given sections.
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
