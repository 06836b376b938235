package statespace

import (
	"github.com/switchyard-ml/switchyard/autodiff"
	"github.com/switchyard-ml/switchyard/model"
	"github.com/switchyard-ml/switchyard/rng"
)

// Interaction is what the other bodies of its sequence do to the state of a body. Every pair of bodies has a switch
// without noise over P systems, which act on how the states differ:
//
//	e_k = Σ_{j≠k} Σ_p v_p(z_k, z_j) C_p r tanh((z_j − z_k)/r),   r = 4,   v = softmax of a network with two hidden layers
//
// In a collision of two like discs, for example, velocities change by a projection of their difference on the direction
// between the discs, and the switch chooses among directions. The effect is linear in differences well below r, the
// reach, and bounded beyond: one that grew with the difference would drive states apart that already are, without end.
// An Interaction of one body, or without systems, is none.
type Interaction struct {
	layer    pairLayer
	hidden   model.Dense
	logits   model.Dense
	matrices Matrices // C
}

const (
	interactionName = "interaction"
	// reach is r. A power of two scales without rounding.
	reach = 4
)

// NewInteraction declares the parameters of the interaction between so many bodies with nz latent dimensions each.
// The network is half as wide as others, because there are more pairs than bodies.
func NewInteraction(p *autodiff.Params, bodies, nz, systems, hidden int, draws *rng.Stream) Interaction {
	if bodies < 2 || systems == 0 {
		return Interaction{}
	}
	width := max(1, hidden/2)
	return Interaction{
		layer:    newPairLayer(p, interactionName, bodies, nz, width, draws),
		hidden:   model.NewDense(p, interactionName+".hidden", width, width, draws),
		logits:   model.NewDense(p, interactionName+".logits", width, systems, draws),
		matrices: NewMatrices(p, interactionName, systems, nz, 0, false, draws),
	}
}

// Acts reports whether there is an interaction.
func (n Interaction) Acts() bool { return n.layer.bodies > 0 }

// Steps puts the interaction on the tape of a recurrence over z with blocks of the given rows.
func (n Interaction) Steps(t *autodiff.Tape, z autodiff.Tensor, block int) InteractionSteps {
	s := InteractionSteps{z: z}
	if !n.Acts() {
		return s
	}
	s.layer = n.layer.steps(t, z, block)
	pairs, rows := s.layer.pairs(), s.layer.y.Rows
	systems := n.logits.W.Cols
	hidden := t.Activation(rows, n.hidden.W.Cols)
	s.logits, s.weights = t.New(rows, systems), t.New(rows, systems)
	s.differences, s.effects = t.New(rows, z.Cols), t.New(rows, z.Cols)
	s.ofHidden = t.StepLinear(hidden, s.layer.y, n.hidden.W, n.hidden.B, autodiff.ReLU, pairs)
	s.ofLogits = n.logits.Steps(t, s.logits, hidden, pairs)
	s.mixture = n.matrices.Steps(t, s.effects, s.weights, s.differences, autodiff.Tensor{Rows: rows}, pairs)
	return s
}

// InteractionSteps is an interaction on the tape of a recurrence.
type InteractionSteps struct {
	layer                pairSteps
	z                    autodiff.Tensor
	logits, weights      autodiff.Tensor // v
	differences, effects autodiff.Tensor // tanh((z_j − z_k)/r), and what they do, over r
	ofHidden, ofLogits   autodiff.StepLinear
	mixture              autodiff.Mixture
}

// Step adds e to every row of y, by block i of the state.
func (s *InteractionSteps) Step(y autodiff.Tensor, i int) {
	l := &s.layer
	if l.bodies == 0 {
		return
	}
	pairs := l.pairs()
	l.step(i)
	s.ofHidden.Step(i)
	s.ofLogits.Step(i)
	l.tape.Softmax(s.weights.Block(i, pairs), s.logits.Block(i, pairs))
	z := s.z.Block(i, l.block)
	l.tape.PairTanh(s.differences.Block(i, pairs), l.tape.Scale(z, -1./reach), l.tape.Scale(z, 1./reach), l.bodies)
	s.mixture.Step(i)
	l.tape.PairSums(y, s.effects.Block(i, pairs), l.bodies, reach)
}

// InteractionGraph is x plus the interaction in a graph of one body, by the state of that body; x if the model has
// none. An empty x is nothing.
func InteractionGraph(b *model.Builder, x, z string, nz int) string {
	if !b.Has(interactionName + ".weight") {
		return x
	}
	y := b.Op("Relu", b.Dense(pairGraph(b, z, interactionName), interactionName+".hidden"))
	v := b.Op("Softmax", b.Dense(y, interactionName+".logits"))
	away := b.Op("Tanh", b.Op(model.PairAdd, b.Op("Mul", z, b.Scalar(-1./reach)), b.Op("Mul", z, b.Scalar(1./reach))))
	systems := b.Columns(interactionName + ".logits.bias")
	e := b.Op("Mul", b.Op(model.PairSum, b.Mixture(away, v, interactionName+".A", systems, 0, nz)), b.Scalar(reach))
	if x == "" {
		return e
	}
	return b.Op("Add", x, e)
}
