package autodiff

import "github.com/switchyard-ml/switchyard/autodiff/kernel"

// LSTMWeights are the parameters of a long short-term memory layer with H units. The four gate
// blocks of the columns stand in the order input, forget, cell, output.
type LSTMWeights struct {
	Input     *Weight // [inputs, 4H]
	Recurrent *Weight // [H, 4H]
	Bias      *Weight // [4H]
}

// ForwardLSTM runs with time, so that h_t depends on x_1 … x_t.
//
//	[i f g o] = [x_t u_t]·W + h_{t−1}·U + b;  c_t = σ(f)⊙c_{t−1} + σ(i)⊙tanh(g);  h_t = σ(o)⊙tanh(c_t)
//
// x and the constants u, which may have no columns, are time-major with the given number of rows per step; the
// state before the first step is zero. It returns h for all steps. (Hochreiter & Schmidhuber 1997, with forget gate.)
func (t *Tape) ForwardLSTM(x, u Tensor, w LSTMWeights, block int) Tensor {
	return t.lstm(x, u, w, block, true)
}

// BackwardLSTM is ForwardLSTM against time, with h_{t+1} and c_{t+1} for h_{t−1} and c_{t−1}, so that h_t depends on
// x_t … x_T: the recognition network of the switch. The state behind the last step is zero.
func (t *Tape) BackwardLSTM(x, u Tensor, w LSTMWeights, block int) Tensor {
	return t.lstm(x, u, w, block, false)
}

// lstm is the layer over all steps: the products with the inputs are one product for all steps, the recurrence
// then adds those with the state before, step by step.
func (t *Tape) lstm(x, u Tensor, w LSTMWeights, block int, forward bool) Tensor {
	r := t.beginLSTM(x, u, w, block, forward, LSTMState{})
	top, bottom := w.Input.forward.Rows(0, x.Cols), w.Input.forward.Rows(x.Cols, w.Input.Rows)
	t.multiply(r.gates.values(), x.values(), &top, kernel.Epilogue{Bias: w.Bias.Values()})
	if u.Cols > 0 {
		t.multiply(r.gates.values(), u.values(), &bottom, kernel.Epilogue{Accumulate: true})
	}
	for i := range r.steps {
		r.advance(t, i)
	}
	record(t, &t.lists.lstm, r)
	return r.h.Slice(r.first(), r.first()+x.Rows)
}

// beginLSTM lays out the memory of a layer and its state before the first step: zeros, or from. It panics if
// shapes do not fit, and if u is no constant.
func (t *Tape) beginLSTM(x, u Tensor, w LSTMWeights, block int, forward bool, from LSTMState) lstmRecord {
	units, steps := w.Recurrent.Rows, x.Rows/block
	shapeCheck(x.Cols+u.Cols == w.Input.Rows && x.Rows == steps*block, "LSTM", x,
		Tensor{Rows: w.Input.Rows, Cols: w.Input.Cols})
	shapeCheck(u.Grad == nil && (u.Cols == 0 || u.Rows == x.Rows), "LSTM", x, u)
	r := lstmRecord{
		x: x, u: u, w: w, block: block, steps: steps, forward: forward, continues: from.H.Cols > 0,
		gates: t.scratch(x.Rows, 4*units),
		cell:  t.scratch(x.Rows+block, units),
		tanh:  t.scratch(x.Rows, units),
		h:     t.Activation(x.Rows+block, units),
	}
	if t.recording() {
		r.gates.Grad = t.grads.alloc(len(r.gates.Value)) // written by the VJP of the cell
	}
	initial, _ := r.states(r.step(0))
	h, cell := r.h.Block(initial, block), r.cell.Block(initial, block)
	if !r.continues {
		clear(h.Value)
		clear(cell.Value)
		return r
	}
	shapeCheck(len(from.H.Value) == len(h.Value) && len(from.Cell.Value) == len(h.Value), "LSTM", h, from.H)
	copy(h.Value, from.H.Value)
	copy(cell.Value, from.Cell.Value)
	return r
}

