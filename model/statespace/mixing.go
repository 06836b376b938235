package statespace

import (
	"github.com/switchyard-ml/switchyard/autodiff"
	"github.com/switchyard-ml/switchyard/model"
	"github.com/switchyard-ml/switchyard/rng"
)

// Weights says how scores become mixing weights.
type Weights string

// Softmax weights sum to one. Sigmoid weights are independent. Limited weights are so as long as their sum is at most
// one, and are scaled down to that sum above it:
//
//	w = σ(l) / max(1, Σⱼ σ(lⱼ))
//
// Then no mixture moves the state further than the base systems do, whichever gates are open.
const (
	Softmax Weights = "softmax"
	Sigmoid Weights = "sigmoid"
	Limited Weights = "limited"
)

// AllWeights are the kinds that there are.
func AllWeights() []Weights { return []Weights{Softmax, Sigmoid, Limited} }

// Gates reports whether each weight is a gate of its own.
func (k Weights) Gates() bool { return k != Softmax }

// Mix writes the mixing weights w of scores, row by row; both are [n, M] and may not be the same tensor on a tape
// that records.
func (k Weights) Mix(t *autodiff.Tape, w, scores autodiff.Tensor) {
	if k == Softmax {
		t.Softmax(w, scores)
		return
	}
	gates := k.Unlimited(t, w)
	t.Sigmoid(gates, scores)
	k.Limit(t, w, gates)
}

// Unlimited is where gates are written of which Limit makes the weights w: w itself where there is no limit.
func (k Weights) Unlimited(t *autodiff.Tape, w autodiff.Tensor) autodiff.Tensor {
	if k == Limited {
		return t.New(w.Rows, w.Cols)
	}
	return w
}

// Limit makes the weights w of gates that are in Unlimited.
func (k Weights) Limit(t *autodiff.Tape, w, gates autodiff.Tensor) {
	if k == Limited {
		t.LimitSum(w, gates)
	}
}

// Graph is Mix for other programs; there are so many weights.
func (k Weights) Graph(b *model.Builder, scores string, systems int) string {
	if k == Softmax {
		return b.Op("Softmax", scores)
	}
	return k.LimitGraph(b, b.Op("Sigmoid", scores), systems)
}

// LimitGraph is Limit for other programs; there are so many weights.
func (k Weights) LimitGraph(b *model.Builder, gates string, systems int) string {
	if k != Limited {
		return gates
	}
	one := b.Scalar(1)
	above := b.Op("Relu", b.Op("Sub", b.SystemSums(gates, 1, systems), one))
	return b.Op("Div", gates, b.Op("Add", above, one))
}

// Mixing makes the weights of base systems a deterministic function of the past:
//
//	w_t = softmax(f(z_{t−1}, u_t)), or what else Weights say
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
