package autodiff

import (
	"math"

	"github.com/switchyard-ml/switchyard/autodiff/kernel"
)

// Single small matrices, row by row. Every element is one chain of FMAs over ascending k, followed by one division.

// factor replaces the symmetric a by its Cholesky factor, with zeros above the diagonal. If a pivot is not positive it
// stays in its place on the diagonal, and its index is returned. It works on the rows of Lᵀ.
func factor(a []float32, n int) (pivot int, ok bool) {
	for k := range n {
		u := a[k*n:][:n]
		if !(u[k] > 0) {
			return k, false
		}
		// The root of a float32 in float64 rounds to the correctly rounded float32 root.
		u[k] = float32(math.Sqrt(float64(u[k])))
		divideBy(u[k+1:], u[k])
		for i := k + 1; i < n; i++ {
			addScaled(a[i*n+i:(i+1)*n], -u[i], u[i:])
		}
	}
	for i := range n {
		for j := range i {
			a[i*n+j], a[j*n+i] = a[j*n+i], 0
		}
	}
	return 0, true
}

// lowerSolve replaces the n×m matrix b by L⁻¹·b, row by row from the first: bᵢ = (bᵢ − Σ_{k<i} L(i,k)·bₖ)/L(i,i).
func lowerSolve(b, l []float32, n, m int) {
	for i := range n {
		bi := b[i*m:][:m]
		for k := range i {
			addScaled(bi, -l[i*n+k], b[k*m:][:m])
		}
		divideBy(bi, l[i*n+i])
	}
}

// upperSolve replaces the n×m matrix b by L⁻ᵀ·b, row by row from the last: bᵢ = (bᵢ − Σ_{k>i} L(k,i)·bₖ)/L(i,i).
// It reads the lower triangle of L.
func upperSolve(b, l []float32, n, m int) {
	for i := n - 1; i >= 0; i-- {
		bi := b[i*m:][:m]
		for k := i + 1; k < n; k++ {
			addScaled(bi, -l[k*n+i], b[k*m:][:m])
		}
		divideBy(bi, l[i*n+i])
	}
}

// addScaled is kernel.AddScaled, whose call costs more than it saves where there are few values.
func addScaled(dst []float32, a float32, x []float32) {
	if len(dst) >= 4 {
		kernel.AddScaled(dst, a, x)
		return
	}
	for i, v := range x {
		dst[i] = kernel.FMA(a, v, dst[i])
	}
}

// divideBy is x /= d, correctly rounded.
func divideBy(x []float32, d float32) {
	for i := range x {
		x[i] /= d
	}
}

// symmetric sets y = ½(a + aᵀ).
func symmetric(y, a []float32, n int) {
	for i := range n {
		for j := range i + 1 {
			v := float32(0.5 * (a[i*n+j] + a[j*n+i]))
			y[i*n+j], y[j*n+i] = v, v
		}
	}
}

// addSymmetric adds ½(s + sᵀ) to dst.
func addSymmetric(dst, s []float32, n int) {
	for i := range n {
		for j := range n {
			dst[i*n+j] += float32(0.5 * (s[i*n+j] + s[j*n+i]))
		}
	}
}

// subtractLower subtracts the lower triangle of w from dst.
func subtractLower(dst, w []float32, n int) {
	for i := range n {
		for j := range i + 1 {
			dst[i*n+j] -= w[i*n+j]
		}
	}
}

// transpose sets dst = srcᵀ; the two n×n matrices do not overlap.
func transpose(dst, src []float32, n int) {
	for i := range n {
		for j := range n {
			dst[j*n+i] = src[i*n+j]
		}
	}
}
