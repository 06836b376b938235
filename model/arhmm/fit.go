package arhmm

import (
	"errors"
	"fmt"
	"math"

	"github.com/switchyard-ml/switchyard/internal/matrix"
	"github.com/switchyard-ml/switchyard/model"
)

var (
	// ErrNumeric is returned when a matrix that should be a covariance is not positive definite.
	ErrNumeric = errors.New("arhmm: numerical failure")
	// ErrState is returned for a state that is not one of the model's, and before any chain has begun.
	ErrState = errors.New("arhmm: invalid state")
	// ErrData is returned for recordings that cannot be fitted.
	ErrData = errors.New("arhmm: invalid data")
)

// chain is EM from one start. It serves one goroutine.
//
// The parameters of its system are views of its state, which a sweep changes in place.
type chain struct {
	*Model
	recordings []recording
	state      []float64
	*passes
	floors   []float64 // [D] least variance of the noise
	gapSteps expected
	moments
}

// moments are the weighted sums of a sweep, by regime: n, Σ f fᵀ [P,P], Σ x fᵀ [D,P], Σ x xᵀ [D,D]. Of symmetric
// ones it is the lower triangle. They are all that the M-step reads, beside the pairs of regimes.
type moments struct {
	n, ff, xf, xx []float64
	first         []float64 // [K] Σ p(s_L | x)
}

// newMoments are sums of nothing.
func newMoments(d dims) moments {
	vector := func(n int) []float64 { return make([]float64, d.K*n) }
	return moments{vector(1), vector(d.P * d.P), vector(d.D * d.P), vector(d.D * d.D), vector(1)}
}

// reset makes all sums zero.
func (m *moments) reset() {
	for _, v := range [][]float64{m.n, m.ff, m.xf, m.xx, m.first} {
		clear(v)
	}
}

// add enters an observation x [D] with its features [P], which counts for regime k by a weight. Both are whole.
func (m *moments) add(d dims, k int, weight float64, features, x []float64) {
	m.n[k] += weight
	matrix.AddOuter(m.ff[k*d.P*d.P:(k+1)*d.P*d.P], weight, features)
	for i, v := range x {
		matrix.AddScaled(m.xf[(k*d.D+i)*d.P:(k*d.D+i+1)*d.P], float64(weight*v), features)
	}
	matrix.AddOuter(m.xx[k*d.D*d.D:(k+1)*d.D*d.D], weight, x)
}

// newChain returns the chain of a state, or the start with the given index if the state is nil. It returns
// ErrState for a state of another size, ErrData if no recording is longer than the lags, and ErrNumeric if a
// covariance cannot be factored. Neither recordings nor state are kept.
func newChain(m *Model, batches []model.Batch, index int, state []float64) (*chain, error) {
	c := &chain{Model: m, state: make([]float64, m.size()), moments: newMoments(m.dims)}
	if state != nil && len(state) != len(c.state) {
		return nil, fmt.Errorf("%w: %d values, want %d", ErrState, len(state), len(c.state))
	}
	// A recording that is no longer than the lags has no step that counts.
	steps := 0
	for _, b := range batches {
		for n := range b.B {
			r := newRecording(b, n).begun()
			c.recordings = append(c.recordings, r)
			steps += max(0, r.T-m.L)
		}
	}
	if steps == 0 {
		return nil, fmt.Errorf("%w: no recording is longer than the %d lags", ErrData, m.L)
	}
	p := m.view(c.state)
	c.measure(p.start)
	// The windows lower the floors, and a start is fitted to them under these.
	windows := c.windows(p)
	if err := c.lower(windows); err != nil {
		return nil, err
	}
	if state != nil {
		copy(c.state, state)
	} else if err := c.begin(p, windows, index); err != nil {
		return nil, err
	}
	s, err := newSystem(m.dims, p)
	c.passes = newPasses(s)
	c.between = edgesBetween(m.kept, m.L, c.recordings...)
	c.gapSteps = expected{c, make([]float64, m.P), make([]float64, m.D)}
	return c, err
}

