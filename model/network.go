package model

import (
	"github.com/switchyard-ml/switchyard/autodiff"
	"github.com/switchyard-ml/switchyard/rng"
)

// Dense is an affine map x·W + b, from rows x [n, in] to rows [n, out]: W is [in, out] and b [out].
type Dense struct{ W, B *autodiff.Weight }

// NewDense declares the parameters NAME.weight and NAME.bias of an affine map, drawn from U(±1/√in), W before b.
func NewDense(p *autodiff.Params, name string, in, out int, draws *rng.Stream) Dense {
	d := Dense{p.Matrix(name+".weight", in, out), p.Vector(name+".bias", out)}
	d.W.InitFanIn(draws, in)
	d.B.InitFanIn(draws, in)
	return d
}

// Apply returns x·W + b for every row.
func (d Dense) Apply(t *autodiff.Tape, x autodiff.Tensor) autodiff.Tensor {
	return t.Linear(x, d.W, d.B, autodiff.Identity)
}

// Steps puts the map on the tape for a recurrence; y and x hold all steps, block rows each.
func (d Dense) Steps(t *autodiff.Tape, y, x autodiff.Tensor, block int) autodiff.StepLinear {
	return t.StepLinear(y, x, d.W, d.B, autodiff.Identity, block)
}

// Body is the hidden part of a network: residual blocks, or one dense layer with rectifier if there
// are none. Heads (Dense) follow it.
type Body struct {
	dense  Dense // without residual blocks
	blocks []residual
	In     int // of the input
	Width  int // of the output
}

// residual is the basic post-activation block (He et al. 2016):
//
//	r = relu(x·W₁ + b₁);  y = relu(r·W₂ + b₂ + x·S),  S = identity if the widths agree
type residual struct {
	first, second Dense
	shortcut      *autodiff.Weight // nil: identity
}

// NewBody declares a body of the given width; blocks = 0 is a single dense layer, MaxBlocks the most. Its
// parameters are NAME.dense.… without blocks, else NAME.blockI.first.…, .second.… and, where the widths differ,
// .shortcut, with I from 1. Graphs find a body by these names.
func NewBody(p *autodiff.Params, name string, in, width, blocks int, draws *rng.Stream) Body {
	b := Body{In: in, Width: width}
	if blocks == 0 {
		b.dense = NewDense(p, name+".dense", in, width, draws)
		return b
	}
	for i := range blocks {
		prefix := name + ".block" + string(rune('1'+i))
		r := residual{
			first:  NewDense(p, prefix+".first", in, width, draws),
			second: NewDense(p, prefix+".second", width, width, draws),
		}
		if in != width {
			r.shortcut = p.Matrix(prefix+".shortcut", in, width)
			r.shortcut.InitFanIn(draws, in)
		}
		b.blocks = append(b.blocks, r)
		in = width
	}
	return b
}

// Apply returns the hidden features of every row: [n, In] becomes [n, Width].
func (b Body) Apply(t *autodiff.Tape, x autodiff.Tensor) autodiff.Tensor {
	if b.blocks == nil {
		return t.Linear(x, b.dense.W, b.dense.B, autodiff.ReLU)
	}
	for _, r := range b.blocks {
		x = r.apply(t, x)
	}
	return x
}

// apply is the block for all rows at once, layer by layer, so that the VJP of a layer forms its weight gradient while
// the gradient of its output is still in the cache.
func (r residual) apply(t *autodiff.Tape, x autodiff.Tensor) autodiff.Tensor {
	y := r.second.Apply(t, t.Linear(x, r.first.W, r.first.B, autodiff.ReLU))
	skip := x
	if r.shortcut != nil {
		skip = t.Linear(x, r.shortcut, nil, autodiff.Identity)
	}
	t.AddReLU(y, skip)
	return y
}

// MaxBlocks is the largest number of residual blocks of a body.
const MaxBlocks = 4

// BodySteps is a body on the tape of a recurrence.
type BodySteps struct {
	Y      autodiff.Tensor // the features of all steps
	dense  autodiff.StepLinear
	blocks [MaxBlocks]residualSteps
	count  int
}

// residualSteps is a residual block on the tape of a recurrence.
type residualSteps struct {
	tape *autodiff.Tape
	// shortcut is set, and skip its output, if projected; otherwise skip is the input itself.
	first, second, shortcut autodiff.StepLinear
	projected               bool
	skip, y                 autodiff.Tensor
	block                   int
}

// Steps puts the body on the tape; x holds the inputs of all steps, block rows each.
func (b Body) Steps(t *autodiff.Tape, x autodiff.Tensor, block int) BodySteps {
	if b.blocks == nil {
		y := t.Activation(x.Rows, b.Width)
		return BodySteps{Y: y, dense: t.StepLinear(y, x, b.dense.W, b.dense.B, autodiff.ReLU, block)}
	}
	s := BodySteps{count: len(b.blocks)}
	for i, r := range b.blocks {
		s.blocks[i] = r.steps(t, x, block)
		x = s.blocks[i].y
	}
	s.Y = x
	return s
}

// steps puts the block on the tape for all steps of a recurrence.
func (r residual) steps(t *autodiff.Tape, x autodiff.Tensor, block int) residualSteps {
	width := r.first.W.Cols
	hidden := t.Activation(x.Rows, width)
	s := residualSteps{tape: t, skip: x, y: t.Activation(x.Rows, width), block: block}
	s.first = t.StepLinear(hidden, x, r.first.W, r.first.B, autodiff.ReLU, block)
	s.second = r.second.Steps(t, s.y, hidden, block)
	if r.shortcut != nil {
		s.projected = true
		s.skip = t.Activation(x.Rows, width)
		s.shortcut = t.StepLinear(s.skip, x, r.shortcut, nil, autodiff.Identity, block)
	}
	return s
}

// Step computes the features of block i from block i of the inputs.
func (s *BodySteps) Step(i int) {
	if s.count == 0 {
		s.dense.Step(i)
		return
	}
	for b := range s.count {
		r := &s.blocks[b]
		r.first.Step(i)
		r.second.Step(i)
		if r.projected {
			r.shortcut.Step(i)
		}
		r.tape.AddReLU(r.y.Block(i, r.block), r.skip.Block(i, r.block))
	}
}
