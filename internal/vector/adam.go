package vector

import (
	"fmt"
	"math"
	"sync/atomic"

	"github.com/switchyard-ml/switchyard/autodiff/kernel"
)

// Adam is the optimiser of Kingma and Ba (2015), algorithm 1, with clipping and the rate of a Schedule.
//
// Invariant: after t updates of the moments, power1 = Beta1^t and power2 = Beta2^t, each computed by t multiplications.
type Adam struct {
	schedule       Schedule
	m, v           []float32 // first and second moment, by parameter
	power1, power2 float64   // Beta1^t and Beta2^t
	running        running   // norm of the gradients, if a limit follows from it
	leftOut        bool      // the last update
	factor         float64   // of the rate: a power of two, see Retreat
	decay          decay     // of the rate so far
	sizing         *sizing   // if the size of gradients is limited
	// Spread makes the update use all cores. The bits do not change. Set it only if no other computation needs the
	// cores at that time.
	Spread bool
}

// NewAdam returns Adam for size parameters; its moments are zero.
func NewAdam(s Schedule, size int) *Adam {
	a := &Adam{schedule: s, m: make([]float32, size), v: make([]float32, size), power1: 1, power2: 1, factor: 1}
	if s.ClipFactor > 0 || s.Outlier > 0 {
		a.running.norm = make([]float32, 1)
	}
	if s.ClipSize > 0 {
		a.sizing = newSizing()
	}
	return a
}

// Stride is the number of updates that Update makes.
func (a *Adam) Stride() uint64 { return 1 }

// Moments are m and v, and the running norm if there is one. The slices belong to Adam.
func (a *Adam) Moments() []Moment {
	list := []Moment{{"adam.m", a.m}, {"adam.v", a.v}}
	if a.running.norm != nil {
		list = append(list, Moment{"adam.norm", a.running.norm})
	}
	return list
}

// LeftOut reports whether the last Update left its gradient out.
func (a *Adam) LeftOut() bool { return a.leftOut }

// Resume has to be called after the moments were set to their values after that many updates. It takes as many
// multiplications as updates, so that the powers have the bits of a run that was never interrupted.
func (a *Adam) Resume(updates uint64) {
	a.power1, a.power2, a.running.updates = 1, 1, updates
	for range updates {
		a.raise()
	}
}

// Reset sets the moments to zero. It begins anew at update 0, as in every round of a replica.
func (a *Adam) Reset() {
	clear(a.m)
	clear(a.v)
	clear(a.running.norm)
	a.Resume(0)
}

// raise multiplies the powers one more time. The conversions keep the compiler from fusing the products into later
// sums.
func (a *Adam) raise() {
	a.power1 = float64(a.power1 * a.schedule.Beta1)
	a.power2 = float64(a.power2 * a.schedule.Beta2)
}

