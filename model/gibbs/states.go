package gibbs

import (
	"fmt"
	"math"

	"github.com/switchyard-ml/switchyard/internal/matrix"
)

// states draws x of a recording by forward filtering and backward sampling, in information form. With F and f the
// precision of the filtered x_t and its product with the mean (the observations up to y_t and the turn at t are
// in), x_{t+1} = A x_t + b + N(0, Q), and L Lᵀ = F + AᵀQ⁻¹A,
//
//	K = L⁻¹ AᵀQ⁻¹,  g = L⁻¹ (f − AᵀQ⁻¹ b)
//	predicted:  F′ = Q⁻¹ − KᵀK,  f′ = Q⁻¹ b + Kᵀ g
//	backward:   x_t | x_{t+1} ~ N(L⁻ᵀ (g + K x_{t+1}), (L Lᵀ)⁻¹)
//
// which are (Q + A F⁻¹ Aᵀ)⁻¹ and the usual gain, with one factorisation per step and symmetric throughout. A step
// costs O(D³).
type states struct {
	filtered []float64 // [D,D] F, lower triangle
	mean     []float64 // [D] f
	factor   []float64 // [T,D,D] L; at the last step of F alone
	gain     []float64 // [T,D,D] K
	shift    []float64 // [T,D] g; at the last step L⁻¹ f
	offset   []float64 // [D] b
	noise    []float64 // [T,D] standard normal numbers
	likely   []float64 // [Dy,D,D] C_i C_iᵀ/S_i, lower triangle
	loading  []float64 // [Dy,D] C_i/S_i
}

// newStates is the scratch for recordings of up to the given length.
func newStates(d dims, longest int) *states {
	vector := func(n int) []float64 { return make([]float64, n) }
	return &states{
		filtered: vector(d.D * d.D), mean: vector(d.D), offset: vector(d.D),
		factor: vector(longest * d.D * d.D), gain: vector(longest * d.D * d.D),
		shift: vector(longest * d.D), noise: vector(longest * d.D),
		likely: vector(d.Dy * d.D * d.D), loading: vector(d.Dy * d.D),
	}
}

// drawStates draws x of each recording given z, ω, the parameters and y, by filtering forward and drawing backward
// from the last step. The regimes are those of the present parameters. It returns ErrNumeric where a precision is
// not positive definite.
func (c *Chain) drawStates() error {
	f := c.states
	f.setEmission(c.theta, c.dims)
	for i, span := range c.spans {
		s := c.source(drawStates, i)
		if t := c.filter(span); t < span.to {
			return fmt.Errorf("%w: the filtered precision at step %d of recording %d is not positive definite: raise "+
				"Prior.Noise or scale the data",
				ErrNumeric, t-span.from, i)
		}
		T := span.to - span.from
		// T·D numbers of the stream of the recording, in the order of time although they are used backward.
		s.normals(f.noise[:T*c.D])
		// x_t = L⁻ᵀ (g + K x_{t+1} + ε); at the last step there is no K.
		for t := T - 1; t >= 0; t-- {
			x := c.state(span.from + t)
			copy(x, f.shift[t*c.D:(t+1)*c.D])
			matrix.AddScaled(x, 1, f.noise[t*c.D:(t+1)*c.D])
			if t < T-1 {
				gain, next := f.gain[t*c.D*c.D:], c.state(span.from+t+1)
				for j := range x {
					x[j] += matrix.Dot(next, gain[j*c.D:])
				}
			}
			matrix.SolveUpper(f.factor[t*c.D*c.D:(t+1)*c.D*c.D], x)
		}
	}
	return nil
}

// setEmission computes what a seen value adds to the information of x, once for all steps.
func (f *states) setEmission(theta Params, d dims) {
	clear(f.likely)
	for i := range d.Dy {
		row := theta.row(i, d)[:d.D]
		loading := f.loading[i*d.D : (i+1)*d.D]
		for j, v := range row {
			loading[j] = v / theta.Measuring[i]
		}
		matrix.AddOuter(f.likely[i*d.D*d.D:(i+1)*d.D*d.D], 1/theta.Measuring[i], row)
	}
}

