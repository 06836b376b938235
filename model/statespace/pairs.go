package statespace

import (
	"github.com/switchyard-ml/switchyard/autodiff"
	"github.com/switchyard-ml/switchyard/model"
	"github.com/switchyard-ml/switchyard/rng"
)

// pairLayer is the first layer of a network that sees the states of a body k and of another body j of its sequence,
// whose rows stand beside each other:
//
//	h_kj = tanh(V z_k + W z_j + b)
type pairLayer struct {
	own    *autodiff.Weight // V
	other  model.Dense      // W and b
	bodies int              // at least 2
}

// newPairLayer declares NAME.own, NAME.weight and NAME.bias.
func newPairLayer(p *autodiff.Params, name string, bodies, nz, width int, draws *rng.Stream) pairLayer {
	l := pairLayer{own: p.Matrix(name+".own", nz, width), bodies: bodies}
	l.own.InitFanIn(draws, nz)
	l.other = model.NewDense(p, name, nz, width, draws)
	return l
}

// steps puts the layer on the tape of a recurrence over z with blocks of the given rows.
func (l pairLayer) steps(t *autodiff.Tape, z autodiff.Tensor, block int) pairSteps {
	s := pairSteps{
		tape: t, bodies: l.bodies, block: block,
		own: t.Activation(z.Rows, l.own.Cols), other: t.Activation(z.Rows, l.own.Cols),
		y: t.New(z.Rows*(l.bodies-1), l.own.Cols),
	}
	s.ofOwn = t.StepLinear(s.own, z, l.own, nil, autodiff.Identity, block)
	s.ofOther = l.other.Steps(t, s.other, z, block)
	return s
}

// pairSteps is a pairLayer on the tape of a recurrence.
type pairSteps struct {
	tape           *autodiff.Tape
	own, other, y  autodiff.Tensor // y: of all pairs
	ofOwn, ofOther autodiff.StepLinear
	bodies, block  int
}

// pairs is how many a block has.
func (s *pairSteps) pairs() int { return s.block * (s.bodies - 1) }

// step computes the layer for the pairs of block i of the state.
func (s *pairSteps) step(i int) autodiff.Tensor {
	s.ofOwn.Step(i)
	s.ofOther.Step(i)
	y := s.y.Block(i, s.pairs())
	s.tape.PairTanh(y, s.own.Block(i, s.block), s.other.Block(i, s.block), s.bodies)
	return y
}

// pairGraph is the layer in a graph of one body: a value of each pair.
func pairGraph(b *model.Builder, z, name string) string {
	return b.Op("Tanh", b.Op(model.PairAdd, b.Op("MatMul", z, b.Parameter(name+".own")), b.Dense(z, name)))
}
