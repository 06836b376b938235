// Package statespace holds the parts that latent state-space models are made of:
//
//	Initial        q(h | x_{1:k}, u_{1:k}) and z_1 = t(h)
//	Encoder        q_meas(z_t | x_t), the measurement that is multiplied with a transition
//	LocallyLinear  z_t = z_{t−1} + Σᵢ wᵢ(Aᵢ z_{t−1} + Bᵢ u_t) with variances Σᵢ wᵢ Qᵢ
//	Mixing         w = softmax or sigmoid of a network of z_{t−1} and u_t
//	Emission       p(x_t | z_t), Gaussian or Bernoulli
//
// A family of models puts them together and says what its loss is.
//
// It is also what the forecasts of all families share. The sequences of a query are taken in groups, so that memory
// stays bounded; a group continues each of its sequences by several paths at a time; the paths are averaged, and a
// decoder is drawn from along the first. The rows of a group are time-major: within a time step row j·N+i is path j of
// sequence i of the group.
//
// # Recurrences
//
// A part that is applied once at each time step has two forms: the declared parameters, and its Steps, which are that
// part on the tape of one recurrence. Steps are laid out for all time steps at once; Step(i) then computes block i. z
// has a block for each time step, all other tensors one for each transition, so that step i leads from block i of z to
// block i+1. Blocks have n rows: those of the sequences, or of several paths of each.
//
// # Noise
//
// A family draws all noise of a pass from one stream, in an order that its comments state and in whole tensors. What is
// drawn then depends on the shapes alone, not on values. Rollouts go on with the same stream behind the noise of
// inference, group after group.
//
// The package does not know what the mixing weights come from, nor how a model infers its state.
package statespace

import (
	"github.com/switchyard-ml/switchyard/autodiff"
	"github.com/switchyard-ml/switchyard/rng"
)

// SDFloor keeps standard deviations of networks off zero: √1e−5. It is added to every softplus of a head.
const SDFloor = 3.1622776601683795e-3

// Normals returns a constant of standard normal draws.
func Normals(t *autodiff.Tape, noise *rng.Stream, rows, cols int) autodiff.Tensor {
	x := t.NewConstant(rows, cols)
	noise.Normals(x.Value)
	return x
}