// lstmRecord holds one block more of states than there are steps: the zero state that the recurrence starts from, in
// the first block if it runs with time and in the last one if against.
type lstmRecord struct {
	x, u         Tensor
	w            LSTMWeights
	block, steps int
	forward      bool
	continues    bool   // the state before the first step is not zero
	gates        Tensor // pre-activations, overwritten by activations; their gradient is that of the pre-activations
	cell, h      Tensor
	tanh         Tensor // of the cell state
}

// step is the step in time that the recurrence takes as its i-th.
func (r *lstmRecord) step(i int) int {
	if r.forward {
		return i
	}
	return r.steps - 1 - i
}

// states are the blocks of the state that step s starts from and of the one that it computes.
func (r *lstmRecord) states(s int) (from, to int) {
	if r.forward {
		return s, s + 1
	}
	return s + 1, s
}

// first is the row of the first step's state.
func (r *lstmRecord) first() int {
	if r.forward {
		return r.block
	}
	return 0
}

// advance is the i-th step of the recurrence: it adds h₋·U to the gates of its step, which hold x·W + b, and
// computes the new state.
func (r *lstmRecord) advance(t *Tape, i int) {
	s := r.step(i)
	from, to := r.states(s)
	gates := r.gates.Block(s, r.block)
	if i > 0 || r.continues { // else h is zero
		t.multiply(gates.values(), r.h.Block(from, r.block).values(), &r.w.Recurrent.forward,
			kernel.Epilogue{Accumulate: true})
	}
	state := func(x Tensor, i int) []float32 { return x.Block(i, r.block).Value }
	kernel.LSTMForward(gates.Value, state(r.cell, from), state(r.cell, to), state(r.h, to), state(r.tanh, s), r.h.Cols)
}

// In the reverse order of the recurrence: h̄ of a step is complete when all later ones are done. With − for the state
// that a step starts from:
//
//	z̄_t from h̄_t, c̄_t;  h̄₋ += z̄_t·Uᵀ;  then over all steps x̄ += z̄·Wᵀ, W̄ += [x u]ᵀz̄, Ū += h₋ᵀz̄, b̄ += Σ z̄
func (r *lstmRecord) backward(t *Tape) {
	mark := t.values.mark()
	defer t.values.release(mark)
	// Steps go against the recurrence. After a step, gates.Grad has the gradients of its pre-activations, which
	// are all that inputs and weights need.
	r.h.settle()
	units := r.h.Cols
	// dc is the gradient of the cell state that a step has computed; the kernel turns it into that of the state
	// before.
	dc := t.values.alloc(r.block * units)
	clear(dc)
	for i := r.steps - 1; i >= 0; i-- {
		s := r.step(i)
		from, to := r.states(s)
		gates := r.gates.Block(s, r.block)
		kernel.LSTMBackward(gates.Value, gates.Grad, r.h.Block(to, r.block).Grad, dc,
			r.tanh.Block(s, r.block).Value, r.cell.Block(from, r.block).Value, units)
		if i > 0 { // else the state before is a constant
			t.multiply(r.h.Block(from, r.block).grads(), gates.grads(), &r.w.Recurrent.backward,
				kernel.Epilogue{Accumulate: true})
		}
	}
	if r.x.Grad != nil {
		// The columns of Wᵀ for x come first; u is a constant.
		columns := r.w.Input.backward.Columns(r.x.Cols)
		t.multiply(r.x.grads(), r.gates.grads(), &columns, kernel.Epilogue{Accumulate: !r.x.claim()})
	}
	r.accumulate(t)
}

// accumulate forms the gradients of the weights from those of all pre-activations.
func (r *lstmRecord) accumulate(t *Tape) {
	accumulateWeight(t, r.w.Input, r.gates, r.x, r.u)
	if r.continues {
		accumulateWeight(t, r.w.Recurrent, r.gates, r.h.Slice(0, r.x.Rows))
	} else if n := r.x.Rows - r.block; n > 0 { // not the zeros that the recurrence starts from
		accumulateWeight(t, r.w.Recurrent, r.gates.Slice(r.first(), r.first()+n), r.h.Slice(r.block, r.x.Rows))
	}
	accumulateBias(t, r.w.Bias, r.gates.grads())
}

