package autodiff

import (
	"fmt"

	"github.com/switchyard-ml/switchyard/autodiff/kernel"
)

// Tensor is a dense row-major matrix on a tape. Sequences are time-major: B consecutive rows are
// one time step. The buffers belong to the tape and are valid until its Reset.
type Tensor struct {
	Rows, Cols int
	Value      []float32
	Grad       []float32 // nil for constants and on tapes that do not record

	fresh  *freshness // of an activation; nil: all of Grad is defined
	offset int        // row of the activation, at which this view begins
}

// Block returns rows [i·n, (i+1)·n) as a view, or fewer at the end: values and gradients are shared with x.
func (x Tensor) Block(i, n int) Tensor { return x.Slice(i*n, min((i+1)*n, x.Rows)) }

// Slice returns rows [lo, hi) as a view: values and gradients are shared with x.
func (x Tensor) Slice(lo, hi int) Tensor {
	y := Tensor{Rows: hi - lo, Cols: x.Cols, Value: x.Value[lo*x.Cols : hi*x.Cols], fresh: x.fresh, offset: x.offset + lo}
	if x.Grad != nil {
		y.Grad = x.Grad[lo*x.Cols : hi*x.Cols]
	}
	return y
}

// Reshape returns the same elements, row by row, as rows of another length: values and gradients are shared with
// x. The gradient of an activation becomes defined, since its rows are no longer those of the view.
func (x Tensor) Reshape(rows, cols int) Tensor {
	shapeCheck(rows*cols == x.Rows*x.Cols, "Reshape", x, Tensor{Rows: rows, Cols: cols})
	clearAll(x)
	return Tensor{Rows: rows, Cols: cols, Value: x.Value, Grad: x.Grad}
}

func (x Tensor) values() kernel.Matrix { return kernel.Dense(x.Value, x.Rows, x.Cols) }
func (x Tensor) grads() kernel.Matrix  { return kernel.Dense(x.Grad, x.Rows, x.Cols) }

// sameShape panics unless all tensors have the shape of the first: a programmer's error. Of activations it clears
// the gradients, so that the VJP may add to them.
func sameShape(op string, x Tensor, others ...Tensor) {
	clearAll(x)
	clearAll(others...)
	for _, y := range others {
		if y.Rows != x.Rows || y.Cols != x.Cols {
			panic(fmt.Sprintf("autodiff: %s: shape %d×%d against %d×%d", op, y.Rows, y.Cols, x.Rows, x.Cols))
		}
	}
}

// shapeCheck panics with the name of the operation and two shapes unless ok: a programmer's error.
func shapeCheck(ok bool, op string, x, y Tensor) {
	if !ok {
		panic(fmt.Sprintf("autodiff: %s: shapes %d×%d and %d×%d do not fit", op, x.Rows, x.Cols, y.Rows, y.Cols))
	}
}
