package autodiff

import "github.com/switchyard-ml/switchyard/autodiff/kernel"

// Sum returns the scalar Σ x over all elements, in the lanes of kernel.Sum; of no elements it is 0.
func (t *Tape) Sum(x Tensor) Tensor {
	y := t.result(1, 1, x)
	y.Value[0] = kernel.Sum(x.Value)
	record(t, &t.lists.sum, sumRecord{x, y, 1})
	return y
}

// Mean returns the scalar (1/n)·Σ x over all n elements.
func (t *Tape) Mean(x Tensor) Tensor {
	y := t.result(1, 1, x)
	n := float32(len(x.Value))
	y.Value[0] = kernel.Sum(x.Value) / n
	record(t, &t.lists.sum, sumRecord{x, y, n})
	return y
}

type sumRecord struct {
	x, y Tensor
	n    float32 // what the sum is divided by
}

// x̄ += ȳ/n
func (r *sumRecord) backward(*Tape) {
	if r.x.Grad != nil {
		addConstant(r.x.Grad, r.y.Grad[0]/r.n)
	}
}

// SumRows returns the sum of every row, a column [rows, 1], in the lanes of kernel.Sum.
func (t *Tape) SumRows(x Tensor) Tensor {
	y := t.result(x.Rows, 1, x)
	kernel.SumRows(y.Value, x.values())
	record(t, &t.lists.sumRows, sumRowsRecord{x, y})
	return y
}

type sumRowsRecord struct{ x, y Tensor }

// x̄ += ȳ of its row
func (r *sumRowsRecord) backward(*Tape) {
	if r.x.Grad == nil {
		return
	}
	for row, g := range r.y.Grad {
		addConstant(r.x.gradRow(row), g)
	}
}

// SumColumns returns the sum of every column, a row [1, cols], each one chain over ascending rows.
func (t *Tape) SumColumns(x Tensor) Tensor {
	y := t.result(1, x.Cols, x)
	clear(y.Value)
	kernel.AddSumColumns(y.Value, x.values())
	record(t, &t.lists.sumColumns, sumColumnsRecord{x, y})
	return y
}

type sumColumnsRecord struct{ x, y Tensor }

// x̄ += ȳ of its column
func (r *sumColumnsRecord) backward(*Tape) {
	if r.x.Grad != nil {
		kernel.AddRow(r.x.grads(), r.y.Grad)
	}
}
