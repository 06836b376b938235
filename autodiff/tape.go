package autodiff

import (
	"fmt"
	"reflect"

	"github.com/switchyard-ml/switchyard/autodiff/kernel"
)

// Tape is a Wengert list: the operations of one forward pass in order, with what their VJPs need. It serves one
// goroutine. Use: Reset or Record, record operations, Backward, read Gradient.
//
// Tensors, records and scratch memory live until the next Reset, which hands their memory to the next recording.
// Several tapes may use the same parameters at a time.
type Tape struct {
	// Gradient is the gradient of the loss in the layout of the parameters; nil if the tape does not record.
	Gradient []float32

	params *Params
	own    []float32 // the buffer that NewTape made
	// Of this recording: all operations in their order, and the activations whose gradients VJPs define.
	records []vjp
	fresh   []freshness
	formed  []bool // by weight: whether its gradient is defined; if not, the first product of a VJP writes it
	frozen  []bool // by weight: whether it is a constant
	// used are the lists that hold the records; only they have to be emptied. values and grads are the memory of
	// tensors.
	used   []recordList
	values arena
	grads  arena
	work   kernel.Workspace
	turned kernel.Packed // the right side of a product, transposed
	flops  float64
	lists  lists
	custom map[reflect.Type]recordList // by the type of the record
	fault  error                       // of the first operation that had no result
}

// vjp adds the vector-Jacobian product of a recorded operation to the gradients of its inputs. It runs once, when
// those of its outputs are complete.
type vjp interface{ backward(t *Tape) }

// NewTape returns a tape that records for differentiation, with a gradient of its own.
func NewTape(p *Params) *Tape {
	t := NewInferenceTape(p)
	t.own = make([]float32, p.Len())
	t.Gradient = t.own
	return t
}

// NewInferenceTape returns a tape that only evaluates, as after Evaluate, until Record is called.
func NewInferenceTape(p *Params) *Tape {
	t := &Tape{params: p}
	t.Reset()
	return t
}

// Record is Reset for a recording whose gradient goes into the given buffer, of the layout of the parameters.
func (t *Tape) Record(gradient []float32) {
	if len(gradient) != t.params.Len() {
		panic(fmt.Sprintf("autodiff: Record: %d values for the gradient of %d parameters", len(gradient), t.params.Len()))
	}
	t.Reset()
	t.Gradient = gradient
}

// Evaluate is Reset for a pass that keeps no records and no gradients.
func (t *Tape) Evaluate() {
	t.Reset()
	t.Gradient = nil
}

// Reset forgets the recording and reclaims all tensors; the memory is kept for the next one. Gradient stays what
// it was: the tape records on if it did, and if not it goes on evaluating.
func (t *Tape) Reset() {
	for _, l := range t.used {
		l.reset()
	}
	t.used = t.used[:0]
	t.records = t.records[:0]
	t.fresh = t.fresh[:0]
	t.formed, t.frozen = t.formed[:0], t.frozen[:0]
	for _, w := range t.params.weights {
		t.formed, t.frozen = append(t.formed, !w.packed), append(t.frozen, false)
	}
	t.flops, t.fault = 0, nil
	t.values.reset()
	t.grads.reset()
}

// Bytes is the memory that the tape holds for tensors.
func (t *Tape) Bytes() int { return 4 * (t.values.size() + t.grads.size() + len(t.own)) }

