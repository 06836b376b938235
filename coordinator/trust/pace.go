package trust

import "time"

// Pace is how fast a worker computes, in shards per second of one slot: the ratio of two sums in which older times
// count less. The time runs from lease to Result, so a slow network makes a worker slow, too. The zero Pace has
// counted nothing. now is the time since the run began.
type Pace struct {
	shards, seconds float64       // the seconds are those of busy slots
	mark            time.Duration // up to which the seconds are counted
}

const (
	// memory is what is left of a pace after as many shards as the worker has slots.
	memory = 0.9
	// unproven is the credit, in shards, of a worker that has delivered nothing.
	unproven = 0.05
	// doubt is the factor on the measured time of a worker that was given nothing for a step. So its pace grows until
	// it is given a block again.
	doubt = 0.9
)

// Start begins to count.
func (p *Pace) Start(now time.Duration) { p.mark = now }

// Count adds the time since the last call, in which so many shards were in hand. It is called before the number in
// hand changes.
func (p *Pace) Count(now time.Duration, busy, slots int) {
	p.seconds += (now - p.mark).Seconds() * float64(min(busy, slots))
	p.mark = now
}

// Deliver adds shards that are done. A block of as many shards as slots, or more, leaves a tenth less of what was
// before.
func (p *Pace) Deliver(shards, slots int) {
	keep := 1 - (1-memory)*min(1, float64(shards)/float64(slots))
	p.shards, p.seconds = keep*(p.shards+float64(shards)), keep*p.seconds
}

// Doubt raises the pace of a worker that was given nothing for a step.
func (p *Pace) Doubt() { p.seconds *= doubt }

// Rate is the pace, and whether there is one. Of one that has delivered nothing it falls with the time that it is
// busy.
func (p *Pace) Rate() (float64, bool) {
	if p.seconds <= 0 {
		return 0, false
	}
	return max(p.shards, unproven) / p.seconds, true
}