// Update makes update number step (from 0). It changes theta by the sum of the shards' gradients, and overwrites sum:
//
//	g = sum/shards,  g ← g·min(1, limit/‖g‖),  g ← g·min(1, ClipSize/size),  m ← β₁m + (1−β₁)g,  v ← β₂v + (1−β₂)g²,
//	θ ← θ − factor·rate·m̂/(√v̂ + ε)  with  m̂ = m/(1−β₁ᵗ),  v̂ = v/(1−β₂ᵗ)
//
// (computed with the corrections folded into rate and ε; now and then, negligible moments become 0). The limit is the
// smaller of Clip and ClipFactor times the running norm, the factor that of the parameter's group. It returns ‖g‖
// before clipping and the rate. If ‖g‖ is not finite, or above maxNorm after clipping, it returns an error and has
// changed nothing but sum. If the parameters are not finite after the update, it returns ErrParameters.
//
// A gradient above Outlier times the running norm, after the warm-up, is left out (LeftOut): theta, m and v stay, the
// step counts, and the running norm is fed, with a norm that Clip has not cut, so that a run whose gradients have grown
// for good goes on.
func (a *Adam) Update(theta, sum []float32, shards int, step uint64) (norm, rate float64, err error) {
	c := &a.schedule
	a.scale(sum, 1/float32(shards))
	norm, rate = math.Sqrt(kernel.SumSquares(sum)), float64(a.factor*c.at(step, &a.decay))
	if math.IsNaN(norm) || math.IsInf(norm, 0) {
		return norm, rate, ErrOverflow
	}
	clip, applied := float32(1), norm
	// NaN and infinity are out, so the quotient is a number in (0, 1).
	if limit := a.running.limit(c); limit > 0 && norm > limit {
		clip, applied = float32(limit/norm), limit
	}
	// Nothing but sum has changed up to here: the caller can end the run with the parameters of before.
	if applied > maxNorm {
		return norm, rate, fmt.Errorf("the gradient's norm of %.3g is above %g, where Adam's second moment overflows float32",
			applied, maxNorm)
	}
	a.leftOut = a.running.outlying(c, norm, step)
	a.raise()
	a.running.feed(a.running.entry(c, norm, applied, a.leftOut))
	if a.leftOut {
		return norm, rate, nil
	}
	if c.ClipSize > 0 {
		if size := a.size(sum, clip); size > c.ClipSize {
			clip *= float32(c.ClipSize / size)
		}
	}
	// With r = √(1−β₂ᵗ): rate·m̂/(√v̂ + ε) = (rate·r/(1−β₁ᵗ))·m/(√v + ε·r).
	root := math.Sqrt(1 - a.power2)
	finite := a.apply(theta, sum, clip, step%settleEvery == settleEvery-1, kernel.AdamStep{
		Beta1: float32(c.Beta1), OneMinusBeta1: float32(1 - c.Beta1),
		Beta2: float32(c.Beta2), OneMinusBeta2: float32(1 - c.Beta2),
		Rate: float32(rate * root / (1 - a.power1)), Eps: float32(c.Epsilon * root),
	})
	if !finite {
		return norm, rate, ErrParameters
	}
	return norm, rate, nil
}

// strip is the number of elements that pass through the whole update together, so that they stay in the cache.
const strip = 1 << 13

// settleEvery is the number of updates from one settling of the moments to the next. In so many, a moment of 2⁻¹¹⁰ does
// not become subnormal if Beta1 and Beta2 are at least 1/2.
const settleEvery = 16

// settle sets moments to 0 that are below 2⁻¹¹⁰, and second ones only if their root is lost in the sum with ε. The
// moments of a parameter without a gradient, such as those of a unit that is never active, would decay to subnormal
// numbers and stay there.
func settle(first, second []float32, epsilon float32) {
	lost := float64(epsilon) * 0x1p-25
	kernel.DropBelow(first, 0x1p-110)
	kernel.DropBelow(second, float32(min(0x1p-110, lost*lost)))
}

// apply changes theta by a gradient, which is multiplied by clip first, and reports whether theta is finite afterwards.
// It settles the moments if it is time.
func (a *Adam) apply(theta, gradient []float32, clip float32, settling bool, step kernel.AdamStep) bool {
	if !a.Spread {
		return a.applyTo(0, len(theta), theta, gradient, clip, settling, step)
	}
	var infinite atomic.Bool
	Ranges(len(theta), Elements, func(from, to int) {
		if !a.applyTo(from, to, theta, gradient, clip, settling, step) {
			infinite.Store(true)
		}
	})
	return !infinite.Load()
}

// applyTo is apply for the elements [from, to). Each element depends on its own moments and gradient alone, so any
// division into parts gives the same bits.
func (a *Adam) applyTo(from, to int, theta, gradient []float32, clip float32, settling bool,
	step kernel.AdamStep,
) bool {
	finite := true
	for ; from < to; from += strip {
		end := min(from+strip, to)
		if clip != 1 {
			kernel.Scale(gradient[from:end], clip)
		}
		a.schedule.groups(from, end, func(i, j int, factor float64) {
			own := step
			if factor != 1 {
				own.Rate = float32(float64(step.Rate) * factor)
			}
			kernel.Adam(theta[i:j], a.m[i:j], a.v[i:j], gradient[i:j], own)
		})
		if settling {
			settle(a.m[from:end], a.v[from:end], step.Eps)
		}
		finite = kernel.Finite(theta[from:end]) && finite
	}
	return finite
}

// scale multiplies a vector.
func (a *Adam) scale(x []float32, by float32) {
	if !a.Spread {
		kernel.Scale(x, by)
		return
	}
	Ranges(len(x), Elements, func(from, to int) { kernel.Scale(x[from:to], by) })
}
