package gibbs

import (
	"math"

	"github.com/switchyard-ml/switchyard/internal/matrix"
)

// regression collects what a Bayesian linear regression needs of its data: features x̃ of P dimensions and targets e of
// R dimensions, which are measured from the prior mean M of the coefficients: e = target − M x̃. So nothing is lost to
// cancellation when the prior mean predicts well.
type regression struct {
	rows, columns int // R, P
	n             float64
	xx            []float64 // [P,P] Σ x̃ x̃ᵀ, lower triangle
	ex            []float64 // [R,P] Σ e x̃ᵀ
	ee            []float64 // [R,R] Σ e eᵀ, lower triangle

	// Scratch: L of Λ [P,P]; that of Ψ, T and √Q [R,R]; √Q Z and Z [R,P].
	factor, psi, bartlett, root, noise, normals []float64
}

// newRegression is without data, for targets of so many rows and features of so many columns.
func newRegression(rows, columns int) *regression {
	square := func(n int) []float64 { return make([]float64, n*n) }
	return &regression{
		rows: rows, columns: columns, xx: square(columns), ex: make([]float64, rows*columns), ee: square(rows),
		factor: square(columns), psi: square(rows), bartlett: square(rows), root: square(rows),
		noise: make([]float64, rows*columns), normals: make([]float64, rows*columns),
	}
}

// reset forgets the data.
func (r *regression) reset() {
	r.n = 0
	clear(r.xx)
	clear(r.ex)
	clear(r.ee)
}

// add enters one pair with the given weight, in O(P² + R P + R²).
func (r *regression) add(weight float64, features, target []float64) {
	r.n += weight
	matrix.AddOuter(r.xx, weight, features)
	for i, e := range target {
		matrix.AddScaled(r.ex[i*r.columns:(i+1)*r.columns], float64(weight*e), features)
	}
	matrix.AddOuter(r.ee, weight, target)
}

// addTarget enters one target of one dimension where there are no coefficients to draw. Then n and ee are all that
// is collected.
func (r *regression) addTarget(e float64) {
	r.n++
	r.ee[0] += float64(e * e)
}

// drawVariance draws Q of one dimension from IW(ν, Ψ) restricted to Q ≥ floor, given √Ψ in psi, and leaves √Q in
// root: 1/Q is gamma distributed with shape ν/2 and rate Ψ/2, restricted to 1/Q ≤ 1/floor.
func (r *regression) drawVariance(q []float64, freedom, floor float64, s *source) {
	q[0] = 1 / s.gammaBelow(0.5*freedom, 0.5*float64(r.psi[0]*r.psi[0]), 1/floor)
	r.root[0] = math.Sqrt(q[0])
}

// posterior is the conjugate update of the prior W − M | Q ~ MN(0, Q, I/τ), Q ~ IW(ν₀, ψ I):
//
//	Λ = XᵀX + τI,  W̄ = (EᵀX) Λ⁻¹,  Ψ = ψI + EᵀE − W̄ Λ W̄ᵀ,  Q ~ IW(ν₀+n, Ψ),  W − M | Q ~ MN(W̄, Q, Λ⁻¹).
//
// It leaves the Cholesky factor L of Λ in factor, that of Ψ in psi, and W̄ L in half (of [R,P]). As W̄ Λ W̄ᵀ is
// (W̄ L)(W̄ L)ᵀ, Ψ needs no W̄. It reports whether Λ and Ψ are positive definite.
func (r *regression) posterior(half []float64, tau, psi float64) bool {
	R, P := r.rows, r.columns
	copy(r.factor, r.xx)
	for i := range P {
		r.factor[i*P+i] += tau
	}
	if !matrix.Cholesky(r.factor, P) {
		return false
	}
	copy(half, r.ex)
	for i := range R {
		matrix.SolveLower(r.factor, half[i*P:(i+1)*P])
	}
	for i := range R {
		for j := range i + 1 {
			r.psi[i*R+j] = r.ee[i*R+j] - matrix.Dot(half[i*P:(i+1)*P], half[j*P:(j+1)*P])
		}
		r.psi[i*R+i] += psi
	}
	return matrix.Cholesky(r.psi, R)
}

// draw writes a draw of W − M to w [R,P] and of Q to q [R,R]. It reports whether Λ and Ψ were positive definite. q
// is drawn first, then w given q. w holds W̄ L in between.
func (r *regression) draw(w, q []float64, tau, freedom, psi float64, s *source) bool {
	if !r.posterior(w, tau, psi) {
		return false
	}
	r.drawNoise(q, freedom+r.n, s)
	r.drawCoefficients(w, s)
	return true
}

// drawCoefficients replaces W̄ L in w by a draw (W̄ L + √Q Z) L⁻¹ of W − M, given √Q in root. Z are R·P standard
// normal numbers.
func (r *regression) drawCoefficients(w []float64, s *source) {
	R, P := r.rows, r.columns
	s.normals(r.normals)
	matrix.Multiply(r.noise, r.root, r.normals, R, R, P)
	matrix.AddScaled(w, 1, r.noise)
	for i := range R {
		matrix.SolveUpper(r.factor, w[i*P:(i+1)*P])
	}
}

// drawNoise writes Q ~ IW(ν, Ψ) to q and √Q with √Q √Qᵀ = Q to root, given the Cholesky factor of Ψ in psi, by
// Bartlett's decomposition: T Tᵀ ~ W(ν, I) for a lower triangular T with T_ii² ~ χ²(ν−i) and normal entries below,
// and √Q = L T⁻ᵀ. The numbers are drawn row by row, a diagonal after what is left of it.
func (r *regression) drawNoise(q []float64, freedom float64, s *source) {
	R := r.rows
	clear(r.bartlett)
	for i := range R {
		for j := range i {
			r.bartlett[i*R+j] = s.normal()
		}
		r.bartlett[i*R+i] = math.Sqrt(s.chiSquared(freedom - float64(i)))
	}
	matrix.InvertLower(r.bartlett, R)
	matrix.MultiplyT(r.root, r.psi, r.bartlett, R, R, R)
	matrix.MultiplyT(q, r.root, r.root, R, R, R)
}

// estimate writes the estimates W̄ and Ψ/(ν₀+n) to w and q. It draws nothing, and reports what posterior does.
func (r *regression) estimate(w, q []float64, tau, freedom, psi float64) bool {
	R, P := r.rows, r.columns
	if !r.posterior(w, tau, psi) {
		return false
	}
	for i := range R {
		matrix.SolveUpper(r.factor, w[i*P:(i+1)*P])
	}
	matrix.MultiplyT(q, r.psi, r.psi, R, R, R)
	for i := range q {
		q[i] /= freedom + r.n
	}
	return true
}
