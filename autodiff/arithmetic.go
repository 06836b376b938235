package autodiff

import "github.com/switchyard-ml/switchyard/autodiff/kernel"

// In Add, Sub, Mul and Div y has the shape of x, or it is a row [1, cols], a column [rows, 1] or a scalar [1, 1], whose
// elements meet every row, every column or every element of x. The gradient of such a y is a sum over what it met: of
// a row one chain over ascending rows, otherwise in the lanes of kernel.Sum.

// Add returns z = x + y.
func (t *Tape) Add(x, y Tensor) Tensor {
	z, mark := t.pair("Add", x, y)
	defer t.values.release(mark)
	copy(z.Value, x.Value)
	kernel.Add(z.Value, t.spread(y, x))
	record(t, &t.lists.add, addRecord{x, y, z})
	return z
}

type addRecord struct{ x, y, z Tensor }

// x̄ += z̄; ȳ += z̄
func (r *addRecord) backward(t *Tape) {
	if r.x.Grad != nil {
		kernel.Add(r.x.Grad, r.z.Grad)
	}
	if r.y.Grad != nil {
		t.gather(r.y, r.z, r.z.Grad)
	}
}

// Sub returns z = x − y.
func (t *Tape) Sub(x, y Tensor) Tensor {
	z, mark := t.pair("Sub", x, y)
	defer t.values.release(mark)
	kernel.Sub(z.Value, x.Value, t.spread(y, x))
	record(t, &t.lists.sub, subRecord{x, y, z})
	return z
}

type subRecord struct{ x, y, z Tensor }

// x̄ += z̄; ȳ += −z̄
func (r *subRecord) backward(t *Tape) {
	if r.x.Grad != nil {
		kernel.Add(r.x.Grad, r.z.Grad)
	}
	if r.y.Grad != nil {
		mark := t.values.mark()
		defer t.values.release(mark)
		g := t.values.alloc(len(r.z.Grad))
		copy(g, r.z.Grad)
		kernel.Scale(g, -1)
		t.gather(r.y, r.z, g)
	}
}

// Mul returns z = x ⊙ y.
func (t *Tape) Mul(x, y Tensor) Tensor {
	z, mark := t.pair("Mul", x, y)
	defer t.values.release(mark)
	kernel.Mul(z.Value, x.Value, t.spread(y, x))
	record(t, &t.lists.mul, mulRecord{x, y, z})
	return z
}

type mulRecord struct{ x, y, z Tensor }

// x̄ += z̄⊙y; ȳ += z̄⊙x
func (r *mulRecord) backward(t *Tape) {
	mark := t.values.mark()
	defer t.values.release(mark)
	if r.x.Grad != nil {
		kernel.AddMul(r.x.Grad, r.z.Grad, t.spread(r.y, r.x))
	}
	if r.y.Grad != nil {
		g := t.values.alloc(len(r.z.Grad))
		kernel.Mul(g, r.z.Grad, r.x.Value)
		t.gather(r.y, r.z, g)
	}
}

// Div returns z = x / y, element by element; a division by zero gives an infinity or NaN, as IEEE says.
func (t *Tape) Div(x, y Tensor) Tensor {
	z, mark := t.pair("Div", x, y)
	defer t.values.release(mark)
	divide(z.Value, x.Value, t.spread(y, x))
	record(t, &t.lists.div, divRecord{x, y, z})
	return z
}

type divRecord struct{ x, y, z Tensor }

// x̄ += z̄/y; ȳ += −z̄⊙z/y
func (r *divRecord) backward(t *Tape) {
	mark := t.values.mark()
	defer t.values.release(mark)
	g := t.values.alloc(len(r.z.Grad))
	divide(g, r.z.Grad, t.spread(r.y, r.x))
	if r.x.Grad != nil {
		kernel.Add(r.x.Grad, g)
	}
	if r.y.Grad != nil {
		kernel.Mul(g, g, r.z.Value)
		kernel.Scale(g, -1)
		t.gather(r.y, r.z, g)
	}
}

// divide is dst = x / y, correctly rounded.
func divide(dst, x, y []float32) {
	for i, d := range y {
		dst[i] = x[i] / d
	}
}

// pair returns the tensor for what an operation makes of x and y, and a mark behind it: scratch memory that is
// allocated after the mark may be released, the result stays. It panics with the name of the operation if y does
// not fit.
func (t *Tape) pair(op string, x, y Tensor) (Tensor, arenaMark) {
	shapeCheck((y.Rows == x.Rows || y.Rows == 1) && (y.Cols == x.Cols || y.Cols == 1), op, x, y)
	z := t.result(x.Rows, x.Cols, x, y)
	return z, t.values.mark()
}

// spread returns the values of y for every element of x, in scratch memory if y is smaller.
func (t *Tape) spread(y, x Tensor) []float32 {
	if y.Rows == x.Rows && y.Cols == x.Cols {
		return y.Value
	}
	all := t.scratch(x.Rows, x.Cols)
	for row := range x.Rows {
		from := y.row(row % y.Rows)
		if y.Cols == x.Cols {
			copy(all.row(row), from)
			continue
		}
		to := all.row(row)
		for j := range to {
			to[j] = from[0]
		}
	}
	return all.Value
}

// gather adds g, the gradient of what spread made of y for every element of x, to that of y. g is [x.Rows,
// x.Cols].
func (t *Tape) gather(y, x Tensor, g []float32) {
	switch {
	case y.Rows == x.Rows && y.Cols == x.Cols:
		kernel.Add(y.Grad, g)
	case y.Rows == 1 && y.Cols == 1:
		y.Grad[0] += kernel.Sum(g)
	case y.Rows == 1:
		kernel.AddSumColumns(y.Grad, kernel.Dense(g, x.Rows, x.Cols))
	default:
		mark := t.values.mark()
		defer t.values.release(mark)
		sums := t.values.alloc(y.Rows)
		kernel.SumRows(sums, kernel.Dense(g, x.Rows, x.Cols))
		kernel.Add(y.Grad, sums)
	}
}
