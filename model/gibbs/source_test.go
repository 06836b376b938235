package gibbs

import (
	"math"
	"slices"
	"testing"

	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/gonum/stat/distuv"
)

// kolmogorov compares draws with a distribution function. A distance that the test reports happens once in ten thousand.
func kolmogorov(t *testing.T, what string, draws []float64, cdf func(float64) float64) {
	t.Helper()
	slices.Sort(draws)
	n, distance := float64(len(draws)), 0.0
	for i, x := range draws {
		p := cdf(x)
		distance = math.Max(distance, math.Max(p-float64(i)/n, float64(i+1)/n-p))
	}
	if !(distance*math.Sqrt(n) < 2.23) {
		t.Errorf("%s: distance %.4f of %d draws from the distribution function, want below %.4f", what, distance, len(draws), 2.23/math.Sqrt(n))
	}
}

func draw(n int, f func() float64) []float64 {
	x := make([]float64, n)
	for i := range x {
		x[i] = f()
	}
	return x
}

func TestSource_Distributions(t *testing.T) {
	const n = 40000
	s := testSource(100)
	kolmogorov(t, "uniform", draw(n, s.uniform), distuv.Uniform{Max: 1}.CDF)
	kolmogorov(t, "exponential", draw(n, s.exponential), distuv.Exponential{Rate: 1}.CDF)
	kolmogorov(t, "normal", draw(n, s.normal), distuv.UnitNormal.CDF)
	for _, shape := range []float64{0.2, 0.5, 1, 1.5, 4, 300} {
		kolmogorov(t, "gamma", draw(n, func() float64 { return s.gamma(shape) }), distuv.Gamma{Alpha: shape, Beta: 1}.CDF)
	}
	kolmogorov(t, "chi squared", draw(n, func() float64 { return s.chiSquared(3) }), distuv.ChiSquared{K: 3}.CDF)
	for _, mu := range []float64{0.05, 0.5, 1, 6} {
		kolmogorov(t, "inverse Gaussian", draw(n, func() float64 { return s.inverseGaussian(mu) }), func(x float64) float64 {
			return distuv.UnitNormal.CDF((x/mu-1)/math.Sqrt(x)) + math.Exp(2/mu)*distuv.UnitNormal.CDF(-(x/mu+1)/math.Sqrt(x))
		})
	}
	kolmogorov(t, "low Lévy", draw(n, s.lowLevy), func(x float64) float64 {
		return math.Erfc(1/math.Sqrt(2*x)) / math.Erfc(math.Sqrt(math.Pi)/2)
	})
}

func TestGammaBelow_IsARestrictedGamma(t *testing.T) {
	const n = 20000
	for i, c := range []struct{ shape, rate, limit float64 }{
		{1.5, 1, 10}, {4, 2, 2}, {4, 2, 0.3}, {50, 1, 40}, {50, 1, 47}, {50, 1, 10}, {2000, 1e-3, 1e6}, {3, 0, 2},
	} {
		s := testSource(200 + uint32(i))
		whole := distuv.Gamma{Alpha: c.shape, Beta: max(c.rate, 1e-12)}
		total := whole.CDF(c.limit)
		cdf := func(x float64) float64 { return whole.CDF(x) / total }
		if total < 1e-200 {
			cdf = func(x float64) float64 { // the density rises like a power up to the limit
				return math.Exp(c.shape*math.Log(x/c.limit) - c.rate*(x-c.limit))
			}
		}
		kolmogorov(t, "restricted gamma", draw(n, func() float64 { return s.gammaBelow(c.shape, c.rate, c.limit) }), cdf)
	}
}

func TestCategorical_HasTheProbabilities(t *testing.T) {
	s := testSource(300)
	weights := []float64{1, 0, 3, 4}
	count := make([]float64, 4)
	const n = 80000
	for range n {
		count[s.categorical(weights)]++
	}
	for k, w := range weights {
		p := w / 8
		if math.Abs(count[k]/n-p) > 5*math.Sqrt(p*(1-p)/n) {
			t.Errorf("index %d has share %v, want %v", k, count[k]/n, p)
		}
	}
}

