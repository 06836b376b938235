package matrix

import "math"

// Eigen returns the eigenvalues of the symmetric a [n,n], the largest first, and their vectors as rows [n,n], by
// cyclic Jacobi rotations (Golub and Van Loan 2013, section 8.5): row i has length one and belongs to values[i].
// It reads both triangles of a and destroys them. A sweep costs O(n³).
//
// Invariant: vectorsᵀ·a·vectors is the matrix that was given, to rounding, after every rotation.
func Eigen(a []float64, n int) (values, vectors []float64) {
	vectors = make([]float64, n*n)
	for i := range n {
		vectors[i*n+i] = 1
	}
	// A sweep rotates each pair once. It ends when the squares off the diagonal are lost beside those on it; as
	// they fall quadratically near the end, 60 sweeps are only a bound.
	for range 60 {
		off, total := 0.0, 0.0
		for i := range n {
			total += float64(a[i*n+i] * a[i*n+i])
			for j := range i {
				off += float64(a[i*n+j] * a[i*n+j])
			}
		}
		if off <= 1e-30*total {
			break
		}
		for p := range n {
			for q := p + 1; q < n; q++ {
				rotate(a, vectors, n, p, q)
			}
		}
	}
	values = make([]float64, n)
	for i := range n {
		values[i] = a[i*n+i]
	}
	for i := range n { // by selection; n is small
		largest := i
		for j := i + 1; j < n; j++ {
			if values[j] > values[largest] {
				largest = j
			}
		}
		values[i], values[largest] = values[largest], values[i]
		for k := range n {
			vectors[i*n+k], vectors[largest*n+k] = vectors[largest*n+k], vectors[i*n+k]
		}
	}
	return values, vectors
}

// rotate makes a[p,q] zero by a rotation of rows and columns p and q, and turns the rows of vectors with them.
// With
//
//	θ = (a_qq − a_pp)/(2 a_pq),  t = sgn θ/(|θ| + √(θ²+1)),  c = 1/√(t²+1),  s = t c
//
// t is the smaller root of t² + 2θt − 1 = 0, so that no rotation exceeds 45°, on which convergence rests.
func rotate(a, vectors []float64, n, p, q int) {
	if a[p*n+q] == 0 {
		return
	}
	theta := (a[q*n+q] - a[p*n+p]) / (2 * a[p*n+q])
	t := 1 / (math.Abs(theta) + math.Sqrt(float64(theta*theta)+1))
	if theta < 0 {
		t = -t
	}
	cosine := 1 / math.Sqrt(float64(t*t)+1)
	sine := float64(t * cosine)
	turn := func(x, y *float64) {
		u, v := *x, *y
		*x = float64(cosine*u) - float64(sine*v)
		*y = float64(sine*u) + float64(cosine*v)
	}
	for k := range n {
		turn(&a[k*n+p], &a[k*n+q])
	}
	for k := range n {
		turn(&a[p*n+k], &a[q*n+k])
		turn(&vectors[p*n+k], &vectors[q*n+k])
	}
}
