package gibbs

import (
	"fmt"
	"math"

	"github.com/switchyard-ml/switchyard/internal/matrix"
)

// A backtest forecasts within the recordings that a chain was fitted to, from starts all along them and along the most
// likely regime. Parameters are few beside what they were fitted to, so that its errors are nearly those on other data
// of the process. They say what the density of a single transition does not: how a chain predicts many steps ahead.

const (
	backtestStarts = 128 // for the averaged parameters, at equal distances over all recordings
	backtestFewer  = 32  // for a draw
	backtestPast   = 20  // steps filtered before a start
	backtestLimit  = 1e3 // largest error that counts, in standard deviations of the observation
)

// backtestHorizons are the steps ahead that are compared.
func backtestHorizons() []int { return []int{1, 2, 4, 8, 16, 32} }

// backtest is the scratch of a backtest, over the recordings of a chain whose state it does not touch. It serves
// one goroutine.
type backtest struct {
	*Chain
	belief     *belief
	x, next, y []float64
	scale      []float64 // [Dy] standard deviation of an observed dimension; 0 if it never varies
}

// newBacktest makes the scratch for the recordings of a chain.
func newBacktest(c *Chain) *backtest {
	b := &backtest{
		Chain: c, belief: newBelief(c.dims), scale: make([]float64, c.Dy),
		x: make([]float64, c.D), next: make([]float64, c.D), y: make([]float64, c.Dy),
	}
	// A floor is (resolution · standard deviation)²: see setFloors.
	for i, floor := range c.floors {
		if floor > leastFloor {
			b.scale[i] = math.Sqrt(floor) / c.cfg.Prior.Resolution
		}
	}
	return b
}

// run writes the error of each forecast, in standard deviations, to errors [starts, horizons, Dy]: 0 where the
// recording ends before, the value is missing, or the dimension never varies. Of other values it calls seen, if any.
//
// Start i of n is at step (2i+1)·N/(2n) of all N, the middle of its part. A forecast is the path without noise of
// RolloutMode: filter a few steps, then follow the most likely leaf.
func (b *backtest) run(s *system, starts int, errors []float64, seen func(horizon int)) {
	clear(errors)
	horizons := backtestHorizons()
	at := 0 // the recording of the start
	for i := range starts {
		// Starts ascend, so the recording of the next one is this or a later one.
		t := (2*i + 1) * len(b.z) / (2 * starts)
		for t >= b.spans[at].to {
			at++
		}
		span := b.spans[at]
		b.filter(s, max(span.from, t-backtestPast+1), t)
		copy(b.x, b.belief.mean)
		for h, k := 1, 0; k < len(horizons) && t+h < span.to; h++ {
			s.logProbabilities(b.belief.logPi, b.belief.nu, b.x)
			s.advance(b.next, s.tree.mostLikely(b.belief.logPi), b.x, b.control(t+h))
			b.x, b.next = b.next, b.x
			// Only the horizons count; k is the next of them.
			if h != horizons[k] {
				continue
			}
			s.emit(b.y, b.x)
			for d, y := range b.Chain.y[(t+h)*b.Dy : (t+h+1)*b.Dy] {
				if math.IsNaN(y) || b.scale[d] == 0 {
					continue
				}
				errors[(i*len(horizons)+k)*b.Dy+d] = limited((y - b.y[d]) / b.scale[d])
				if seen != nil {
					seen(k)
				}
			}
			k++
		}
	}
}

// filter leaves in b.belief what is known at step to, given the observations from step from on.
func (b *backtest) filter(s *system, from, to int) {
	b.belief.begin(s, b.Chain.y[from*b.Dy:(from+1)*b.Dy])
	for t := from + 1; t <= to; t++ {
		b.belief.next(s, b.control(t), b.Chain.y[t*b.Dy:(t+1)*b.Dy])
	}
}

// control is u_t, a view.
func (b *backtest) control(t int) []float64 { return b.u[t*b.Du : (t+1)*b.Du] }

// limited bounds an error to ±backtestLimit: of a chain that diverges no more is to be known than that. A path
// that is not a number counts as one that diverges.
func limited(v float64) float64 {
	if math.IsNaN(v) {
		return backtestLimit
	}
	return max(-backtestLimit, min(v, backtestLimit))
}

// backtest writes the errors of the averaged parameters, [starts, horizons, Dy], and the mean squared error of
// each draw at each horizon, [draws, horizons], in squared standard deviations. Draws have fewer starts, as there
// are many of them. It returns ErrNumeric if a noise covariance cannot be factored.
func (f *Fit) backtest() error {
	c, horizons := f.chain, len(backtestHorizons())
	b := newBacktest(c)
	mean, err := newSystem(c.cfg, c.dims, f.posterior.Mean())
	if err != nil {
		return fmt.Errorf("forecast the recordings of chain %d: %w", c.index, err)
	}
	b.run(mean, backtestStarts, f.errors, nil)
	errors, counts := make([]float64, backtestFewer*horizons*c.Dy), make([]float64, horizons)
	for i, draw := range f.posterior.draws {
		s, err := newSystem(c.cfg, c.dims, draw)
		if err != nil {
			return fmt.Errorf("forecast the recordings of chain %d by draw %d: %w", c.index, i, err)
		}
		clear(counts)
		b.run(s, backtestFewer, errors, func(k int) { counts[k]++ })
		squares := f.squares[i*horizons : (i+1)*horizons]
		clear(squares)
		// counts has the values that were seen at the horizon; where none was the square stays 0.
		for j, e := range errors {
			if k := j / c.Dy % horizons; counts[k] > 0 {
				squares[k] += float64(e*e) / counts[k]
			}
		}
	}
	return nil
}

// stack returns the weights, none negative and 1 together, whose average of forecasts has the least squared error,
// given the errors of each chain at the same places: stacking (Breiman 1996), which Yao, Vehtari and Gelman (2022)
// propose for chains that do not mix. With G_ij = e_i·e_j it minimises wᵀGw, whose slope is Gw but for a factor:
// at the minimum the slopes of all chains with a weight are equal, and none is less.
//
// It begins with equal weights and moves weight from the chain of the largest slope that has some to that of the
// least slope, as far as that helps or as there is weight. It ends where the two slopes are equal to rounding.
func stack(errors [][]float64) []float64 {
	n := len(errors)
	gram, trace := make([]float64, n*n), 0.0
	for i := range n {
		for j := range n {
			gram[i*n+j] = matrix.Dot(errors[i], errors[j])
		}
		trace += gram[i*n+i]
	}
	weights, slope := make([]float64, n), make([]float64, n)
	for i := range weights {
		weights[i] = 1 / float64(n)
	}
	const rounds = 10000
	for range rounds {
		low, high := 0, -1
		for i := range n {
			slope[i] = matrix.Dot(weights, gram[i*n:])
			if slope[i] < slope[low] {
				low = i
			}
		}
		for i, w := range weights {
			if w > 0 && (high < 0 || slope[i] > slope[high]) {
				high = i
			}
		}
		gap := slope[high] - slope[low]
		if gap <= 1e-12*trace {
			break
		}
		// Along the move the error is a parabola: the step to its bottom is gap over curvature.
		step := weights[high]
		if curvature := gram[low*n+low] + gram[high*n+high] - 2*gram[low*n+high]; float64(step*curvature) > gap {
			step = gap / curvature
		}
		weights[low] += step
		weights[high] -= step
	}
	return weights
}
