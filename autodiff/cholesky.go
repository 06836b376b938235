package autodiff

import (
	"errors"
	"fmt"
	"math"

	"github.com/switchyard-ml/switchyard/autodiff/kernel"
)

// Every row of the tensors here is a small matrix of its own, row by row: a covariance [rows, n·n], a right-hand side
// [rows, n·m]. With S = L·Lᵀ and z = L⁻¹·(x − μ),
//
//	log N(x; μ, S) = −½·(n·log 2π + log det S + ‖z‖²)
//
// so a density takes Cholesky, LogDet and LowerSolve, and the gain P·Cᵀ·S⁻¹ of a Kalman filter is the transpose of
// CholeskySolve(L, C·P). The loops are plain Go over kernel.FMA, meant for n up to 16 or so.

// ErrNotPositiveDefinite is what Tape.Err reports of Cholesky.
var ErrNotPositiveDefinite = errors.New("matrix is not positive definite")

// Symmetric returns ½(A + Aᵀ) of the n×n matrix A in each row of a.
func (t *Tape) Symmetric(a Tensor) Tensor {
	n := order("Symmetric", a)
	y := t.result(a.Rows, a.Cols, a)
	for row := range a.Rows {
		symmetric(y.row(row), a.row(row), n)
	}
	record(t, &t.lists.symmetric, symmetricRecord{a, y})
	return y
}

type symmetricRecord struct{ a, y Tensor }

// Ā += ½(Ȳ + Ȳᵀ)
func (r *symmetricRecord) backward(*Tape) {
	if r.a.Grad == nil {
		return
	}
	n := order("Symmetric", r.a)
	for row := range r.a.Rows {
		addSymmetric(r.a.gradRow(row), r.y.gradRow(row), n)
	}
}

// Cholesky returns the lower triangular L with L·Lᵀ = A of the symmetric positive definite n×n matrix A in each row of
// a; above the diagonal it is 0. It reads ½(A + Aᵀ), so that rounding may leave A not quite symmetric. Where A is not
// positive definite L is NaN, and Tape.Err says so.
func (t *Tape) Cholesky(a Tensor) Tensor {
	n := order("Cholesky", a)
	l := t.result(a.Rows, a.Cols, a)
	for row := range a.Rows {
		symmetric(l.row(row), a.row(row), n)
		// l holds ½(A + Aᵀ) and becomes its factor in place.
		pivot, ok := factor(l.row(row), n)
		if ok {
			continue
		}
		if value := l.row(row)[pivot*n+pivot]; value == value { // else a NaN came in
			t.blame(fmt.Errorf("autodiff: Cholesky: matrix %d of %d: %w: pivot %d of %d is %g; add something to its diagonal",
				row, a.Rows, ErrNotPositiveDefinite, pivot, n, value))
		}
		for i := range l.row(row) {
			l.row(row)[i] = float32(math.NaN())
		}
	}
	record(t, &t.lists.cholesky, choleskyRecord{a, l})
	return l
}

type choleskyRecord struct{ a, l Tensor }

// P is the lower triangle of Lᵀ·L̄ with half its diagonal; Ā += ½(S + Sᵀ) with S = L⁻ᵀ·P·L⁻¹. (Murray 2016) The
// triangular solves work row by row of the small matrices; S is symmetrised because A is read so.
func (r *choleskyRecord) backward(t *Tape) {
	if r.a.Grad == nil {
		return
	}
	mark := t.values.mark()
	defer t.values.release(mark)
	n := order("Cholesky", r.a)
	// p is Lᵀ·L̄, then P, then L⁻ᵀ·P; s is the transpose of that, and L⁻ᵀ times it is Sᵀ.
	p, s := t.values.alloc(n*n), t.values.alloc(n*n)
	for row := range r.a.Rows {
		l := r.l.row(row)
		t.multiplyTransA(kernel.Dense(p, n, n), kernel.Dense(l, n, n), kernel.Dense(r.l.gradRow(row), n, n),
			kernel.Epilogue{})
		for i := range n {
			p[i*n+i] *= 0.5
			clear(p[i*n+i+1 : (i+1)*n])
		}
		upperSolve(p, l, n, n)
		transpose(s, p, n)
		upperSolve(s, l, n, n)
		addSymmetric(r.a.gradRow(row), s, n)
	}
}

// LogDet returns log det(L·Lᵀ) = 2·Σ log Lᵢᵢ of the factor in each row of l, a column [rows, 1].
func (t *Tape) LogDet(l Tensor) Tensor {
	n := order("LogDet", l)
	y := t.result(l.Rows, 1, l)
	mark := t.values.mark()
	defer t.values.release(mark)
	diagonal := t.scratch(l.Rows, n)
	for row := range l.Rows {
		for i := range n {
			diagonal.row(row)[i] = l.row(row)[i*n+i]
		}
	}
	kernel.Log(diagonal.Value, diagonal.Value)
	kernel.SumRows(y.Value, diagonal.values())
	kernel.Scale(y.Value, 2)
	record(t, &t.lists.logDet, logDetRecord{l, y})
	return y
}

