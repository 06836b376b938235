package statespace

import (
	"github.com/switchyard-ml/switchyard/autodiff"
	"github.com/switchyard-ml/switchyard/model"
	"github.com/switchyard-ml/switchyard/rng"
)

// Message is what the switch of a body is told of the other bodies of its sequence:
//
//	m_k = mean over j ≠ k of tanh(V z_k + W z_j + b)
//
// It has as many values as the state of a body. A Message of one body is none: it has no parameters and no columns.
type Message struct {
	layer pairLayer
}

// messageName begins the names of the parameters; MessageGraph finds them by it.
const messageName = "switch.message"

// NewMessage declares the parameters of a message between so many bodies with nz latent dimensions each.
func NewMessage(p *autodiff.Params, bodies, nz int, draws *rng.Stream) Message {
	if bodies < 2 {
		return Message{}
	}
	return Message{newPairLayer(p, messageName, bodies, nz, nz, draws)}
}

// Width is the number of columns of a message.
func (m Message) Width() int {
	if m.layer.bodies == 0 {
		return 0
	}
	return m.layer.own.Cols
}

// Steps puts the message on the tape of a recurrence over z with blocks of the given rows.
func (m Message) Steps(t *autodiff.Tape, z autodiff.Tensor, block int) MessageSteps {
	if m.layer.bodies == 0 {
		return MessageSteps{pairSteps{block: block}}
	}
	return MessageSteps{m.layer.steps(t, z, block)}
}

// MessageSteps is a message on the tape of a recurrence.
type MessageSteps struct{ layer pairSteps }

// Step returns the message to every row of block i of the state, [block, Width()]; without bodies, rows without
// columns.
func (s *MessageSteps) Step(i int) autodiff.Tensor {
	l := &s.layer
	if l.bodies == 0 {
		return autodiff.Tensor{Rows: l.block}
	}
	pairs := l.step(i)
	y := l.tape.New(l.block, pairs.Cols)
	clear(y.Value)
	l.tape.PairSums(y, pairs, l.bodies, 1/float32(l.bodies-1))
	return y
}

// MessageGraph is the message in a graph of one of so many bodies, by its state; "" if the model has none.
func MessageGraph(b *model.Builder, z string, bodies int) string {
	if !b.Has(messageName + ".weight") {
		return ""
	}
	return b.Op("Mul", b.Op(model.PairSum, pairGraph(b, z, messageName)), b.Scalar(1/float32(bodies-1)))
}