// filter runs forward over a recording from x_0 ~ N(0, v₀ I), and leaves L, K and g of each step. It returns
// span.to, or the step at which a precision is not positive definite.
func (c *Chain) filter(span span) int {
	f, D := c.states, c.D
	clear(f.filtered)
	clear(f.mean)
	for i := range D {
		f.filtered[i*D+i] = 1 / c.cfg.Prior.Start
	}
	for t := span.from; t < span.to; t++ {
		c.observe(t)
		l := t - span.from
		factor, shift := f.factor[l*D*D:(l+1)*D*D], f.shift[l*D:(l+1)*D]
		if t == span.to-1 {
			copy(factor, f.filtered)
			if !matrix.Cholesky(factor, D) {
				return t
			}
			copy(shift, f.mean)
			matrix.SolveLower(factor, shift)
			break
		}
		c.turns(t)
		if !c.predict(t, factor, f.gain[l*D*D:(l+1)*D*D], shift) {
			return t
		}
	}
	return span.to
}

// observe adds the seen values of y_t: Σ_i C_i C_iᵀ/S_i and Σ_i C_i (y_i − d_i)/S_i. Missing ones add nothing.
func (c *Chain) observe(t int) {
	f, D := c.states, c.D
	for i, y := range c.y[t*c.Dy : (t+1)*c.Dy] {
		if math.IsNaN(y) {
			continue
		}
		matrix.AddScaled(f.filtered, 1, f.likely[i*D*D:(i+1)*D*D])
		matrix.AddScaled(f.mean, y-c.theta.Emission[i*(D+1)+D], f.loading[i*D:(i+1)*D])
	}
}

// turns adds what the path to z_t says of x_t: Σ_n ω R Rᵀ and Σ_n (κ − ω r) R. By ω each turn is a Gaussian
// observation of ν: exp(κν − ων²/2), κ = ±½, ν = R·x + r.
func (c *Chain) turns(t int) {
	f := c.states
	for i, turn := range c.tree.paths[c.z[t]] {
		omega, plane := c.omega[t*c.tree.height+i], c.theta.plane(turn.node, c.dims)
		matrix.AddOuter(f.filtered, omega, plane[:c.D])
		matrix.AddScaled(f.mean, float64(0.5*turn.sign)-float64(omega*plane[c.D]), plane[:c.D])
	}
}

// predict goes from the filtered x_t to the predicted x_{t+1}, and writes L, K and g of step t. It reports whether
// F + AᵀQ⁻¹A is positive definite.
func (c *Chain) predict(t int, factor, gain, shift []float64) bool {
	f, D := c.states, c.D
	r := &c.regimes[c.z[t]]
	c.setFeatures(t)
	// b is B u_{t+1} and the constant together.
	for i := range D {
		f.offset[i] = matrix.Dot(c.features[D:], r.w[i*c.P+D:(i+1)*c.P])
	}
	for i, v := range f.filtered {
		factor[i] = v + r.backward[i]
	}
	if !matrix.Cholesky(factor, D) {
		return false
	}
	for i := range D {
		shift[i] = f.mean[i] - matrix.Dot(f.offset, r.back[i*D:])
	}
	matrix.SolveLower(factor, shift)
	copy(gain, r.back)
	matrix.SolveLowerRows(factor, gain, D, D)
	// F′ = Q⁻¹ − KᵀK and f′ = Q⁻¹ b + Kᵀ g, row by row of K.
	copy(f.filtered, r.precision)
	for i := range D {
		matrix.AddOuter(f.filtered, -1, gain[i*D:(i+1)*D])
		f.mean[i] = matrix.Dot(f.offset, r.precision[i*D:])
	}
	for i := range D {
		matrix.AddScaled(f.mean, shift[i], gain[i*D:(i+1)*D])
	}
	return true
}
