package statespace

import (
	"github.com/switchyard-ml/switchyard/autodiff"
	"github.com/switchyard-ml/switchyard/model"
	"github.com/switchyard-ml/switchyard/rng"
)

// Weights says how scores become mixing weights.
type Weights string

// Softmax weights sum to one; sigmoid weights are independent.
const (
	Softmax Weights = "softmax"
	Sigmoid Weights = "sigmoid"
)

// Mix writes the mixing weights w of scores, row by row; both are [n, M] and may not be the same tensor on a tape
// that records.
func (k Weights) Mix(t *autodiff.Tape, w, scores autodiff.Tensor) {
	if k == Sigmoid {
		t.Sigmoid(w, scores)
	} else {
		t.Softmax(w, scores)
	}
}

// Mixing makes the weights of base systems a deterministic function of the past:
//
//	w_t = softmax(f(z_{t−1}, u_t)), or sigmoid
//
// (Karl et al. 2017a and 2017b, where w is called α.)
type Mixing struct {
	body   model.Body
	scores model.Dense
	kind   Weights
}

// NewMixing declares the network f with one residual block, or a dense layer if there are none.
func NewMixing(p *autodiff.Params, systems, nz, nu, hidden, blocks int, kind Weights, draws *rng.Stream) Mixing {
	return Mixing{
		body:   model.NewBody(p, "mixing", nz+nu, hidden, min(blocks, 1), draws),
		scores: model.NewDense(p, "mixing.scores", hidden, systems, draws),
		kind:   kind,
	}
}

// MixingSteps is a Mixing on the tape of a recurrence.
type MixingSteps struct {
	Weights autodiff.Tensor // [steps·block, M]

	tape      *autodiff.Tape
	kind      Weights
	z, u      autodiff.Tensor
	in, score autodiff.Tensor
	body      model.BodySteps
	scores    autodiff.StepLinear
	block     int
}

// Steps lays out the weights of a recurrence over z, which has at least as many blocks as the controls u.
func (n Mixing) Steps(t *autodiff.Tape, z, u autodiff.Tensor, block int) MixingSteps {
	rows, systems := u.Rows, n.scores.W.Cols
	s := MixingSteps{
		Weights: t.New(rows, systems), tape: t, kind: n.kind, z: z, u: u, block: block,
		in: t.Activation(rows, z.Cols+u.Cols), score: t.New(rows, systems),
	}
	s.body = n.body.Steps(t, s.in, block)
	s.scores = n.scores.Steps(t, s.score, s.body.Y, block)
	return s
}

// Step computes the weights of step i from block i of z and u.
func (s *MixingSteps) Step(i int) {
	s.tape.Concat(s.in.Block(i, s.block), s.z.Block(i, s.block), s.u.Block(i, s.block))
	s.body.Step(i)
	s.scores.Step(i)
	s.kind.Mix(s.tape, s.Weights.Block(i, s.block), s.score.Block(i, s.block))
}
