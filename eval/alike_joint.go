package eval

import (
	"github.com/switchyard-ml/switchyard/internal/matrix"
	"github.com/switchyard-ml/switchyard/model"
)

// joint is one system for the steps of several regimes: x = W f + N(0, Q). It keeps the moments that the regimes
// predict, not those of the data, so that two joints can be joined again and noise of the measurement does not
// enter twice.
type joint struct {
	first      int // of the regimes
	d, p       int // numbers of values of x and f
	n          float64
	ff, xf, xx []float64 // Σ f fᵀ [P,P], Σ x fᵀ [D,P], Σ x xᵀ [D,D], where the regimes predict x
	w, factor  []float64 // W [D,P], the Cholesky factor of Q [D,D]
	logDet     float64   // ½ ln det Q
	logs       []float64 // [steps] log density of each state
}

// used are the regimes that have steps, each with its own system. It reports whether all of these have noise. The
// list is in the order of the regimes.
func (l *Likeness) used() (list []*joint, ok bool) {
	p := l.y.NZ + l.y.NU + 1
	all := make([]*joint, l.y.M)
	for k := range all {
		all[k] = &joint{first: k, d: len(l.noisy), p: p, ff: make([]float64, p*p)}
	}
	for t, k := range l.regimes {
		all[k].n++
		// This is the lower triangle; become mirrors it.
		matrix.AddOuter(all[k].ff, 1, l.features[t*p:(t+1)*p])
	}
	for _, r := range all {
		if r.n == 0 {
			continue
		}
		if !r.become(l.y, l.noisy) {
			return nil, false
		}
		r.logs = l.densities(r)
		list = append(list, r)
	}
	return list, true
}

// become takes W and Q of the regime, in the noisy dimensions, with the moments that they predict for its
// features:
//
//	Σ x fᵀ = W Σ f fᵀ,  Σ x xᵀ = W Σ f fᵀ Wᵀ + n Q
//
// It reports whether Q has a Cholesky factor.
func (r *joint) become(y model.Systems, noisy []int) bool {
	for _, i := range noisy {
		row := r.first*y.NZ + i
		r.w = append(r.w, y.A[row*y.NZ:(row+1)*y.NZ]...)
		r.w = append(r.w, y.B[row*y.NU:(row+1)*y.NU]...)
		r.w = append(r.w, y.Bias[row])
		for _, j := range noisy {
			r.factor = append(r.factor, y.Q[row*y.NZ+j])
		}
	}
	matrix.Mirror(r.ff, r.p)
	r.xf, r.xx = make([]float64, r.d*r.p), make([]float64, r.d*r.d)
	matrix.Multiply(r.xf, r.w, r.ff, r.d, r.p, r.p)
	matrix.MultiplyT(r.xx, r.xf, r.w, r.d, r.p, r.d)
	matrix.AddScaled(r.xx, r.n, r.factor)
	return r.factored()
}

// factored replaces Q by its Cholesky factor and sets logDet; false if Q is not positive definite.
func (r *joint) factored() bool {
	ok := matrix.Cholesky(r.factor, r.d)
	r.logDet = matrix.LogDiagonal(r.factor, r.d)
	return ok
}

// with is the best system for the steps of both; false if there is none:
//
//	W = Σ x fᵀ (Σ f fᵀ + 1e-9 I)⁻¹,  Q = (Σ x xᵀ − W Σ f xᵀ)/n
//
// Neither operand changes. The result has no log densities yet. The 1e-9 keeps features solvable that depend on
// each other, as a control that never changed and the constant.
func (r *joint) with(other *joint) (*joint, bool) {
	sum := func(a, b []float64) []float64 {
		c := append([]float64(nil), a...)
		matrix.AddScaled(c, 1, b)
		return c
	}
	one := &joint{
		first: min(r.first, other.first), d: r.d, p: r.p, n: r.n + other.n,
		ff: sum(r.ff, other.ff), xf: sum(r.xf, other.xf), xx: sum(r.xx, other.xx), factor: make([]float64, r.d*r.d),
	}
	half := append([]float64(nil), one.ff...)
	for i := range one.p {
		half[i*one.p+i] += 1e-9
	}
	if !matrix.Cholesky(half, one.p) {
		return nil, false
	}
	one.w = append([]float64(nil), one.xf...)
	// W = Σ x fᵀ L⁻ᵀ L⁻¹ with L Lᵀ = Σ f fᵀ: after the first half its square is W Σ f xᵀ, which Q needs.
	for i := range one.d {
		matrix.SolveLower(half, one.w[i*one.p:(i+1)*one.p])
	}
	matrix.MultiplyT(one.factor, one.w, one.w, one.d, one.p, one.d)
	for i, v := range one.factor {
		one.factor[i] = (one.xx[i] - v) / one.n
	}
	for i := range one.d {
		matrix.SolveUpper(half, one.w[i*one.p:(i+1)*one.p])
	}
	return one, one.factored()
}

// densities are the log densities of all steps that count, in nats, less the constant D/2·ln 2π, which is the same
// for all regimes:
//
//	−½ |L⁻¹(x − W f)|² − ln det L,  L Lᵀ = Q
func (l *Likeness) densities(r *joint) []float64 {
	list, miss := make([]float64, len(l.regimes)), make([]float64, r.d)
	for t := range list {
		copy(miss, l.states[t*r.d:(t+1)*r.d])
		f := l.features[t*r.p : (t+1)*r.p]
		for i := range miss {
			miss[i] -= matrix.Dot(f, r.w[i*r.p:])
		}
		matrix.SolveLower(r.factor, miss)
		list[t] = -float64(0.5*matrix.Dot(miss, miss)) - r.logDet
	}
	return list
}
