package autodiff

// freshness says which gradients of an activation are defined: those of its rows from some row on. Backward goes
// from the last rows to the first, so the first VJP that adds to a row can write it, and nobody has to clear the
// gradients of a network beforehand, a pass over memory that costs as much as a product's operands.
//
// Invariant: rows [from, rows) of grad are defined, rows [0, from) hold anything. from only falls during Backward;
// at 0 all of it is defined. All views of an activation have the same freshness.
type freshness struct {
	grad []float32 // of the whole activation
	cols int
	from int // the first row whose gradient is defined
}

// Activation is New for the output of a layer of a network: its gradient is undefined until a VJP writes it. It may go
// wherever a tensor may; StepLinear, AddReLU, Concat, Convolve, Subpixel, the LSTMs and BernoulliNLL know how to write
// it first, for any other operation it is cleared.
func (t *Tape) Activation(rows, cols int) Tensor {
	x := t.scratch(rows, cols)
	if t.recording() {
		x.Grad = t.grads.alloc(rows * cols)
		t.fresh = append(t.fresh, freshness{x.Grad, cols, rows})
		x.fresh = &t.fresh[len(t.fresh)-1] // stays valid if the list moves: all views have this one
	}
	return x
}

// claim prepares the gradient of x for a VJP that adds to it, and reports whether it is undefined, so that the VJP
// has to write it instead: all of it, since from then on it counts as defined. Rows behind x that no VJP has
// reached become zero.
func (x Tensor) claim() bool {
	f, end := x.fresh, x.offset+x.Rows
	if f == nil || f.from <= x.offset {
		return false
	}
	if end > f.from { // some rows have gradients: those before them begin with zero
		clear(f.grad[x.offset*f.cols : f.from*f.cols])
		f.from = x.offset
		return false
	}
	clear(f.grad[end*f.cols : f.from*f.cols])
	f.from = x.offset
	return true
}

// settle makes the gradient of x defined, zero where no VJP has added to it.
func (x Tensor) settle() {
	if x.claim() {
		clear(x.Grad)
	}
}

// clearAll makes the gradients of whole activations defined, for operations that only add to them.
func clearAll(x ...Tensor) {
	for _, x := range x {
		if f := x.fresh; f != nil {
			clear(f.grad[:f.from*f.cols])
			f.from = 0
		}
	}
}
