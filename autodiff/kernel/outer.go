package kernel

// The functions of this file work on rows apart: of each operand, row r belongs to row r of the others. A row of k·n
// values is a k×n matrix.

// Outer writes the outer product of each row of x, k values, and that of y, n values:
//
//	for r, i, j { dst[r, i*n+j] = x[r, i] * y[r, j] }
func Outer(dst, x, y Matrix) {
	checkOuter("Outer", &x, &y, &dst)
	if !dst.empty() {
		outer(dst, x, y)
	}
}

// AddDots adds to each row of dst, k values, the products of the rows of a k×n matrix with a vector of n values:
//
//	for r, i { dot := 0; for j { dot += float32(m[r, i*n+j] * x[r, j]) }; dst[r, i] += dot }
//
// one chain per dot product, over ascending j. Products are rounded before they are added.
func AddDots(dst, m, x Matrix) {
	checkOuter("AddDots", &dst, &x, &m)
	if !m.empty() {
		addDots(dst, m, x)
	}
}

// AddWeightedRows adds to each row of dst, n values, the rows of a k×n matrix, each times one of k weights:
//
//	for r, i, j { dst[r, j] += float32(w[r, i] * m[r, i*n+j]) }
//
// one chain per column, over ascending i. Products are rounded before they are added.
func AddWeightedRows(dst, w, m Matrix) {
	checkOuter("AddWeightedRows", &w, &dst, &m)
	if !m.empty() {
		addWeightedRows(dst, w, m)
	}
}

// checkOuter panics unless the rows of m have a value for each pair of a value of x and one of y.
func checkOuter(op string, x, y, m *Matrix) {
	x.check(op)
	y.check(op)
	m.check(op)
	if m.Cols != x.Cols*y.Cols {
		panicShape(op, *m, *x)
	}
	checkLen(op, x.Rows, m.Rows)
	checkLen(op, y.Rows, m.Rows)
}
