package gibbs

import (
	"fmt"
	"math"

	"github.com/switchyard-ml/switchyard/internal/matrix"
)

// system is a model with fixed parameters, ready for filtering and prediction. It is not changed after it is made.
// Any number of goroutines may use it.
type system struct {
	dims
	tree    *tree
	theta   Params
	start   float64   // v₀
	factors []float64 // [K,D,D] Cholesky factors of Q_k
}

// newSystem keeps theta, and factors its noise. It returns ErrNumeric if a Q_k is not positive definite.
func newSystem(cfg Config, d dims, theta Params) (*system, error) {
	s := &system{dims: d, tree: newTree(cfg.Shape, cfg.Leaves), theta: theta, start: cfg.Prior.Start}
	s.factors = make([]float64, len(theta.Noise))
	copy(s.factors, theta.Noise)
	for k := range d.K {
		if !matrix.Cholesky(s.factors[k*d.D*d.D:(k+1)*d.D*d.D], d.D) {
			return nil, fmt.Errorf("%w: the noise covariance of regime %d is not positive definite", ErrNumeric, k)
		}
	}
	return s, nil
}

// logProbabilities writes ln π_k(x) to dst; nu is scratch of [K−1].
func (s *system) logProbabilities(dst, nu, x []float64) {
	for n := range nu {
		nu[n] = height(s.theta.plane(n, s.dims), x)
	}
	s.tree.logProbabilities(dst, nu)
}

// advance writes A_k x + B_k u + b_k to dst.
func (s *system) advance(dst []float64, k int, x, u []float64) {
	w := s.theta.leaf(k, s.dims)
	for i := range dst {
		row := w[i*s.P : (i+1)*s.P]
		dst[i] = matrix.Dot(x, row) + matrix.Dot(u, row[s.D:]) + row[s.P-1]
	}
}

// emit writes C x + d to dst.
func (s *system) emit(dst, x []float64) {
	for i := range dst {
		dst[i] = height(s.theta.row(i, s.dims), x)
	}
}

// belief is a Gaussian over x_t given the observations up to t, and the scratch to move it on. It serves one goroutine.
type belief struct {
	mean, covariance []float64 // [D], [D,D]
	weights          []float64 // [K] probability of the regime that led to t

	means, covariances []float64 // [K,D], [K,D,D] by regime
	logPi, nu          []float64
	gain, product      []float64
}

// newBelief is scratch without a belief: begin sets one.
func newBelief(d dims) *belief {
	vector := func(n int) []float64 { return make([]float64, n) }
	return &belief{
		mean: vector(d.D), covariance: vector(d.D * d.D), weights: vector(d.K),
		means: vector(d.K * d.D), covariances: vector(d.K * d.D * d.D),
		logPi: vector(d.K), nu: vector(d.K - 1), gain: vector(d.D), product: vector(d.D * d.D),
	}
}

// begin sets the belief of x_0 given y_0: N(0, v₀ I), updated. No regime has led to it, so that the weights are
// zeros.
func (b *belief) begin(s *system, y []float64) {
	clear(b.mean)
	clear(b.covariance)
	clear(b.weights)
	for i := range s.D {
		b.covariance[i*s.D+i] = s.start
	}
	b.observe(s, b.mean, b.covariance, y)
}

// next moves the belief to x_{t+1} given u_{t+1} and y_{t+1}: one Kalman step per regime, weighted by π_k at the mean
// of x_t and by the density of y_{t+1}, then one Gaussian with the mean and covariance of the mixture (the generalised
// pseudo-Bayesian filter of order one; Murphy 2002, section 4.3). It returns ln p(y_{t+1} | y_0 … y_t) under this
// approximation.
func (b *belief) next(s *system, u, y []float64) float64 {
	D := s.D
	s.logProbabilities(b.logPi, b.nu, b.mean)
	for k := range s.K {
		m, p := b.means[k*D:(k+1)*D], b.covariances[k*D*D:(k+1)*D*D]
		s.advance(m, k, b.mean, u)
		w := s.theta.leaf(k, s.dims)
		// The covariance A P Aᵀ + Q of the regime's prediction.
		for i := range D { // A P
			row := b.product[i*D : (i+1)*D]
			clear(row)
			for j := range D {
				matrix.AddScaled(row, w[i*s.P+j], b.covariance[j*D:(j+1)*D])
			}
		}
		copy(p, s.theta.noise(k, s.dims))
		for i := range D {
			for j := range D {
				p[i*D+j] += matrix.Dot(b.product[i*D:(i+1)*D], w[j*s.P:])
			}
		}
		b.weights[k] = b.logPi[k] + b.observe(s, m, p, y)
	}
	// Weights are relative to the largest: the log of their sum is the density of y.
	largest, total := normalise(b.weights)
	clear(b.mean)
	clear(b.covariance)
	for k := range s.K {
		b.weights[k] /= total
		matrix.AddScaled(b.mean, b.weights[k], b.means[k*D:(k+1)*D])
	}
	// Σ_k w_k (P_k + (m_k − m)(m_k − m)ᵀ); it leaves m_k − m in place of m_k.
	for k := range s.K {
		m := b.means[k*D : (k+1)*D]
		matrix.AddScaled(b.covariance, b.weights[k], b.covariances[k*D*D:(k+1)*D*D])
		matrix.AddScaled(m, -1, b.mean)
		matrix.AddOuter(b.covariance, b.weights[k], m)
	}
	matrix.Mirror(b.covariance, D)
	return largest + matrix.Log(total)
}

// observe updates a Gaussian by the seen values of y, one after the other, and returns their log density. For each
//
//	g = P C_i,  s = C_i·g + S_i,  e = y_i − C_i·m − d_i;  m += g e/s,  P −= g gᵀ/s
//
// as the noise of the dimensions is independent: no matrix is inverted. Missing values are skipped.
func (b *belief) observe(s *system, mean, covariance, y []float64) float64 {
	D, density := s.D, 0.0
	for i, v := range y {
		if math.IsNaN(v) {
			continue
		}
		row := s.theta.row(i, s.dims)
		for j := range D {
			b.gain[j] = matrix.Dot(row[:D], covariance[j*D:(j+1)*D])
		}
		variance := matrix.Dot(row[:D], b.gain) + s.theta.Measuring[i]
		residual := v - height(row, mean)
		density -= float64(0.5 * (log2Pi + matrix.Log(variance) + float64(residual*residual)/variance))
		matrix.AddScaled(mean, residual/variance, b.gain)
		matrix.AddOuter(covariance, -1/variance, b.gain)
		matrix.Mirror(covariance, D)
	}
	return density
}
