package autodiff

import (
	"fmt"

	"github.com/switchyard-ml/switchyard/autodiff/kernel"
)

// Activation is what a linear layer applies to its output.
type Activation uint8

// The activations that the kernels fuse into the matrix product.
const (
	Identity Activation = iota
	ReLU
)

// Linear returns y = act(x·W + b) for every row of x: x is [n, in], W [in, out], y [n, out]. b may be nil.
func (t *Tape) Linear(x Tensor, w, b *Weight, act Activation) Tensor {
	y := t.Activation(x.Rows, w.Cols)
	t.StepLinear(y, x, w, b, act, x.Rows).Step(0)
	return y
}

// StepLinear is a linear layer that is applied to one block of rows at a time, as a recurrence
// needs it: the inputs and outputs of all steps are two tensors, a step reads and writes its block.
// The weight gradient is formed once over all steps, when Backward comes back to the point at which
// the layer was put on the tape.
type StepLinear struct {
	tape  *Tape
	y, x  Tensor
	w, b  *Weight
	act   Activation
	block int
}

// StepLinear puts a layer y = act(x·W + b) on the tape with blocks of the given number of rows. x and y are the
// tensors of all steps, [steps·block, in] and [steps·block, out]; nothing is computed yet. b may be nil.
func (t *Tape) StepLinear(y, x Tensor, w, b *Weight, act Activation, block int) StepLinear {
	if x.Rows != y.Rows || x.Cols != w.Rows || y.Cols != w.Cols {
		panic(fmt.Sprintf("autodiff: Linear: %d×%d · %s %d×%d into %d×%d", x.Rows, x.Cols, w.Name, w.Rows, w.Cols, y.Rows,
			y.Cols))
	}
	record(t, &t.lists.linearGroup, linearGroupRecord{x: x, y: y, w: w, b: b})
	return StepLinear{tape: t, y: y, x: x, w: w, b: b, act: act, block: block}
}

// Step computes block i: y_i = act(x_i·W + b). Block i of x must have been written; the last block may have fewer
// rows.
func (l StepLinear) Step(i int) {
	x, y := l.x.Block(i, l.block), l.y.Block(i, l.block)
	e := kernel.Epilogue{ReLU: l.act == ReLU}
	if l.b != nil {
		e.Bias = l.b.Values()
	}
	l.tape.multiply(y.values(), x.values(), &l.w.forward, e)
	record(l.tape, &l.tape.lists.stepLinear, stepLinearRecord{x: x, y: y, w: l.w, act: l.act})
}

type stepLinearRecord struct {
	x, y Tensor
	w    *Weight
	act  Activation
}

// ȳ ← ȳ ⊙ act′(y) in place; x̄ += ȳ·Wᵀ
func (r *stepLinearRecord) backward(t *Tape) {
	r.y.settle()
	if r.act == ReLU {
		kernel.ReLUBackward(r.y.Grad, r.y.Grad, r.y.Value)
	}
	if r.x.Grad != nil {
		t.multiply(r.x.grads(), r.y.grads(), &r.w.backward, kernel.Epilogue{Accumulate: !r.x.claim()})
	}
}

// linearGroupRecord stands before all steps of its layer, so its VJP runs after all of theirs.
type linearGroupRecord struct {
	x, y Tensor
	w, b *Weight
}

// W̄ += xᵀ·ȳ; b̄ += Σ_rows ȳ
func (r *linearGroupRecord) backward(t *Tape) {
	accumulateWeight(t, r.w, r.y, r.x)
	if r.b != nil {
		accumulateBias(t, r.b, r.y.grads())
	}
}

// accumulateBias adds Σ_rows ȳ to the gradient of b, whose first VJP begins it with zeros. A frozen bias gets
// none.
func accumulateBias(t *Tape, b *Weight, dy kernel.Matrix) {
	if t.frozen[b.index] {
		return
	}
	db := t.gradient(b)
	if !t.formed[b.index] {
		clear(db)
		t.formed[b.index] = true
	}
	kernel.AddSumColumns(db, dy)
}

// accumulateWeight adds [x₁ x₂ …]ᵀ·ȳ to the gradient of w; each part has the rows of w that its columns are
// multiplied by. The first product writes the gradient, for all parts; from then on it counts as formed. A frozen
// weight gets none.
func accumulateWeight(t *Tape, w *Weight, y Tensor, parts ...Tensor) {
	if t.frozen[w.index] {
		return
	}
	row := 0
	for _, x := range parts {
		accumulatePart(t, w, row, x.values(), y.grads())
		row += x.Cols
	}
	t.formed[w.index] = true
}

// accumulatePart adds xᵀ·ȳ to the gradient of the rows of w from the given one on. The caller says when all of the
// gradient is formed.
func accumulatePart(t *Tape, w *Weight, row int, x, dy kernel.Matrix) {
	if x.Cols == 0 {
		return
	}
	dw := t.gradient(w)[row*w.Cols:][:x.Cols*w.Cols]
	t.multiplyTransA(kernel.Dense(dw, x.Cols, w.Cols), x, dy, kernel.Epilogue{Accumulate: t.formed[w.index]})
}

// AddReLU sets y = relu(y + a), the end of a residual block. It works in place: the VJP of what wrote y must not
// need the values it wrote, as that of a linear layer without activation does not. y and a are different tensors.
func (t *Tape) AddReLU(y, a Tensor) {
	shapeCheck(y.Rows == a.Rows && y.Cols == a.Cols, "AddReLU", y, a)
	for i := 0; i < len(y.Value); i += pass {
		j := min(i+pass, len(y.Value))
		kernel.Add(y.Value[i:j], a.Value[i:j])
		kernel.ReLU(y.Value[i:j], y.Value[i:j])
	}
	record(t, &t.lists.addReLU, addReLURecord{a, y})
}

// pass is how many values go through several kernels one after another, in the first-level cache.
const pass = 2048

type addReLURecord struct{ a, y Tensor }

// ȳ ← ȳ·[y > 0] in place; ā += ȳ
func (r *addReLURecord) backward(*Tape) {
	r.y.settle()
	write := r.a.Grad != nil && r.a.claim()
	for i := 0; i < len(r.y.Grad); i += pass {
		j := min(i+pass, len(r.y.Grad))
		dy := r.y.Grad[i:j]
		kernel.ReLUBackward(dy, dy, r.y.Value[i:j])
		switch {
		case write:
			copy(r.a.Grad[i:j], dy)
		case r.a.Grad != nil:
			kernel.Add(r.a.Grad[i:j], dy)
		}
	}
}
