package coordinator

import (
	"slices"
	"time"
)

// evenness lets workers share evenly if their paces differ by no more than chance may explain. The part of a slower one
// is raised by up to this factor, but not above an equal part.
const evenness = 1.35

// field is what all workers that are given leases can do together. It is formed anew for each event, in which it does
// not change.
type field struct {
	workers int           // that are given leases
	slots   int           // of those that count
	mean    float64       // pace of a slot, of those that have one; 1 if none has
	total   float64       // shards per second of all
	choosy  bool          // there are workers that are not doubted, so that others get nothing
	sound   int           // workers in good standing that are not doubted
	calm    bool          // no member has let a block wait lately that had not delivered before
	now     time.Duration // of the event
}

// doubted reports whether a worker was late with a block, and has not been heard of since.
func (w *member) doubted() bool { return w.doubtedAt > w.lastSeen }

// takes reports whether a worker is given leases.
func (f *field) takes(w *member) bool { return w.ready && !(f.choosy && w.doubted()) }

// counts reports whether a worker is one of those that the work is shared among. As long as nobody is in good standing,
// these are all. One that has not been tried yet is believed to be good, unless others were not.
func (f *field) counts(w *member) bool {
	return f.takes(w) && (f.sound == 0 || w.Sound(f.now) || f.calm && w.Untried())
}

// field adds up those that are given leases.
func (ms *members) field(now time.Duration, calm bool) field {
	f := field{mean: 1, now: now, calm: calm, choosy: slices.ContainsFunc(ms.list,
		func(w *member) bool { return w.ready && !w.doubted() })}
	// Whether anybody is in good standing decides who counts at all.
	for _, w := range ms.list {
		if w.ready && !w.doubted() && w.Sound(now) {
			f.sound++
		}
	}
	// Those whose pace is not known yet count with the mean of the others.
	known, sum := 0, 0.0
	for _, w := range ms.list {
		if !f.takes(w) {
			continue
		}
		f.workers++
		if !f.counts(w) {
			continue
		}
		f.slots += w.slots
		if rate, ok := w.Pace.Rate(); ok {
			known += w.slots
			sum += rate * float64(w.slots)
		}
	}
	if known > 0 {
		f.mean = sum / float64(known)
	}
	f.total = sum + f.mean*float64(f.slots-known)
	return f
}

// speed is what a worker is believed to do, in shards per second. One that is not known counts as the others.
func (f *field) speed(w *member) float64 {
	rate, ok := w.Pace.Rate()
	if !ok {
		rate = f.mean
	}
	return rate * float64(w.slots)
}

// holdsBack reports whether a worker is so slow that the others would finish the round before it finishes one shard. Of
// one that has not delivered yet, that is not known.
//
// With rate its pace, o that of the others, and s their slots: it needs 1/rate for a shard, they need open/o for all
// that is left and s/o for the shards that they have in hand.
func (f *field) holdsBack(w *member, r *round) bool {
	rate, ok := w.Pace.Rate()
	others, slots := f.total, f.slots
	if f.counts(w) {
		others, slots = others-f.speed(w), slots-w.slots
	}
	if !ok || f.workers < 2 || others <= 0 || w.Untried() {
		return false
	}
	return 1/rate > float64(r.open)/others+float64(slots)/others
}

// doubtIdle raises the pace of those that were given nothing in a step.
func (ms *members) doubtIdle() {
	for _, w := range ms.list {
		if w.ready && !w.asked {
			w.Pace.Doubt()
		}
		w.asked = false
	}
}