// measure writes mean and variance of each channel [2,D], over the values that were seen, and sets the floors.
// Both are computed in one pass that subtracts the mean so far, so that a large mean costs no digits.
func (c *chain) measure(start []float64) {
	d := c.dims.D
	c.floors = make([]float64, d)
	for i := range d {
		n, mean, square := 0.0, 0.0, 0.0
		for _, r := range c.recordings {
			for t := range r.T {
				if v := r.x[t*d+i]; !math.IsNaN(v) {
					n++
					before := v - mean
					mean += before / n
					square += float64(before * (v - mean))
				}
			}
		}
		start[i], start[d+i] = mean, square/max(n, 1)
		c.floors[i] = max(float64(c.resolution*c.resolution*start[d+i]), leastFloor)
	}
}

// leastFloor is the least variance of a channel's noise, also where the channel never varies.
const leastFloor = 1e-12

// lower sets the floors to at most a tenth of the standard deviation of what one autoregression leaves of a channel.
// Data from a simulator are often predicted far better than the resolution, and noise of that size would grow along a
// forecast.
func (c *chain) lower(windows []window) error {
	const share = 0.1
	one := c.dims
	one.K = 1
	all := together(one, windows)
	// With hardly more steps than unknowns the fit says nothing of the noise.
	freedom := all.n[0] - float64(one.P)
	if freedom < float64(one.P) {
		return nil
	}
	w, q := make([]float64, one.D*one.P), make([]float64, one.D*one.D)
	err := all.solve(one, w, q, make([]float64, one.D), false)
	for i, f := range c.floors {
		left := float64(q[i*one.D+i]*all.n[0]) / freedom
		c.floors[i] = max(min(f, float64(share*share*left)), leastFloor)
	}
	return err
}

// Sweep is one step of EM (Baum et al. 1970): expected moments over all recordings, then the parameters that are
// most likely given them. The terms are those of the parameters before it: minus the mean log likelihood of a
// step, and 1 − Σ_k N_kk/Σ_ij N_ij, N the expected pairs of regimes. An error wraps ErrNumeric.
func (c *chain) Sweep(terms []float64) error {
	c.moments.reset()
	clear(c.pairs)
	total, steps := 0.0, 0
	for _, r := range c.recordings {
		c.forward(r)
		c.backward()
		c.collect()
		total += c.logLikelihood
		steps += max(0, r.T-c.system.L)
	}
	// progress: sweeps, the mean log likelihood before this one, and the one before that.
	p := c.system.params
	p.progress[0]++
	p.progress[1], p.progress[2] = total/float64(steps), p.progress[1]
	stay := 0.0
	for k := range c.system.K {
		stay += c.pairs[k*c.system.K+k]
	}
	terms[0], terms[1] = -p.progress[1], 1-stay/max(1, sum(c.pairs))
	if err := c.maximise(); err != nil {
		return fmt.Errorf("sweep %v: %w", p.progress[0], err)
	}
	return c.system.factor()
}

// collect enters the recording of the latest passes into the moments: steps whose values and lags are seen by
// their smoothed probabilities, those in gaps as a visitor.
func (c *chain) collect() {
	d := c.system.dims
	for t := d.L; t < c.r.T; t++ {
		weights := c.smoothed[t*d.K : (t+1)*d.K]
		if t == d.L {
			matrix.AddScaled(c.moments.first, 1, weights)
		}
		if !c.r.complete(t, d.L) {
			continue
		}
		if t > 0 {
			c.setLags(c.lags, t)
		}
		c.setFeatures(c.lags, c.r.u[t*d.Du:])
		for k, w := range weights {
			if w > 0 {
				c.moments.add(d, k, w, c.features, c.r.x[t*d.D:(t+1)*d.D])
			}
		}
	}
	c.visit(c.gapSteps)
}

// maximise sets the parameters that are most likely given the moments: π and the rows of P are shares of the
// expected counts, unless π is to be stationary; then P is a few steps better, not the best.
func (c *chain) maximise() error {
	d, p := c.system.dims, c.system.params
	if c.stationary {
		(&chances{c.pairs, c.moments.first, p.transition, p.first}).rise()
		return c.moments.solve(d, p.w, p.q, c.floors, c.common)
	}
	share(p.first, c.moments.first)
	for i := range d.K {
		share(p.transition[i*d.K:(i+1)*d.K], c.pairs[i*d.K:(i+1)*d.K])
	}
	return c.moments.solve(d, p.w, p.q, c.floors, c.common)
}

