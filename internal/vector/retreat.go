package vector

import "math"

// mostLeftOut is how many updates in a row may be left out before a run retreats. One batch in a hundred thousand is a
// reason to leave its update out; so many in a row are a reason to doubt the parameters.
const mostLeftOut = 20

// RefugeMemory is that of the average that a run keeps to go back to where it has no other: of some 500 updates.
const RefugeMemory = 0.998

// Retreat takes parameters back from where all gradients are outlying: every update there is left out, so they would
// stay where they are. After mostLeftOut updates in a row that were left out
//
//	θ ← the average of the parameters over updates,  m ← 0,  rate ← rate/2 for the rest of the run
//
// The average is older than what led there.
type Retreat struct {
	state []float32 // updates left out in a row, retreats so far
	adam  *Adam
}

// NewRetreat returns the retreat of an optimiser that leaves outlying gradients out. It does not own the optimiser,
// whose factor and first moment it changes.
func NewRetreat(adam *Adam) *Retreat { return &Retreat{make([]float32, 2), adam} }

// Moment is what a checkpoint has of it. The slice belongs to the Retreat.
func (r *Retreat) Moment() Moment { return Moment{"adam.retreat", r.state} }

// Resume has to be called after the moment was set. The factor follows from the number of retreats, so a checkpoint
// needs nothing else.
func (r *Retreat) Resume() { r.adam.factor = math.Ldexp(1, -int(r.state[1])) }

// Note takes in whether an update was left out, and reports whether the run retreats. Then it changes theta.
func (r *Retreat) Note(theta, average []float32) bool {
	if !r.adam.LeftOut() {
		r.state[0] = 0
		return false
	}
	if r.state[0]++; r.state[0] < mostLeftOut {
		return false
	}
	copy(theta, average)
	clear(r.adam.m)
	r.state[0] = 0
	r.state[1]++
	r.Resume()
	return true
}
