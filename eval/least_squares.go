package eval

import (
	"errors"
	"math"

	"gonum.org/v1/gonum/mat"
)

// affine is y = W·x + b. The arrays belong to the caller of leastSquares.
type affine struct {
	in, out int
	w       []float64 // [out,in]
	b       []float64 // [out]
}

// ridge keeps the normal equations solvable where features depend on each other; it is far below what a number of
// six digits shows.
const ridge = 1e-9

// errNoFit is returned where the normal equations have no solution, ridge or not: they hold a NaN or an infinity.
var errNoFit = errors.New("eval: features or targets are not finite")

// leastSquares fits y ≈ W·x + b to n rows of x [n,in] and y [n,out]: ordinary least squares with intercept.
// Features and targets are scaled to mean 0 and deviation 1 first, so that one ridge fits all and the intercept is
// not shrunk; with Z and Y the scaled ones it solves
//
//	(Zᵀ Z + ridge·n·I) V = Zᵀ Y
//
// and scales W and b back. x and y stay as they are. It needs O(n·(in + out)) memory beside them.
func leastSquares(x, y []float64, in, out int) (affine, error) {
	n := len(x) / in
	xm, xs := standardise(x, in)
	ym, ys := standardise(y, out)
	fx, fy := mat.NewDense(n, in, nil), mat.NewDense(n, out, nil)
	fill := func(dst *mat.Dense, v, mean, sd []float64) {
		raw := dst.RawMatrix().Data
		for i, value := range v {
			raw[i] = (value - mean[i%len(mean)]) / sd[i%len(sd)]
		}
	}
	fill(fx, x, xm, xs)
	fill(fy, y, ym, ys)
	var gram, right mat.Dense
	gram.Mul(fx.T(), fx)
	right.Mul(fx.T(), fy)
	symmetric := mat.NewSymDense(in, nil)
	for i := range in {
		for j := range i + 1 {
			symmetric.SetSym(i, j, gram.At(i, j))
		}
		symmetric.SetSym(i, i, gram.At(i, i)+ridge*float64(n))
	}
	var factor mat.Cholesky
	var w mat.Dense
	if !factor.Factorize(symmetric) {
		return affine{}, errNoFit
	}
	var condition mat.Condition // close to singular: the ridge keeps what matters
	if err := factor.SolveTo(&w, &right); err != nil && !errors.As(err, &condition) {
		return affine{}, errNoFit
	}
	a := affine{in, out, make([]float64, out*in), make([]float64, out)}
	for o := range out {
		a.b[o] = ym[o]
		for i := range in {
			v := w.At(i, o) * ys[o] / xs[i]
			a.w[o*in+i] = v
			a.b[o] -= v * xm[i]
		}
	}
	return a, nil
}

// standardise returns the mean and standard deviation of each column; 1 for a column that is constant. v is
// [n,columns]. A column counts as constant where its deviation is within rounding of its mean.
func standardise(v []float64, columns int) (mean, sd []float64) {
	mean, sd = make([]float64, columns), make([]float64, columns)
	n := float64(len(v) / columns)
	for i, x := range v {
		mean[i%columns] += x / n
	}
	for i, x := range v {
		d := x - mean[i%columns]
		sd[i%columns] += d * d / n
	}
	for i := range sd {
		if sd[i] = math.Sqrt(sd[i]); sd[i] <= 1e-12*(1+math.Abs(mean[i])) {
			sd[i] = 1
		}
	}
	return mean, sd
}

// apply writes W·x + b into dst, which must not be x.
func (a affine) apply(dst, x []float64) {
	for o := range a.out {
		sum := a.b[o]
		for i, w := range a.w[o*a.in : (o+1)*a.in] {
			sum += w * x[i]
		}
		dst[o] = sum
	}
}
