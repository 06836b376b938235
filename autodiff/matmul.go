package autodiff

import "github.com/switchyard-ml/switchyard/autodiff/kernel"

// Linear and StepLinear multiply by a packed weight and are the faster form for layers. The products here take any
// two tensors; a weight is one by Tape.Param. Every element is one chain of FMAs over ascending k.
//
// In the batched products every row of a tensor is a matrix, row by row, of its own: x [rows, n·k] and y [rows, k·m]
// make [rows, n·m]. k is given, n and m follow. A vector is a matrix with one column, an outer product has k = 1, and
// Repeat gives every row the same matrix.

// MatMul returns x·y for x [n, k] and y [k, m].
func (t *Tape) MatMul(x, y Tensor) Tensor { return t.product(plain, x, y, 1, x.Rows, y.Rows) }

// MatMulTransA returns xᵀ·y for x [k, n] and y [k, m].
func (t *Tape) MatMulTransA(x, y Tensor) Tensor { return t.product(transA, x, y, 1, x.Rows, y.Rows) }

// MatMulTransB returns x·yᵀ for x [n, k] and y [m, k].
func (t *Tape) MatMulTransB(x, y Tensor) Tensor { return t.product(transB, x, y, 1, x.Rows, y.Rows) }

// BatchMul returns X·Y for the n×k matrix X in each row of x and the k×m matrix Y in that of y.
func (t *Tape) BatchMul(x, y Tensor, k int) Tensor { return t.batchProduct(plain, x, y, k) }

// BatchMulTransA returns Xᵀ·Y for the k×n matrix X in each row of x and the k×m matrix Y in that of y.
func (t *Tape) BatchMulTransA(x, y Tensor, k int) Tensor { return t.batchProduct(transA, x, y, k) }

// BatchMulTransB returns X·Yᵀ for the n×k matrix X in each row of x and the m×k matrix Y in that of y.
func (t *Tape) BatchMulTransB(x, y Tensor, k int) Tensor { return t.batchProduct(transB, x, y, k) }

// batchProduct is a product for every row, as one of matrices that stand one below the other.
func (t *Tape) batchProduct(f form, x, y Tensor, k int) Tensor {
	shapeCheck(x.Rows == y.Rows && k > 0 && x.Cols%k == 0 && y.Cols%k == 0, "BatchMul", x, y)
	n, m := x.Cols/k, y.Cols/k
	xRows, yRows := n, k
	switch f {
	case transA:
		xRows = k
	case transB:
		yRows = m
	}
	z := t.product(f, stacked(x, xRows), stacked(y, yRows), x.Rows, xRows, yRows)
	return z.Reshape(x.Rows, n*m)
}

// stacked is a batch of matrices of so many rows, one below the other.
func stacked(x Tensor, rows int) Tensor { return x.Reshape(x.Rows*rows, x.Cols/max(rows, 1)) }

// form says which factor of a product is transposed.
type form uint8

const (
	plain form = iota
	transA
	transB
)

// product multiplies count matrices, one below the other, of xRows and yRows rows each.
func (t *Tape) product(f form, x, y Tensor, count, xRows, yRows int) Tensor {
	// n × m is the shape of each result.
	n, m, fits := xRows, y.Cols, x.Cols == yRows
	switch f {
	case transA:
		n, fits = x.Cols, xRows == yRows
	case transB:
		m, fits = yRows, x.Cols == y.Cols
	}
	shapeCheck(fits, "matrix product", x, y)
	z := t.result(count*n, m, x, y)
	for i := range count {
		t.multiplyForm(f, part(z.Value, i, n, m), part(x.Value, i, xRows, x.Cols), part(y.Value, i, yRows, y.Cols),
			kernel.Epilogue{})
	}
	record(t, &t.lists.product, productRecord{f, x, y, z, count, xRows, yRows, n})
	return z
}

// multiplyForm is C = A·B, Aᵀ·B or A·Bᵀ.
func (t *Tape) multiplyForm(f form, c, a, b kernel.Matrix, e kernel.Epilogue) {
	switch f {
	case plain:
		t.multiplySmall(c, a, b, e)
	case transA:
		t.multiplyTransA(c, a, b, e)
	case transB:
		t.multiplyTransB(c, a, b, e)
	}
}

type productRecord struct {
	form                       form
	x, y, z                    Tensor
	count, xRows, yRows, zRows int
}

// Of z = x·y: x̄ += z̄·yᵀ, ȳ += xᵀ·z̄; of z = xᵀ·y: x̄ += y·z̄ᵀ, ȳ += x·z̄; of z = x·yᵀ: x̄ += z̄·y, ȳ += z̄ᵀ·x
func (r *productRecord) backward(t *Tape) {
	add := kernel.Epilogue{Accumulate: true}
	xCols, yCols, zCols := r.x.Cols, r.y.Cols, r.z.Cols
	for i := range r.count {
		x, y := part(r.x.Value, i, r.xRows, xCols), part(r.y.Value, i, r.yRows, yCols)
		z := part(r.z.Grad, i, r.zRows, zCols)
		if r.x.Grad != nil {
			g := part(r.x.Grad, i, r.xRows, xCols)
			switch r.form {
			case plain:
				t.multiplyForm(transB, g, z, y, add)
			case transA:
				t.multiplyForm(transB, g, y, z, add)
			case transB:
				t.multiplyForm(plain, g, z, y, add)
			}
		}
		if r.y.Grad != nil {
			g := part(r.y.Grad, i, r.yRows, yCols)
			switch r.form {
			case plain:
				t.multiplyForm(transA, g, x, z, add)
			case transA:
				t.multiplyForm(plain, g, x, z, add)
			case transB:
				t.multiplyForm(transA, g, z, x, add)
			}
		}
	}
}

// part is the i-th of matrices that stand one below the other.
func part(values []float32, i, rows, cols int) kernel.Matrix {
	n := rows * cols
	return kernel.Matrix{Data: values[i*n : (i+1)*n], Rows: rows, Cols: cols, Stride: cols}
}