// Backward sets Gradient to the gradient of the scalar loss: it overwrites all of it. It runs the VJPs in the
// reverse order of recording, once for each recording. VJPs that work in place leave the gradients of intermediate
// tensors changed. It panics if the tape does not record, or the loss is a constant or no scalar.
func (t *Tape) Backward(loss Tensor) {
	if !t.recording() || loss.Grad == nil {
		panic("autodiff: Backward: the tape does not record or the loss is a constant")
	}
	if loss.Rows != 1 || loss.Cols != 1 {
		panic(fmt.Sprintf("autodiff: Backward: loss is %d×%d, not a scalar", loss.Rows, loss.Cols))
	}
	// Weights that are used element by element add to their gradients, so these begin at zero. The first product
	// of a packed weight writes its gradient instead.
	for i, w := range t.params.weights {
		if t.formed[i] {
			clear(t.gradient(w))
		}
	}
	loss.settle()
	loss.Grad[0] = 1
	for i := len(t.records) - 1; i >= 0; i-- {
		t.records[i].backward(t)
	}
	// A weight that no VJP has reached has the gradient zero.
	for i, w := range t.params.weights {
		if !t.formed[i] {
			clear(t.gradient(w))
		}
	}
}

// Err says which operation since the Reset was the first to have no result, such as Cholesky of a matrix that is not
// positive definite, and why; nil if all had. Such a result is NaN and the recording goes on: NaN are what depends on
// it and the gradients of what it was made of, and all else keeps its bits.
func (t *Tape) Err() error { return t.fault }

// blame keeps the first fault.
func (t *Tape) blame(fault error) {
	if t.fault == nil {
		t.fault = fault
	}
}

// Flops is the number of floating-point operations in matrix products since the Reset, two for each
// multiply-add.
func (t *Tape) Flops() float64 { return t.flops }

// multiply is C = A·B for a packed weight B.
func (t *Tape) multiply(c, a kernel.Matrix, b *kernel.Packed, e kernel.Epilogue) {
	t.flops += 2 * float64(c.Rows) * float64(c.Cols) * float64(a.Cols)
	t.work.MulPacked(c, a, b, e)
}

// multiplySmall is C = A·B for a B that is used too rarely to be packed.
func (t *Tape) multiplySmall(c, a, b kernel.Matrix, e kernel.Epilogue) {
	t.flops += 2 * float64(c.Rows) * float64(c.Cols) * float64(a.Cols)
	t.work.Mul(c, a, b, e)
}

// multiplyTransA is C = Aᵀ·B, the form of weight gradients.
func (t *Tape) multiplyTransA(c, a, b kernel.Matrix, e kernel.Epilogue) {
	t.flops += 2 * float64(c.Rows) * float64(c.Cols) * float64(a.Rows)
	t.work.MulTransA(c, a, b, e)
}

// multiplyTransB is C = A·Bᵀ.
func (t *Tape) multiplyTransB(c, a, b kernel.Matrix, e kernel.Epilogue) {
	t.turned.PackTransposed(b)
	t.multiply(c, a, &t.turned, e)
}

// recording reports whether operations are kept for Backward.
func (t *Tape) recording() bool { return t.Gradient != nil }

// New returns a tensor [rows, cols] with undefined values, for operations that write into a given destination. On
// a tape that records its gradient is zero.
func (t *Tape) New(rows, cols int) Tensor {
	x := t.scratch(rows, cols)
	if t.recording() {
		x.Grad = t.grads.alloc(rows * cols)
		clear(x.Grad)
	}
	return x
}

// result returns the tensor for what an operation makes of x, whose VJP adds to the gradients of x.
func (t *Tape) result(rows, cols int, x ...Tensor) Tensor {
	clearAll(x...)
	return t.New(rows, cols)
}

// Constant wraps data that is not differentiated; the tape does not copy it, so it must stay as it is until
// Backward has returned. data may be longer than rows·cols.
func (t *Tape) Constant(data []float32, rows, cols int) Tensor {
	return Tensor{Rows: rows, Cols: cols, Value: data[:rows*cols]}
}

// NewConstant returns a constant [rows, cols] with undefined values in the tape's memory.
func (t *Tape) NewConstant(rows, cols int) Tensor { return t.scratch(rows, cols) }

// Freeze makes weights constants until the Reset: their gradients are zero, and those of all else are what they would
// have been. It comes before the operations that use the weights.
func (t *Tape) Freeze(weights ...*Weight) {
	for _, w := range weights {
		t.frozen[w.index] = true
	}
}

