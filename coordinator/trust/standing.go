package trust

import "time"

// A member that takes leases and does not deliver costs the time until others get its blocks. Members in good standing
// have delivered. As long as there are some, a member that has let a block wait before its first delivery, or several
// after it, is on trial: what it may do then is up to the coordinator, which gives it copies of blocks that others
// compute anyway. A copy that is right in time brings it back; each one in vain makes it rest longer.

const (
	// Debt is for how long nobody is believed without having delivered, in multiples of what it has cost to believe.
	Debt = 10
	// maxRests bounds how often the rest of a member is doubled.
	maxRests = 8
	// chances is how many blocks a member may let wait before it counts as one that never delivers.
	chances = 3
)

// Standing is what the blocks that a member was given say about it.
//
// Invariant: one that has delivered is never untried or idle again.
// Times are since the run began.
type Standing struct {
	proven     bool          // it has delivered
	misses     int           // blocks that it let wait, since it was last forgiven
	forgivenAt time.Duration // when the misses of a proven member count no more
	restUntil  time.Duration // until then it is given no copies
}

// Sound reports whether a member delivers, as far as is known.
func (s *Standing) Sound(now time.Duration) bool {
	return s.proven && (s.misses < 2 || now >= s.forgivenAt)
}

// Untried reports whether nothing is known of a member.
func (s *Standing) Untried() bool { return !s.proven && s.misses == 0 }

// Idle reports whether a member was given blocks, several times, and never delivered one.
func (s *Standing) Idle() bool { return !s.proven && s.misses >= chances }

// Rests reports whether a member is given no copies.
func (s *Standing) Rests(now time.Duration) bool { return now < s.restUntil }

// Delivers notes that a member has delivered. What a proven member let wait before is not forgotten: it could deliver
// in order to let the next block wait.
func (s *Standing) Delivers() {
	if !s.proven {
		*s = Standing{proven: true}
	}
	s.restUntil = 0
}

// Miss notes that a member did not deliver in time, and what that has cost. The first time of a proven member may be
// chance. cost is the time that the block waited; rest is the unit of the rest, which doubles with each further miss,
// up to 2⁸ times.
func (s *Standing) Miss(now, cost, rest time.Duration) {
	borne := 0
	if s.proven {
		borne = 1
		if now >= s.forgivenAt {
			s.misses = 0
		}
	}
	s.misses++
	s.forgivenAt = max(now, s.forgivenAt) + Debt*cost
	if n := s.misses - borne; n > 0 {
		s.restUntil = now + rest<<min(n-1, maxRests)
	}
}

const (
	// firstExclusion is for how many steps a worker is left out at first; it doubles up to
	// firstExclusion<<maxExclusions.
	firstExclusion, maxExclusions = 4, 8
)

// Exclusion is for how long a worker has no part in something. A round of local steps counts as one step.
type Exclusion struct {
	until uint64 // step
	times int
}

// Extend leaves a worker out, after a step. What was long ago is forgotten. Each further time is twice as long: from
// 4 steps to 4·2⁸ = 1024.
func (a *Exclusion) Extend(step uint64) {
	if step >= a.until+firstExclusion<<maxExclusions {
		a.times = 0
	}
	a.until = step + 1 + firstExclusion<<a.times
	a.times = min(a.times+1, maxExclusions)
}

// rewind lets an exclusion last as long as it was to last when the run goes back by so many steps.
func (a *Exclusion) rewind(back uint64) { a.until -= min(back, a.until) }

// Until is the first step in which the worker has part again.
func (a *Exclusion) Until() uint64 { return a.until }