type logDetRecord struct{ l, y Tensor }

// L̄ᵢᵢ += 2ȳ/Lᵢᵢ
func (r *logDetRecord) backward(*Tape) {
	if r.l.Grad == nil {
		return
	}
	n := order("LogDet", r.l)
	for row, g := range r.y.Grad {
		for i := 0; i < n*n; i += n + 1 {
			r.l.gradRow(row)[i] += 2 * g / r.l.row(row)[i]
		}
	}
}

// LowerSolve returns Z = L⁻¹·B for the factor in each row of l and the n×m matrix B in that of b, by substitution.
// What stands above the diagonal of L is not read.
func (t *Tape) LowerSolve(l, b Tensor) Tensor {
	n, m := system("LowerSolve", l, b)
	z := t.result(b.Rows, b.Cols, l, b)
	copy(z.Value, b.Value)
	for row := range l.Rows {
		lowerSolve(z.row(row), l.row(row), n, m)
	}
	record(t, &t.lists.lowerSolve, lowerSolveRecord{l, b, z})
	return z
}

type lowerSolveRecord struct{ l, b, z Tensor }

// With V = L⁻ᵀ·Z̄: B̄ += V; L̄ −= the lower triangle of V·Zᵀ
func (r *lowerSolveRecord) backward(t *Tape) {
	mark := t.values.mark()
	defer t.values.release(mark)
	n, m := system("LowerSolve", r.l, r.b)
	v, w := t.values.alloc(n*m), t.values.alloc(n*n)
	for row := range r.l.Rows {
		copy(v, r.z.gradRow(row))
		upperSolve(v, r.l.row(row), n, m)
		if r.b.Grad != nil {
			kernel.Add(r.b.gradRow(row), v)
		}
		if r.l.Grad != nil {
			t.multiplyTransB(kernel.Dense(w, n, n), kernel.Dense(v, n, m), kernel.Dense(r.z.row(row), n, m), kernel.Epilogue{})
			subtractLower(r.l.gradRow(row), w, n)
		}
	}
}

// CholeskySolve returns X = A⁻¹·B for A = L·Lᵀ, the factor L in each row of l and the n×m matrix B in that of b:
// L·Y = B forwards, then Lᵀ·X = Y backwards.
func (t *Tape) CholeskySolve(l, b Tensor) Tensor {
	n, m := system("CholeskySolve", l, b)
	x := t.result(b.Rows, b.Cols, l, b)
	copy(x.Value, b.Value)
	for row := range l.Rows {
		lowerSolve(x.row(row), l.row(row), n, m)
		upperSolve(x.row(row), l.row(row), n, m)
	}
	record(t, &t.lists.choleskySolve, choleskySolveRecord{l, b, x})
	return x
}

type choleskySolveRecord struct{ l, b, x Tensor }

// With V = A⁻¹·X̄: B̄ += V; L̄ −= the lower triangle of (V·Xᵀ + X·Vᵀ)·L
func (r *choleskySolveRecord) backward(t *Tape) {
	mark := t.values.mark()
	defer t.values.release(mark)
	n, m := system("CholeskySolve", r.l, r.b)
	v, w := kernel.Dense(t.values.alloc(n*m), n, m), kernel.Dense(t.values.alloc(n*n), n, n)
	xl, vl := kernel.Dense(t.values.alloc(m*n), m, n), kernel.Dense(t.values.alloc(m*n), m, n)
	for row := range r.l.Rows {
		copy(v.Data, r.x.gradRow(row))
		lowerSolve(v.Data, r.l.row(row), n, m)
		upperSolve(v.Data, r.l.row(row), n, m)
		if r.b.Grad != nil {
			kernel.Add(r.b.gradRow(row), v.Data)
		}
		if r.l.Grad == nil {
			continue
		}
		// w = V·(Xᵀ·L) + X·(Vᵀ·L), with the products in parentheses in xl and vl.
		l, x := kernel.Dense(r.l.row(row), n, n), kernel.Dense(r.x.row(row), n, m)
		t.multiplyTransA(xl, x, l, kernel.Epilogue{})
		t.multiplyTransA(vl, v, l, kernel.Epilogue{})
		t.multiplySmall(w, v, xl, kernel.Epilogue{})
		t.multiplySmall(w, x, vl, kernel.Epilogue{Accumulate: true})
		subtractLower(r.l.gradRow(row), w.Data, n)
	}
}

// order is n of a batch of n×n matrices; it panics if a row holds no square matrix.
func order(op string, a Tensor) int {
	n := 0
	for n*n < a.Cols {
		n++
	}
	if n*n != a.Cols {
		panic(fmt.Sprintf("autodiff: %s: rows of %d values are no square matrices", op, a.Cols))
	}
	return n
}

// system is n and m of n×n factors and n×m right-hand sides; it panics if they do not fit.
func system(op string, l, b Tensor) (n, m int) {
	n = order(op, l)
	shapeCheck(l.Rows == b.Rows && n > 0 && b.Cols%n == 0, op, l, b)
	return n, b.Cols / n
}