// Param returns a weight as a tensor whose gradient is its part of t.Gradient; of a frozen weight it is a constant.
func (t *Tape) Param(w *Weight) Tensor {
	x := Tensor{Rows: w.Rows, Cols: w.Cols, Value: w.Values()}
	if t.recording() && !t.frozen[w.index] {
		t.formed[w.index] = true
		x.Grad = t.gradient(w)
	}
	return x
}

// gradient is the part of Gradient that belongs to w.
func (t *Tape) gradient(w *Weight) []float32 { return t.Gradient[w.Offset : w.Offset+w.Size()] }

// scratch returns a tensor without a gradient. Between mark and release of the arena it is taken back by release.
func (t *Tape) scratch(rows, cols int) Tensor {
	return Tensor{Rows: rows, Cols: cols, Value: t.values.alloc(rows * cols)}
}

// recordList is the part of list that the tape needs without its type.
type recordList interface{ reset() }

// list holds the records of one kind of operation from one recording to the next, so that
// recording allocates only while the list still grows.
type list[R any] struct{ records []R }

func (l *list[R]) reset() { l.records = l.records[:0] }

// record appends r to its list and puts it on the tape. A record that moves when its list grows
// stays valid where it was: records do not change after recording.
func record[R any, P interface {
	*R
	vjp
}](t *Tape, l *list[R], r R,
) {
	if !t.recording() {
		return
	}
	if len(l.records) == 0 {
		t.used = append(t.used, l)
	}
	l.records = append(l.records, r)
	t.records = append(t.records, P(&l.records[len(l.records)-1]))
}

// arena hands out float32 buffers and takes them all back at once.
//
// Invariants: buffers that were handed out and not taken back never overlap, and a block never moves or shrinks
// before reset. Every buffer begins at a multiple of 16 values of its block. After a recording that took several
// blocks, reset leaves one that is as large as all that was in use at a time, so later recordings of the same size
// allocate nothing.
type arena struct {
	blocks     [][]float32
	free       []float32
	total      int // values of the blocks
	used, most int // values that are handed out, and were at most since the last reset
}

// arenaBlock is the least number of values of a block: 256 KiB.
const arenaBlock = 1 << 16

// alloc returns n floats with undefined contents, aligned for the widest vectors. When the present block is full,
// the next is at least as large as all before it together; what was left of the full one is not used until reset.
func (a *arena) alloc(n int) []float32 {
	const align = 16
	// A block begins at an aligned address, so a buffer at a multiple of 16 values does, too.
	padded := (n + align - 1) / align * align
	if padded > len(a.free) {
		block := make([]float32, max(padded, arenaBlock, a.total))
		a.blocks = append(a.blocks, block)
		a.total += len(block)
		a.free = block
	}
	a.used += padded
	a.most = max(a.most, a.used)
	x := a.free[:n:n]
	a.free = a.free[padded:]
	return x
}

// reset reclaims everything; several blocks become one of what they were used for, so that the next recording fits
// without growing.
func (a *arena) reset() {
	if len(a.blocks) > 1 {
		a.blocks = [][]float32{make([]float32, a.most)}
		a.total = a.most
	}
	if len(a.blocks) == 1 {
		a.free = a.blocks[0]
	}
	a.used, a.most = 0, 0
}

// mark remembers what is free; release gives back everything that was allocated since. Marks nest: the last one is
// released first.
func (a *arena) mark() arenaMark { return arenaMark{a.free, len(a.blocks), a.used} }

func (a *arena) release(m arenaMark) {
	if len(a.blocks) == m.blocks { // else a new block began: it stays in use until reset
		a.free, a.used = m.free, m.used
	}
}

type arenaMark struct {
	free   []float32
	blocks int
	used   int
}

// size is the number of values of all blocks.
func (a *arena) size() int { return a.total }