// share writes counts divided by their sum; dst stays if there are none.
func share(dst, counts []float64) {
	if total := sum(counts); total > 0 {
		for i, v := range counts {
			dst[i] = v / total
		}
	}
}

func sum(v []float64) float64 {
	s := 0.0
	for _, x := range v {
		s += x
	}
	return s
}

// solve writes W_k = Σ x fᵀ (Σ f fᵀ + 1e-9 I)⁻¹ and Q_k, the weighted squares of what is left, of all regimes
// together if they have a common noise. Where Q_k does not exceed the floors they are added to it. A regime
// without weight stays as it is.
//
// The ridge lets lags be factored that never vary or depend on each other (see factored). Squares that are left are
// Σ x xᵀ − W̃ W̃ᵀ with W̃ = Σ x fᵀ L⁻ᵀ, so that no second pass over the data is needed. It returns ErrNumeric where
// Σ f fᵀ is not finite.
func (m *moments) solve(d dims, w, q, floors []float64, common bool) error {
	all, weight := make([]float64, d.D*d.D), 0.0
	l := make([]float64, d.P*d.P)
	for k := range d.K {
		if m.n[k] < 1e-6 {
			continue
		}
		if !factored(l, m.ff[k*d.P*d.P:(k+1)*d.P*d.P], d.P) {
			return fmt.Errorf("%w: the lags of regime %d have no finite covariance", ErrNumeric, k)
		}
		wk, left := w[k*d.D*d.P:(k+1)*d.D*d.P], q[k*d.D*d.D:(k+1)*d.D*d.D]
		copy(wk, m.xf[k*d.D*d.P:])
		copy(left, m.xx[k*d.D*d.D:])
		for i := range d.D {
			matrix.SolveLower(l, wk[i*d.P:(i+1)*d.P])
		}
		for i := range d.D {
			for j := range i + 1 {
				left[i*d.D+j] -= matrix.Dot(wk[i*d.P:(i+1)*d.P], wk[j*d.P:])
			}
		}
		for i := range d.D {
			matrix.SolveUpper(l, wk[i*d.P:(i+1)*d.P])
		}
		weight += m.n[k]
		matrix.AddScaled(all, 1, left)
		finish(left, m.n[k], d.D, floors)
	}
	if common {
		finish(all, weight, d.D, floors)
		for k := range d.K {
			copy(q[k*d.D*d.D:], all)
		}
	}
	return nil
}

// factored writes the Cholesky factor of ff + 1e-9 I [n,n] to l. In large units rounding may leave nothing of the
// ridge: then it is larger by a share of the diagonal, the least of some that are tried. It reports false where no
// factor is found, as where ff is not finite.
func factored(l, ff []float64, n int) bool {
	const ridge, least, most = 1e-9, 1e-15, 1e-8
	for share := 0.0; share < most; share = max(10*share, least) {
		copy(l, ff)
		for i := range n {
			l[i*n+i] += ridge + float64(share*ff[i*n+i])
		}
		if matrix.Cholesky(l, n) {
			return true
		}
	}
	return false
}

// finish makes a covariance of a sum of squares [d,d], of which it reads the lower triangle, over a weight n. It
// adds the floors to the diagonal unless q − diag(floors) is positive definite: so q is positive definite in any
// case, and to rounding no less than the floors in any direction.
func finish(q []float64, n float64, d int, floors []float64) {
	for i := range q {
		q[i] /= n
	}
	matrix.Mirror(q, d)
	l := append([]float64(nil), q...)
	for i, f := range floors {
		l[i*d+i] -= f
	}
	if matrix.Cholesky(l, d) {
		return
	}
	for i, f := range floors {
		q[i*d+i] = max(q[i*d+i], 0) + f
	}
}

// State writes the parameters.
func (c *chain) State(dst []float64) { copy(dst, c.state) }