// LSTMSteps is a forward LSTM of which the input of a step depends on the states before it.
type LSTMSteps struct {
	H Tensor // the states of all steps

	tape  *Tape
	layer lstmRecord
	cell  []float32 // gradient of the cell state
}

// LSTMState is what an LSTM knows of the past, one block of rows: its output and its cell. The zero value is that of a
// beginning.
type LSTMState struct{ H, Cell Tensor }

// StepLSTM is ForwardLSTM one step at a time: the inputs of all steps are a tensor [steps·block, inputs], Step
// reads a block of it and writes that of H. The state from which it starts is a constant; the zero LSTMState is
// one of zeros. The weight gradients are formed once over all steps, as in StepLinear.
func (t *Tape) StepLSTM(x Tensor, w LSTMWeights, block int, from LSTMState) LSTMSteps {
	l := LSTMSteps{tape: t, layer: t.beginLSTM(x, Tensor{}, w, block, true, from)}
	l.H = l.layer.h.Slice(block, block+x.Rows)
	if t.recording() {
		l.cell = t.grads.alloc(block * l.H.Cols)
		clear(l.cell)
	}
	record(t, &t.lists.lstmGroup, lstmGroupRecord{l.layer})
	return l
}

// Step computes block i of H. Steps follow each other from 0.
func (l LSTMSteps) Step(i int) {
	r := &l.layer
	x, gates := r.x.Block(i, r.block), r.gates.Block(i, r.block)
	l.tape.multiply(gates.values(), x.values(), &r.w.Input.forward, kernel.Epilogue{Bias: r.w.Bias.Values()})
	r.advance(l.tape, i)
	record(l.tape, &l.tape.lists.lstmStep, lstmStepRecord{l.layer, l.cell, i})
}

// State is the state after step i, as constants.
func (l LSTMSteps) State(i int) LSTMState {
	h, cell := l.H.Block(i, l.layer.block), l.layer.cell.Block(i+1, l.layer.block)
	h.Grad = nil
	return LSTMState{h, cell}
}

type lstmStepRecord struct {
	lstmRecord
	cell []float32
	i    int
}

// z̄_t from h̄_t, c̄_t;  h̄_{t−1} += z̄_t·Uᵀ;  x̄_t += z̄_t·Wᵀ
func (r *lstmStepRecord) backward(t *Tape) {
	block := func(x Tensor, i int) Tensor { return x.Block(i, r.block) }
	from, to := r.states(r.i)
	gates, h, before := block(r.gates, r.i), block(r.h, to), block(r.h, from)
	h.settle()
	kernel.LSTMBackward(gates.Value, gates.Grad, h.Grad, r.cell, block(r.tanh, r.i).Value,
		block(r.lstmRecord.cell, from).Value, r.h.Cols)
	if r.i > 0 { // else the state before is a constant
		t.multiply(before.grads(), gates.grads(), &r.w.Recurrent.backward, kernel.Epilogue{Accumulate: !before.claim()})
	}
	if r.x.Grad != nil {
		x := block(r.x, r.i)
		t.multiply(x.grads(), gates.grads(), &r.w.Input.backward, kernel.Epilogue{Accumulate: !x.claim()})
	}
}

// lstmGroupRecord stands before all steps of its layer, so its VJP runs after all of theirs.
type lstmGroupRecord struct{ layer lstmRecord }

// W̄ += xᵀz̄;  Ū += h₋ᵀz̄;  b̄ += Σ z̄
func (r *lstmGroupRecord) backward(t *Tape) { r.layer.accumulate(t) }

func (x Tensor) row(i int) []float32     { return x.Value[i*x.Cols : (i+1)*x.Cols] }
func (x Tensor) gradRow(i int) []float32 { return x.Grad[i*x.Cols : (i+1)*x.Cols] }
