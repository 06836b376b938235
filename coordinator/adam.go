package coordinator

import (
	"errors"
	"fmt"
	"math"

	"github.com/switchyard-ml/switchyard/autodiff/kernel"
)

// maxNorm bounds a gradient: from 1.8e19 on its square is +Inf in float32, and a parameter whose second moment is +Inf
// never moves again. The margin is for the sum of the moment.
const maxNorm = 1e18

var (
	errOverflow = errors.New("the sum of the shards' gradients overflows float32")
	errTheta    = errors.New("the updated parameters are not finite")
)

// adam is the state of the optimisation: parameters, moments and the number of updates so far.
//
// Invariant: power1 = Beta1^step and power2 = Beta2^step, each by step multiplications.
type adam struct {
	cfg            Optimizer
	theta, m, v    []float32
	step           uint64
	power1, power2 float64
}

func newAdam(cfg Optimizer, theta []float32) *adam {
	return &adam{
		cfg: cfg, theta: append([]float32(nil), theta...),
		m: make([]float32, len(theta)), v: make([]float32, len(theta)),
		power1: 1, power2: 1,
	}
}

// restore continues from a checkpoint.
func (a *adam) restore(cp *Checkpoint) {
	copy(a.theta, cp.Theta)
	copy(a.m, cp.M)
	copy(a.v, cp.V)
	a.step, a.power1, a.power2 = cp.Step, 1, 1
	for range cp.Step {
		a.raise()
	}
}

// raise multiplies the powers once more. The conversions keep the compiler from fusing the products into later sums.
func (a *adam) raise() {
	a.power1 = float64(a.power1 * a.cfg.Beta1)
	a.power2 = float64(a.power2 * a.cfg.Beta2)
}

// rate is Rate·Decay^⌊step/DecayEvery⌋ by repeated multiplication.
func (a *adam) rate() float64 {
	r := a.cfg.Rate
	if a.cfg.DecayEvery > 0 {
		for range a.step / a.cfg.DecayEvery {
			r *= a.cfg.Decay
		}
	}
	return r
}

// update makes the update from the sum of the shards' gradients, which it overwrites:
//
//	g = sum/shards,  g ← g·min(1, Clip/‖g‖),  m ← β₁m + (1−β₁)g,  v ← β₂v + (1−β₂)g²,
//	θ ← θ − rate·m̂/(√v̂ + ε)  with  m̂ = m/(1−β₁ᵗ),  v̂ = v/(1−β₂ᵗ)
//
// (Kingma and Ba 2015, algorithm 1, in its form with the corrections folded into rate and ε). It returns ‖g‖ before
// clipping and the rate. If ‖g‖ is not finite, or above maxNorm after clipping, it returns an error and nothing but sum is
// changed. If the parameters are not finite afterwards it returns an error, too.
func (a *adam) update(sum []float32, shards int) (norm, rate float64, err error) {
	kernel.Scale(sum, 1/float32(shards))
	norm, rate = math.Sqrt(kernel.SumSquares(sum)), a.rate()
	if math.IsNaN(norm) || math.IsInf(norm, 0) {
		return norm, rate, errOverflow
	}
	applied := norm
	if a.cfg.Clip > 0 && norm > a.cfg.Clip {
		kernel.Scale(sum, float32(a.cfg.Clip/norm))
		applied = a.cfg.Clip
	}
	if applied > maxNorm {
		return norm, rate, fmt.Errorf("the gradient's norm of %.3g is above %g, where Adam's second moment overflows float32", applied, maxNorm)
	}
	a.raise()
	root := math.Sqrt(1 - a.power2)
	kernel.Adam(a.theta, a.m, a.v, sum, kernel.AdamStep{
		Beta1: float32(a.cfg.Beta1), OneMinusBeta1: float32(1 - a.cfg.Beta1),
		Beta2: float32(a.cfg.Beta2), OneMinusBeta2: float32(1 - a.cfg.Beta2),
		Rate: float32(rate * root / (1 - a.power1)), Eps: float32(a.cfg.Epsilon * root),
	})
	a.step++
	if !kernel.Finite(a.theta) {
		return norm, rate, errTheta
	}
	return norm, rate, nil
}
