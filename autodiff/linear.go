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

// Linear returns y = act(x·W + b) for every row of x. b may be nil.
func (t *Tape) Linear(x Tensor, w, b *Weight, act Activation) Tensor {
	y := t.New(x.Rows, w.Cols)
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

// StepLinear puts a layer y = act(x·W + b) on the tape with blocks of the given number of rows.
// b may be nil.
func (t *Tape) StepLinear(y, x Tensor, w, b *Weight, act Activation, block int) StepLinear {
	if x.Rows != y.Rows || x.Cols != w.Rows || y.Cols != w.Cols {
		panic(fmt.Sprintf("autodiff: Linear: %d×%d · %s %d×%d into %d×%d", x.Rows, x.Cols, w.Name, w.Rows, w.Cols, y.Rows, y.Cols))
	}
	record(t, &t.lists.linearGroup, linearGroupRecord{x: x, y: y, w: w, b: b})
	return StepLinear{tape: t, y: y, x: x, w: w, b: b, act: act, block: block}
}

// Step computes block i: y_i = act(x_i·W + b).
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
	if r.act == ReLU {
		kernel.ReLUBackward(r.y.Grad, r.y.Grad, r.y.Value)
	}
	if r.x.Grad != nil {
		t.multiply(r.x.grads(), r.y.grads(), &r.w.backward, kernel.Epilogue{Accumulate: true})
	}
}

// linearGroupRecord stands before all steps of its layer, so its VJP runs after all of theirs.
type linearGroupRecord struct {
	x, y Tensor
	w, b *Weight
}

// W̄ += xᵀ·ȳ; b̄ += Σ_rows ȳ
func (r *linearGroupRecord) backward(t *Tape) {
	accumulateWeight(t, r.w, r.x, r.y)
	if r.b != nil {
		kernel.AddSumColumns(t.gradient(r.b), r.y.grads())
	}
}

// accumulateWeight adds xᵀ·ȳ to the gradient of w.
func accumulateWeight(t *Tape, w *Weight, x, y Tensor) {
	dw := kernel.Dense(t.gradient(w), w.Rows, w.Cols)
	t.multiplyTransA(dw, x.values(), y.grads(), kernel.Epilogue{Accumulate: true})
}

// AddReLU writes y = relu(a + b), the end of a residual block.
func (t *Tape) AddReLU(y, a, b Tensor) {
	sameShape("AddReLU", y, a, b)
	copy(y.Value, a.Value)
	kernel.Add(y.Value, b.Value)
	kernel.ReLU(y.Value, y.Value)
	record(t, &t.lists.addReLU, addReLURecord{a, b, y})
}

type addReLURecord struct{ a, b, y Tensor }

// ȳ ← ȳ·[y > 0] in place; ā += ȳ; b̄ += ȳ
func (r *addReLURecord) backward(*Tape) {
	kernel.ReLUBackward(r.y.Grad, r.y.Grad, r.y.Value)
	for _, x := range []Tensor{r.a, r.b} {
		if x.Grad != nil {
			kernel.Add(x.Grad, r.y.Grad)
		}
	}
}

// Concat writes the columns of the parts side by side: y = [x₁ x₂ …]. It takes up to three parts;
// a part without columns is left out.
func (t *Tape) Concat(y Tensor, parts ...Tensor) {
	r := concatRecord{y: y}
	if len(parts) > len(r.parts) {
		panic("autodiff: Concat: too many parts")
	}
	col := 0
	for i, x := range parts {
		shapeCheck(x.Rows == y.Rows && col+x.Cols <= y.Cols, "Concat", x, y)
		for row := range y.Rows {
			copy(y.Value[row*y.Cols+col:], x.Value[row*x.Cols:(row+1)*x.Cols])
		}
		r.parts[i] = x
		col += x.Cols
	}
	shapeCheck(col == y.Cols, "Concat", parts[0], y)
	record(t, &t.lists.concat, r)
}

type concatRecord struct {
	y     Tensor
	parts [3]Tensor
}

// x̄ᵢ += the columns of ȳ that came from xᵢ
func (r *concatRecord) backward(*Tape) {
	col := 0
	for _, x := range r.parts {
		if x.Grad != nil {
			for row := range r.y.Rows {
				from := r.y.Grad[row*r.y.Cols+col:][:x.Cols]
				for j, g := range from {
					x.Grad[row*x.Cols+j] += g
				}
			}
		}
		col += x.Cols
	}
}
