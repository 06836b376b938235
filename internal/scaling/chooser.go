package scaling

import (
	"fmt"
	"math"
	"slices"

	"github.com/switchyard-ml/switchyard/internal/terminal"
)

// Exchanged is what was measured of a step: how its gradient got to the coordinator, of how many blocks, how long
// the step took, and how much of that was left when all blocks had been announced (Wait). Times are in seconds.
type Exchanged struct {
	Workers, Blocks int
	Sharded         bool
	Seconds, Wait   float64
}

const (
	// decisive is the number of steps by which an exchange is judged.
	decisive = 8
	// firstPause is the number of steps after a trial in vain before the next one; it doubles up to longestPause.
	firstPause, longestPause = 128, 4096
)

// Chooser chooses, step by step, whether workers sum sections of the gradient or the coordinator pulls and sums all of
// it, as in a star. In a star the bytes of all N blocks go through the coordinator's link. Where W workers sum, one
// gradient does, and at best, with a server in each worker, the busiest worker's link has ⌈N/W⌉·(W−1)/W gradients
// before. So of the time t that a star takes from the last block to the gradient,
//
//	t·(1 − (1 + ⌈N/W⌉·(W−1)/W)/N)
//
// is what sums can save at most. Size and rate of the link are in t. If that is no twentieth of a step, the star
// remains. Otherwise the next steps are made with sums, and the exchange whose median step is shorter by as much
// is kept: whether messages between workers share a link, nobody needs to know. With another number of workers it
// begins anew. The zero Chooser is ready, and begins with a star. It is a state machine: the same measurements
// give the same choices.
type Chooser struct {
	Window int // steps by which an exchange is judged; 0: 8

	workers     int     // of the steps since it began anew
	sharded     bool    // the exchange of the next step
	trial       bool    // it is tried
	star        float64 // median seconds of a step in a star, when that was judged last
	pause, left int     // steps after a trial in vain, and those that are left of them
	samples     []Exchanged
	told, said  bool   // the choice was told, and that it was sums
	why         string // the reason that was told last
}

// Sharded reports whether workers are to sum in the next step, in which there are so many. It has to be asked
// before each step: another number of workers forgets what was measured.
func (c *Chooser) Sharded(workers int) bool {
	if workers != c.workers {
		*c = Chooser{Window: c.Window, workers: workers}
	}
	return c.sharded
}

// Chosen reports whether workers sum at present.
func (c *Chooser) Chosen() bool { return c.sharded }

// Why is the reason for the choice, as it was told last. It is empty where nothing is judged yet, and during a trial.
func (c *Chooser) Why() string {
	if c.trial {
		return ""
	}
	return c.why
}

// Step notes what was measured. If the choice is another one than was told before, or the first for this number
// of workers, it says why in a sentence for people. Steps that were made otherwise than the choice says are
// ignored. Nothing is judged before a whole window of steps.
func (c *Chooser) Step(x Exchanged) (why string, chosen bool) {
	switch {
	case x.Workers != c.workers || x.Sharded != c.sharded || x.Blocks < 1:
		return "", false // it began otherwise
	case x.Workers < 2:
		return c.tell("a single worker has no other to share with")
	}
	c.left = max(c.left-1, 0)
	window := c.Window
	if window == 0 {
		window = decisive
	}
	if c.samples = append(c.samples, x); len(c.samples) < window {
		return "", false
	}
	// The window is full: the exchange is judged by its medians, and the next window begins.
	seconds, wait := median(c.samples, func(x Exchanged) float64 { return x.Seconds }),
		median(c.samples, func(x Exchanged) float64 { return x.Wait })
	c.samples = c.samples[:0]
	if c.sharded {
		return c.compare(seconds)
	}
	c.star = seconds
	best := wait * (1 - sumsPerStar(x.Workers, x.Blocks))
	switch {
	case best < worthwhile*seconds:
		return c.tell("of %s s a step, %s s go by after the last block, of which sums would save %s s at most with "+
			"%d workers", terminal.Number(seconds, 2), terminal.Number(wait, 2), terminal.Number(best, 2), x.Workers)
	// A trial is made, unless one was in vain not long ago.
	case c.left == 0:
		c.sharded, c.trial = true, true
	}
	return "", false
}

// compare keeps the sums of workers if steps are shorter with them, by so much that it is no chance; what was
// kept before stays until it is longer. seconds is the median step with sums.
func (c *Chooser) compare(seconds float64) (why string, chosen bool) {
	limit := c.star
	if c.trial {
		limit *= 1 - worthwhile
	}
	c.trial = false
	if seconds > limit {
		c.sharded = false
		// Each trial in vain costs a window of slow steps, so that the next one comes later.
		c.pause = min(max(2*c.pause, firstPause), longestPause)
		c.left = c.pause
	}
	return c.tell("a step takes %s s if workers sum and %s s in a star, with %d workers", terminal.Number(seconds, 2),
		terminal.Number(c.star, 2), c.workers)
}

// sumsPerStar is how many bytes pass the busiest links one after the other where workers sum, at best, in the unit of
// those that pass the coordinator's in a star.
func sumsPerStar(workers, blocks int) float64 {
	w, n := float64(workers), float64(blocks)
	return (1 + math.Ceil(n/w)*(w-1)/w) / n
}

// tell returns the reason for the choice, if the choice is new.
func (c *Chooser) tell(format string, args ...any) (why string, chosen bool) {
	if c.told && c.said == c.sharded {
		return "", false
	}
	c.told, c.said, c.why = true, c.sharded, fmt.Sprintf(format, args...)
	return c.why, true
}

// median is the median of one quantity of the samples, of which there is one at least; of an even number, the
// upper of the two in the middle.
func median[T any](samples []T, of func(T) float64) float64 {
	values := make([]float64, 0, len(samples))
	for _, x := range samples {
		values = append(values, of(x))
	}
	slices.Sort(values)
	return values[len(values)/2]
}
