// Package matrix is the linear algebra of small dense matrices, with Exp and Log, in float64: plain loops with one
// order for every sum and no fused operations, so that the bits are those of every machine.
package matrix

import "math"

// Matrices are row-major slices. They are small (D, P below some tens), so the plain loops below are as fast as calls
// of a library, and the order of every sum is fixed. Each product is rounded before it is added (see elementary.go).

// Dot returns Σ a_i b_i over the length of a, from the first to the last; b may be longer.
func Dot(a, b []float64) float64 {
	b = b[:len(a)]
	s := 0.0
	for i, v := range a {
		s += float64(v * b[i])
	}
	return s
}

// AddScaled adds s·b to a, over the length of a; b may be longer.
func AddScaled(a []float64, s float64, b []float64) {
	b = b[:len(a)]
	for i, v := range b {
		a[i] += float64(s * v)
	}
}

// AddOuter adds s·x xᵀ to the lower triangle of a [n,n], n the length of x. What is above the diagonal stays as it
// is: Mirror completes the sum when it is whole.
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

// Multiply writes a b to dst, of [m,k] and [k,n]; dst [m,n] must not overlap them.
func Multiply(dst, a, b []float64, m, k, n int) {
	for i := range m {
		row := dst[i*n : (i+1)*n]
		clear(row)
		for l := range k {
			AddScaled(row, a[i*k+l], b[l*n:(l+1)*n])
		}
	}
}

// MultiplyT writes a bᵀ to dst, of [m,k] and [n,k]; dst [m,n] must not overlap them.
func MultiplyT(dst, a, b []float64, m, k, n int) {
	for i := range m {
		for j := range n {
			dst[i*n+j] = Dot(a[i*k:(i+1)*k], b[j*k:(j+1)*k])
		}
	}
}

// Transpose writes aᵀ [n,m] to dst, of [m,n]; dst must not overlap a.
func Transpose(dst, a []float64, m, n int) {
	for i := range m {
		for j := range n {
			dst[j*m+i] = a[i*n+j]
		}
	}
}

// Cholesky replaces the symmetric a [n,n], of which it reads the lower triangle, by the lower triangular L with
// L Lᵀ = a, zeros above. It reports whether a is positive definite: false also where a pivot is NaN or infinite.
// Then a is left half replaced.
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

// SolveLower replaces x [n] by L⁻¹ x. It reads the lower triangle of l [n,n], as the other solvers do.
func SolveLower(l, x []float64) {
	n := len(x)
	for i := range n {
		x[i] = (x[i] - Dot(l[i*n:i*n+i], x[:i])) / l[i*n+i]
	}
}

// SolveUpper replaces x [n] by L⁻ᵀ x. It goes along the rows of L, not down its columns.
func SolveUpper(l, x []float64) {
	n := len(x)
	for i := n - 1; i >= 0; i-- {
		x[i] /= l[i*n+i]
		AddScaled(x[:i], -x[i], l[i*n:i*n+i])
	}
}

// SolveLowerRows replaces b [n,m] by L⁻¹ b, all columns at a time.
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

// SolveUpperRows replaces b [n,m] by L⁻ᵀ b, all columns at a time.
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

// InvertLower replaces the lower triangular L [n,n] by its inverse, which is lower triangular too. What is above
// the diagonal is neither read nor written.
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

// Inverse writes (L Lᵀ)⁻¹ to both triangles of dst [n,n], and L⁻¹ to l. With L of Cholesky it is the inverse of a
// symmetric positive definite matrix. dst must not overlap l.
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

// LogDiagonal returns Σ ln L_ii, half the log determinant of L Lᵀ. The logarithms are summed, as a product of many
// L_ii could overflow.
func LogDiagonal(l []float64, n int) float64 {
	s := 0.0
	for i := range n {
		s += Log(l[i*n+i])
	}
	return s
}
