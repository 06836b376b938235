package exchange

import (
	"math/bits"

	"github.com/switchyard-ml/switchyard/internal/scaling"
	"github.com/switchyard-ml/switchyard/wire"
)

// Mode is the way of gradients to the coordinator. It changes no bit.
type Mode uint8

const (
	// Star lets the coordinator pull the blocks of all workers and sum them.
	Star Mode = iota
	// Sharded lets workers keep their blocks and pull sections of them from each other. Each sums some sections, and
	// the coordinator pulls the sums: one gradient, however many workers there are.
	Sharded
	// Auto lets each step be what is faster, as far as was measured: see scaling.Chooser.
	Auto
)

// String returns the name of the mode.
func (x Mode) String() string { return [...]string{"star", "sharded", "auto"}[x] }

const (
	// After a sum that was doubted the star is used for firstRest steps, and for twice as many each time, up to
	// firstRest<<maxDoubts. After calmAfter sums that nobody doubted this begins anew.
	firstRest, maxDoubts, calmAfter = 4, 8, 64
	// sectionsPer is how many sections there are at least for each worker, so that they can be shared out evenly.
	sectionsPer = 2
)

// Choice decides how the gradient of a step gets here. What workers sum is used as it is while nobody doubts it. A sum
// that somebody doubts, or that does not come, is not argued about: the coordinator pulls the blocks from their
// holders, as in a star, and sums them itself. A round of local steps counts as one step.
//
// So a worker that lies to others, withholds what it keeps, or accuses others falsely can make a run do what it does
// in a star, and nothing worse.
type Choice struct {
	Mode    Mode
	Here    bool            // the coordinator computes what it audits itself: then Auto is a star
	Chooser scaling.Chooser // of Auto

	doubted   string // why the sum under way, or the next one, is not to be used; empty: nothing is known
	restUntil uint64 // step from which workers sum again
	doubts    int    // sums that were doubted lately
	calm      int    // sums in a row that were not
}

// Begin forgets what is known of the work at the last parameters, or of the last pass.
func (x *Choice) Begin() { x.doubted = "" }

// Open decides into how many sections the gradient of a step is cut, for so many workers; 0: the step is a star. All
// blocks of the step are to be confirmed if it is audited. The number is a power of two, at least sectionsPer for
// each worker as far as there are chunks, and at most MaxSections. One worker alone has one section.
func (x *Choice) Open(step uint64, workers int, chunks wire.Chunking, audited bool) wire.Sections {
	s := wire.Sections{Chunks: chunks}
	shares := x.Mode == Sharded || x.Learns() && x.Chooser.Sharded(workers)
	if !shares || workers == 0 || step < x.restUntil || audited {
		return s
	}
	s.Count = 1
	if workers > 1 {
		s.Count = 1 << bits.Len(uint(sectionsPer*workers-1))
	}
	s.Count = min(s.Count, wire.MaxSections, 1<<(bits.Len(uint(chunks.Count()))-1))
	return s
}

// Describe says how gradients get here, and why if the run chooses itself and has measured it.
func (x *Choice) Describe() string {
	why := x.Chooser.Why()
	switch {
	case x.Mode != Auto:
		return x.Mode.String()
	case why == "":
		return x.now().String()
	}
	return x.now().String() + ": " + why
}

// now is what was chosen.
func (x *Choice) now() Mode {
	if x.Chooser.Chosen() {
		return Sharded
	}
	return Star
}

// Doubt notes why a sum is not to be used. The first reason stays until the rest or the next pass.
func (x *Choice) Doubt(why string) {
	if x.doubted == "" {
		x.doubted = why
	}
}

// Doubted is why the sum under way, or the next one, is not to be used; empty if nothing is known.
func (x *Choice) Doubted() string { return x.doubted }

// Rest lets the next steps be stars, and ends the doubt. The pause grows to 4·2⁸ = 1024 steps at most, so what a liar
// costs is bounded.
func (x *Choice) Rest(step uint64) {
	x.restUntil = step + firstRest<<x.doubts
	x.doubts = min(x.doubts+1, maxDoubts)
	x.calm, x.doubted = 0, ""
}

// Rewind lets a pause last as long as it was to last when the run goes back by so many steps.
func (x *Choice) Rewind(back uint64) { x.restUntil -= min(back, x.restUntil) }

// Succeed notes that a sum was used.
func (x *Choice) Succeed() {
	if x.calm++; x.calm >= calmAfter {
		x.doubts, x.calm = 0, 0
	}
}

// Learns reports whether the run chooses by what is measured. Where the coordinator audits itself, it needs all
// blocks anyway.
func (x *Choice) Learns() bool { return x.Mode == Auto && !x.Here }

// Learn takes in what was measured of an ordinary step: one pass, and nothing validated. It returns what is chosen from
// now on, and why, if that has changed.
func (x *Choice) Learn(e scaling.Exchanged) (now Mode, why string, changed bool) {
	why, changed = x.Chooser.Step(e)
	return x.now(), why, changed
}
