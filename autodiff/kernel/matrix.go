package kernel

import "fmt"

// Matrix is a row-major view of float32 values that someone else owns.
// Element (i, j) is Data[i*Stride+j].
//
// Invariant: Rows, Cols >= 0, Stride >= Cols, and Data reaches the last element.
type Matrix struct {
	Data               []float32
	Rows, Cols, Stride int
}

// Dense returns data as a rows x cols matrix without gaps between its rows. It shares data and panics if that is
// too short.
func Dense(data []float32, rows, cols int) Matrix {
	m := Matrix{Data: data, Rows: rows, Cols: cols, Stride: cols}
	m.check("Dense")
	return m
}

// row returns row i, of length Cols.
func (m Matrix) row(i int) []float32 {
	return m.Data[i*m.Stride : i*m.Stride+m.Cols]
}

// rowRange returns rows i to j-1 as a view.
func (m Matrix) rowRange(i, j int) Matrix {
	m.Data = m.Data[i*m.Stride:]
	m.Rows = j - i
	return m
}

// empty reports whether m has no elements; its Data may then be nil.
func (m *Matrix) empty() bool { return m.Rows == 0 || m.Cols == 0 }

// check panics unless the invariant of m holds.
func (m *Matrix) check(op string) {
	if m.Rows < 0 || m.Cols < 0 || m.Stride < m.Cols ||
		!m.empty() && len(m.Data) < (m.Rows-1)*m.Stride+m.Cols {
		panicMatrix(op, *m)
	}
}

//go:noinline
func panicMatrix(op string, m Matrix) {
	panic(fmt.Sprintf("kernel: %s: %d x %d matrix with stride %d does not fit into %d values",
		op, m.Rows, m.Cols, m.Stride, len(m.Data)))
}

//go:noinline
func panicShape(op string, dst, src Matrix) {
	panic(fmt.Sprintf("kernel: %s: destination is %d x %d, source is %d x %d",
		op, dst.Rows, dst.Cols, src.Rows, src.Cols))
}

// checkLen panics unless n, the length of an operand of op, is want.
func checkLen(op string, n, want int) {
	if n != want {
		panicLen(op, n, want)
	}
}

//go:noinline
func panicLen(op string, n, want int) {
	panic(fmt.Sprintf("kernel: %s: operand has %d values, want %d", op, n, want))
}
