package gibbs

import (
	"slices"

	"github.com/switchyard-ml/switchyard/internal/matrix"
)

// dims are the sizes of a model and what follows from them.
type dims struct {
	K  int // leaves
	D  int // latent dimensions
	Dy int // observed dimensions
	Du int // control dimensions
	P  int // D+Du+1, columns of W
}

// dims are the sizes of the model for observations and controls of so many dimensions.
func (c Config) dims(observed, controls int) dims {
	return dims{K: c.Leaves, D: c.Latent, Dy: observed, Du: controls, P: c.Latent + controls + 1}
}

// Params are the parameters of a model, named as in the package comment. Matrices are row-major.
type Params struct {
	Dynamics  []float64 // [K,D,P] W_k = [A_k B_k b_k]
	Noise     []float64 // [K,D,D] Q_k
	Inner     []float64 // [K−1,D,P] W_n of the inner nodes; empty without a hierarchical prior
	Planes    []float64 // [K−1,D+1] (R_n, r_n)
	Emission  []float64 // [Dy,D+1] (C_i, d_i)
	Measuring []float64 // [Dy] S_i
}

// newParams are zeros, but for C = I where it is not drawn.
func newParams(c Config, d dims) Params {
	p := Params{
		Dynamics: make([]float64, d.K*d.D*d.P), Noise: make([]float64, d.K*d.D*d.D),
		Planes:   make([]float64, (d.K-1)*(d.D+1)),
		Emission: make([]float64, d.Dy*(d.D+1)), Measuring: make([]float64, d.Dy),
	}
	if c.Hierarchical {
		p.Inner = make([]float64, (d.K-1)*d.D*d.P)
	}
	if c.Identity {
		for i := range d.Dy {
			p.Emission[i*(d.D+1)+i] = 1
		}
	}
	return p
}

// parts are all tensors of the parameters, with their names in a file and their shapes. They are views, always in
// this order.
func (p Params) parts(d dims) []Tensor {
	parts := []Tensor{
		{"dynamics", []int{d.K, d.D, d.P}, p.Dynamics},
		{"noise", []int{d.K, d.D, d.D}, p.Noise},
		{"planes", []int{d.K - 1, d.D + 1}, p.Planes},
		{"emission", []int{d.Dy, d.D + 1}, p.Emission},
		{"measuring", []int{d.Dy}, p.Measuring},
	}
	if p.Inner != nil {
		parts = append(parts, Tensor{"inner", []int{d.K - 1, d.D, d.P}, p.Inner})
	}
	return parts
}

// clone returns a copy that shares no memory.
func (p Params) clone() Params {
	return Params{
		Dynamics: slices.Clone(p.Dynamics), Noise: slices.Clone(p.Noise), Inner: slices.Clone(p.Inner),
		Planes: slices.Clone(p.Planes), Emission: slices.Clone(p.Emission), Measuring: slices.Clone(p.Measuring),
	}
}

// regime is what the draws of x and z need of a leaf's W and Q.
type regime struct {
	w          []float64 // [D,P]
	precision  []float64 // [D,D] Q⁻¹
	half       []float64 // [D,D] upper triangular H with Q⁻¹ = HᵀH
	back       []float64 // [D,D] AᵀQ⁻¹
	backward   []float64 // [D,D] AᵀQ⁻¹A
	logDensity float64   // ½ ln det Q⁻¹; the term −D/2 ln 2π is common to all leaves
}

// newRegimes is the room for the regimes of all leaves.
func newRegimes(d dims) []regime {
	r := make([]regime, d.K)
	for k := range r {
		square := func() []float64 { return make([]float64, d.D*d.D) }
		r[k] = regime{precision: square(), half: square(), back: square(), backward: square()}
	}
	return r
}

// set computes the regime of W [D,P] and Q [D,D], and keeps w, a view: both change together. It reports whether Q
// is positive definite; if not, the regime must not be used. The scratch has room for [D,D].
func (r *regime) set(w, q, scratch []float64, d dims) bool {
	n := d.D
	r.w = w
	l := scratch[:n*n]
	copy(l, q)
	if !matrix.Cholesky(l, n) {
		return false
	}
	matrix.Inverse(r.precision, l, n)
	// H is the transpose of the Cholesky factor of Q⁻¹: densities then need a product, not a solve.
	copy(l, r.precision)
	if !matrix.Cholesky(l, n) {
		return false
	}
	r.logDensity = matrix.LogDiagonal(l, n)
	matrix.Transpose(r.half, l, n, n)
	for i := range n {
		for j := range n { // AᵀQ⁻¹ [i,j] = Σ_k A_ki Q⁻¹_kj
			s := 0.0
			for k := range n {
				s += float64(w[k*d.P+i] * r.precision[k*n+j])
			}
			r.back[i*n+j] = s
		}
	}
	for i := range n {
		row := r.backward[i*n : (i+1)*n]
		clear(row)
		for k := range n {
			matrix.AddScaled(row, r.back[i*n+k], w[k*d.P:k*d.P+n])
		}
	}
	return true
}

// logTransition returns ln N(x′; W x̃, Q) + D/2 ln 2π. It writes x′ − W x̃ to residual. It is ½ ln det Q⁻¹ − ½
// |H(x′ − W x̃)|².
func (r *regime) logTransition(residual, features, next []float64) float64 {
	d, p := len(next), len(features)
	for i, x := range next {
		residual[i] = x - matrix.Dot(features, r.w[i*p:(i+1)*p])
	}
	s := 0.0
	for i := range d {
		h := matrix.Dot(residual[i:], r.half[i*d+i:(i+1)*d])
		s += float64(h * h)
	}
	return r.logDensity - float64(0.5*s)
}
