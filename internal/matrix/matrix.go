// Package matrix is the linear algebra of small dense matrices, with Exp and Log, in float64: plain loops with one
// order for every sum and no fused operations, so that the bits are those of every machine.
package matrix

import "math"

// Matrices are row-major slices. They are small (D, P below some tens), so the plain loops below are as fast as calls
// of a library, and the order of every sum is fixed. Each product is rounded before it is added (see elementary.go).

// Dot returns Σ a_i b_i over the length of a.
func Dot(a, b []float64) float64 {
	b = b[:len(a)]
	s := 0.0
	for i, v := range a {
		s += float64(v * b[i])
	}
	return s
}

// AddScaled adds s·b to a.
func AddScaled(a []float64, s float64, b []float64) {
	b = b[:len(a)]
	for i, v := range b {
		a[i] += float64(s * v)
	}
}

// AddOuter adds s·x xᵀ to the lower triangle of a [n,n].
func AddOuter(a []float64, s float64, x []float64) {
	n := len(x)
	for i, v := range x {
		AddScaled(a[i*n:i*n+i+1], float64(s*v), x[:i+1])
	}
}

// Mirror copies the lower triangle of a [n,n] to the upper one.
func Mirror(a []float64, n int) {
	for i := range n {
		for j := range i {
			a[j*n+i] = a[i*n+j]
		}
	}
}

// Multiply writes a b to dst, of [m,k] and [k,n].
func Multiply(dst, a, b []float64, m, k, n int) {
	for i := range m {
		row := dst[i*n : (i+1)*n]
		clear(row)
		for l := range k {
			AddScaled(row, a[i*k+l], b[l*n:(l+1)*n])
		}
	}
}

// MultiplyT writes a bᵀ to dst, of [m,k] and [n,k].
func MultiplyT(dst, a, b []float64, m, k, n int) {
	for i := range m {
		for j := range n {
			dst[i*n+j] = Dot(a[i*k:(i+1)*k], b[j*k:(j+1)*k])
		}
	}
}

// Transpose writes aᵀ to dst, of [m,n].
func Transpose(dst, a []float64, m, n int) {
	for i := range m {
		for j := range n {
			dst[j*m+i] = a[i*n+j]
		}
	}
}

// Cholesky replaces the symmetric a [n,n], of which it reads the lower triangle, by the lower triangular L with L Lᵀ =
// a, zeros above. It reports whether a is positive definite.
func Cholesky(a []float64, n int) bool {
	for j := range n {
		row := a[j*n : j*n+n]
		d := row[j] - Dot(row[:j], row[:j])
		if !(d > 0) || d > math.MaxFloat64 {
			return false
		}
		d = math.Sqrt(d)
		row[j] = d
		for i := j + 1; i < n; i++ {
			a[i*n+j] = (a[i*n+j] - Dot(row[:j], a[i*n:i*n+j])) / d
		}
		clear(row[j+1:])
	}
	return true
}

// SolveLower replaces x by L⁻¹ x.
func SolveLower(l, x []float64) {
	n := len(x)
	for i := range n {
		x[i] = (x[i] - Dot(l[i*n:i*n+i], x[:i])) / l[i*n+i]
	}
}

// SolveUpper replaces x by L⁻ᵀ x.
func SolveUpper(l, x []float64) {
	n := len(x)
	for i := n - 1; i >= 0; i-- {
		x[i] /= l[i*n+i]
		AddScaled(x[:i], -x[i], l[i*n:i*n+i])
	}
}

// SolveLowerRows replaces b [n,m] by L⁻¹ b.
func SolveLowerRows(l, b []float64, n, m int) {
	for i := range n {
		row := b[i*m : (i+1)*m]
		for j := range i {
			AddScaled(row, -l[i*n+j], b[j*m:(j+1)*m])
		}
		for j := range row {
			row[j] /= l[i*n+i]
		}
	}
}

// SolveUpperRows replaces b [n,m] by L⁻ᵀ b.
func SolveUpperRows(l, b []float64, n, m int) {
	for i := n - 1; i >= 0; i-- {
		row := b[i*m : (i+1)*m]
		for j := range row {
			row[j] /= l[i*n+i]
		}
		for j := range i {
			AddScaled(b[j*m:(j+1)*m], -l[i*n+j], row)
		}
	}
}

// InvertLower replaces the lower triangular L [n,n] by its inverse.
func InvertLower(l []float64, n int) {
	for i := range n {
		row := l[i*n : i*n+n]
		d := 1 / row[i]
		for j := range i { // −(Σ_k L_ik L⁻¹_kj)/L_ii; row[j:i] is still L, the rows above are L⁻¹
			s := 0.0
			for k := j; k < i; k++ {
				s += float64(row[k] * l[k*n+j])
			}
			row[j] = -float64(s * d)
		}
		row[i] = d
	}
}

// Inverse writes (L Lᵀ)⁻¹ to dst and L⁻¹ to l.
func Inverse(dst, l []float64, n int) {
	InvertLower(l, n)
	for i := range n { // L⁻ᵀ L⁻¹
		for j := range i + 1 {
			s := 0.0
			for k := i; k < n; k++ {
				s += float64(l[k*n+i] * l[k*n+j])
			}
			dst[i*n+j], dst[j*n+i] = s, s
		}
	}
}

// LogDiagonal returns Σ ln L_ii, half the log determinant of L Lᵀ.
func LogDiagonal(l []float64, n int) float64 {
	s := 0.0
	for i := range n {
		s += Log(l[i*n+i])
	}
	return s
}
