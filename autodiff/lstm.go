package autodiff

import "github.com/switchyard-ml/switchyard/autodiff/kernel"

// LSTMWeights are the parameters of a long short-term memory layer with H units. The four gate
// blocks of the columns stand in the order input, forget, cell, output.
type LSTMWeights struct {
	Input     *Weight // [inputs, 4H]
	Recurrent *Weight // [H, 4H]
	Bias      *Weight // [4H]
}

// BackwardLSTM runs against time, so that h_t depends on x_t … x_T: the recognition network of the switch.
//
//	[i f g o] = [x_t u_t]·W + h_{t+1}·U + b;  c_t = σ(f)⊙c_{t+1} + σ(i)⊙tanh(g);  h_t = σ(o)⊙tanh(c_t)
//
// x and the constants u, which may have no columns, are time-major with the given number of rows per step; the
// state behind the last step is zero. It returns h for all steps. (Hochreiter & Schmidhuber 1997, with forget gate.)
func (t *Tape) BackwardLSTM(x, u Tensor, w LSTMWeights, block int) Tensor {
	units, steps := w.Recurrent.Rows, x.Rows/block
	shapeCheck(x.Cols+u.Cols == w.Input.Rows && x.Rows == steps*block, "LSTM", x, Tensor{Rows: w.Input.Rows, Cols: w.Input.Cols})
	shapeCheck(u.Grad == nil && (u.Cols == 0 || u.Rows == x.Rows), "LSTM", x, u)
	r := lstmRecord{
		x: x, u: u, w: w, block: block,
		gates: t.scratch(x.Rows, 4*units),
		cell:  t.scratch(x.Rows+block, units),
		tanh:  t.scratch(x.Rows, units),
		h:     t.Activation(x.Rows+block, units),
	}
	if t.recording() {
		r.gates.Grad = t.grads.alloc(len(r.gates.Value)) // written by the VJP of the cell
	}
	clear(r.cell.Block(steps, block).Value)
	clear(r.h.Block(steps, block).Value)
	top, bottom := w.Input.forward.Rows(0, x.Cols), w.Input.forward.Rows(x.Cols, w.Input.Rows)
	t.multiply(r.gates.values(), x.values(), &top, kernel.Epilogue{Bias: w.Bias.Values()})
	if u.Cols > 0 {
		t.multiply(r.gates.values(), u.values(), &bottom, kernel.Epilogue{Accumulate: true})
	}
	for s := steps - 1; s >= 0; s-- {
		r.step(t, s)
	}
	record(t, &t.lists.lstm, r)
	return r.h.Slice(0, x.Rows)
}

// lstmRecord holds the states of all steps and, at the end, the zero state behind the last one.
type lstmRecord struct {
	x, u    Tensor
	w       LSTMWeights
	block   int
	gates   Tensor // pre-activations, overwritten by activations; their gradient is that of the pre-activations
	cell, h Tensor
	tanh    Tensor // of the cell state
}

func (r *lstmRecord) step(t *Tape, s int) {
	units := r.h.Cols
	if rows := (s + 1) * r.block; rows < r.x.Rows { // behind the last step h is zero
		z, after := r.gates.Block(s, r.block), r.h.Block(s+1, r.block)
		t.multiply(z.values(), after.values(), &r.w.Recurrent.forward, kernel.Epilogue{Accumulate: true})
	}
	now := func(x Tensor) []float32 { return x.Block(s, r.block).Value }
	kernel.LSTMForward(now(r.gates), r.cell.Block(s+1, r.block).Value, now(r.cell), now(r.h), now(r.tanh), units)
}

// In order of time, the reverse of the recurrence: h̄_t is complete when all earlier steps are done.
//
//	z̄_t from h̄_t, c̄_t;  h̄_{t+1} += z̄_t·Uᵀ;  then over all steps x̄ += z̄·Wᵀ, W̄ += [x u]ᵀz̄, Ū += h₊ᵀz̄, b̄ += Σ z̄
func (r *lstmRecord) backward(t *Tape) {
	mark := t.values.mark()
	defer t.values.release(mark)
	r.h.settle()
	units, steps := r.h.Cols, r.x.Rows/r.block
	dc := t.values.alloc(r.block * units)
	clear(dc)
	for s := range steps {
		gates := r.gates.Block(s, r.block)
		kernel.LSTMBackward(gates.Value, gates.Grad, r.h.Block(s, r.block).Grad, dc,
			r.tanh.Block(s, r.block).Value, r.cell.Block(s+1, r.block).Value, units)
		if s+1 == steps {
			break // the state behind the last step is a constant
		}
		t.multiply(r.h.Block(s+1, r.block).grads(), gates.grads(), &r.w.Recurrent.backward, kernel.Epilogue{Accumulate: true})
	}
	if r.x.Grad != nil {
		columns := r.w.Input.backward.Columns(r.x.Cols)
		t.multiply(r.x.grads(), r.gates.grads(), &columns, kernel.Epilogue{Accumulate: !r.x.claim()})
	}
	accumulateWeight(t, r.w.Input, r.gates, r.x, r.u)
	if n := r.x.Rows - r.block; n > 0 { // not the zeros behind the last step
		accumulateWeight(t, r.w.Recurrent, r.gates.Slice(0, n), r.h.Slice(r.block, r.x.Rows))
	}
	accumulateBias(t, r.w.Bias, r.gates)
}

func (x Tensor) row(i int) []float32     { return x.Value[i*x.Cols : (i+1)*x.Cols] }
func (x Tensor) gradRow(i int) []float32 { return x.Grad[i*x.Cols : (i+1)*x.Cols] }
