package kernel

// Outer is the outer product of two vectors, row after row:
//
//	for i := range x { for j := range y { dst[i*len(y)+j] = x[i] * y[j] } }
func Outer(dst, x, y []float32) {
	checkLen("Outer", len(dst), len(x)*len(y))
	if len(dst) == 0 {
		return
	}
	n := len(y)
	step := rowsPerCall(n)
	for i := 0; i < len(x); i += step {
		j := min(i+step, len(x))
		outer(dst[i*n:j*n], x[i:j], y)
	}
}

// AddWeightedRows is
//
//	for i := range m.Rows { for j := range m.Cols { dst[j] += float32(w[i] * m[i, j]) } }
//
// one chain per column, over ascending rows. Products are rounded before they are added.
func AddWeightedRows(dst, w []float32, m Matrix) {
	m.check("AddWeightedRows")
	checkLen("AddWeightedRows", len(w), m.Rows)
	checkLen("AddWeightedRows", len(dst), m.Cols)
	if m.empty() {
		return
	}
	step := rowsPerCall(m.Cols)
	for i := 0; i < m.Rows; i += step {
		j := min(i+step, m.Rows)
		addWeightedRows(dst, w[i:j], m.rowRange(i, j))
	}
}

// AddDots is
//
//	for i := range m.Rows {
//		var dot float32
//		for j := range m.Cols { dot += float32(m[i, j] * x[j]) }
//		dst[i] += dot
//	}
//
// one chain per row, over ascending columns. Products are rounded before they are added.
func AddDots(dst []float32, m Matrix, x []float32) {
	m.check("AddDots")
	checkLen("AddDots", len(dst), m.Rows)
	checkLen("AddDots", len(x), m.Cols)
	if m.empty() {
		return
	}
	step := (rowsPerCall(m.Cols) + lanes - 1) &^ (lanes - 1)
	for i := 0; i < m.Rows; i += step {
		j := min(i+step, m.Rows)
		addDots(dst[i:j], m.rowRange(i, j), x)
	}
}
