package kernel

import "fmt"

// Epilogue says how each chain of a matrix product starts and ends.
type Epilogue struct {
	Accumulate bool      // start from C; otherwise from Bias
	Bias       []float32 // start column j from Bias[j]; nil means 0
	ReLU       bool      // at the end, 0 for a negative result; a NaN stays
}

// Workspace is the scratch memory of matrix products. The zero value is ready; it
// grows to what the largest product needs and is for one goroutine at a time.
type Workspace struct {
	//lint:ignore U1000 the portable products need none
	left scratch // a block of A by columns
	//lint:ignore U1000 the portable products need none
	tail   scratch // the last columns of B, if they are not a whole panel
	turned scratch // Cᵀ
}

// MulPacked sets C = A·B, where A is M x K, B is K x N and C is M x N:
//
//	c[i,j] = chain over k ascending of FMA(a[i,k], b[k,j], ·)
//
// C must not overlap the operands. K = 0 leaves the start value of e.
func (w *Workspace) MulPacked(c, a Matrix, b *Packed, e Epilogue) {
	checkProduct("MulPacked", &c, &a, a.Rows, a.Cols, b.K, b.N, &e)
	var l left
	var r right
	l.byRows(&a)
	r.packed(b)
	multiply(&c, &l, &r, &e)
}

// Mul sets C = A·B like MulPacked, with B as it lies in memory. Where B is used
// more than once, packing it is faster.
func (w *Workspace) Mul(c, a, b Matrix, e Epilogue) {
	b.check("Mul")
	checkProduct("Mul", &c, &a, a.Rows, a.Cols, b.Rows, b.Cols, &e)
	var l left
	l.byRows(&a)
	w.multiplyPlain(&c, &l, &b, &e)
}

// MulTransA sets C = Aᵀ·B, where A is K x M, B is K x N and C is M x N:
//
//	c[i,j] = chain over k ascending of FMA(a[k,i], b[k,j], ·)
//
// This is the gradient of weights: K is the number of rows of the batch.
func (w *Workspace) MulTransA(c, a, b Matrix, e Epilogue) {
	b.check("MulTransA")
	checkProduct("MulTransA", &c, &a, a.Cols, a.Rows, b.Rows, b.Cols, &e)
	if narrow(&c, a.Rows, &e) {
		w.multiplyTurned(&c, &a, &b, &e)
		return
	}
	var l left
	l.byColumns(&a)
	w.multiplyPlain(&c, &l, &b, &e)
}

// narrow reports whether Cᵀ = Bᵀ·A is the faster form of C = Aᵀ·B: the kernels fill whole vectors with columns, of
// which a narrow C has too few, and enough k pays for turning it.
func narrow(c *Matrix, k int, e *Epilogue) bool {
	const vectors, deep = 32, 128
	return k >= deep && e.Bias == nil && ceilTo(c.Cols, vectors)*c.Rows > ceilTo(c.Rows, vectors)*c.Cols
}

// multiplyTurned computes C = Aᵀ·B as Cᵀ = Bᵀ·A. The chains are the same: a product does not depend on the order
// of its factors.
func (w *Workspace) multiplyTurned(c, a, b *Matrix, e *Epilogue) {
	w.turned.resize(c.Rows * c.Cols)
	t := Matrix{Data: w.turned.buf, Rows: c.Cols, Cols: c.Rows, Stride: c.Rows}
	if e.Accumulate {
		transpose(&t, c)
	}
	var l left
	l.byColumns(b)
	w.multiplyPlain(&t, &l, a, e)
	transpose(c, &t)
}

// transpose sets dst to srcᵀ.
func transpose(dst, src *Matrix) {
	for i := range src.Rows {
		for j, v := range src.row(i) {
			dst.Data[j*dst.Stride+i] = v
		}
	}
}

// checkProduct panics unless A and C are sound, C is m x n, and A and B agree in
// their depths ka and kb.
func checkProduct(op string, c, a *Matrix, m, ka, kb, n int, e *Epilogue) {
	a.check(op)
	c.check(op)
	if c.Rows != m || c.Cols != n || ka != kb {
		panicProduct(op, c, m, ka, kb, n)
	}
	if e.Bias != nil {
		checkLen(op, len(e.Bias), n)
	}
}

// panicProduct is a function of its own, so that the formatting stays out of the checks.
//
//go:noinline
func panicProduct(op string, c *Matrix, m, ka, kb, n int) {
	panic(fmt.Sprintf("kernel: %s: %d x %d times %d x %d into %d x %d", op, m, ka, kb, n, c.Rows, c.Cols))
}

// left is A of a product: element (i, k) is data[i*row + k*col].
type left struct {
	data           []float32
	rows, row, col int
}

// byRows is A itself: the values of a row lie side by side.
func (l *left) byRows(a *Matrix) {
	l.data, l.rows, l.row, l.col = a.Data, a.Rows, a.Stride, 1
}

// byColumns is Aᵀ of the matrix A, without copying it.
func (l *left) byColumns(a *Matrix) {
	l.data, l.rows, l.row, l.col = a.Data, a.Cols, 1, a.Stride
}

// The two operands are filled in place: copies of such structs, fresh from being
// written, would cost a small product a third of its time.

// right is B of a product, k x n, in panels of width columns (the last may be
// narrower): element (k, j) is data[(j/width)*panel + k*row + j%width].
type right struct {
	data       []float32
	k, n       int
	width      int
	row, panel int
	isa        ISA // whose kernels the width suits
}

// plain is b as it lies in memory: panels side by side.
func (r *right) plain(b *Matrix, isa ISA) {
	r.data, r.k, r.n = b.Data, b.Rows, b.Cols
	r.width = panelWidth(isa)
	r.row, r.panel, r.isa = b.Stride, r.width, isa
}

// packed is B as Pack laid it out: the rows of a panel lie side by side.
func (r *right) packed(p *Packed) {
	r.data, r.k, r.n = p.data.buf, p.K, p.N
	r.width = p.width
	r.row, r.panel, r.isa = p.width, p.panel, p.isa
}

// multiplyPortable defines the bits of all products. It goes through B row by row within a panel, so every element
// has its chain over ascending k.
func multiplyPortable(c *Matrix, a *left, b *right, e *Epilogue) {
	for i := range c.Rows {
		row := c.row(i)
		if !e.Accumulate {
			if e.Bias != nil {
				copy(row, e.Bias)
			} else {
				clear(row)
			}
		}
		for j := 0; j < b.n && b.k > 0; j += b.width {
			part := row[j:min(j+b.width, b.n)]
			panel := b.data[j/b.width*b.panel:]
			for k := range b.k {
				fmaRow(part, panel[k*b.row:], a.data[i*a.row+k*a.col])
			}
		}
		if e.ReLU {
			reluPortable(row, row)
		}
	}
}
