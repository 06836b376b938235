package vector

import (
	"math"

	"github.com/switchyard-ml/switchyard/autodiff/kernel"
)

// Outer has the constants of the updates between rounds of local steps.
type Outer struct {
	Rate     float64 // multiplies the replicas' mean movement
	Momentum float64 // μ, in [0,1)
	Every    uint64  // updates of a replica in a round; 0: there are no rounds
}

// Nesterov is the outer optimiser of DiLoCo (Douillard et al. 2023, algorithm 1): stochastic gradient descent with
// Nesterov's momentum. Its gradient is how far the replicas have moved from the common parameters.
type Nesterov struct {
	outer    Outer
	schedule Schedule  // of the replicas
	decay    decay     // of its rate so far
	velocity []float32 // u, by parameter
}

// NewNesterov returns the outer optimiser for size parameters. s is the schedule of the replicas. The velocity is
// zero.
func NewNesterov(o Outer, s Schedule, size int) *Nesterov {
	return &Nesterov{outer: o, schedule: s, velocity: make([]float32, size)}
}

// Stride is the number of updates of each replica between two calls of Update.
func (n *Nesterov) Stride() uint64 { return n.outer.Every }

// Moments is the velocity. The slice belongs to Nesterov.
func (n *Nesterov) Moments() []Moment { return []Moment{{"outer.velocity", n.velocity}} }

// Resume does nothing: the velocity is the whole state.
func (n *Nesterov) Resume(uint64) {}

// LeftOut is false: the replicas' own updates leave out what is outlying.
func (n *Nesterov) LeftOut() bool { return false }

// Update changes theta, the parameters that all replicas began with at that step, by the sum of Δ = θ − θ_replica over
// the replicas. It overwrites sum:
//
//	d = sum/replicas,  u ← μu + d,  θ ← θ − rate·(d + μu)
//
// It returns ‖d‖ and the learning rate of the replicas' first update in the round. If ‖d‖ is not finite, it returns
// ErrOverflow and has changed nothing but sum. If the parameters are not finite afterwards, it returns ErrParameters.
func (n *Nesterov) Update(theta, sum []float32, replicas int, step uint64) (norm, rate float64, err error) {
	kernel.Scale(sum, 1/float32(replicas))
	norm, rate = math.Sqrt(kernel.SumSquares(sum)), n.schedule.at(step, &n.decay)
	if math.IsNaN(norm) || math.IsInf(norm, 0) {
		return norm, rate, ErrOverflow
	}
	momentum := float32(n.outer.Momentum)
	kernel.Scale(n.velocity, momentum)
	kernel.Add(n.velocity, sum)
	kernel.AddScaled(sum, momentum, n.velocity)
	kernel.AddScaled(theta, -float32(n.outer.Rate), sum)
	if !kernel.Finite(theta) {
		return norm, rate, ErrParameters
	}
	return norm, rate, nil
}
