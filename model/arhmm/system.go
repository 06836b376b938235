package arhmm

import (
	"fmt"
	"math"

	"github.com/switchyard-ml/switchyard/internal/matrix"
)

// system is a model with fixed parameters and the scratch of one goroutine.
type system struct {
	dims
	params
	factors []float64 // [K,D,D] Cholesky factors of Q_k
	logDet  []float64 // [K] ½ ln det Q_k

	features, residual []float64 // [P], [D]
	part, seen         []float64 // [D,D], [D]
	means, logs        []float64 // [K,D], [K]
}

// log2Pi is ln 2π.
const log2Pi = 1.8378770664093454836

// newSystem keeps the views p, and factors their noise. It returns the system with an ErrNumeric if a Q_k is not
// positive definite.
func newSystem(d dims, p params) (*system, error) {
	s := unfactored(d, p)
	return s, s.factor()
}

// unfactored is a system whose noise is not factored: it has features and means, and no densities.
func unfactored(d dims, p params) *system {
	vector := func(n int) []float64 { return make([]float64, n) }
	return &system{
		dims: d, params: p, factors: vector(d.K * d.D * d.D), logDet: vector(d.K), features: vector(d.P),
		residual: vector(d.D), part: vector(d.D * d.D), seen: vector(d.D), means: vector(d.K * d.D), logs: vector(d.K),
	}
}

// factor factors the noise anew, after q has changed. It returns ErrNumeric if a Q_k is not positive definite.
func (s *system) factor() error {
	copy(s.factors, s.q)
	n := s.D * s.D
	for k := range s.K {
		l := s.factors[k*n : (k+1)*n]
		if !matrix.Cholesky(l, s.D) {
			return fmt.Errorf("%w: the noise of regime %d is not positive definite", ErrNumeric, k)
		}
		s.logDet[k] = matrix.LogDiagonal(l, s.D)
	}
	return nil
}

// setFeatures makes features [x_{t−1} … x_{t−L}, u_t, u_{t−1} … u_{t−C}, 1] of a state z [Z] and the controls u
// that act on it.
func (s *system) setFeatures(z, u []float64) {
	copy(s.features, z[:s.L*s.D])
	copy(s.features[s.L*s.D:], u[:s.Du])
	copy(s.features[s.L*s.D+s.Du:], z[s.window():])
	s.features[s.P-1] = 1
}

// predict writes the mean W_k f of x_t to means, by the features that were set, and returns it, a view.
func (s *system) predict(k int) []float64 {
	m := s.means[k*s.D : (k+1)*s.D]
	for i := range m {
		m[i] = matrix.Dot(s.features, s.w[(k*s.D+i)*s.P:])
	}
	return m
}

// density returns ln N(x; W_k f, Q_k) of the seen values of x, by the features that were set; 0 where none is
// seen.
func (s *system) density(k int, x []float64) float64 {
	m, n := s.predict(k), 0
	l, logDet := s.factors[k*s.D*s.D:(k+1)*s.D*s.D], s.logDet[k]
	for i, v := range x {
		if !math.IsNaN(v) {
			s.residual[n] = v - m[i]
			n++
		}
	}
	if n < s.D {
		l = s.marginal(k, x, n)
		logDet = matrix.LogDiagonal(l, n)
	}
	r := s.residual[:n]
	matrix.SolveLower(l, r)
	return -float64(0.5*matrix.Dot(r, r)) - logDet - float64(0.5*log2Pi*float64(n))
}

// marginal returns the Cholesky factor of Q_k of the n seen channels. A part of a positive definite matrix is one.
// The factor is scratch.
func (s *system) marginal(k int, x []float64, n int) []float64 {
	row := 0
	for i, a := range x {
		if math.IsNaN(a) {
			continue
		}
		column := 0
		for j, b := range x {
			if !math.IsNaN(b) {
				s.part[row*n+column] = s.q[(k*s.D+i)*s.D+j]
				column++
			}
		}
		row++
	}
	matrix.Cholesky(s.part, n)
	return s.part[:n*n]
}

// next writes to dst what is known of s_t before x_t is seen: P of the belief, or π where there is none. dst must
// not be the belief.
func (s *system) next(dst, belief []float64) {
	if belief == nil {
		copy(dst, s.first)
		return
	}
	clear(dst)
	for i, b := range belief {
		matrix.AddScaled(dst, b, s.transition[i*s.K:(i+1)*s.K])
	}
}

// observe turns what is known of s_t before x_t into what is known after it, and returns ln p(x_t | the past). The
// largest logarithm is taken out before the exponentials.
func (s *system) observe(dst, predicted, x []float64) float64 {
	largest := math.Inf(-1)
	for k, p := range predicted {
		s.logs[k] = matrix.Log(p) + s.density(k, x)
		largest = max(largest, s.logs[k])
	}
	total := 0.0
	for k, v := range s.logs {
		dst[k] = matrix.Exp(v - largest)
		total += dst[k]
	}
	for k := range dst {
		dst[k] /= total
	}
	return largest + matrix.Log(total)
}
