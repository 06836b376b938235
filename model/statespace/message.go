package statespace

import (
	"github.com/switchyard-ml/switchyard/autodiff"
	"github.com/switchyard-ml/switchyard/model"
	"github.com/switchyard-ml/switchyard/rng"
)

// Message is what the switch of a body is told of the other bodies of its sequence, whose rows stand beside its own:
//
//	m_k = mean over j ≠ k of tanh(V z_k + W z_j + b)
//
// It has as many values as the state of a body. A Message of one body is none: it has no parameters and no columns.
type Message struct {
	own    *autodiff.Weight // V
	other  model.Dense      // W and b
	bodies int
}

const messageName = "switch.message"

// NewMessage declares the parameters of a message between so many bodies with nz latent dimensions each.
func NewMessage(p *autodiff.Params, bodies, nz int, draws *rng.Stream) Message {
	if bodies < 2 {
		return Message{}
	}
	m := Message{own: p.Matrix(messageName+".own", nz, nz), bodies: bodies}
	m.own.InitFanIn(draws, nz)
	m.other = model.NewDense(p, messageName, nz, nz, draws)
	return m
}

// Width is the number of columns of a message.
func (m Message) Width() int {
	if m.bodies == 0 {
		return 0
	}
	return m.own.Cols
}

// Steps puts the message on the tape of a recurrence over z with blocks of the given rows.
func (m Message) Steps(t *autodiff.Tape, z autodiff.Tensor, block int) MessageSteps {
	s := MessageSteps{tape: t, bodies: m.bodies, block: block}
	if m.bodies > 0 {
		s.own, s.other = t.Activation(z.Rows, m.Width()), t.Activation(z.Rows, m.Width())
		s.ofOwn = t.StepLinear(s.own, z, m.own, nil, autodiff.Identity, block)
		s.ofOther = m.other.Steps(t, s.other, z, block)
	}
	return s
}

// MessageSteps is a message on the tape of a recurrence.
type MessageSteps struct {
	tape           *autodiff.Tape
	own, other     autodiff.Tensor
	ofOwn, ofOther autodiff.StepLinear
	bodies, block  int
}

// Step returns the message to every row of block i of the state.
func (s *MessageSteps) Step(i int) autodiff.Tensor {
	if s.bodies == 0 {
		return autodiff.Tensor{Rows: s.block}
	}
	s.ofOwn.Step(i)
	s.ofOther.Step(i)
	return s.tape.Others(s.own.Block(i, s.block), s.other.Block(i, s.block), s.bodies)
}

// MessageGraph is the message in a graph of one body, by the state of that body; "" if the model has none.
func MessageGraph(b *model.Builder, z string) string {
	if !b.Has(messageName + ".weight") {
		return ""
	}
	return b.Op(model.Others, b.Op("MatMul", z, b.Parameter(messageName+".own")), b.Dense(z, messageName))
}