// The first two moments of the matrix-normal inverse-Wishart conditional, against their closed forms.
func TestRegression_DrawHasTheMomentsOfItsConditional(t *testing.T) {
	const R, P, n, draws = 2, 3, 12, 40000
	s := testSource(400)
	r := newRegression(R, P)
	x, e := mat.NewDense(n, P, randoms(&s, n*P)), mat.NewDense(n, R, randoms(&s, n*R))
	for i := range n {
		r.add(1, x.RawRowView(i), e.RawRowView(i))
	}
	const tau, freedom, psi = 0.7, 3, 0.5
	var lambda, inverse, mean, scatter, fitted mat.Dense // Λ, Λ⁻¹, W̄, Ψ, W̄ΛW̄ᵀ
	lambda.Mul(x.T(), x)
	for i := range P {
		lambda.Set(i, i, lambda.At(i, i)+tau)
	}
	if err := inverse.Inverse(&lambda); err != nil {
		t.Fatal(err)
	}
	mean.Product(e.T(), x, &inverse)
	scatter.Mul(e.T(), e)
	fitted.Product(&mean, &lambda, mean.T())
	scatter.Sub(&scatter, &fitted)
	for i := range R {
		scatter.Set(i, i, scatter.At(i, i)+psi)
	}

	w, q := make([]float64, R*P), make([]float64, R*R)
	sumW, sumQ, sumWW := mat.NewDense(R, P, nil), mat.NewDense(R, R, nil), mat.NewDense(R*P, R*P, nil)
	for range draws {
		if !r.draw(w, q, tau, freedom, psi, &s) {
			t.Fatal("not positive definite")
		}
		sumW.Add(sumW, mat.NewDense(R, P, w))
		sumQ.Add(sumQ, mat.NewDense(R, R, q))
		d := mat.NewVecDense(R*P, append([]float64(nil), w...))
		d.SubVec(d, mat.NewVecDense(R*P, flat(&mean)))
		sumWW.RankOne(sumWW, 1, d, d)
	}
	sumW.Scale(1.0/draws, sumW)
	sumQ.Scale(1.0/draws, sumQ)
	sumWW.Scale(1.0/draws, sumWW)
	var expectQ, expectWW mat.Dense
	expectQ.Scale(1/(freedom+n-R-1.0), &scatter)
	expectWW.Kronecker(&expectQ, &inverse) // rows of W one after the other
	near(t, "mean of W", flat(sumW), flat(&mean), 0.01)
	near(t, "mean of Q", flat(sumQ), flat(&expectQ), 0.02)
	near(t, "covariance of W", flat(sumWW), flat(&expectWW), 0.01)

	half := make([]float64, R*P)
	if !r.estimate(half, q, tau, freedom, psi) {
		t.Fatal("not positive definite")
	}
	near(t, "estimate of W", half, flat(&mean), 1e-10)
	scatter.Scale(1/(freedom+n+0.0), &scatter)
	near(t, "estimate of Q", q, flat(&scatter), 1e-10)
}

// Without data the conditional is the prior: for R = 1 the precision has a χ² distribution.
func TestRegression_IsThePriorWithoutData(t *testing.T) {
	s := testSource(500)
	r := newRegression(1, 2)
	w, q := make([]float64, 2), make([]float64, 1)
	var precision, scores []float64
	for range 20000 {
		if !r.draw(w, q, 0.25, 2, 3, &s) {
			t.Fatal("not positive definite")
		}
		precision = append(precision, 3/q[0])
		scores = append(scores, w[1]*math.Sqrt(0.25/q[0]))
	}
	kolmogorov(t, "ψ/Q", precision, distuv.ChiSquared{K: 2}.CDF)
	kolmogorov(t, "W√(τ/Q)", scores, distuv.UnitNormal.CDF)
}
